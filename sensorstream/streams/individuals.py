"""The content of a window of individuals: each enters and leaves with all its triples."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

from sensorstream.kb.index import TripleIndex
from sensorstream.kb.occurrences import StreamElement
from sensorstream.model.terms import IRI, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.model.vocabulary import RDF_TYPE


class Individuals:
    """Individuals with all that was said of them since they came (SensorStream, eq. 6 and 7).

    Only instances of ``instances_of``, where it is given. ``graph`` holds their triples.
    """

    __slots__ = ("_class", "_times", "graph")

    def __init__(self, instances_of: IRI | None) -> None:
        self.graph = TripleIndex()
        self._class = instances_of
        self._times: OrderedDict[Subject, Instant] = OrderedDict()

    def elements_in(self, triples: Sequence[Triple]) -> int:
        """How many new individuals an event brings."""
        return sum(subject not in self._times for subject in self._subjects(triples))

    def _subjects(self, triples: Iterable[Triple]) -> dict[Subject, None]:
        if self._class is None:
            return dict.fromkeys(triple[0] for triple in triples)
        found = {s for s, p, o in triples if p == RDF_TYPE and o == self._class}
        return dict.fromkeys(t[0] for t in triples if t[0] in found or t[0] in self._times)

    def take(self, element: StreamElement) -> None:
        """Let an event happen, at or after all before it."""
        for subject in self._subjects(element.triples):
            self._times[subject] = element.time
            self._times.move_to_end(subject)
        for triple in element.triples:
            if triple[0] in self._times and triple not in self.graph:
                self.graph.add(triple)

    @property
    def empty(self) -> bool:
        """Whether it holds no individual."""
        return not self._times

    @property
    def oldest(self) -> Instant | None:
        """The time of the individual that appeared least recently."""
        return next(iter(self._times.values()), None)

    def leave_until(self, last: Instant) -> None:
        """Let those go that appeared last at a time or before."""
        while (oldest := self.oldest) is not None and oldest <= last:
            self._leave()

    def keep(self, count: int) -> None:
        """Let those go that appeared least recently, until no more than ``count`` are left."""
        while len(self._times) > count:
            self._leave()

    def _leave(self) -> None:
        subject, _ = self._times.popitem(last=False)
        for triple in list(self.graph.match(subject, None, None)):
            self.graph.discard(triple)

    def elements(self) -> Iterator[StreamElement]:
        """What makes it what it is, were it to happen again, oldest first."""
        for subject, time in self._times.items():
            yield StreamElement(time, time, tuple(self.graph.match(subject, None, None)))

    def size(self) -> int:
        """The number of its triples."""
        return len(self.graph)
