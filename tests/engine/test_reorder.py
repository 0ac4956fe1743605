"""The reorder buffer against its definition, computed anew after every arrival."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.engine.reorder import Disorder, ReorderBuffer

LATENESS = {"a": 0, "b": 3, "c": 7}
IDLE = 5


def disorder(*, declared: bool = True, max_held: int = 1000) -> Disorder:
    return Disorder(2, LATENESS if declared else {}, IDLE, max_held)


@dataclass
class Definition:
    """Who counts, how far each source is, what may go: by looking at all that ever came."""

    disorder: Disorder
    heard: list[tuple[str, int | None, int]] = field(default_factory=list)
    """Source, time (None: it only counts from here on), arrival."""
    held: list[tuple[int, int]] = field(default_factory=list)
    released: list[tuple[int, int]] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    frontier: int | None = None
    now: int = 0

    def advance(self, received: int) -> list[tuple[int, int]]:
        self._pass(received)
        return self._release()

    def offer(self, source: str, time: int, received: int) -> tuple[bool, list[tuple[int, int]]]:
        self._pass(received)
        self.heard.append((source, time, self.now))
        in_time = not self.released or time >= max(t for t, _ in self.released)
        if in_time:
            self.accepted.append(time)
            self.held.append((time, len(self.accepted)))
        self._raise_frontier()
        return in_time, self._release()

    def _pass(self, received: int) -> None:
        if not self.heard:
            self.heard = [(source, None, received) for source in self.disorder.by_source]
        self.now = max(self.now, received)
        self._raise_frontier()

    def _front(self, source: str) -> int | None:
        """The front of a source that counts; None while nothing may be released for it."""
        said = [(time, at) for name, time, at in self.heard if name == source]
        spell = said[-1:]
        for earlier in reversed(said[:-1]):
            if spell[0][1] - earlier[1] > self.disorder.idle:
                break
            spell.insert(0, earlier)
        times = [time for time, _ in spell if time is not None]
        return max(times) - self.disorder.of(source) if times else None

    def _raise_frontier(self) -> None:
        last = {name: at for name, _, at in self.heard}
        awake = [name for name, at in last.items() if self.now - at <= self.disorder.idle]
        fronts = [self._front(name) for name in awake]
        known = [front for front in fronts if front is not None]
        if not awake and self.accepted:
            known = [max(self.accepted)]
        if known and len(known) >= len(awake):
            low = min(known)
            self.frontier = low if self.frontier is None else max(self.frontier, low)

    def _release(self) -> list[tuple[int, int]]:
        if self.frontier is None:
            return []
        ready = sorted(each for each in self.held if each[0] <= self.frontier)
        self.held = [each for each in self.held if each not in ready]
        self.released += ready
        return ready


arrivals = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "new", "tick"]),
        st.integers(0, 30),
        st.sampled_from([0, 0, 1, 1, 2, 4, 6, -1]),
    ),
    max_size=40,
)


@given(arrivals, st.booleans())
def test_it_releases_what_the_definition_does(
    stream: list[tuple[str, int, int]], declared: bool
) -> None:
    buffer = ReorderBuffer[tuple[int, int]](disorder(declared=declared))
    definition = Definition(disorder(declared=declared))
    now, number = 100, 0
    for source, time, wait in stream:
        now += wait
        if source == "tick":
            buffer.advance(now)
            expected = definition.advance(now)
        else:
            in_time = buffer.offer(source, time, now, (time, number + 1))
            accepted, expected = definition.offer(source, time, now)
            assert in_time == accepted
            number += in_time
        assert buffer.release() == expected
        assert len(buffer) == len(definition.held)


@given(arrivals)
def test_all_that_was_in_time_leaves_once_and_in_order(stream: list[tuple[str, int, int]]) -> None:
    buffer = ReorderBuffer[tuple[int, int]](disorder())
    now, entered, left = 100, [], []
    for number, (source, time, wait) in enumerate(stream):
        now += wait
        if buffer.offer(source, time, now, (time, number)):
            entered.append((time, number))
        left += buffer.release()
    buffer.advance(now + 10 * IDLE)
    left += buffer.release()
    assert left == sorted(entered)


@given(arrivals)
def test_due_is_the_first_moment_at_which_time_alone_releases_something(
    stream: list[tuple[str, int, int]],
) -> None:
    buffer = ReorderBuffer[int](disorder())
    now = 100
    for source, time, wait in stream:
        now += wait
        buffer.offer(source, time, now, time)
        buffer.release()
        due = buffer.due
        assert (due is None) == (len(buffer) == 0)
        if due is None:
            continue
        for moment, releases in ((due - 1, False), (due, True)):
            twin = ReorderBuffer[int](disorder())
            twin.restore(buffer.state())
            twin.advance(moment)
            assert bool(twin.release()) == releases


@given(arrivals, st.integers(0, 40))
def test_a_restored_buffer_goes_on_as_the_old_one(
    stream: list[tuple[str, int, int]], cut: int
) -> None:
    old = ReorderBuffer[int](disorder())
    now = 100
    for source, time, wait in stream[:cut]:
        now += wait
        old.offer(source, time, now, time)
        old.release()
    new = ReorderBuffer[int](disorder())
    new.restore(old.state())
    for source, time, wait in stream[cut:]:
        now += wait
        assert old.offer(source, time, now, time) == new.offer(source, time, now, time)
        assert old.release() == new.release()
        assert old.due == new.due


def test_a_source_that_runs_ahead_waits_for_one_that_runs_behind() -> None:
    buffer = ReorderBuffer[str](disorder())
    for source in "abc":
        buffer.offer(source, 10, 100, f"{source}10")
    assert buffer.release() == []
    buffer.offer("a", 1000, 101, "a1000")
    buffer.offer("b", 20, 101, "b20")
    buffer.offer("c", 24, 101, "c24")
    assert buffer.release() == ["a10", "b10", "c10"]
    buffer.offer("b", 30, 102, "b30")
    buffer.offer("c", 27, 102, "c27")
    assert buffer.release() == ["b20"]


def test_of_too_many_the_oldest_go_and_what_comes_before_them_is_late() -> None:
    buffer = ReorderBuffer[int](disorder(max_held=2))
    for time in (5, 4, 6):
        assert buffer.offer("c", time, 100, time)
    assert buffer.overflow() == [4]
    assert not buffer.offer("c", 3, 100, 3)
    assert buffer.offer("c", 4, 100, 4)
    assert len(buffer) == 3


def test_sources_that_fell_silent_take_no_memory() -> None:
    buffer = ReorderBuffer[int](disorder())
    for number in range(1000):
        buffer.offer(f"visitor-{number}", number, 100 + number, number)
        buffer.release()
    assert len(buffer.state().sources) <= IDLE + 1


@pytest.mark.parametrize("source", ["a", "b", "c"])
def test_a_source_may_be_as_late_as_it_was_said_and_no_later(source: str) -> None:
    buffer = ReorderBuffer[int](Disorder(0, {source: LATENESS[source]}, IDLE, 10))
    buffer.offer(source, 20, 100, 20)
    assert buffer.offer(source, 20 - LATENESS[source], 100, 1)
    assert 1 in buffer.release()
    assert not buffer.offer(source, 19 - LATENESS[source], 100, 2)
