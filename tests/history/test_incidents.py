"""Alerts of one rule and key: against a model that goes through them one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from sensorstream.alerts.alert_records import MOST_SILENCES, Incident, Silence, Webhook
from sensorstream.errors import AlertError, UnknownAlert, UnknownSilence
from sensorstream.history.incident_clock import tend
from sensorstream.history.incidents import PostgresIncidents, set_damping
from sensorstream.history.outbox import PostgresOutbox
from sensorstream.history.store import PostgresStore
from sensorstream.history.webhook_store import PostgresWebhooks
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model.events import Alert, Cleared, Message, Status
from sensorstream.settings.settings import AlertSettings
from tests.history.alerting import START, change_of, commit, forget, told_now

MINUTE = timedelta(minutes=1)
Step: TypeAlias = tuple[Any, ...]


@pytest.fixture
def incidents(database: Engine) -> PostgresIncidents:
    return PostgresIncidents(database)


@dataclass
class Naive:
    """One incident."""

    id: str
    key: str
    severity: str
    state: str = "open"
    count: int = 1
    escalated: str | None = None
    raised_at: datetime = START
    last_at: datetime = START
    reminded_at: datetime | None = None
    held: str | None = None
    changes: list[tuple[str, str]] = field(default_factory=lambda: [("raised", "")])

    def change(self, name: str, by: str = "") -> tuple[str, str]:
        self.changes.append((name, by))
        return (self.id, name)


KEYS = st.sampled_from(["a", "b", "k" * 5000])
CHANGES = st.one_of(
    KEYS, st.just(""), st.tuples(KEYS, st.sampled_from(["info", "warning", "critical"]))
)
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("commit"), st.lists(CHANGES, min_size=1, max_size=6)),
    st.tuples(st.just("commit"), st.lists(CHANGES, min_size=1, max_size=6)),
    st.tuples(st.sampled_from(["acknowledge", "clear", "comment"]), st.integers(0, 3)),
    st.tuples(st.just("silence"), KEYS, st.integers(1, 8)),
    st.tuples(st.just("wait"), st.integers(1, 9)),
)
TENDED = AlertSettings(
    remind_every=4, remind_critical=2, escalate_after=7, clear_after=25 / 1440, most_open=2
)


@examples(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=5, max_size=20))
def test_alerts_live_as_in_a_model_that_goes_through_them_one_by_one(
    store: PostgresStore, database: Engine, incidents: PostgresIncidents, steps: list[Step]
) -> None:
    forget(database)
    PostgresWebhooks(database).put(Webhook("w", "http://w", "s", START, changes=True), 1)
    PostgresWebhooks(database).put(Webhook("boss", "http://w", "s", START, escalated=True), 1)
    now = START
    known: list[Naive] = []
    told: list[tuple[str, str]] = []
    silenced: list[tuple[str, datetime]] = []
    for step in steps:
        now += MINUTE
        match step:
            case ("commit", changes):
                ids = iter(commit(store, now, *changes))
                for each in changes:
                    key = each if isinstance(each, str) else each[0]
                    there = [i for i in known if key in (i.key, "") and i.state != "cleared"]
                    if isinstance(each, str):
                        for one in there:
                            one.state = "cleared"
                            told.append(one.change("cleared"))
                        continue
                    id_ = next(ids)
                    if there:
                        there[0].count += 1
                        there[0].severity = each[1]
                    else:
                        known.append(Naive(id_, key, each[1], raised_at=now))
                        there = known[-1:]
                    there[0].last_at = now
                    there[0].held = id_
                    if not any(key == k and now < until for k, until in silenced):
                        told.append((id_, "alert"))
                        there[0].held = None
            case ("silence", key, minutes):
                until = now + minutes * MINUTE
                incidents.silence(Silence(0, None, key, None, now, until, "eve", ""), now)
                silenced.append((key, until))
            case ("wait", minutes):
                now += minutes * MINUTE
                tend(database, TENDED, now)
                hushed = {key for key, until in silenced if now < until}
                for one in known:
                    if one.held is not None and one.key not in hushed:
                        # What it held back is told at the end of the silence.
                        told += [(one.held, "alert")] if one.state == "open" else []
                        one.held = None
                told += _tended(known, now, hushed)
            case (name, place) if place < len(known):
                one = known[place]
                if name == "comment":
                    incidents.comment(one.id, "eve", "what?", now)
                    told.append(one.change("commented", "eve"))
                elif name == "clear":
                    incidents.clear(one.id, "eve", "", now)
                    if one.state != "cleared":
                        one.state = "cleared"
                        told.append(one.change("cleared", "eve"))
                elif one.state == "cleared":
                    with pytest.raises(AlertError):
                        incidents.acknowledge(one.id, "eve", "", now)
                else:
                    incidents.acknowledge(one.id, "eve", "", now)
                    if one.state == "open":
                        one.state = "acknowledged"
                        told.append(one.change("acknowledged", "eve"))
        found = incidents.list(None, 100, None, now)
        assert [_shown(each) for each in reversed(found)] == [
            _told(each) for each in known if each.state != "cleared"
        ], step
    for one in known:
        changes = incidents.history(one.id, 1000, 0, now)
        assert [(each.change, each.by) for each in changes] == one.changes
    due = told_now(database, now)
    sent = [change_of(each.event) for each in due if each.webhook.id == "w"]
    assert sorted(sent) == sorted(told)
    urgent = []
    for one in known:
        names = [name for name, _ in one.changes]
        if "escalated" in names:
            since = names[names.index("escalated") :]
            urgent += [(one.id, name) for name in since if name in ("escalated", "cleared")]
    sent = [change_of(each.event) for each in due if each.webhook.id == "boss"]
    assert sorted(sent) == sorted(urgent)


def _tended(known: list[Naive], now: datetime, hushed: set[str]) -> list[tuple[str, str]]:
    """What the wall clock does, in the order in which it does it."""
    told = []
    ends = [one for one in known if one.state != "cleared"]
    ends.sort(key=lambda one: (one.last_at, known.index(one)), reverse=True)
    old = [one for one in ends[: TENDED.most_open] if one.last_at <= now - 25 * MINUTE]
    for one in (*ends[TENDED.most_open :], *old):
        one.state = "cleared"
        told.append(one.change("cleared"))
    heard = [one for one in known if one.state == "open" and one.key not in hushed]
    for one in heard:
        late = one.raised_at <= now - 7 * MINUTE
        if late and one.escalated is None:
            one.escalated = "warning" if one.severity == "info" else "critical"
            told.append(one.change("escalated"))
        every = 2 if (one.escalated or one.severity) == "critical" else 4
        if (one.reminded_at or one.raised_at) <= now - every * MINUTE:
            one.reminded_at = now
            told.append(one.change("reminded"))
    return told


def _shown(found: Incident) -> tuple[object, ...]:
    return found.id, found.key, found.severity, found.state, found.count, found.escalated


def _told(naive: Naive) -> tuple[object, ...]:
    return naive.id, naive.key, naive.severity, naive.state, naive.count, naive.escalated


def test_each_alert_leads_to_its_incident_and_unknown_ones_to_an_error(
    store: PostgresStore, incidents: PostgresIncidents
) -> None:
    first, second = commit(store, START, ("a", "info"), ("a", "critical"))
    found = incidents.one(second, START)
    assert (found.id, found.count, found.last_alert) == (first, 2, second)
    assert incidents.assign(second, "eve", "ann", START).assignee == "ann"
    assert incidents.assign(first, "eve", "", START).assignee is None
    assert incidents.last_change() == incidents.changes_after(0, 10)[-1].seq
    for unknown in ("m9-9", "nul \x00"):
        with pytest.raises(UnknownAlert):
            incidents.one(unknown, START)
    assert incidents.list("cleared", 10, None, START) == []
    assert incidents.list("open", 10, found.seq, START) == []


def test_silences_match_patterns_end_and_are_bounded(
    database: Engine, store: PostgresStore, incidents: PostgresIncidents
) -> None:
    PostgresWebhooks(database).put(Webhook("w", "http://w", "s", START), 1)
    hour = START + 60 * MINUTE
    made = incidents.silence(Silence(0, "h*", "50%_\\*", "info", START, hour, "eve", "n"), START)
    assert incidents.silences(START) == [made]
    assert (made.rule, made.key) == ("h*", "50%_\\*")
    outbox = PostgresOutbox(database)
    keys = (("50%_\\x", "info"), ("50%_\\y", "warning"), ("50 _\\x", "info"))
    ids = commit(store, START, *keys)
    assert [each.silenced for each in incidents.list(None, 9, None, START)] == [False, False, True]
    assert [each.event.id for each in outbox.due(hour, 9)] == ids[1:]
    assert incidents.silences(hour) == []
    incidents.end_silence(made.id, START + MINUTE)
    assert [each.event.id for each in outbox.due(hour, 9)] == [*ids[1:], ids[0]]
    with pytest.raises(UnknownSilence):
        incidents.end_silence(made.id, START + MINUTE)
    with database.begin() as connection:
        connection.execute(
            text(
                "insert into store.silences (key, starts_at, ends_at, by, comment) "
                "select n, :start, :end, '', '' from generate_series(1, :most) n"
            ),
            {"start": START, "end": hour, "most": MOST_SILENCES},
        )
    with pytest.raises(AlertError, match="already"):
        incidents.silence(made, START)
    assert incidents.silence(made, hour).id  # the others have ended


def test_what_was_told_after_a_silence_is_not_told_again_and_another_silence_goes_on(
    database: Engine, store: PostgresStore, incidents: PostgresIncidents
) -> None:
    PostgresWebhooks(database).put(Webhook("w", "http://w", "s", START), 1)
    outbox = PostgresOutbox(database)
    for key, begins, ends in (("a", 0, 2), ("b", 0, 4), ("b", 2, 6), ("c", 0, 4)):
        starts, until = START + begins * MINUTE, START + ends * MINUTE
        incidents.silence(Silence(0, None, key, None, starts, until, "eve", ""), START)
    _, held, seen = commit(store, START + MINUTE, ("a", "info"), ("b", "info"), ("c", "info"))
    incidents.acknowledge(seen, "ann", "", START + MINUTE)
    (repeat,) = commit(store, START + 3 * MINUTE, ("a", "info"))
    for minutes, told in ((5, [repeat]), (6, [repeat, held]), (7, [repeat, held])):
        now = START + minutes * MINUTE
        tend(database, AlertSettings(), now)
        assert [each.event.id for each in outbox.due(now, 9)] == told


@examples(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]), st.sampled_from(["x", "y", "z", None]), st.booleans()
        ),
        max_size=40,
    )
)
def test_a_group_of_entries_leaves_what_its_entries_leave_one_by_one(
    store: PostgresStore, database: Engine, said: list[tuple[str, str | None, bool]]
) -> None:
    set_damping(database, AlertSettings(flap_count=3, flap_span=5))

    def left(size: int) -> list[list[Any]]:
        forget(database)
        PostgresWebhooks(database).put(Webhook("w", "http://w", "s", START, changes=True), 1)
        first = store.last_seq() + 1
        for start in range(0, len(said), size):
            numbers = range(first + start, first + min(start + size, len(said)))
            store.append([Record(n, Message(f"m{n}", b"<a/>", 0), START) for n in numbers])
            told = tuple(
                Alert(
                    f"m{first}-{n - first:02}",
                    rule,
                    "rule",
                    "info",
                    f"{n - first}",
                    key,
                    n - first,
                    f"m{n}",
                )
                if key is not None and not ends
                else Cleared(rule, "rule", key, n - first, f"m{n}")
                for n, (rule, key, ends) in zip(numbers, said[start : start + size], strict=True)
            )
            statuses = tuple(MessageStatus(n, Status.ACCEPTED) for n in numbers)
            store.commit(Effects(numbers[-1], (), (), told, statuses, START))
        # Alerts are named by their texts, which are the same each time.
        queries = (
            "select a.text, i.text, i.state, i.count from store.alerts a join store.incidents "
            "i on i.id = a.incident order by a.seq",
            "select rule, key, text, state, count, first_time, last_time from store.incidents "
            "order by seq",
            "select a.text, c.change, c.time, c.text, c.count from store.alert_changes c join "
            "store.alerts a on a.id = c.incident where c.change <> 'flapping' order by c.seq",
            "select a.text, e.said, b.text, c.time, e.escalated "
            "from store.events e left join store.alerts a on a.id = e.alert_id "
            "left join store.alert_changes c on c.seq = e.change "
            "left join store.alerts b on b.id = c.incident "
            "where e.said is distinct from 'flapping' order by e.seq",
            "select encode(identity, 'hex'), since, told, ends from store.flaps order by identity",
        )
        with database.connect() as connection:
            return [list(map(tuple, connection.execute(text(q)))) for q in queries]

    assert left(40) == left(1)
