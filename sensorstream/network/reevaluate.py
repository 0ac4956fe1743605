"""What cannot be kept in step is evaluated anew, on Oxigraph, when its graphs have changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

import pyoxigraph as ox

from sensorstream.kb.index import TripleIndex
from sensorstream.kb.occurrences import Scope
from sensorstream.kb.oxigraph import from_oxigraph, subject_to_oxigraph, to_oxigraph
from sensorstream.model.terms import IRI
from sensorstream.network.dispatch import Dispatcher, Watched
from sensorstream.network.node import Node
from sensorstream.network.rows import Bag, Row, net
from sensorstream.network.scope import in_scope
from sensorstream.network.sources import Sources
from sensorstream.sparql.algebra import (
    Graph,
    Join,
    Pattern,
    Project,
    Query,
    Select,
    Values,
    Variable,
    Window,
)
from sensorstream.sparql.printing import query_text
from sensorstream.sparql.walk import replaced

_WINDOW: Final = "urn:sensorstream:stream-window:"


class Reevaluated(Node):
    """The solutions of a whole pattern, from a copy of its graphs: O(content) per instant."""

    __slots__ = ("_bag", "_dispatchers", "_sources", "_stores", "_text")

    def __init__(
        self,
        pattern: Pattern,
        base: IRI | None,
        sources: Sources,
        dispatchers: Callable[[Watched], Dispatcher],
    ) -> None:
        names = (
            tuple(each.name for each in pattern.variables)
            if isinstance(pattern, Project)
            else tuple(sorted(name for name in in_scope(pattern) if name.isidentifier()))
        )
        super().__init__((), names, ())
        if not isinstance(pattern, Project):
            pattern = Project(pattern, tuple(map(Variable, names)))
        self._text = query_text(
            Query(Select(_windows_as_graphs(pattern, sources.named)), base=base)
        )
        self._sources = sources
        self._bag: Bag = {}
        self._dispatchers = [dispatchers(index) for index in sources.indexes()]
        for dispatcher in self._dispatchers:
            dispatcher.follow(self)

    def flush(self) -> None:
        rows = self._evaluated()
        for row, weight in net(rows, self.rows()).items():
            (self.added if weight > 0 else self.removed).extend([row] * abs(weight))
        self._keep(rows)

    def _evaluated(self) -> list[Row]:
        store = ox.Store()
        graphs: list[tuple[Any, TripleIndex | Scope]] = [(ox.DefaultGraph(), self._sources.default)]
        graphs += [(ox.NamedNode(name), each) for name, each in self._sources.named.items()]
        windows = self._sources.windows.items()
        graphs += [(ox.NamedNode(_WINDOW + name), each) for name, each in windows]
        store.bulk_extend(
            ox.Quad(subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o), graph)
            for graph, index in graphs
            for s, p, o in index
        )
        found = store.query(self._text)
        assert isinstance(found, ox.QuerySolutions)
        return [
            tuple(
                None if solution[name] is None else from_oxigraph(solution[name])
                for name in self.variables
            )
            for solution in found
        ]

    def _keep(self, rows: Iterable[Row]) -> None:
        self._bag = net(rows, ())

    def load(self) -> None:
        self._keep(self._evaluated())

    def rows(self) -> Iterable[Row]:
        return (row for row, times in self._bag.items() for _ in range(times))

    def release(self) -> None:
        for dispatcher in self._dispatchers:
            dispatcher.forget(self)

    def size(self) -> int:
        return sum(self._bag.values())

    def describe(self) -> str:
        return "Evaluated anew at every change"


def _windows_as_graphs(pattern: Pattern, named: Collection[IRI]) -> Pattern:
    """The same pattern for an evaluator that knows named graphs, but no windows."""

    def change(node: object) -> object | None:
        if isinstance(node, Window):
            assert isinstance(node.name, IRI)
            return Graph(IRI(_WINDOW + node.name), _windows_as_graphs(node.pattern, named))
        if isinstance(node, Graph) and isinstance(node.name, Variable):
            # The windows are graphs of the copy only: GRAPH ?g must not find them.
            values = Values((node.name,), tuple((name,) for name in named))
            return Join(values, Graph(node.name, _windows_as_graphs(node.pattern, named)))
        return None

    return replaced(pattern, change)
