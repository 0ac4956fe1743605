"""Every kind of window against the paper's equations, and what must hold for all of them."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import EngineState
from sensorstream.engine.notices import Notices
from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.rules.rule_memory import RuleMemory
from sensorstream.window.window import Window, make_window
from sensorstream.window.window_partition import WindowState
from sensorstream.window.window_spec import (
    Elements,
    WindowMove,
    WindowPartitioning,
    WindowSpec,
    WindowUnitKind,
)
from tests.window.reference import ReferencePartitions, ReferenceWindow
from tests.window.test_triple_window import P, Q, content

ROOM = IRI("http://e/room")
ALL = [
    (kind, unit, elements)
    for kind in WindowMove
    for unit in WindowUnitKind
    for elements in Elements
]
COMBINATIONS = [
    (kind, unit, elements)
    for kind, unit, elements in ALL
    if unit is WindowUnitKind.TIME or unit.value == elements.value
]


@dataclass(frozen=True)
class Definition:
    """A window to make."""

    spec: WindowSpec
    partition: WindowPartitioning | None = None

    def window(self) -> Window:
        return make_window(self.spec, self.partition)

    def reference(self) -> ReferenceWindow | ReferencePartitions:
        if self.partition is None:
            return ReferenceWindow(self.spec)
        return ReferencePartitions(self.spec, self.partition)


@st.composite
def definitions(
    draw: st.DrawFn, combinations: Sequence[tuple[WindowMove, WindowUnitKind, Elements]]
) -> Definition:
    kind, unit, elements = draw(st.sampled_from(combinations))
    starts: st.SearchStrategy[int | None] = st.none()
    if unit is WindowUnitKind.TIME:
        starts = st.none() | st.integers(-3, 9)
    elif kind is WindowMove.LANDMARK:
        starts = st.none() | st.integers(1, 6)
    spec = WindowSpec(
        kind, unit, draw(st.integers(1, 7)), draw(st.integers(1, 9)), draw(starts), elements
    )
    partitions = st.sampled_from([None, WindowPartitioning(), WindowPartitioning(ROOM)])
    return Definition(spec, draw(partitions))


@st.composite
def messages(draw: st.DrawFn, number: int) -> tuple[int, tuple[Triple, ...], bool, str]:
    """How far time moves, the triples, whether they update, and the source."""
    said: list[Triple] = []
    for count in range(draw(st.integers(1, 4))):
        subject = IRI(f"http://e/{draw(st.integers(0, 6))}")
        predicate = draw(st.sampled_from([P, P, Q, ROOM]))
        if predicate == Q:
            node = BlankNode(f"_:b{number}-{count}")
            said += [(subject, Q, node), (node, P, Literal(str(draw(st.integers(0, 1)))))]
        else:
            said.append((subject, predicate, Literal(str(draw(st.integers(0, 2))))))
    # Mostly forward, sometimes equal, sometimes late, sometimes a long silence.
    shift = draw(st.sampled_from([0, 1, 1, 1, 2, 3, -1, -4, 15]))
    return (
        shift,
        tuple(dict.fromkeys(said)),
        draw(st.booleans()),
        draw(st.sampled_from(["s", "t"])),
    )


@st.composite
def streams(draw: st.DrawFn, least: int = 0, most: int = 20) -> list[Event]:
    events: list[Event] = []
    time = 3
    for number in range(draw(st.integers(least, most))):
        shift, said, update, source = draw(messages(number))
        pairs = frozenset((s, p) for s, p, _ in said if update and not isinstance(s, BlankNode))
        events.append(Event(said, time + shift, f"m{number}", pairs, source))
        time = max(time, time + shift)
    return events


def at_rest(window: Window) -> WindowState:
    """The state, with everything that has no order put in one."""
    state = copy.deepcopy(window.state())
    panes = [
        replace(pane, names=tuple(sorted(pane.names)))
        for pane in sorted(state.panes, key=lambda pane: str(pane.key))
    ]
    individuals = tuple(sorted(state.individuals, key=lambda each: each.name))
    return replace(state, individuals=individuals, panes=tuple(panes))


def saved(state: WindowState) -> WindowState:
    """The state, as a checkpoint gives it back."""
    return load(dump(EngineState(state, RuleMemory(), Notices()))).window


@pytest.mark.parametrize(
    "combination", COMBINATIONS, ids=lambda c: " ".join(each.value for each in c)
)
def test_every_window_is_what_the_equations_define(
    combination: tuple[WindowMove, WindowUnitKind, Elements],
) -> None:
    @settings(max_examples=60, deadline=None)
    @given(definitions([combination]), streams())
    def check(definition: Definition, events: list[Event]) -> None:
        window, reference = definition.window(), definition.reference()
        graph: set[Triple] = set()
        departed: list[Subject] = []
        for each in events:
            change = window.insert(each)
            reference.insert(each)
            graph = (graph - set(change.delta.removed)) | set(change.delta.added)
            departed.extend(gone.name for gone in change.departures)
            assert content(window) == reference.content
            assert graph == reference.content, "deltas must add up to the content"
            assert sorted(departed) == sorted(reference.departed)

    check()


@settings(max_examples=80)
@given(definitions(COMBINATIONS), streams(1), st.randoms(use_true_random=False))
def test_undoing_changes_leaves_no_trace(
    definition: Definition, events: list[Event], dice: random.Random
) -> None:
    plain, window = definition.window(), definition.window()
    for each in events:
        if dice.random() < 0.4:
            before = at_rest(window)
            changes = [window.insert(each)]
            held = sorted(content(window))
            changes.append(window.retract(dice.sample(held, min(3, len(held))), each.time))
            changes.append(window.insert(replace(each, time=each.time + dice.randrange(9))))
            for change in reversed(changes):
                window.undo(change)
            assert at_rest(window) == before
        first, second = window.insert(each), plain.insert(each)
        # What was taken out and put back stands behind the rest: same triples, another order.
        assert set(first.delta.added) == set(second.delta.added)
        assert set(first.delta.removed) == set(second.delta.removed)
        assert [gone.name for gone in first.departures] == [gone.name for gone in second.departures]


@settings(max_examples=80)
@given(definitions(COMBINATIONS), streams(1), st.randoms(use_true_random=False))
def test_a_restored_window_goes_on_as_the_old_one(
    definition: Definition, events: list[Event], dice: random.Random
) -> None:
    old, new = definition.window(), definition.window()
    for each in events:
        if dice.random() < 0.3:
            new = definition.window()
            new.restore(saved(old.state()))
            assert at_rest(new) == at_rest(old)
        first, second = old.insert(each), new.insert(each)
        assert first.delta == second.delta
        assert first.departures == second.departures
        assert first.ended == second.ended
        if dice.random() < 0.2 and (held := sorted(content(old))):
            gone = dice.sample(held, 1)
            assert old.retract(gone, each.time).delta == new.retract(gone, each.time).delta


@settings(max_examples=80)
@given(definitions(COMBINATIONS), streams(), st.randoms(use_true_random=False))
def test_everything_that_came_is_in_the_window_waiting_or_handed_out(
    definition: Definition, events: list[Event], dice: random.Random
) -> None:
    window = definition.window()
    came: set[Triple] = set()
    gone: set[Triple] = set()
    for each in events:
        came |= set(each.triples)
        changes = [window.insert(each)]
        if dice.random() < 0.3 and (held := sorted(content(window))):
            changes.append(window.retract(dice.sample(held, 1), each.time))
        for change in changes:
            gone |= {t for departed in change.departures for t in departed.statements}
            gone |= {left.triple for left in change.ended}
    waiting = {t for pane in window.state().panes for event in pane.pending for t in event.triples}
    assert came == content(window) | gone | waiting


def saying(time: int, *values: object, update: bool = False) -> Event:
    """An event about one property of one individual."""
    said = tuple((IRI("http://e/0"), P, Literal(str(value))) for value in values)
    replaced = frozenset({(IRI("http://e/0"), P)} if update else ())
    return Event(said, time, f"m{time}", replaced, "s")


@settings(max_examples=80)
@given(definitions(COMBINATIONS), definitions(COMBINATIONS), streams(1), st.integers(0, 19))
@example(
    # The new window takes in what waited, and revokes in one change what it ends in it: 1 is
    # replaced at 6 and then, by the update that comes late, at 5.
    Definition(WindowSpec(WindowMove.SLIDING, WindowUnitKind.TIME, 1, 4)),
    Definition(
        WindowSpec(WindowMove.SLIDING, WindowUnitKind.TIME, 1, 1, elements=Elements.TRIPLES)
    ),
    [saying(3, 0, 1), saying(6, 0), saying(5, 0, update=True)],
    2,
)
def test_a_state_of_another_window_is_sorted_anew_and_loses_nothing(
    first: Definition, second: Definition, events: list[Event], cut: int
) -> None:
    old, new = first.window(), second.window()
    changes = [old.insert(each) for each in events[:cut]]
    new.restore(saved(old.state()))
    graph = content(new)
    assert graph == content(old)
    for each in events[cut:]:
        changes.append(new.insert(each))
        graph = (graph - set(changes[-1].delta.removed)) | set(changes[-1].delta.added)
        assert graph == content(new)
    gone = {t for each in changes for departed in each.departures for t in departed.statements}
    intervals = Counter(left for each in changes for left in each.ended)
    # A late update may revoke what came before the restart, and one interval of two of a triple.
    intervals.subtract(left for each in changes for left in each.revoked)
    assert min(intervals.values(), default=0) >= 0, "revoked, but never handed out"
    gone |= {left.triple for left in +intervals}
    waiting = {t for pane in new.state().panes for event in pane.pending for t in event.triples}
    assert {t for each in events for t in each.triples} == content(new) | gone | waiting


@settings(max_examples=80)
@given(
    # A gradually filling window is computed at every instant, and dates have more of them.
    definitions(
        [c for c in COMBINATIONS if c[1] is WindowUnitKind.TIME and c[0] is not WindowMove.FILLING]
    ),
    streams(),
)
def test_dates_are_only_longer_numbers(definition: Definition, events: list[Event]) -> None:
    day = Timeline.DATETIME.duration("P1D")
    spec = definition.spec
    # Both lines step from a common zero; without a start that is the zero of the line.
    zero = 0 if spec.start is None else Timeline.DATETIME.instant("2014-08-01T00:00:00Z")
    start = None if spec.start is None else zero + spec.start * day
    dates = make_window(
        replace(spec, size=spec.size * day, step=spec.step * day, start=start), None
    )
    numbers = definition.window()
    for each in events:
        first = numbers.insert(each)
        second = dates.insert(replace(each, time=zero + each.time * day))
        assert first.delta.added == second.delta.added
        assert first.delta.removed == second.delta.removed


@settings(max_examples=60)
@given(definitions(COMBINATIONS), streams())
def test_no_trace_is_left_of_what_has_gone(definition: Definition, events: list[Event]) -> None:
    window = definition.window()
    for each in events:
        window.insert(each)
    window.retract(content(window), 1000)
    state = window.state()
    assert not content(window)
    assert not state.individuals
    assert not state.owners
    assert not state.ages
    assert not any(pane.names for pane in state.panes)
    if window.partition is not None and definition.spec.kind is not WindowMove.LANDMARK:
        assert all(pane.pending for pane in state.panes), "an empty partition is forgotten"
