"""Alerts that come and go too often: against a model that goes through their ends one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from sqlalchemy import Engine

from sensorstream.alerts.alert_records import AlertGroup, Silence, Webhook
from sensorstream.history.incident_clock import tell_groups, tend
from sensorstream.history.incidents import PostgresIncidents, set_damping
from sensorstream.history.outbox import PostgresOutbox
from sensorstream.history.store import PostgresStore
from sensorstream.history.webhook_store import PostgresWebhooks
from sensorstream.model.timeline import Timeline
from sensorstream.model.webhook_definition import Grouping
from sensorstream.settings.settings import AlertSettings
from tests.history.alerting import START, change_of, commit, forget, told_now

MINUTE = timedelta(minutes=1)
DAMPED = AlertSettings(flap_count=3, flap_span=6)
SPAN = 6 * MINUTE
Step: TypeAlias = tuple[Any, ...]


@dataclass
class Naive:
    """All alerts of one key."""

    open: str | None = None
    last: str = ""
    ends: list[datetime] = field(default_factory=list)
    moved_at: datetime = START
    flapping: bool = False


KEYS = st.sampled_from("ab")
CHANGES = st.one_of(KEYS, st.tuples(KEYS, st.just("info")))
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("commit"), st.lists(CHANGES, min_size=1, max_size=8)),
    st.tuples(st.just("commit"), st.lists(CHANGES, min_size=1, max_size=8)),
    st.tuples(st.just("look"), st.integers(0, 7)),
)


@examples(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=6, max_size=20))
def test_what_flaps_is_told_as_by_a_model_that_goes_through_the_ends_one_by_one(
    store: PostgresStore, database: Engine, steps: list[Step]
) -> None:
    forget(database)
    set_damping(database, DAMPED)
    registered = PostgresWebhooks(database)
    registered.put(Webhook("changes", "http://w", "s", START, changes=True), 1)
    registered.put(Webhook("plain", "http://w", "s", START), 1)
    now, known, told = START, {"a": Naive(), "b": Naive()}, list[tuple[str, str]]()
    for step in steps:
        now += MINUTE
        match step:
            case ("commit", changes):
                ids = iter(commit(store, now, *changes))
                flapping = {key for key, one in known.items() if one.flapping}
                for each in changes:
                    key = each if isinstance(each, str) else each[0]
                    one = known[key]
                    if isinstance(each, str):
                        if one.open is not None:
                            if key not in flapping:
                                told.append((one.open, "cleared"))
                            one.last, one.open, one.moved_at = one.open, None, now
                            one.ends.append(now)
                            if len(one.ends) > 2 and one.ends[-3] > now - SPAN:
                                flapping.add(key)
                        continue
                    id_ = next(ids)
                    if one.open is None:
                        one.open, one.moved_at = id_, now
                    if key not in flapping:
                        told.append((id_, "alert"))
                for key, one in known.items():
                    if key in flapping and not one.flapping:
                        one.flapping = True
                        told.append((one.last, "flapping"))
            case ("look", minutes):
                now += minutes * MINUTE
                tend(database, DAMPED, now)
                for one in known.values():
                    if one.flapping and one.moved_at <= now - SPAN:
                        one.flapping, one.ends = False, []
                        told.append((one.open or one.last, "settled"))
        shown = {
            each.key: each.flapping for each in PostgresIncidents(database).list(None, 9, None, now)
        }
        expected = {key: one.flapping for key, one in known.items() if one.open is not None}
        assert shown == expected, step
    sent = [(each.webhook.id, change_of(each.event)) for each in told_now(database, now)]
    assert sorted(each for name, each in sent if name == "changes") == sorted(told)
    wide = [each for each in told if each[1] in ("alert", "flapping", "settled")]
    assert sorted(each for name, each in sent if name == "plain") == sorted(wide)


def test_what_flaps_is_told_in_its_history_and_not_reminded_of(
    store: PostgresStore, database: Engine
) -> None:
    set_damping(database, DAMPED)
    reminded = AlertSettings(flap_count=3, flap_span=6, remind_every=1, escalate_after=1)
    for _ in range(3):
        (first,) = commit(store, START, ("a", "info"), "a")
    (last,) = commit(store, START, ("a", "info"))
    incidents, now = PostgresIncidents(database), START + 5 * MINUTE
    assert tend(database, reminded, now) == 0
    assert [(each.change, each.text) for each in incidents.history(first, 9, 0, now)][-1] == (
        "flapping",
        "ended 3 times in 6 minutes",
    )
    now += MINUTE
    assert tend(database, reminded, now) == 1
    told = [(each.change, each.text) for each in incidents.history(last, 9, 0, now)]
    assert told[1:] == [("settled", "it is open")]
    assert tend(database, reminded, now) == 2
    assert not incidents.one(last, now).flapping


def test_what_a_silence_is_about_flaps_without_a_word(
    store: PostgresStore, database: Engine
) -> None:
    set_damping(database, DAMPED)
    PostgresWebhooks(database).put(Webhook("w", "http://w", "s", START), 1)
    incidents = PostgresIncidents(database)
    silence = Silence(0, None, "a", None, START, START + 60 * MINUTE, "eve", "")
    made = incidents.silence(silence, START)
    for _ in range(4):
        commit(store, START, ("a", "info"), "a")
    (last,) = commit(store, START, ("a", "info"))
    incidents.end_silence(made.id, START)
    outbox = PostgresOutbox(database)
    assert outbox.due(START, 9) == []
    tend(database, DAMPED, START + SPAN)
    (told,) = outbox.due(START + SPAN, 9)
    assert change_of(told.event) == (last, "settled")


def test_a_group_does_not_hear_of_what_flaps_until_it_has_settled(
    store: PostgresStore, database: Engine
) -> None:
    set_damping(database, DAMPED)
    group = Grouping(("rule",), 0, 1)
    PostgresWebhooks(database).put(Webhook("w", "http://w", "s", START, group=group), 1)
    for _ in range(4):
        commit(store, START, ("a", "info"), "a")
    (last,) = commit(store, START, ("a", "info"))
    assert tell_groups(database, Timeline.INTEGER, START) == 0
    now = START + SPAN
    tend(database, DAMPED, now)
    assert tell_groups(database, Timeline.INTEGER, now) == 1
    (told,) = PostgresOutbox(database).due(now, 9)
    assert isinstance(told.event, AlertGroup)
    assert f'"id": "{last}"' in told.event.data


def test_without_the_setting_each_end_is_told(store: PostgresStore, database: Engine) -> None:
    set_damping(database, AlertSettings())
    PostgresWebhooks(database).put(Webhook("w", "http://w", "s", START, changes=True), 1)
    for _ in range(9):
        commit(store, START, ("a", "info"), "a")
    assert len(told_now(database, START)) == 18
