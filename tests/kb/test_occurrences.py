"""Scopes on a stream against their definition: the last occurrences, or those after a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.occurrences import OccurrenceIndex, StreamElement, WindowScope
from sensorstream.model.terms import IRI, Triple

NAMES = [IRI(f"http://example.org/{name}") for name in "abc"]
triples = st.tuples(st.sampled_from(NAMES), st.just(NAMES[0]), st.sampled_from(NAMES))


@dataclass
class Follower:
    """The content of a scope by what its watchers are told."""

    scope: WindowScope
    content: set[Triple] = field(default_factory=set)

    joined: ClassVar = ()

    def changed(self, triples: Sequence[Triple], comes: bool) -> None:
        for triple in triples:
            assert triple in self.scope
            assert (triple in self.content) is not comes
        (self.content.update if comes else self.content.difference_update)(triples)


@settings(max_examples=100)
@given(
    gaps=st.lists(
        st.tuples(st.integers(0, 3), st.lists(triples, max_size=3, unique=True)), max_size=12
    ),
    lengths=st.lists(st.integers(1, 8), min_size=1, max_size=4),
    counts=st.lists(st.integers(1, 6), max_size=3),
)
def test_each_scope_holds_what_its_definition_says(
    gaps: list[tuple[int, list[Triple]]], lengths: list[int], counts: list[int]
) -> None:
    stream = OccurrenceIndex()
    stream.read(None, None)
    by_time = [(length, Follower(stream.open())) for length in lengths]
    by_count = [(count, Follower(stream.open())) for count in counts]
    lagging = [(length, stream.open(length)) for length in lengths]
    followers = [each for _, each in (*by_time, *by_count)]
    for each in followers:
        each.scope.watchers.append(each)
    said: list[tuple[int, list[Triple]]] = []
    time = 0
    for gap, triples_ in gaps:
        time += gap
        for length, each in by_time:
            each.scope.leave_until(time - length)
        stream.take(StreamElement(time, time, tuple(triples_)))
        said.append((time, triples_))
        for count, each in by_count:
            each.scope.keep(count)
        for length, each in by_time:
            expected = {t for at, ts in said if time - length < at for t in ts}
            assert set(each.scope) == each.content == expected
        for count, each in by_count:
            expected = set([t for _, ts in said for t in ts][-count:])
            assert set(each.scope) == each.content == expected
        # Each is read at some times only, another one each time.
        for length, scope in lagging[time % 3 :: 3]:
            scope.catch_up()
            assert set(scope) == {t for at, ts in said if time - length < at for t in ts}
    widest = [set(each.scope) for each in followers]
    assert set().union(*widest) <= set(stream.index)


def test_what_no_scope_sees_is_not_stored() -> None:
    stream = OccurrenceIndex()
    stream.read(None, None)
    short, long = stream.open(), stream.open()
    for time in range(100):
        triple = (NAMES[0], NAMES[1], IRI(f"http://example.org/{time}"))
        stream.take(StreamElement(time, time, (triple,)))
        short.leave_until(time - 5)
        long.leave_until(time - 20)
    assert len(stream.index) == len(list(stream.elements())) == 20
    assert [stream.time_of(number) for number in range(81, 101)] == list(range(80, 100))
    stream.close(long)
    assert len(stream.index) == 5
    stream.close(short)
    assert stream.empty
    assert not stream.latest


def test_only_what_a_pattern_reads_is_indexed_and_from_then_on_what_was_said_before() -> None:
    stream = OccurrenceIndex()
    scope = stream.open()
    name, speed, colour = (IRI(f"http://example.org/{each}") for each in ("n", "speed", "colour"))
    for time in range(3):
        said = ((name, speed, IRI(f"http://example.org/{time}")), (name, colour, NAMES[time]))
        stream.take(StreamElement(time, time, said))
        if not time:
            stream.read(speed, None)
    assert {triple[1] for triple in stream.index} == {speed}
    assert len(stream.index) == 3
    assert scope.size() == 6
    stream.read(colour, NAMES[1])
    assert (name, colour, NAMES[1]) in scope
    assert len(stream.index) == 4
    scope.leave_until(1)
    assert list(stream.index) == [(name, speed, IRI("http://example.org/2"))]


def test_the_widest_of_the_scopes_of_a_length_of_time_decides_what_is_stored() -> None:
    stream = OccurrenceIndex()
    stream.read(None, None)
    short, long = stream.open(5), stream.open(20)
    for time in range(100):
        triple = (NAMES[0], NAMES[1], IRI(f"http://example.org/{time}"))
        stream.take(StreamElement(time, time, (triple,)))
    assert len(stream.index) == 20
    assert short.lags
    stream.close(long)
    assert len(stream.index) == len(set(short)) == 5
