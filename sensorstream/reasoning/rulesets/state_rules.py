"""Rules of a rule set that delete: they switch state, and are run as semantic rules.

``DELETE { … } INSERT { … } WHERE { body }`` becomes ``when select { SELECT * { body } } becomes
true then sparql { DELETE { … } INSERT { … } WHERE {} }``: once for each solution that was not there
before, after all has followed that does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sensorstream.errors import Position, QueryError
from sensorstream.language import syntax
from sensorstream.model.terms import BlankNode
from sensorstream.reasoning.rulesets.blocks import Block
from sensorstream.reasoning.rulesets.refusals import check_body
from sensorstream.sparql.algebra import BGP, DeleteWhere, Each, Modify, Query, Variable
from sensorstream.sparql.lexer import Source
from sensorstream.sparql.parser import read_query
from sensorstream.sparql.places import Places
from sensorstream.sparql.walk import nodes, visible

_NOW: Final = "now"
_SELECT: Final = "SELECT * "
_ASK: Final = "ASK "


def state_rule(
    name: str, operation: Modify | DeleteWhere, block: Block, source: Source, places: Places
) -> syntax.RuleFile:
    """The rule of a block, as a file of the rule language with this rule alone.

    Raises:
        QueryError: it holds what no such rule may, with the place.
    """
    _check(operation, places)
    *_, body = block.groups
    if isinstance(operation, DeleteWhere):
        pattern: object = BGP(tuple(quad.triple for quad in operation.quads))
        update = f"DELETE {_text(source, body)} WHERE {{}}"
    else:
        pattern = operation.pattern
        update = f"{source.text[block.start : block.groups[-2][1]]} WHERE {{}}"
    form = _SELECT if any(_named(pattern)) else _ASK
    before = _before(source, body[0], len(form))
    query = syntax.Sparql(f"{form}{_text(source, body)}", position=before)
    condition = syntax.Select(query) if form == _SELECT else syntax.Ask(query)
    place = block.position
    rule = syntax.SemanticRule(
        name,
        syntax.When(condition, position=place),
        (),
        (syntax.SparqlUpdate(syntax.Sparql(update, position=place), position=place),),
        position=place,
    )
    return syntax.RuleFile(
        tuple(syntax.Prefix(prefix, iri) for prefix, iri in block.prefixes.items()),
        (),
        (rule,),
        place.file,
        bases=() if block.base is None else (syntax.Base(block.base),),
    )


def question_of(file: syntax.RuleFile) -> Query:
    """What a rule of :func:`state_rule` waits for."""
    (rule,) = file.semantic_rules
    assert isinstance(rule.trigger, syntax.When)
    condition = rule.trigger.condition
    assert isinstance(condition, syntax.Select | syntax.Ask)
    text = condition.query
    start, prefixes = text.position, file.prefix_map
    return read_query(text.text, start=start, prefixes=prefixes, base=file.base).meaning


def _check(operation: Modify | DeleteWhere, places: Places) -> None:
    if isinstance(operation, Modify):
        check_body(operation.pattern, places)
    for part in nodes(operation):
        match part:
            case Each():
                raise QueryError(
                    "EACH: a rule that deletes does not read lists so: expected it in a rule "
                    "without DELETE, whose conclusion this one reads",
                    position=places.of(part),
                )
            case Variable(name) if name == _NOW:
                raise QueryError(
                    "?now is the time of the event where rules act: expected another name",
                    position=places.of(part),
                )
    template = operation.insert if isinstance(operation, Modify) else operation.quads
    for part in nodes(template or ()):
        if isinstance(part, BlankNode):
            raise QueryError(
                "a rule that deletes makes no blank nodes, as what it writes stays: "
                "expected a name, e.g. from BIND(IRI(CONCAT(…)) AS ?new) in the body",
                position=places.of(part),
            )


def _named(pattern: object) -> Iterator[Variable]:
    return (each for each in visible(pattern) if each.name.isidentifier())  # type: ignore[arg-type]


def _text(source: Source, group: tuple[int, int]) -> str:
    return source.text[group[0] : group[1]]


def _before(source: Source, offset: int, length: int) -> Position:
    """Where a text begins that has ``length`` characters before what stands at an offset."""
    at = source.position(offset)
    return Position(at.file, at.line, at.column - length)
