"""Updates to text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from sensorstream.model.terms import IRI
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Operation, Update
from sensorstream.sparql.printing.patterns import content
from sensorstream.sparql.printing.query_forms import dataset_lines
from sensorstream.sparql.printing.term_text import braces, node_text, triple_lines


def update_text(update: Update) -> str:
    """The text of a request, over several lines."""
    return " ;\n".join(map(operation_text, update.operations)) + "\n"


def operation_text(operation: Operation) -> str:
    """The text of one operation."""
    return "\n".join(_lines(operation))


def _lines(operation: Operation) -> Iterator[str]:
    match operation:
        case algebra.InsertData(quads):
            yield from braces("INSERT DATA", _quads(quads))
        case algebra.DeleteData(quads):
            yield from braces("DELETE DATA", _quads(quads))
        case algebra.DeleteWhere(quads):
            yield from braces("DELETE WHERE", _quads(quads))
        case algebra.Modify():
            yield from _modify(operation)
        case algebra.Load(source, target, silent):
            into = "" if target is None else f" INTO GRAPH {target.n3}"
            yield f"LOAD{_silent(silent)} {source.n3}{into}"
        case algebra.Clear(graphs, silent):
            yield f"CLEAR{_silent(silent)} {_graphs(graphs)}"
        case algebra.Drop(graphs, silent):
            yield f"DROP{_silent(silent)} {_graphs(graphs)}"
        case algebra.Create(graph, silent):
            yield f"CREATE{_silent(silent)} GRAPH {graph.n3}"
        case algebra.Transfer(verb, source_graph, target_graph, silent):
            yield f"{verb}{_silent(silent)} {_graph(source_graph)} TO {_graph(target_graph)}"


def _modify(operation: algebra.Modify) -> Iterator[str]:
    if operation.base is not None:
        yield f"BASE {operation.base.n3}"
    if operation.graph is not None:
        yield f"WITH {operation.graph.n3}"
    if operation.delete is not None:
        yield from braces("DELETE", _quads(operation.delete))
    if operation.insert is not None:
        yield from braces("INSERT", _quads(operation.insert))
    yield from dataset_lines(operation.using, "USING")
    yield from braces("WHERE", content(operation.pattern))


def _quads(quads: tuple[algebra.Quad, ...]) -> Iterator[str]:
    for graph, members in groupby(quads, key=lambda quad: quad.graph):
        lines = triple_lines(quad.triple for quad in members)
        if graph is None:
            yield from lines
        else:
            yield from braces(f"GRAPH {node_text(graph)}", lines)


def _silent(silent: bool) -> str:
    return " SILENT" if silent else ""


def _graphs(graphs: IRI | algebra.GraphSet) -> str:
    return graphs.value if isinstance(graphs, algebra.GraphSet) else f"GRAPH {graphs.n3}"


def _graph(graph: IRI | None) -> str:
    return "DEFAULT" if graph is None else f"GRAPH {graph.n3}"
