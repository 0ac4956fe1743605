"""Where patterns in time get their occurrences from: all streams, in the order of their ends.

An occurrence waits until the end of its interval is over: then all that ends with it is there, and
is handed on as one instant. What CONSTRUCT queries make of the instant is handed on within it, in
rounds; a query that has to know that something is *not* there gets the instant when all queries
that could say it are done (its stratum).

Source: "EP-SPARQL", section 4.2 (streams, the closure under CONSTRUCT).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from sensorstream.errors import Overrun
from sensorstream.model.terms import Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.node import Node

_MOST_ROUNDS: Final = 1000
"""Rounds of one instant: triples that make further triples go on no longer."""
_SWEEP: Final = 256
"""Events between two sweeps."""
Conclusions: TypeAlias = Callable[[Triple], Iterable[Triple]]


class Reader(Protocol):
    """A pattern that wants occurrences; None stands for any term."""

    predicate: Term | None
    object: Term | None

    def take(self, triple: Triple, start: Instant, end: Instant) -> bool:
        """An occurrence with those terms; whether it fits the pattern."""


_Readers: TypeAlias = dict[Term | None, dict[Term | None, dict[Reader, None]]]
_NONE: Final[Mapping[Term | None, Mapping[Reader, None]]] = {}


def _wanted(readers: _Readers, triple: Triple) -> bool:
    """Whether any reader has the terms of a triple."""
    for by_object in (readers.get(triple[1]), readers.get(None)):
        if by_object is not None and (None in by_object or triple[2] in by_object):
            return True
    return False


def _take_out(readers: _Readers, reader: Reader) -> None:
    by_object = readers[reader.predicate]
    del by_object[reader.object][reader]
    if not by_object[reader.object]:
        del by_object[reader.object]
        if not by_object:
            del readers[reader.predicate]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Occurrences whose interval is not over: those of one interval together."""

    start: Instant
    end: Instant
    triples: tuple[Triple, ...]


class Occurring:
    """Hands occurrences to the patterns that read them; owned by a stream processor.

    ``conclusions`` are the triples that follow from one triple: they occur when it does. ``wake``
    is told of readers that have got something. ``sweep`` is called now and then with the time: an
    operator that nothing reaches any more cannot let go of what is too old by itself.
    """

    closing: Final = True

    def __init__(
        self,
        conclusions: Conclusions,
        wake: Callable[[Node], None],
        sweep: Callable[[Instant], None],
    ) -> None:
        self.conclusions = conclusions
        self._wake = wake
        self._sweep = sweep
        self._taken = 0
        # By end: occurrences as triple and start, each once, in order of arrival.
        self._waiting: dict[Instant, dict[tuple[Triple, Instant], None]] = {}
        self._ends: list[Instant] = []
        # By stratum, predicate and object; None stands for any.
        self._readers: dict[int, _Readers] = {}
        # The same, of all strata.
        self._all: _Readers = {}
        self._strata: dict[Reader, int] = {}
        # How much of the instant at work each stratum has got.
        self._given: dict[int, int] = {}
        self._rounds = 0
        self.fed = 0
        """How many queries add triples to the stream."""
        self.overrun: Overrun | None = None
        """Why the instant at work has been given up, if it has been."""

    # -- readers ----------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether nobody reads."""
        return not self._strata

    def subscribe(self, reader: Reader) -> None:
        """Begin to hand occurrences to a reader."""
        self._place(reader, 0)

    def forget(self, reader: Reader) -> None:
        """Hand nothing more to a reader."""
        stratum = self._strata.pop(reader, None)
        if stratum is None:
            return
        _take_out(self._all, reader)
        readers = self._readers[stratum]
        _take_out(readers, reader)
        if not readers:
            del self._readers[stratum]
            self._given.pop(stratum, None)
        if not self._strata:
            self._waiting.clear()
            self._ends.clear()
            self._given.clear()

    def move(self, reader: Reader, stratum: int) -> None:
        """Let a reader have each instant after all lower strata are done with it."""
        if self._strata.get(reader) != stratum:
            self.forget(reader)
            self._place(reader, stratum)

    def _place(self, reader: Reader, stratum: int) -> None:
        self._strata[reader] = stratum
        for readers in (self._all, self._readers.setdefault(stratum, {})):
            readers.setdefault(reader.predicate, {}).setdefault(reader.object, {})[reader] = None

    # -- occurrences ------------------------------------------------------------------------

    def take(self, triples: Sequence[Triple], start: Instant, end: Instant) -> None:
        """Triples happen in an interval whose end is not over."""
        if self.idle:
            return
        self._taken += 1
        if self._taken % _SWEEP == 0:
            self._sweep(start)
        wanted: dict[tuple[Triple, Instant], None] = {}
        for triple in triples:
            if _wanted(self._all, triple):
                wanted[triple, start] = None
            for each in self.conclusions(triple):
                if _wanted(self._all, each):
                    wanted[each, start] = None
        if not wanted:
            return
        waiting = self._waiting.get(end)
        if waiting is None:
            self._waiting[end] = wanted
            heapq.heappush(self._ends, end)
        else:
            waiting.update(wanted)

    @property
    def due(self) -> Instant | None:
        """The end that is to be worked off next."""
        return self._ends[0] if self._ends else None

    @property
    def last(self) -> Instant | None:
        """The latest end of all that waits."""
        return max(self._ends, default=None)

    def skip(self, time: Instant) -> None:
        """Nothing is left out: each end is an instant of its own."""

    def elapse(self, time: Instant) -> None:
        """Hand on a round of the instant ``time``: to the lowest stratum that lacks something."""
        occurrences = self._waiting[time]
        for stratum in sorted(self._readers):
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
                self._hand_on(stratum, list(occurrences)[given:] if given else occurrences, time)
                if self.fed:
                    return
        self._given.clear()
        self._rounds = 0
        del self._waiting[time]
        heapq.heappop(self._ends)

    def _hand_on(
        self, stratum: int, occurrences: Iterable[tuple[Triple, Instant]], end: Instant
    ) -> None:
        readers = self._readers[stratum]
        woken: dict[Reader, None] = {}
        anything = readers.get(None, _NONE)
        for triple, start in occurrences:
            for by_object in (readers.get(triple[1], _NONE), anything):
                for object_ in (None, triple[2]):
                    for reader in by_object.get(object_, ()):
                        if reader.take(triple, start, end):
                            woken[reader] = None
        for reader in woken:
            assert isinstance(reader, Node)
            if not reader.queued:
                self._wake(reader)

    # -- at rest ----------------------------------------------------------------------------

    def state(self) -> tuple[Waiting, ...]:
        """What waits, in order; between two events."""
        found: list[Waiting] = []
        for end in sorted(self._ends):
            by_start: dict[Instant, list[Triple]] = {}
            for triple, start in self._waiting[end]:
                by_start.setdefault(start, []).append(triple)
            found += [Waiting(start, end, tuple(said)) for start, said in by_start.items()]
        return tuple(found)

    def restore(self, waiting: Iterable[Waiting]) -> None:
        """Go on from a :meth:`state`; the readers are there already."""
        for each in waiting:
            if not self.idle:
                for triple in each.triples:
                    self.take((triple,), each.start, each.end)
