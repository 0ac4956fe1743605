"""Several graphs as one, for what is evaluated anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from sensorstream.kb.index import TripleIndex, Watcher
from sensorstream.kb.occurrences import Scope
from sensorstream.model.terms import IRI, Subject, Term, Triple


class Merged:
    """All that some graphs say, each triple once.

    ``watchers`` see each triple that enters or leaves it.
    """

    def __init__(self, parts: Sequence[TripleIndex | Scope]) -> None:
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


class _Part:
    """Tells of what comes to and goes from one graph, unless another one says it too."""

    __slots__ = ("_others", "_watchers")

    def __init__(self, watchers: list[Watcher], others: list[TripleIndex | Scope]) -> None:
        self._watchers = watchers
        self._others = others

    def added(self, triple: Triple) -> None:
        """See :class:`~sensorstream.kb.index.Watcher`."""
        if not any(triple in each for each in self._others):
            for watcher in self._watchers:
                watcher.added(triple)

    def removed(self, triple: Triple) -> None:
        """See :class:`~sensorstream.kb.index.Watcher`."""
        if not any(triple in each for each in self._others):
            for watcher in self._watchers:
                watcher.removed(triple)
