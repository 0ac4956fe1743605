"""What a rule may not hold, with its place and the way out."""

from __future__ import annotations

from typing import Final

from sensorstream.errors import Position, QueryError
from sensorstream.reasoning.rulesets.graphs_read import NAMED
from sensorstream.sparql.algebra import (
    Call,
    DeleteData,
    DeleteWhere,
    Equals,
    EqualsOptional,
    Graph,
    InsertData,
    Modify,
    Operation,
    OptionalSeq,
    Pattern,
    Seq,
    Service,
    Slice,
    Window,
)
from sensorstream.sparql.functions import OF_EVENTS, UNREPEATABLE
from sensorstream.sparql.places import Places
from sensorstream.sparql.printing.term_text import node_text
from sensorstream.sparql.walk import nodes

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
