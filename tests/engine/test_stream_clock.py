"""How far the clock brings the time of rules, against what its words promise."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.engine.reorder import Disorder
from sensorstream.engine.stream_clock import StreamClock
from sensorstream.model.timeline import Timeline
from sensorstream.model.waits import SilentSource
from sensorstream.settings.settings import TimeSettings
from tests.engine.conftest import Deploy, Start
from tests.engine.sensors import ONTOLOGY
from tests.engine.test_waiting import LATENESS, RULES, Journal, Said, by_definition, told

LENGTHS = st.integers(0, 40)
DISORDERS = st.builds(
    Disorder, LENGTHS, st.dictionaries(st.sampled_from("ab"), LENGTHS), LENGTHS, st.just(10)
)


def clock_of(disorder: Disorder | None) -> StreamClock:
    return StreamClock(SilentSource.RULES, Timeline.INTEGER, disorder)


@settings(max_examples=200)
@given(DISORDERS, LENGTHS, LENGTHS, LENGTHS, st.sampled_from("abc"))
def test_no_message_that_is_in_time_comes_from_before_the_present(
    disorder: Disorder, first: int, delay: int, later: int, source: str
) -> None:
    """A message is in time if it was under way no longer than its source may be late."""
    clock = clock_of(disorder)
    clock.heard(first, first + delay)
    received = first + delay + later
    present = clock.present(received)
    assert present is not None
    assert received - disorder.of(source) >= present


@settings(max_examples=200)
@given(st.none() | DISORDERS, LENGTHS, LENGTHS, LENGTHS)
def test_what_is_due_is_woken_for_as_soon_as_it_has_come_and_is_in_time_then(
    disorder: Disorder | None, time: int, received: int, wait: int
) -> None:
    clock = clock_of(disorder)
    clock.heard(time, received)
    due = time + 1 + wait
    wake = clock.wake(due)
    assert wake is not None
    present = clock.present(wake)
    assert present is not None
    assert present >= due
    assert clock.note(due, wake) == ""
    before = clock.present(wake - 1)
    assert before is not None
    # Or a source is still waited for.
    patience = 0 if disorder is None else disorder.idle + 1
    assert before < due or wake == received + patience


def test_by_the_clock_nothing_is_told_that_a_message_in_time_denies(
    deploy: Deploy, start: Start
) -> None:
    """The clock is read at each second, and nobody waits for silent sources."""
    deployment = deploy(ONTOLOGY, RULES, time=TimeSettings(lateness=str(LATENESS), idle=0))
    said = st.tuples(
        st.integers(0, 9),
        st.sampled_from("ab"),
        st.sampled_from((20, 31)),
        st.integers(0, LATENESS),
    )

    @settings(max_examples=40, deadline=None)
    @given(st.lists(said, max_size=10))
    def check(steps: list[tuple[int, str, int, int]]) -> None:
        journal = Journal(lambda: start(deployment))
        stream: list[Said] = []
        time = received = 100
        for gap, name, value, delay in steps:
            time += gap
            for second in range(received, max(received, time + delay) + 1):
                journal.tick(second)
            received = max(received, time + delay)
            stream.append((time, name, value))
            journal.say(name, time, value, received)
        for second in range(received, received + 40):
            journal.tick(second)
        journal.engine.close()
        found = [alert for each in journal.outcomes for alert in told(each)]
        texts = [(rule, text) for _, rule, text, _ in found if rule != "digest"]
        assert sorted(texts) == sorted(by_definition(stream))

    check()


def test_a_clock_that_leaps_tells_nothing_twice_and_lets_no_time_go_back(
    deploy: Deploy, start: Start
) -> None:
    """As when the machine was suspended, or its clock was wrong for a while."""
    deployment = deploy(ONTOLOGY, RULES)
    step = st.tuples(st.integers(0, 9), st.sampled_from("ab"), st.sampled_from((0, 1, 100)))

    @settings(max_examples=30, deadline=None)
    @given(st.lists(step, max_size=8))
    def check(steps: list[tuple[int, str, int]]) -> None:
        journal = Journal(lambda: start(deployment))
        time = received = 100
        for gap, name, leap in steps:
            time += gap
            received += gap + leap
            journal.tick(received)
            journal.say(name, time, 31, received)
        journal.tick(received + 100)
        journal.engine.close()
        found = [alert for each in journal.outcomes for alert in told(each)]
        assert all(at <= later for (*_, at), (*_, later) in pairwise(found))
        assert len({name for name, *_ in found}) == len(found)
        gone = [text.split()[:2] for _, rule, text, _ in found if rule == "gone"]
        assert len(set(map(tuple, gone))) == len(gone)
        assert {name for name, _ in gone} == {name for _, name, _ in steps}
        hot = [text.split()[0] for _, rule, text, _ in found if rule == "hot"]
        assert sorted(hot) == sorted({name for _, name, _ in steps})

    check()
