"""Copies of graphs in Oxigraph, kept in step, for what the network evaluates anew."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Final, TypeAlias

import pyoxigraph as ox

from sensorstream.kb.graph_changes import Changes, QuadStore
from sensorstream.kb.occurrences import WindowScope
from sensorstream.kb.oxigraph_terms import stored, subject_to_oxigraph, term_of
from sensorstream.kb.triple_index import TripleIndex, Watcher
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.network.dispatch import Watched
from sensorstream.network.exact_values import OxigraphQuery


class Merged:
    """All that some graphs say, each triple once.

    ``watchers`` see each triple that enters or leaves it.
    """

    def __init__(self, parts: Sequence[TripleIndex | WindowScope]) -> None:
        self._parts = tuple(parts)
        self.watchers: list[Watcher] = []
        self._watching: list[_Part] = []

    def __iter__(self) -> Iterator[Triple]:
        return iter(dict.fromkeys(chain.from_iterable(self._parts)))

    def __len__(self) -> int:
        """At least the number of its triples."""
        return sum(map(len, self._parts))

    def match(
        self, subject: Subject | None, predicate: IRI | None, object_: Term | None
    ) -> Iterable[Triple]:
        """The triples that fit a pattern; None matches any term."""
        found = (each.match(subject, predicate, object_) for each in self._parts)
        return dict.fromkeys(chain.from_iterable(found))

    def read(self, predicate: Term | None, object_: Term | None) -> None:
        """Tell of triples with this predicate and object; None stands for any."""
        for each in self._parts:
            each.read(predicate, object_)
            others = [other for other in self._parts if other is not each]
            watcher = _Part(self.watchers, others)
            each.watchers.append(watcher)
            self._watching.append(watcher)

    def unread(self, predicate: Term | None, object_: Term | None) -> None:
        """One reader less of such triples."""
        for each in self._parts:
            each.unread(predicate, object_)
        for each in self._parts:
            each.watchers[:] = [w for w in each.watchers if w not in self._watching]
        self._watching.clear()


@dataclass(slots=True, eq=False)
class _Part:
    """Tells of what comes to and goes from one graph, unless another one says it too."""

    watchers: list[Watcher]
    others: list[TripleIndex | WindowScope]

    def added(self, triple: Triple) -> None:
        """See :class:`~sensorstream.kb.triple_index.Watcher`."""
        if not any(triple in each for each in self.others):
            for watcher in self.watchers:
                watcher.added(triple)

    def removed(self, triple: Triple) -> None:
        """See :class:`~sensorstream.kb.triple_index.Watcher`."""
        if not any(triple in each for each in self.others):
            for watcher in self.watchers:
                watcher.removed(triple)


Copied: TypeAlias = TripleIndex | WindowScope | Merged
_NAME: Final = "urn:sensorstream:copy:"


class Copies:
    """One store with a named graph for each index that a query uses.

    No index is copied twice, however many queries read it. A query costs what has changed since
    the last one, and itself.
    """

    def __init__(self) -> None:
        self._quads = QuadStore()
        self._copies: dict[int, _Copy] = {}
        self._numbers = count(1)

    def __len__(self) -> int:
        return len(self._copies)

    def use(self, index: Copied) -> IRI:
        """The name of an index's copy, made if it does not exist yet."""
        copy = self._copies.get(id(index))
        if copy is None:
            name = IRI(f"{_NAME}{next(self._numbers)}")
            copy = self._copies[id(index)] = _Copy(name, index)
        copy.users += 1
        return copy.name

    def leave(self, index: Copied) -> None:
        """Use a copy no more; it goes with its last user."""
        copy = self._copies[id(index)]
        copy.users -= 1
        if not copy.users:
            del self._copies[id(index)]
            copy.close()
            self._quads.drop(copy.graph, copy.size)

    def sync(self, indexes: Iterable[Copied]) -> None:
        """Bring the copies of indexes in step.

        Raises:
            TermError: an index holds an IRI that is not valid.
        """
        for index in indexes:
            self._copies[id(index)].sync(self._quads)

    def select(
        self, query: Callable[[ox.Store], OxigraphQuery], default: IRI, indexes: Collection[Copied]
    ) -> Iterator[tuple[Term | None, ...]]:
        """The solutions of a SELECT query; ``default`` is the copy that is its default graph.

        GRAPH matches the copies of ``indexes`` by their names. No other copy is looked at, so
        that what is wrong with one concerns those only who read it.

        Raises:
            TermError: an index holds an IRI that is not valid.
            QueryError: Oxigraph failed.
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

    def close(self) -> None:
        """Watch no longer."""
        self._watched.watchers.remove(self)
        self._watched.unread(None, None)


class _Copy(IndexChanges):
    """What the copy of an index may hold otherwise."""

    def __init__(self, name: IRI, index: Copied) -> None:
        super().__init__(index, index)
        self.name = name
        self.graph = ox.NamedNode(name)
        self.users = 0
        self.size = 0

    def sync(self, quads: QuadStore) -> None:
        """Bring the copy in step."""
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
