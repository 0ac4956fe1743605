"""The source of occurrences for patterns in time: all streams, in the order of their ends.

An occurrence waits until the end of its interval is over: then everything that ends with it is
there, and is handed on as one instant. The conclusions of CONSTRUCT queries from the instant are
handed on within it, in rounds; a query that has to know that something is *not* there gets the
instant when all queries that could add it are done (its stratum).

Source: "EP-SPARQL", section 4.2 (streams, the closure under CONSTRUCT).
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, TypeAlias

from sensorstream.errors import Overrun
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import rdf
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.graph_components import prune
from sensorstream.network.intervals.interval_node import TimedNode
from sensorstream.network.plan.nodes import KnownPlan as KnownPlan
from sensorstream.network.plan.nodes import Occurrence, constant
from sensorstream.network.query_sources import Knowledge
from sensorstream.network.recursion.triple_kinds import Conclusions, steps
from sensorstream.network.rows import ALWAYS, Row, compiled
from sensorstream.sparql.algebra import Variable

_MOST_ROUNDS: Final = 1000
"""Rounds of one instant, in case triples make further triples without end."""
_SWEEP: Final = 256
"""Events between two sweeps."""
_MOST_TYPES: Final = 65_536
"""Classes whose superclasses are remembered."""


Fit: TypeAlias = Callable[[Term, Term, Term, Any, Any], Any]


class PatternOccurrences(TimedNode):
    """The occurrences that fit a pattern; without a stream, also what the background says of it.

    It keeps nothing. ``predicate`` and ``object`` None stand for any term, ``stream`` None for all,
    each occurrence once. ``fit`` makes the row of an occurrence with those terms, or None; readers
    of one ``shape`` have the same rows. It sees what came after its query, number ``since``, began.
    """

    def __init__(self, pattern: Occurrence, source: OccurrenceSource, knowledge: Knowledge) -> None:
        super().__init__((), pattern.variables, pattern.certain)
        self._pattern = pattern
        self._source = source
        self._knowledge = knowledge
        self.predicate = constant(pattern.predicate)
        self.object = constant(pattern.object)
        self.stream = pattern.stream
        self.fit, self.shape = _fitting(pattern)
        self.since = 0

    def flush(self) -> None:
        """Do nothing: the source has added the rows already."""

    def renew(self) -> None:
        pattern = self._pattern
        if pattern.stream is not None:
            return
        ends: tuple[Any, Any, Any] = (constant(pattern.subject), self.predicate, self.object)
        found = (self.fit(*t, *ALWAYS) for t in self._knowledge.match(*ends))
        self.always = [row for row in found if row is not None]

    def load(self) -> None:
        self._source.subscribe(self)
        self.renew()

    def release(self) -> None:
        self._source.forget(self)


class KnownRows(TimedNode):
    """The triples, or the ends of paths, that hold always and fit a pattern: no interval.

    ``ends`` gives the ends of its path over some triples. Solutions are a set: equal ends count
    once.
    """

    def __init__(
        self,
        pattern: KnownPlan,
        index: TripleIndex,
        holds: Callable[[Triple], bool],
        ends: Callable[[KnownPlan, Iterable[Triple]], Iterable[Row]],
    ) -> None:
        super().__init__((), pattern.variables, pattern.certain)
        self._pattern = pattern
        self._index = index
        self._holds = holds
        self._ends = ends

    def flush(self) -> None:
        """Do nothing: what holds always does not change."""

    def renew(self) -> None:
        pattern = self._pattern
        if pattern.path is not None:
            # A path that may be empty leads from each node to itself: all triples count.
            used = dict.fromkeys(steps(pattern.path))
            triples = chain.from_iterable(
                self._holding(None, each, None) for each in ([None] if None in used else used)
            )
            found = [(*ALWAYS, *row) for row in self._ends(pattern, triples)]
        else:
            fit, _ = _fitting(pattern)
            holding = self._holding(*map(constant, pattern.ends))
            fitting = (fit(*each, *ALWAYS) for each in holding)
            found = [row for row in fitting if row is not None]
        self.always = list(dict.fromkeys(found))

    def _holding(self, *ends: Any) -> Iterator[Triple]:
        for each in self._index.match(*ends):
            self.meter.take(1)
            if self._holds(each):
                yield each


def _fitting(pattern: Occurrence | KnownPlan) -> tuple[Fit, Hashable]:
    """A function that makes a row of an occurrence, or None, and the key of equal functions."""
    cells, tests = dict[str, str](), list[str]()
    constants: list[Term] = []
    for end, place in zip(pattern.ends, "spo", strict=True):
        if not isinstance(end, Variable):
            if place == "s":
                tests.append("s == c")
                constants.append(end)
        elif end.name in cells:
            tests.append(f"{cells[end.name]} == {place}")
        else:
            cells[end.name] = place
    if isinstance(pattern, Occurrence) and pattern.label:
        cells[pattern.label] = "(s, p, o, a, b)"
    row = f"({', '.join(['a', 'b', *cells.values()])})"
    text = f"{row} if {' and '.join(tests)} else None" if tests else row
    made = compiled(f"lambda c: lambda s, p, o, a, b: {text}")
    constant = constants[0] if constants else None
    return made(constant), (text, constant)


_Alike: TypeAlias = list[dict[PatternOccurrences, None]]
"""Readers, grouped by shape."""


class _Readers:
    """Readers by predicate, object and shape."""

    __slots__ = ("_by_predicate", "_known")

    def __init__(self) -> None:
        self._by_predicate: dict[
            Term | None, dict[Term | None, dict[Hashable, dict[PatternOccurrences, None]]]
        ] = {}
        # The answers of `of` for predicates that are read, and for all others (None), by object.
        self._known: dict[Term | None, dict[Term | None, _Alike]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_predicate)

    def add(self, reader: PatternOccurrences) -> None:
        self._known.clear()
        by_object = self._by_predicate.setdefault(reader.predicate, {})
        by_object.setdefault(reader.object, {}).setdefault(reader.shape, {})[reader] = None

    def remove(self, reader: PatternOccurrences) -> None:
        self._known.clear()
        prune(self._by_predicate, reader.predicate, reader.object, reader.shape, reader)

    def of(self, predicate: Term, object_: Term) -> _Alike:
        """The readers of triples with these terms, grouped by shape."""
        known = self._known.get(predicate) or self.by_object(predicate)
        return known.get(object_) or known[None]

    def by_object(self, predicate: Term) -> dict[Term | None, _Alike]:
        """The readers of triples with a predicate: of objects that some want, of others (None)."""
        read = predicate if predicate in self._by_predicate else None
        if read not in self._known:
            self._known[read] = self._by_object(read)
        return self._known[read]

    def _by_object(self, predicate: Term | None) -> dict[Term | None, _Alike]:
        """The readers of triples with a predicate, by the objects that some of them want."""
        read = [self._by_predicate.get(each, {}) for each in dict.fromkeys((predicate, None))]
        return {
            object_: [
                alike
                for by_object in read
                for wanted in dict.fromkeys((object_, None))
                for alike in by_object.get(wanted, {}).values()
            ]
            for object_ in dict.fromkeys((None, *chain.from_iterable(read)))
        }


@frozen
class OpenOccurrences:
    """Occurrences of one interval that is not over."""

    start: Instant
    end: Instant
    triples: tuple[Triple, ...]
    queries: int | None = None
    """The number of queries that see them, in the order they began; None: all."""
    stream: IRI | None = None
    """The stream whose readers get them; None: readers of all streams."""


_Waiting: TypeAlias = dict[tuple[Triple, Instant, IRI | None], int]
_Streams: TypeAlias = dict[IRI | None, _Readers]
"""Readers by the stream that they want."""
_ALL: Final = (None,)


class OccurrenceSource:
    """Hands occurrences to the patterns that read them; owned by a stream processor.

    ``conclusions`` are the triples that follow from one triple: they occur when it does; those of a
    type depend on the class alone. ``wake`` is called with readers that have got something,
    ``sweep`` now and then with the time: an operator that nothing reaches any more cannot let go of
    what is too old by itself.
    """

    def __init__(
        self,
        conclusions: Conclusions,
        wake: Callable[[Any], None],
        sweep: Callable[[Instant], None],
    ) -> None:
        self._conclusions = conclusions
        # The wanted types of an individual, by stream and the type that was said.
        self._types: dict[IRI | None, dict[Term, tuple[Term, ...]]] = {None: {}}
        self._wake = wake
        self._sweep = sweep
        self._taken = 0
        # By end: occurrences as triple, start and stream, each once, in order of arrival, with the
        # number of the query that began last before they came. An occurrence wanted by readers
        # of its stream and by readers of all streams is stored twice.
        self._waiting: dict[Instant, _Waiting] = {}
        self._number = 0
        self._ends: list[Instant] = []
        # The readers of each stratum.
        self._readers: dict[int, _Streams] = {}
        self._order: tuple[int, ...] = ()
        # The readers of all strata.
        self._all: _Streams = {None: _Readers()}
        self._strata: dict[PatternOccurrences, int] = {}
        # The number of occurrences of the instant at work that each stratum has got.
        self._given: dict[int, int] = {}
        self._rounds = 0
        self.fed = 0
        """The number of queries that add triples to the stream."""
        self.overrun: Overrun | None = None
        """The reason why the instant at work has been given up, if it has been."""

    # -- readers ----------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        return not self._strata

    def subscribe(self, reader: PatternOccurrences) -> None:
        """Add a reader of the query that begins next."""
        reader.since = self._number + 1
        self._place(reader, 0)

    def begin(self) -> None:
        self._number += 1

    def forget(self, reader: PatternOccurrences) -> None:
        stratum = self._strata.pop(reader, None)
        if stratum is None:
            return
        stream = reader.stream
        self._forget_types()
        self._all[stream].remove(reader)
        if stream is not None and not self._all[stream]:
            del self._all[stream]
        streams = self._readers[stratum]
        streams[stream].remove(reader)
        if not streams[stream]:
            del streams[stream]
        if not streams:
            del self._readers[stratum]
            self._order = tuple(sorted(self._readers))
            self._given.pop(stratum, None)
        if not self._strata:
            self._waiting.clear()
            self._ends.clear()
            self._given.clear()

    def move(self, reader: PatternOccurrences, stratum: int) -> None:
        """Give each instant to a reader only after all lower strata are done with it."""
        if self._strata.get(reader) != stratum:
            self.forget(reader)
            self._place(reader, stratum)

    def _place(self, reader: PatternOccurrences, stratum: int) -> None:
        self._strata[reader] = stratum
        for streams in (self._all, self._readers.setdefault(stratum, {})):
            streams.setdefault(reader.stream, _Readers()).add(reader)
        self._forget_types()
        self._order = tuple(sorted(self._readers))

    def renew(self) -> None:
        """Note that other triples may follow from a triple than before."""
        self._forget_types()

    def _forget_types(self) -> None:
        self._types = {stream: {} for stream in self._all}

    # -- occurrences ------------------------------------------------------------------------

    def take(
        self, triples: Sequence[Triple], start: Instant, end: Instant, stream: IRI | None = None
    ) -> None:
        """Take in triples of an interval that is not over, in a stream if it has a name."""
        if not self._strata:
            return
        self._taken += 1
        if self._taken % _SWEEP == 0:
            self._sweep(min([start, *self._ends[:1]]))
        readers = _ALL if stream is None or stream not in self._all else (None, stream)
        self._put(triples, start, end, readers)

    def _put(
        self,
        triples: Iterable[Triple],
        start: Instant,
        end: Instant,
        streams: Iterable[IRI | None],
    ) -> None:
        """Store triples, until their end, for the readers of some streams."""
        wanted: _Waiting = {}
        number = self._number
        for stream in streams:
            of, types_of = self._all[stream].of, self._types[stream]
            for triple in triples:
                if triple[1] == rdf.TYPE:
                    types = types_of.get(triple[2])
                    if types is None:
                        types = self._wanted_types(triple, stream)
                    for each in types:
                        wanted[(triple[0], rdf.TYPE, each), start, stream] = number
                    continue
                if of(triple[1], triple[2]):
                    wanted[triple, start, stream] = number
                for follows in self._conclusions(triple):
                    if of(follows[1], follows[2]):
                        wanted[follows, start, stream] = number
        if not wanted:
            return
        waiting = self._waiting.get(end)
        if waiting is None:
            self._waiting[end] = wanted
            heapq.heappush(self._ends, end)
        else:
            waiting.update(wanted)

    def _wanted_types(self, triple: Triple, stream: IRI | None) -> tuple[Term, ...]:
        known = self._types[stream]
        if len(known) >= _MOST_TYPES:
            known.clear()
        types = dict.fromkeys([triple[2], *[each[2] for each in self._conclusions(triple)]])
        read = self._all[stream].by_object(rdf.TYPE)
        found = known[triple[2]] = tuple([e for e in types if read.get(e) or read[None]])
        return found

    @property
    def due(self) -> Instant | None:
        """The end that is to be worked off next."""
        return self._ends[0] if self._ends else None

    @property
    def last(self) -> Instant | None:
        """The latest end of waiting occurrences."""
        return max(self._ends, default=None)

    def elapse(self, time: Instant, below: int | None = None) -> bool:
        """Hand a round of the instant ``time`` to the lowest stratum that lacks something.

        ``below``: only to strata below that; returns False if none of them lacks anything.
        """
        if below is None and not self.fed and not self._given:
            self.elapse_before(time + 1)
            return True
        occurrences = self._waiting[time]
        for stratum in self._order:
            if below is not None and stratum >= below:
                return False
            given = self._given.get(stratum, 0)
            if given < len(occurrences):
                self._rounds += 1
                if self._rounds > _MOST_ROUNDS:
                    self.overrun = Overrun(
                        "the triples that CONSTRUCT queries add to the stream make further ones "
                        f"without end: more than {_MOST_ROUNDS} rounds at one time"
                    )
                    break
                self._given[stratum] = len(occurrences)
                self._hand_on(stratum, [(time, list(occurrences.items())[given:])])
                if self.fed:
                    return True
        self._given.clear()
        self._rounds = 0
        del self._waiting[heapq.heappop(self._ends)]
        return True

    def elapse_before(self, time: Instant) -> None:
        """Hand on all instants before a time at once; no query may add to the stream."""
        instants, ends, waiting = [], self._ends, self._waiting
        while ends and ends[0] < time:
            end = heapq.heappop(ends)
            instants.append((end, waiting.pop(end).items()))
        for stratum in self._order:
            self._hand_on(stratum, instants)

    def _hand_on(
        self, stratum: int, instants: Iterable[tuple[Instant, Iterable[tuple[Any, int]]]]
    ) -> None:
        streams = self._readers[stratum]
        of_all = streams[None].of if None in streams else lambda _predicate, _object: []
        for end, occurrences in instants:
            for ((subject, predicate, object_), start, stream), number in occurrences:
                if stream is None:
                    found = of_all(predicate, object_)
                elif stream in streams:
                    found = streams[stream].of(predicate, object_)
                else:
                    continue
                for same in found:
                    row: Any = self
                    for reader in same:
                        if reader.since > number:
                            continue
                        if row is self:
                            row = reader.fit(subject, predicate, object_, start, end)
                            if row is None:
                                break
                        reader.added.append(row)
                        if not reader.queued:
                            self._wake(reader)

    # -- at rest ----------------------------------------------------------------------------

    def state(self) -> tuple[OpenOccurrences, ...]:
        """The waiting occurrences in order; to be read between two events."""
        found: list[OpenOccurrences] = []
        began = self._began()
        for end in sorted(self._ends):
            alike: dict[tuple[Instant, int, IRI | None], list[Triple]] = {}
            for (triple, start, stream), number in self._waiting[end].items():
                seen = bisect_right(began, number)
                alike.setdefault((start, seen, stream), []).append(triple)
            found += [
                OpenOccurrences(start, end, tuple(triples), seen, stream)
                for (start, seen, stream), triples in alike.items()
            ]
        return tuple(found)

    def _began(self) -> list[int]:
        """The numbers of the queries, in order."""
        return sorted({reader.since for reader in self._strata})

    def restore(self, waiting: Iterable[OpenOccurrences]) -> None:
        """Take a :meth:`state` back, after the readers have been added."""
        began, latest = [0, *self._began()], self._number
        for each in waiting:
            seen = len(began) if each.queries is None else each.queries
            self._number = began[min(seen, len(began) - 1)]
            if each.stream in self._all:
                self._put(each.triples, each.start, each.end, (each.stream,))
        self._number = latest
