"""Copies of graphs in Oxigraph, kept in step, for what the network evaluates anew."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import ClassVar, Final, TypeAlias

import pyoxigraph as ox

from sensorstream.kb.graph_changes import Changes, QuadStore
from sensorstream.kb.occurrences import WindowScope
from sensorstream.kb.oxigraph_terms import stored, subject_to_oxigraph, term_of
from sensorstream.kb.triple_index import TripleIndex, Watcher
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.network.dispatch import Watched
from sensorstream.network.exact_values import OxigraphQuery


class Merged:
    """The union of some graphs; ``watchers`` see each triple that enters or leaves it."""

    def __init__(self, parts: Sequence[TripleIndex | WindowScope]) -> None:
        self._parts = tuple(parts)
        self.watchers: list[Watcher] = []
        self._watching: list[_Part] = []

    def __iter__(self) -> Iterator[Triple]:
        return iter(dict.fromkeys(chain.from_iterable(self._parts)))

    def __len__(self) -> int:
        """An upper bound of the number of its triples."""
        return sum(map(len, self._parts))

    def match(
        self, subject: Subject | None, predicate: IRI | None, object_: Term | None
    ) -> Iterable[Triple]:
        found = (each.match(subject, predicate, object_) for each in self._parts)
        return dict.fromkeys(chain.from_iterable(found))

    def read(self, predicate: Term | None, object_: Term | None) -> None:
        """Begin to tell watchers of triples with this predicate and object (None: any)."""
        for each in self._parts:
            each.read(predicate, object_)
            others = [other for other in self._parts if other is not each]
            watcher = _Part(self.watchers, others)
            each.watchers.append(watcher)
            self._watching.append(watcher)

    def unread(self, predicate: Term | None, object_: Term | None) -> None:
        """Stop what :meth:`read` began."""
        for each in self._parts:
            each.unread(predicate, object_)
        for each in self._parts:
            each.watchers[:] = [w for w in each.watchers if w not in self._watching]
        self._watching.clear()


@dataclass(slots=True, eq=False)
class _Part:
    """Tells watchers of the changes of one graph, unless another one has the triple too."""

    watchers: list[Watcher]
    others: list[TripleIndex | WindowScope]

    joined: ClassVar = ()

    def changed(self, triples: Sequence[Triple], comes: bool) -> None:
        told = [each for each in triples if not any(each in other for other in self.others)]
        for watcher in self.watchers if told else ():
            watcher.changed(told, comes)


Copied: TypeAlias = TripleIndex | WindowScope | Merged
_NAME: Final = "urn:sensorstream:copy:"


class Copies:
    """A store with a named graph for each index that a query uses.

    No index is copied twice, however many queries read it. A query costs what has changed since the
    last one, and its evaluation.
    """

    def __init__(self) -> None:
        self._quads = QuadStore()
        self._copies: dict[int, _Copy] = {}
        self._numbers = count(1)

    def __len__(self) -> int:
        return len(self._copies)

    def use(self, index: Copied) -> IRI:
        """Return the name of an index's copy, made if it does not exist yet."""
        copy = self._copies.get(id(index))
        if copy is None:
            name = IRI(f"{_NAME}{next(self._numbers)}")
            copy = self._copies[id(index)] = _Copy(name, index)
        copy.users += 1
        return copy.name

    def leave(self, index: Copied) -> None:
        """End one use of a copy; it is removed with its last user."""
        copy = self._copies[id(index)]
        copy.users -= 1
        if not copy.users:
            del self._copies[id(index)]
            copy.close()
            self._quads.drop(copy.graph, copy.size)

    def sync(self, indexes: Iterable[Copied]) -> None:
        """Bring the copies of indexes in step; raises TermError at an IRI that is not valid."""
        for index in indexes:
            self._copies[id(index)].sync(self._quads)

    def select(
        self, query: Callable[[ox.Store], OxigraphQuery], default: IRI, indexes: Collection[Copied]
    ) -> Iterator[tuple[Term | None, ...]]:
        """The solutions of a SELECT query; ``default`` is the copy that is its default graph.

        GRAPH matches the copies of ``indexes`` by their names. No other copy is read, so a fault in
        one concerns only its readers. Raises TermError if an index holds an IRI that is not valid,
        and QueryError if Oxigraph failed.
        """
        self.sync(indexes)
        names = [self._copies[id(index)].name for index in indexes]
        asked = query(self._quads.store)
        found = asked.answer(self._quads.store, [default], names)
        assert isinstance(found, ox.QuerySolutions)
        for solution in found:
            yield tuple(None if each is None else term_of(each) for each in solution)
        asked.check()


class IndexChanges(Changes[Triple]):
    """The changes of an index; ``held`` is what a copy of it lacks at first."""

    def __init__(self, index: Watched | Merged, held: Iterable[Triple] = ()) -> None:
        super().__init__(held)
        self._watched = index
        index.read(None, None)
        index.watchers.append(self)

    joined: ClassVar = ()

    def close(self) -> None:
        self._watched.watchers.remove(self)
        self._watched.unread(None, None)


class _Copy(IndexChanges):
    """The differences between an index and its copy in Oxigraph."""

    def __init__(self, name: IRI, index: Copied) -> None:
        super().__init__(index, index)
        self.name = name
        self.graph = ox.NamedNode(name)
        self.users = 0
        self.size = 0

    def sync(self, quads: QuadStore) -> None:
        if len(self):
            added, removed = map(self._in_graph, self.read())
            quads.change(added, removed)
            self.done()
            self.size += len(added) - len(removed)

    def _in_graph(self, triples: Iterable[Triple]) -> list[ox.Quad]:
        return [
            ox.Quad(subject_to_oxigraph(s), ox.NamedNode(p), stored(o), self.graph)
            for s, p, o in triples
        ]
