"""Time that passes for the engine of a key while only others have messages, or nobody."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from sensorstream.app.control.wiring import Deployment, read_deployment
from sensorstream.history.journal_rows import JournalRow, record_of
from sensorstream.journal.message import PassTime
from sensorstream.journal.records import Effects
from sensorstream.model.events import Alert, Cleared
from sensorstream.settings.settings import Settings, TimeSettings
from tests.streaming.conftest import more_rules, often
from tests.streaming.stand_in import (
    Keys,
    batches,
    by_keys,
    message,
    of_one_engine,
    passed,
    registered,
    told,
)

_PEOPLE = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 100)), min_size=1, max_size=2)
_STEPS = st.lists(
    st.tuples(st.sampled_from(("north", "south", "west")), st.integers(0, 4), _PEOPLE),
    min_size=1,
    max_size=20,
)
_CUTS = st.sets(st.integers(0, 40))
QUERY = """PREFIX : <http://example.org/t#>
REGISTER QUERY <http://example.org/idle> AS
SELECT (COUNT(?p) AS ?n)
FROM NAMED WINDOW :w ON <urn:sensorstream:source:north> [RANGE PT10S STEP PT10S]
WHERE { WINDOW :w { ?p :x ?x } }"""


def journal(steps: Any, told_after: set[int]) -> list[JournalRow]:
    """Messages in the order of their times, and time entries after some of them, and at the end."""
    rows: list[JournalRow] = []
    time = 0
    for number, (source, step, people) in enumerate(steps):
        time += step
        rows.append(message(len(rows) + 1, source, time, people))
        if number in told_after or number == len(steps) - 1:
            rows.append(passed(len(rows) + 1, time))
    return rows


def stays(effects: Effects) -> list[Any]:
    """What departed, without the instant at which it did."""
    return sorted(
        (
            repr(each.individual.name),
            each.individual.entered,
            each.individual.time,
            repr(each.individual.statements),
            sorted(map(repr, each.inferred)),
        )
        for each in effects.departures
    )


@profile(max_examples=25, deadline=None)
@given(steps=_STEPS, cuts=_CUTS, lost=st.sets(st.integers(0, 5)), asleep=_CUTS)
def test_told_after_each_message_keys_say_what_one_engine_says(
    by_time: Deployment, steps: Any, cuts: set[int], lost: set[int], asleep: set[int]
) -> None:
    rows = journal(steps, set(range(len(steps))))
    found = by_keys(by_time, batches(rows, cuts), lost, asleep=asleep)
    expected = of_one_engine(by_time, [record_of(row) for row in rows])
    assert told(found) == told(expected)


# At an instant of its own, each message: whether a stay has ended when another message of the same
# instant comes depends on which of them says that time has come.
_APART = _STEPS.map(lambda steps: [(source, step + 1, people) for source, step, people in steps])


@profile(max_examples=25, deadline=None)
@given(steps=_APART, after=st.sets(st.integers(0, 20)), cuts=_CUTS)
def test_told_now_and_then_the_same_stays_end_a_little_later(
    by_time: Deployment, steps: Any, after: set[int], cuts: set[int]
) -> None:
    rows = journal(steps, after)
    found = by_keys(by_time, batches(rows, cuts), set())
    expected = of_one_engine(by_time, [record_of(row) for row in rows])
    assert stays(found) == stays(expected)
    # Who leaves and comes back within one message has not been inserted by it.
    ours, theirs = (Counter(a.key for a in each.alerts) for each in (found, expected))
    assert ours <= theirs
    ends = [sorted(each.expired_at for each in e.departures) for e in (found, expected)]
    assert all(late >= early for late, early in zip(*ends, strict=True))


_DISORDER = st.lists(
    st.tuples(st.sampled_from(("north", "south")), st.integers(0, 30), _PEOPLE),
    min_size=1,
    max_size=12,
)


@profile(max_examples=25, deadline=None)
@given(said=_DISORDER, after=st.sets(st.integers(0, 12)), cuts=_CUTS, others=_CUTS)
def test_whatever_the_order_batches_do_not_matter(
    by_time: Deployment, said: Any, after: set[int], cuts: set[int], others: set[int]
) -> None:
    rows: list[JournalRow] = []
    latest = 0
    for number, (source, time, people) in enumerate(said):
        latest = max(latest, time)
        rows.append(message(len(rows) + 1, source, time, people))
        if number in after:
            rows.append(passed(len(rows) + 1, latest))
    one = by_keys(by_time, batches(rows, cuts), set())
    other = by_keys(by_time, batches(rows, others), {1, 3}, asleep=cuts)
    assert told(one) == told(other)


def test_an_engine_without_anything_due_is_not_woken(by_time: Deployment) -> None:
    keys = Keys(by_time)
    keys.take([message(1, "north", 10, [(1, 5)]), message(2, "south", 12, [(2, 5)])])
    assert keys.standings["=north"].waits.moved == 16
    effects = keys.take([passed(3, 15)])
    assert [each.watermark for each in effects] == [3]
    effects = keys.take([passed(4, 17)])
    assert sum(len(each.departures) for each in effects) == 1
    assert not keys.standings["=north"].waits
    assert keys.standings["=north"].individuals == 0
    assert keys.standings["=south"].individuals == 1
    keys.host.close()


def test_messages_that_wait_are_released_when_their_sources_are_silent(settings: Settings) -> None:
    late = replace(settings, time=TimeSettings(lateness="20", idle=10))
    keys = Keys(read_deployment(late))
    keys.take([message(1, "north", 10, [(1, 90)])])
    standing = keys.standings["=north"]
    assert standing.waits.received == 12
    assert standing.individuals == 0
    assert not any(e.alerts for e in keys.take([passed(2, 0, received=11)]))
    effects = keys.take([passed(3, 0, received=12)])
    assert [a.key for e in effects for a in e.alerts] == ["http://example.org/t#north-1"]
    assert keys.standings["=north"].individuals == 1
    keys.host.close()


def test_a_rule_that_watches_over_time_goes_on_in_silence(
    settings: Settings, tmp_path: Any
) -> None:
    text = (
        '\nrule quiet\nevery "10"\nthen\n  alert info "nothing new" key "quiet"\n'
        '\nrule heard\non message\nthen\n  alert info "a message" key "heard"\n'
    )
    keys = Keys(read_deployment(more_rules(settings, tmp_path, text)))
    first = keys.take([message(1, "north", 3, [(1, 5)])])
    assert [a.key for e in first for a in e.alerts] == ["heard"]
    assert keys.standings["=north"].waits.moved == 10
    then = keys.take([passed(2, 25)])
    assert [(a.key, a.time) for e in then for a in e.alerts] == [("quiet", 25)]
    assert keys.standings["=north"].waits.moved == 30
    keys.host.close()


def test_what_rules_insert_in_silence_after_a_change_has_stays_of_its_own_in_each_engine(
    settings: Settings, tmp_path: Any
) -> None:
    ticks = 'rule tick\nevery "10"\nthen insert individual :tick-{new} a :Actor .\n'
    keys = Keys(read_deployment(more_rules(settings, tmp_path, ticks)))
    said = [message(seq, source, 3, [(1, 5)]) for seq, source in ((1, "north"), (2, "south"))]
    keys.take([*said, registered(3, "idle", QUERY)])
    keys.take([passed(4, 25)])
    engines = keys.host._engines.values()
    stays = [each.stay for engine in engines for each in engine._engine.window]
    assert len(stays) == len(set(stays)) == 4
    keys.host.close()


def test_a_query_reports_that_nothing_came(settings: Settings) -> None:
    keys = Keys(read_deployment(settings))
    keys.take([registered(1, "idle", QUERY), message(2, "north", 3, [(1, 5)])])
    reports = []
    for seq in range(3, 40):
        effects = keys.take([passed(seq, 3, seq)])
        reports += [r.report for e in effects for r in e.reports if r.entry == "m1.2"]
    said = [str(row[0]).split("^")[0] for each in reports for row in each.rows]
    assert said[-1] == '"0"', "a window without a message has been reported"
    assert '"1"' in said
    assert keys.standings["=north"].waits.present is None
    keys.host.close()


WAITING = """
rule near
when select { SELECT ?p { ?p :x ?x FILTER(?x < 50) } } becomes true for "4"
then alert info "{?p} {?now}" key "{?p}"

rule gone
on silence of :Human as ?p for "6"
then alert warning "{?p} {?last} {?now}" key "{?p}"
"""


@pytest.fixture(scope="module")
def waiting(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """Rules that wait for a time, and engines that are often stored."""
    folder = tmp_path_factory.mktemp("waiting")
    return read_deployment(more_rules(often(settings, 3), folder, WAITING))


def of_time(effects: Effects) -> dict[str, Counter[tuple[str, str, int]]]:
    """What rules that wait have raised and ended, each at its time.

    Without the note that it is late: an engine knows the last message of its own key only.
    """
    alerts = [each for each in effects.alerts if each.rule in ("near", "gone")]
    return {
        kind.__name__: Counter(
            (each.rule, getattr(each, "text", each.key or "").partition(" (late")[0], each.time)
            for each in alerts
            if isinstance(each, kind)
        )
        for kind in (Alert, Cleared)
    }


@profile(max_examples=25, deadline=None)
@given(steps=_STEPS, after=st.sets(st.integers(0, 20)), cuts=_CUTS, lost=st.sets(st.integers(0, 5)))
def test_rules_that_wait_fire_by_key_when_they_fire_in_one_engine(
    waiting: Deployment, steps: Any, after: set[int], cuts: set[int], lost: set[int]
) -> None:
    """Whoever tells of the time: messages of the key, of others, or silence."""
    rows = journal(steps, after)
    last = rows[-1]
    moved = PassTime.decode(last[5], "").moved
    rows.append(passed(last[0] + 1, moved, moved + 20, received=last[4] + 20))
    found = by_keys(waiting, batches(rows, cuts), lost)
    expected = of_one_engine(waiting, [record_of(row) for row in rows])
    assert of_time(found) == of_time(expected)
    assert of_time(found)["Alert"]
