"""For tests of programs that use SensorStream: a manual clock, list streams, readable deltas."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, Generic, TypeVar

import pyoxigraph as ox

from sensorstream.kb.oxigraph import from_oxigraph
from sensorstream.model.events import Delta, Message
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.timeline import Timeline

Item = TypeVar("Item")

DAWN: Final = datetime(2014, 8, 1, 8, 0, tzinfo=UTC)
"""Where a manual clock starts unless told otherwise."""


class ManualClock:
    """A :class:`~sensorstream.clock.Clock` that only moves when a test moves it."""

    def __init__(self, now: datetime = DAWN) -> None:
        self._start = self._now = now

    def now(self) -> datetime:
        return self._now

    def counter(self) -> float:
        return (self._now - self._start).total_seconds()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)


class ListSource:
    """A stream of messages from a list of XML texts.

    The first has the id ``m1`` and arrives when the clock says; each read moves a
    :class:`ManualClock` on by ``seconds``.
    """

    def __init__(
        self,
        texts: Iterable[str],
        *,
        timeline: Timeline = Timeline.DATETIME,
        clock: ManualClock | None = None,
        seconds: float = 1,
        name: str = "test",
    ) -> None:
        self._texts = tuple(texts)
        self._timeline = timeline
        self._clock = clock or ManualClock()
        self._seconds = seconds
        self._name = name

    def __iter__(self) -> Iterator[Message]:
        for number, text in enumerate(self._texts, start=1):
            received = self._timeline.of(self._clock.now())
            yield Message(f"m{number}", text.encode(), received, self._name)
            self._clock.advance(self._seconds)


class ListSink(Generic[Item]):
    """Takes what a callback gets, from any thread, into :attr:`items`."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._changed = threading.Condition()

    def __call__(self, item: Item) -> None:
        with self._changed:
            self.items.append(item)
            self._changed.notify_all()

    def wait_for(self, count: int, seconds: float = 10) -> list[Item]:
        """The items, once there are ``count`` of them.

        Raises:
            AssertionError: there are fewer after ``seconds``.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.items) >= count, seconds):
                raise AssertionError(f"expected {count} items, got {self.items} in {seconds} s")
            return list(self.items)


def triples(turtle: str) -> tuple[Triple, ...]:
    """The triples of a Turtle text, in the order written.

    Blank nodes keep their labels; those without one get a new one in every call.
    """
    found: list[Triple] = []
    for quad in ox.parse(turtle, format=ox.RdfFormat.TURTLE):
        subject = from_oxigraph(quad.subject)
        assert not isinstance(subject, Literal)
        found.append((subject, IRI(quad.predicate.value), from_oxigraph(quad.object)))
    return tuple(dict.fromkeys(found))


def assert_delta(delta: Delta, *, added: str = "", removed: str = "", prefixes: str = "") -> None:
    """Check a change, in any order, against two Turtle texts.

    Args:
        delta: what happened.
        added: what should have been added.
        removed: what should have been removed.
        prefixes: Turtle put before both texts.

    Raises:
        AssertionError: the delta is different; the message lists the difference as N-Triples.
    """
    problems: list[str] = []
    for word, got, text in (("added", delta.added, added), ("removed", delta.removed, removed)):
        wanted = triples(f"{prefixes}\n{text}")
        problems += [f"{word}, not expected: {_line(t)}" for t in got if t not in wanted]
        problems += [f"not {word}: {_line(t)}" for t in wanted if t not in got]
        problems += [f"{word} twice: {_line(t)}" for t in set(got) if got.count(t) > 1]
    if problems:
        raise AssertionError("\n".join(problems))


def _line(triple: Triple) -> str:
    return " ".join(term.n3 for term in triple) + " ."
