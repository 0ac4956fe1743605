"""An engine that is given events: alone, in disorder, over a restart, without a window."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensorstream.engine.engine_queries import EngineReport
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import QueryError, SettingsError, UnknownQuery
from sensorstream.model.events import Event, Status
from sensorstream.model.terms import IRI
from sensorstream.testing import triples
from tests.engine.conftest import Build

E = "http://example.org/"
IN_WINDOW = f"""PREFIX : <{E}> SELECT ?s ?v FROM NAMED WINDOW :w ON :one [RANGE PT4S STEP PT2S]
WHERE {{ WINDOW :w {{ ?s :value ?v }} }}"""
OUTSIDE = f"PREFIX : <{E}> SELECT ?s ?v {{ ?s :value ?v }}"


def event(number: int, time: int, value: int = 1, stream: str = "one") -> Event:
    said = triples(f"<{E}s{number % 3}> <{E}value> {value} .")
    return Event(said, time, f"e{number}", stream=IRI(f"{E}{stream}"))


def reports(outcomes: Sequence[Outcome]) -> list[EngineReport]:
    return [r for each in outcomes for one in (*each.released, each) for r in one.reports]


def told(found: Sequence[EngineReport]) -> list[tuple[object, ...]]:
    return [
        (each.id, each.report.time, each.report.operation, sorted(map(str, each.report.rows)))
        for each in found
    ]


def test_without_a_window_events_reach_only_the_windows_of_queries(build: Build) -> None:
    engine, resident = build(), build(window="landmark")
    for each in (engine, resident):
        each.register("outside", OUTSIDE)
        each.register("inside", IN_WINDOW)
        each.take(event(1, 1))
    assert len(engine.kb) == 0
    assert len(resident.kb) == 1
    found, expected = (reports([each.finish()]) for each in (engine, resident))
    assert {each.report.query for each in found} == {"inside"}
    assert told([each for each in expected if each.report.query == "inside"]) == told(found)


def test_rules_without_a_window_are_refused(build: Build, tmp_path: Path) -> None:
    (tmp_path / "r.rules").write_text('rule r\non change\nthen alert info "x"\n')
    with pytest.raises(SettingsError, match="there is no window: expected a window"):
        build(rules=[tmp_path / "r.rules"])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    stream=st.lists(
        st.tuples(st.integers(0, 14), st.integers(0, 3), st.sampled_from(("one", "two"))),
        max_size=14,
    ),
    cut=st.integers(0, 14),
    window=st.sampled_from(("none", "landmark", "sliding 2 individuals")),
)
def test_disorder_and_restarts_leave_no_trace(
    build: Build, stream: list[tuple[int, int, str]], cut: int, window: str
) -> None:
    """As the same events in order, but for those that are late."""
    given_ = [event(n, n + ahead, value, s) for n, (ahead, value, s) in enumerate(stream)]
    engine, ordered = build(window=window, lateness="5"), build(window=window)
    for either in (engine, ordered):
        either.register("inside", IN_WINDOW)
        either.register("outside", OUTSIDE)
    outcomes = []
    for number, arriving in enumerate(given_):
        if number == cut:
            again = build(window=window, lateness="5")
            again.restore(engine.state())
            engine = again
        outcomes.append(engine.take(arriving))
    outcomes.append(engine.finish())
    late = {each.message.id for each in outcomes if each.status is Status.LATE}
    in_time = sorted((e for e in given_ if e.message not in late), key=lambda each: each.time)
    expected = [*map(ordered.take, in_time), ordered.finish()]
    assert {each.status for each in expected} <= {Status.ACCEPTED}
    assert told(reports(outcomes)) == told(reports(expected))


def test_time_can_be_moved_by_hand(build: Build) -> None:
    engine = build(lateness="100")
    engine.register("inside", IN_WINDOW)
    assert engine.take(event(1, 1)).status is Status.HELD
    assert engine.take(event(2, 5)).status is Status.HELD
    outcome = engine.advance(3)
    assert [each.message.id for each in outcome.released] == ["e1"]
    assert [each.report.time for each in reports([outcome])] == [2]
    assert engine.take(event(3, 2)).status is Status.LATE
    assert engine.take(event(4, 3)).status is Status.HELD


def test_an_event_ends_when_it_begins_or_later() -> None:
    assert Event((), 3, "e1", end=3).end == 3
    with pytest.raises(ValueError, match="before it begins"):
        Event((), 3, "e1", end=2)


def test_a_query_that_runs_can_be_stopped_and_one_that_cannot_is_refused(build: Build) -> None:
    engine = build()
    engine.register("inside", IN_WINDOW)
    engine.unregister("inside")
    with pytest.raises(UnknownQuery):
        engine.unregister("inside")
    with pytest.raises(QueryError, match="FROM NAMED"):
        engine.register("g", f"SELECT ?s FROM NAMED <{E}g> {{ GRAPH ?g {{ ?s ?p ?o }} }}")
