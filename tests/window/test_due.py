"""When a window by time changes although nothing comes: against asking it at every instant."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.events import Event
from sensorstream.model.terms import IRI
from sensorstream.window.window import Window, make_window
from sensorstream.window.window_spec import Elements, WindowMove, WindowSpec, WindowUnitKind

_SPECS = st.builds(
    lambda kind, size, step, start, elements: WindowSpec(
        kind,
        WindowUnitKind.TIME,
        0 if kind is WindowMove.LANDMARK else size,
        step if kind is WindowMove.SLIDING else 1,
        start,
        elements,
    ),
    st.sampled_from(WindowMove),
    st.integers(1, 7),
    st.integers(1, 4),
    st.none() | st.integers(0, 12),
    st.sampled_from(Elements),
)
_EVENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=6)
_FAR = 40


def said(number: int, time: int) -> Event:
    """An event about one individual."""
    name = IRI(f"http://example.org/{number}")
    return Event(((name, IRI("http://example.org/p"), name),), time, f"m{time}")


def silent(time: int) -> Event:
    """Time has passed."""
    return Event((), time, "m0")


def content(window: Window) -> object:
    """All that can be seen of it."""
    return sorted((each.name, each.time, repr(each.statements)) for each in window)


@settings(max_examples=200)
@given(spec=_SPECS, events=_EVENTS)
def test_it_changes_at_the_instant_it_says_and_not_before(
    spec: WindowSpec, events: list[tuple[int, int]]
) -> None:
    window, time = make_window(spec), 0
    for step, number in events:
        time += step
        window.insert(said(number, time))
    due, before, state = window.due, content(window), window.state()
    changed = None
    for later in range(time, time + _FAR):
        again = make_window(spec)
        again.restore(state)
        again.insert(silent(later))
        if content(again) != before:
            changed = later
            break
    if due is None or changed is None:
        assert changed is None
        # Events that wait may change nothing when they enter: all have left by then.
        assert due is None or due >= time + _FAR or window.pending
    else:
        assert due <= changed
        # Events that wait may change nothing when they enter: all have left by then.
        assert due == changed or window.pending


def test_time_alone_leaves_a_window_by_count_as_it_is() -> None:
    window = make_window(WindowSpec(WindowMove.SLIDING, WindowUnitKind.INDIVIDUALS, 2, 2))
    window.insert(said(1, 1))
    state = window.state()
    assert window.due is None
    window.insert(silent(9))
    assert window.now == 9
    assert replace(window.state(), counters=state.counters) == state
