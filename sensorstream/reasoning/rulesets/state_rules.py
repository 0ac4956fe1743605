"""What a rule may not hold, and the rules that delete, which are run as semantic rules.

A rule that deletes switches state. ``DELETE { … } INSERT { … } WHERE { body }`` becomes ``when
select { SELECT * { body } } becomes true then sparql { DELETE { … } INSERT { … } WHERE {} }``: once
for each solution that was not there before, after all has followed that does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sensorstream.errors import Position, QueryError
from sensorstream.language import syntax
from sensorstream.model.terms import BlankNode
from sensorstream.reasoning.rulesets.blocks import Block
from sensorstream.reasoning.rulesets.graphs_read import NAMED
from sensorstream.sparql.algebra import (
    BGP,
    Call,
    DeleteData,
    DeleteWhere,
    Each,
    Equals,
    EqualsOptional,
    Graph,
    InsertData,
    Modify,
    Operation,
    OptionalSeq,
    Pattern,
    Query,
    Seq,
    Service,
    Slice,
    Variable,
    Window,
)
from sensorstream.sparql.functions import OF_EVENTS, UNREPEATABLE
from sensorstream.sparql.lexer import Source
from sensorstream.sparql.parser import read_query
from sensorstream.sparql.places import Places
from sensorstream.sparql.printing.term_text import node_text
from sensorstream.sparql.walk import nodes, visible

_FORM: Final = (
    "expected INSERT { … } WHERE { … }, INSERT DATA { … } for what holds in any case, or "
    "DELETE { … } INSERT { … } WHERE { … }"
)
_DATA: Final = (
    "DELETE DATA: what holds in any case cannot go: leave the triples out; what is to be deleted "
    "when something happens has a body: expected DELETE { … } WHERE { … }"
)
_TEMPORAL: Final = (Seq, Equals, OptionalSeq, EqualsOptional)


def checked_operation(
    operation: Operation, position: Position, places: Places
) -> Modify | InsertData | DeleteWhere:
    """An update that states what follows, what holds, or how state switches.

    ``places`` are those of the parts of the text, from the rule on.

    Raises:
        QueryError: it is another one, or names graphs.
    """
    match operation:
        case InsertData(quads) | DeleteWhere(quads):
            graphs = [each.graph for each in quads if each.graph is not None]
        case Modify():
            if operation.graph is not None or operation.using.default or operation.using.named:
                raise QueryError(
                    "WITH and USING: a rule reads all graphs as one, and its conclusions are a "
                    f"graph of their own: {_FORM}",
                    position=position,
                )
            templates = (*(operation.insert or ()), *(operation.delete or ()))
            graphs = [each.graph for each in templates if each.graph is not None]
        case DeleteData():
            raise QueryError(_DATA, position=position)
        case _:
            name = type(operation).__name__.upper()
            raise QueryError(f"{name} is no rule: {_FORM}", position=position)
    if graphs:
        raise QueryError(
            f"GRAPH {node_text(graphs[0])}: conclusions are a graph of their own, without named "
            "ones: write the triples without GRAPH",
            position=places.of(graphs[0]),
        )
    return operation


def check_body(pattern: Pattern, places: Places) -> None:
    """Refuse what a body may not hold.

    ``places`` are those of the parts of the text, from the rule on.

    Raises:
        QueryError: a part that is not of the graph (SERVICE, GRAPH, WINDOW), that depends on an
            order (LIMIT) or on time, or whose value is another one each time.
    """
    for part in nodes(pattern):
        told = _refusal(part)
        if told:
            raise QueryError(told, position=places.of(part))


def _refusal(part: object) -> str:
    match part:
        case Service():
            return "SERVICE: a rule sends no requests: expected patterns over the graph alone"
        case Graph(name, _) if name not in NAMED:
            told = ", ".join(f"<{each}>" for each in NAMED)
            return (
                f"GRAPH {node_text(name)}: rules tell {told} apart from all graphs together, of "
                "which the named graphs of messages are part: write its patterns without GRAPH"
            )
        case Window(name, _):
            told = "a rule reads the window of the messages: leave WINDOW out"
            return f"WINDOW {node_text(name)}: {told}"
        case Slice():
            return (
                "LIMIT and OFFSET: which solutions are the first is not defined in a graph: "
                "expected all solutions, or a condition with FILTER"
            )
        case Call(name) if name in UNREPEATABLE:
            return (
                f"{name}() has another value each time, so its conclusions could not be taken back:"
                " compute the value from what the body binds"
            )
        case Call(name) if name in OF_EVENTS:
            return f"{name}() is of patterns in time (SEQ): expected values of the graph"
    if isinstance(part, _TEMPORAL):
        name = type(part).__name__.upper()
        return f"{name}: a rule knows no time: register a query with {name} instead"
    return ""


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
