"""Messages that wait: what is answered, kept, released by the clock and found after a crash."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sensorstream.app.application import Application
from sensorstream.app.control.rule_exchange import Exchange
from sensorstream.app.control.wiring import Deployment, read_deployment
from sensorstream.app.life.recovery import find_start, recover
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import MappingError, RuleCycle, SettingsError
from sensorstream.journal.entry_effects import effects_of
from sensorstream.journal.kinds import replay
from sensorstream.journal.records import Record
from sensorstream.model.events import Message
from sensorstream.settings.settings import (
    RuleSettings,
    Settings,
    SourceSettings,
    TimeSettings,
    WindowSettings,
)
from sensorstream.testing import MemoryStore
from tests.app.conftest import Open
from tests.databases import execute, forget_effects
from tests.engine import feeding
from tests.waiting import eventually

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LOOP = """
prefix : <http://sensorstream.example/tracking#>
rule round
on change
if select { select ?x { ?x :hasXLocation 666 } }
then insert individual :action-{new} a :Action .
rule again
on insert :Action as ?x
if select { select ?y { ?y :hasXLocation 666 } }
then insert individual :action-{new} a :Action .
"""


def seen(number: int, at: int, x: int = 5) -> bytes:
    return (
        f"<Message><Event id='{number}'><Tracker type='FaceTracker'><TimeStamp value='{at}'/>"
        f"<person id='{number}' certainty='40'><location2d x='{x}' y='8'/></person>"
        "</Tracker></Event></Message>"
    ).encode()


@pytest.fixture
def late(settings: Settings, tmp_path: Path) -> Settings:
    """Lateness 3 for all but the source ``slow``, which is given 8; rules that may go round."""
    (tmp_path / "loop.rules").write_text(LOOP)
    return replace(
        settings,
        rules=RuleSettings((*settings.rules.files, tmp_path / "loop.rules"), max_rounds=3),
        time=TimeSettings(lateness="3", idle=1.0),
        sources={"slow": SourceSettings("8")},
    )


def test_a_message_of_the_future_is_refused_and_moves_nothing(
    settings: Settings, open_application: Open
) -> None:
    settings = replace(settings, window=WindowSettings(unit="time", size="600"))
    settings = replace(settings, time=TimeSettings(ahead="100"))
    application = open_application(settings)
    now = int(time.time())
    application.submit(seen(1, now + 10), "cam").result(60)
    with pytest.raises(MappingError, match=r"ahead of its arrival .* than time\.ahead allows"):
        application.submit(seen(2, now + 100_000), "cam").result(60)
    window = application.window_view(100)
    assert window.now == now + 10
    assert [each.status for each in application.reader.quarantined(10)] == ["rejected"]
    application.close()
    # What was taken in once stays so, whatever the setting is now.
    execute(settings.history.url, "delete from store.checkpoints")
    again = open_application(replace(settings, time=TimeSettings(ahead="0")))
    assert again.window_view(100) == window


def test_an_integer_time_is_judged_by_the_spacing_of_those_before(
    settings: Settings, open_application: Open
) -> None:
    settings = replace(settings, window=WindowSettings(unit="time", size="600"))
    application = open_application(settings)
    for n in range(12):
        application.submit(seen(n, 100 + 10 * n), "cam").result(60)
    for wrong in (2**63 - 1, 211 + 10**9 * 10):
        with pytest.raises(MappingError, match=r"after the latest one \(210\)"):
            application.submit(seen(2, wrong), "cam").result(60)
    application.submit(seen(2, 220), "cam").result(60)
    window = application.window_view(100)
    assert window.now == 220
    application.close()
    again = open_application(settings)  # it knows the steps by the window
    with pytest.raises(MappingError, match=r"after the latest one \(220\)"):
        again.submit(seen(2, 2**63 - 1), "cam").result(60)
    assert again.window_view(100) == window
    again.submit(seen(2, 9_000_000), "cam").result(60)  # a long pause


@pytest.mark.parametrize(
    ("time_settings", "ahead"),
    [
        (TimeSettings(), None),
        (TimeSettings(ahead="60"), 60),
        (TimeSettings(line="datetime"), 3660 * 86_400_000_000),
        (TimeSettings(line="datetime", ahead="PT5S"), 5_000_000),
    ],
)
def test_how_far_ahead_a_message_may_be(
    settings: Settings, time_settings: TimeSettings, ahead: int | None
) -> None:
    assert read_deployment(replace(settings, time=time_settings)).ahead == ahead
    with pytest.raises(SettingsError, match=r"time\.ahead: "):
        read_deployment(replace(settings, time=replace(time_settings, ahead="soon")))


def send(application: Application, *messages: bytes, source: str = "slow") -> list[Outcome]:
    futures = [application.submit(each, source) for each in messages]
    return [future.result(300) for future in futures]


def kept(application: Application) -> list[tuple[str, str, str | None]]:
    query = "select id, status, reason from history.messages order by seq"
    return [cast(tuple[str, str, str | None], row) for row in application.asking.sql(query).rows]


def names(application: Application) -> list[str]:
    window = [each.name for each in application.window_view(100).individuals]
    rows = application.asking.sql("select distinct iri from history.individuals").rows
    return sorted(n for n in [*window, *(str(row[0]) for row in rows)] if "human-" in n)


TIMES = [10, 14, 12, 20, 16, 13, 25, 22, 19, 30]


def test_held_messages_are_counted_and_released_in_order(
    late: Settings, open_application: Open
) -> None:
    application = open_application(replace(late, time=replace(late.time, idle=3600.0)))
    messages = [seen(number, at) for number, at in enumerate(TIMES)]
    statuses = [each.status.value for each in send(application, *messages)]
    assert statuses == ["held"] * len(TIMES)
    released = sorted(at for at in TIMES if at <= 22)
    held = len(TIMES) - len(released)
    assert (application.held(), application.window_view(1).held) == (held, held)
    expected = ["accepted" if at <= 22 else "held" for at in TIMES]
    assert [status for _, status, _ in kept(application)] == expected
    people = [each for each in application.window_view(100).individuals if "human" in each.name]
    assert [each.time for each in people] == released
    registry = application.metrics
    assert registry.get_sample_value("sensorstream_held_messages") == held
    by = {"by": "message"}
    assert registry.get_sample_value("sensorstream_released_messages_total", by) == len(released)


def test_time_without_messages_releases_what_waits(late: Settings, open_application: Open) -> None:
    application = open_application(late)
    send(application, *(seen(number, at) for number, at in enumerate(TIMES)))
    # What a message came to is stored a moment after it was released.
    eventually(lambda: {status for _, status, _ in kept(application)} == {"accepted"})
    assert application.held() == 0
    # The tick is in the journal, but it is no message.
    assert len(kept(application)) == len(TIMES)
    by = {"by": "clock"}
    value = application.metrics.get_sample_value("sensorstream_released_messages_total", by)
    assert value is not None
    assert value > 0


def test_late_messages_are_in_history_and_told_of(late: Settings, open_application: Open) -> None:
    application = open_application(late)
    send(application, seen(1, 100), seen(2, 120))
    (outcome,) = send(application, seen(3, 99))
    assert (outcome.status.value, len(outcome.departures)) == ("late", 0)
    rows = application.asking.sql("select iri, time, expired_at from history.human").rows
    assert rows == (("http://sensorstream.example/tracking#human-3", 99, 99),)
    assert next(each.alert.kind for each in application.reader.alerts_before(10)) == "late-message"
    assert kept(application)[2][1] == "late"


def test_a_held_message_that_is_rejected_at_last_is_in_quarantine_and_stays_rejected(
    late: Settings, open_application: Open
) -> None:
    application = open_application(late)
    (outcome,) = send(application, seen(1, 10, x=666))
    assert outcome.status.value == "held"
    send(application, seen(2, 30))
    (rejected,) = application.reader.quarantined(10)
    assert (rejected.id, rejected.status) == ("m1", "rejected")
    eventually(lambda: application.held() == 0)
    application.close()
    lenient = replace(late, rules=RuleSettings(late.rules.files[:1]))
    execute(late.history.url, "delete from store.checkpoints")
    again = open_application(lenient)
    assert [each.name for each in again.window_view(10).individuals if "human" in each.name] == [
        "http://sensorstream.example/tracking#human-2"
    ]


def test_a_restart_finds_the_messages_that_wait(late: Settings, open_application: Open) -> None:
    patient = replace(late, time=replace(late.time, idle=3600.0))
    application = open_application(patient)
    send(application, *(seen(number, at) for number, at in enumerate(TIMES)))
    window, held = application.window_view(100), application.held()
    application.close()
    again = open_application(patient)
    assert (again.window_view(100), again.held()) == (window, held)
    send(again, seen(99, 60))
    assert again.held() == 1
    assert len(names(again)) == len(TIMES)


def test_effects_that_were_lost_are_made_again_ticks_and_all(
    late: Settings, open_application: Open
) -> None:
    application = open_application(late)
    for part in (TIMES[:6], TIMES[6:]):
        send(application, *(seen(at, at) for at in part))
        eventually(lambda: application.held() == 0)
    # What becomes of a message is written a moment after it is known.
    eventually(lambda: "held" not in {status for _, status, _ in kept(application)})
    found = (application.window_view(100), names(application), kept(application))
    alerts = [each.alert for each in application.reader.alerts_before(100)]
    application.close()
    forget_effects(late.history.url)
    again = open_application(late)
    assert (again.window_view(100), names(again), kept(again)) == found
    assert [each.alert for each in again.reader.alerts_before(100)] == alerts


# -- a crash at any moment ---------------------------------------------------------------------


def left_behind(store: MemoryStore) -> list[list[str]]:
    """Everything stored; how it was grouped does not matter.

    Alerts of rejected messages are left out: what was rejected before the crash is not tried
    again, so it does not count for their damping, and any rule may have failed on it.
    """
    every = store.committed
    return [
        sorted(repr(each) for effects in every for each in effects.departures),
        sorted(repr(each) for effects in every for each in effects.ended),
        [
            repr(each)
            for effects in every
            for each in effects.alerts
            if each.kind not in ("rejected-message", "rule-failed")
        ],
    ]


@pytest.fixture
def deployment(late: Settings) -> Deployment:
    return read_deployment(replace(late, time=replace(late.time, idle=5.0)))


steps = st.lists(
    st.tuples(
        st.sampled_from(["slow", "quick", "other", "tick"]),
        st.integers(0, 12),
        st.sampled_from([0, 0, 1, 7]),
        st.sampled_from([5, 5, 5, 666]),
    ),
    min_size=1,
    max_size=20,
)


@hypothesis_settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
@given(steps, st.integers(0, 20), st.integers(0, 20), st.integers(1, 4))
def test_after_a_crash_at_any_moment_every_effect_is_stored_once(
    deployment: Deployment,
    stream: list[tuple[str, int, int, int]],
    checkpoint: int,
    crash: int,
    group: int,
) -> None:
    """Messages, held ones, ticks and late ones; a checkpoint before, effects up to the crash."""
    now = 1000
    whole, broken = MemoryStore(), MemoryStore()
    for seq, (source, ahead, wait, x) in enumerate(stream, 1):
        now += wait
        silent = source == "tick"
        content = b"" if silent else seen(seq % 4, 100 + seq + ahead, x)
        message = Message(f"m{seq}", content, now, "" if silent else source)
        record = Record(seq, message, NOW, kind="tick" if silent else "message")
        whole.append([record])
        broken.append([record])
    machine = feeding.machine_of(deployment)
    engine = machine.engine
    target = Exchange(engine, machine.mapper, deployment)
    for start in range(0, len(stream), group):
        records = whole.records[start : start + group]
        effects = effects_of(records, [replay(record, target, ()) for record in records])
        whole.commit(effects)
        if records[-1].seq <= crash:
            broken.commit(effects)
            if records[-1].seq <= checkpoint:
                broken.save_checkpoint(records[-1].seq, dump(engine.state()))
    other = feeding.machine_of(deployment)
    recovered = other.engine
    again = Exchange(recovered, other.mapper, deployment)
    recover(again, broken, find_start(broken), lambda _: None, NOW)
    assert left_behind(broken) == left_behind(whole)
    assert broken.statuses() == whole.statuses()
    found, expected = (load(dump(each.state())) for each in (recovered, engine))
    assert replace(found, notices=expected.notices) == expected


def test_the_loop_of_these_tests_is_one(deployment: Deployment) -> None:
    engine = feeding.machine_of(deployment).engine
    send_one = seen(1, 10, x=666)
    feeding.process(engine, Message("m1", send_one, 1, "slow"))
    (outcome,) = engine.tick(Message("m2", b"", 100)).released
    assert isinstance(outcome.rejection, RuleCycle)
