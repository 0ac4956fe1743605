"""SPARQL Update in a rule: operations that delete and insert triples.

Source: SPARQL 1.1 Update, sections 3.1.1-3.1.3. Graph management and loading are left out: a
rule changes the window graph only, and sends no requests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sensorstream.errors import LanguageError
from sensorstream.language import syntax
from sensorstream.model.terms import BlankNode
from sensorstream.rules.conditions import ConditionQuery
from sensorstream.rules.reading import in_rule_file, pattern_query
from sensorstream.rules.triple_patterns import Pattern, template
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import BGP, DeleteWhere, Quad, TriplePattern, Update, Variable
from sensorstream.sparql.answerable import check_answerable
from sensorstream.sparql.parser import Parsed, read_deletion, read_update
from sensorstream.sparql.walk import nodes


@dataclass(frozen=True, slots=True)
class Operation:
    """Delete, then insert, for each solution of ``where`` (None: once)."""

    where: ConditionQuery | None
    deletes: tuple[Pattern, ...]
    inserts: tuple[Pattern, ...]


def parsed_update(
    block: syntax.Sparql, file: syntax.RuleFile, given: Collection[str]
) -> Parsed[Update]:
    """An update of a rule, under the prefixes of its file.

    ``given`` names the variables with a value from outside.

    Raises:
        LanguageError: not SPARQL 1.1 Update, or a part of it that rules cannot use.
    """

    def read() -> Parsed[Update]:
        parsed = _checked(
            read_update(
                block.text,
                start=block.position,
                prefixes=file.prefix_map,
                base=file.base,
                given=given,
            )
        )
        check_answerable(parsed)
        return parsed

    return in_rule_file(read)


def parsed_deletion(block: syntax.Sparql, file: syntax.RuleFile) -> Parsed[Update]:
    """``delete { pattern }``: delete each triple that matches, as DELETE WHERE does.

    Raises:
        LanguageError: the pattern is not a set of triples.
    """

    def read() -> Parsed[Update]:
        parsed = _checked(
            read_deletion(
                block.text, start=block.position, prefixes=file.prefix_map, base=file.base
            )
        )
        check_answerable(parsed)
        return parsed

    return in_rule_file(read)


def operations(parsed: Parsed[Update], given: Collection[str]) -> tuple[Operation, ...]:
    """The operations of an update; ``given`` are the variables with a value from outside.

    Raises:
        LanguageError: a variable of a template has no value.
    """
    return tuple(_operation(each, parsed, given) for each in parsed.meaning.operations)


def _operation(
    operation: algebra.Operation, parsed: Parsed[Update], given: Collection[str]
) -> Operation:
    match operation:
        case algebra.InsertData(quads):
            return Operation(None, (), template(_triples(quads)))
        case algebra.DeleteData(quads):
            return Operation(None, template(_triples(quads)), ())
        case DeleteWhere(quads):
            triples = tuple(_triples(quads))
            where = pattern_query(BGP(triples), given, _variables(quads), parsed)
            return Operation(where, template(triples), ())
        case algebra.Modify(delete, insert, pattern):
            deletes, inserts = delete or (), insert or ()
            where = pattern_query(
                pattern, given, _variables((*deletes, *inserts)), parsed, operation.base
            )
            return Operation(where, template(_triples(deletes)), template(_triples(inserts)))
    raise AssertionError("the other operations are refused when they are read")


def _checked(parsed: Parsed[Update]) -> Parsed[Update]:
    """The update, after a check that a rule can use all of it."""
    if not parsed.meaning.operations:
        raise LanguageError("the update is empty: expected INSERT or DELETE", position=parsed.start)
    for operation in parsed.meaning.operations:
        match operation:
            case algebra.InsertData(quads) | algebra.DeleteData(quads) | DeleteWhere(quads):
                _check_quads(quads, parsed)
            case algebra.Modify(delete, insert):
                _check_quads((*(delete or ()), *(insert or ())), parsed)
                if operation.graph is not None:
                    raise _no_place("WITH", operation.graph, parsed)
                for name in (*operation.using.default, *operation.using.named):
                    raise _no_place("USING", name, parsed)
            case algebra.Transfer(verb):
                raise _no_place(verb, operation, parsed)
            case _:
                raise _no_place(type(operation).__name__.upper(), operation, parsed)
    return parsed


def _check_quads(quads: tuple[Quad, ...], parsed: Parsed[Update]) -> None:
    for quad in quads:
        if quad.graph is not None:
            raise LanguageError(
                "GRAPH is not allowed here: rules change the window only",
                position=parsed.position(quad.graph),
            )
        for part in nodes(quad.triple):
            if isinstance(part, BlankNode):
                raise LanguageError(
                    "blank nodes are not allowed here: expected names or variables",
                    position=parsed.position(part),
                )


def _no_place(word: str, part: object, parsed: Parsed[Update]) -> LanguageError:
    return LanguageError(
        f"{word} is not allowed in a rule, which changes the window only: "
        "expected INSERT or DELETE, with a WHERE part or DATA",
        position=parsed.position(part),
    )


def _triples(quads: tuple[Quad, ...]) -> Iterator[TriplePattern]:
    return (quad.triple for quad in quads)


def _variables(quads: tuple[Quad, ...]) -> Iterator[Variable]:
    return (part for part in nodes(quads) if isinstance(part, Variable))
