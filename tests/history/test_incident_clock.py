"""Groups of alerts: against a model that keeps what each receiver knows of each alert."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias

from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from sqlalchemy import Engine

from sensorstream.alerts.alert_formats import MOST_TOLD
from sensorstream.alerts.alert_records import AlertGroup, Silence, Webhook
from sensorstream.history.incident_clock import tell_groups, tend
from sensorstream.history.incidents import PostgresIncidents
from sensorstream.history.outbox import PostgresOutbox
from sensorstream.history.store import PostgresStore
from sensorstream.history.webhook_store import PostgresWebhooks
from sensorstream.model.timeline import Timeline
from sensorstream.model.webhook_definition import Grouping, Label
from sensorstream.settings.settings import AlertSettings
from tests.history.alerting import START, commit, forget, told_now

MINUTE = timedelta(minutes=1)
Step: TypeAlias = tuple[Any, ...]


def grouped(name: str, by: tuple[Label, ...], wait: float = 120, interval: float = 300) -> Webhook:
    return Webhook(name, "http://w", "s", START, group=Grouping(by, wait, interval))


def sent(database: Engine, now: Any) -> list[tuple[str, Any]]:
    """What each receiver is told now; it takes it."""
    found = []
    for each in told_now(database, now):
        assert isinstance(each.event, AlertGroup)
        found.append((each.webhook.id, json.loads(each.event.data)))
    return found


@dataclass
class Group:
    made: Any
    told_at: Any = None
    members: dict[str, str] = field(default_factory=dict)


@dataclass
class Open:
    id: str
    key: str
    severity: str
    state: str = "open"


class Naive:
    """One receiver."""

    def __init__(self, by: str, wait: int, interval: int) -> None:
        self.by, self.wait, self.interval = by, wait * MINUTE, interval * MINUTE
        self.groups: dict[str, Group] = {}

    def look(
        self, known: list[Open], changed: list[str], hushed: set[str], now: Any
    ) -> list[tuple[str, frozenset[tuple[str, bool]]]]:
        there = {each.id: each for each in known}
        for id_ in dict.fromkeys(changed):
            one = there[id_]
            for group in self.groups.values():
                if group.members.get(id_) == "told":
                    group.members[id_] = "changed"
            if one.state != "cleared" and not any(id_ in g.members for g in self.groups.values()):
                label = getattr(one, self.by)
                self.groups.setdefault(label, Group(now)).members[id_] = "new"
        told = []
        for label, group in self.groups.items():
            group.members = {
                id_: knows
                for id_, knows in group.members.items()
                if knows != "new" or there[id_].state != "cleared"
            }
            heard = {
                id_: knows
                for id_, knows in group.members.items()
                if there[id_].state == "cleared" or there[id_].key not in hushed
            }
            due = group.told_at + self.interval if group.told_at else group.made + self.wait
            if due > now or all(knows == "told" for knows in heard.values()):
                continue
            shown = frozenset((id_, there[id_].state == "cleared") for id_ in heard)
            told.append((label, shown))
            group.told_at = now
            group.members |= dict.fromkeys(heard, "told")
            group.members = {i: k for i, k in group.members.items() if there[i].state != "cleared"}
        self.groups = {label: group for label, group in self.groups.items() if group.members}
        return told


KEYS = st.sampled_from(["a", "b", "k" * 5000])
CHANGES = st.one_of(KEYS, st.tuples(KEYS, st.sampled_from(["info", "warning"])))
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("commit"), st.lists(CHANGES, min_size=1, max_size=5)),
    st.tuples(st.just("commit"), st.lists(CHANGES, min_size=1, max_size=5)),
    st.tuples(st.just("silence"), KEYS, st.integers(1, 6)),
    st.tuples(st.just("look"), st.integers(1, 4)),
    st.tuples(st.just("look"), st.integers(1, 4)),
)


@examples(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=8, max_size=25))
def test_groups_are_told_as_by_a_model_that_goes_through_all_alerts(
    store: PostgresStore, database: Engine, steps: list[Step]
) -> None:
    forget(database)
    registered = PostgresWebhooks(database)
    registered.put(grouped("k", ("key",), 120, 300), 1)
    registered.put(grouped("s", ("severity",), 0, 60), 1)
    models = {"k": Naive("key", 2, 5), "s": Naive("severity", 0, 1)}
    now, known, changed = START, list[Open](), list[str]()
    silenced: list[tuple[str, Any]] = []
    for step in steps:
        now += MINUTE
        match step:
            case ("commit", changes):
                ids = iter(commit(store, now, *changes))
                for each in changes:
                    key = each if isinstance(each, str) else each[0]
                    there = [one for one in known if one.key == key and one.state == "open"]
                    if isinstance(each, str):
                        for one in there:
                            one.state = "cleared"
                            changed.append(one.id)
                        continue
                    id_ = next(ids)
                    if there:
                        there[0].severity = each[1]
                    else:
                        known.append(Open(id_, key, each[1]))
                        changed.append(id_)
            case ("silence", key, minutes):
                until = now + minutes * MINUTE
                silence = Silence(0, None, key, None, now, until, "eve", "")
                PostgresIncidents(database).silence(silence, now)
                silenced.append((key, until))
            case ("look", minutes):
                now += minutes * MINUTE
                hushed = {key for key, until in silenced if now < until}
                expected = [
                    (name, *each)
                    for name, model in models.items()
                    for each in model.look(known, changed, hushed, now)
                ]
                changed = []
                tell_groups(database, Timeline.INTEGER, now)
                found = [
                    (
                        name,
                        next(iter(data["group"].values())),
                        frozenset((a["id"], a["state"] == "cleared") for a in data["alerts"]),
                    )
                    for name, data in sent(database, now)
                ]
                assert sorted(found, key=repr) == sorted(expected, key=repr), step


def test_of_a_large_group_the_news_come_first_and_the_rest_is_counted(
    store: PostgresStore, database: Engine
) -> None:
    PostgresWebhooks(database).put(grouped("w", (), 0, 60), 1)
    commit(store, START, *((f"k{n}", "info") for n in range(MOST_TOLD + 20)))
    tell_groups(database, Timeline.INTEGER, START)
    ((_, first),) = sent(database, START)
    assert (first["group"], first["open"], first["truncated"]) == ({}, MOST_TOLD + 20, 20)
    assert len(first["alerts"]) == MOST_TOLD
    commit(store, START, "k0", "k1")
    assert tell_groups(database, Timeline.INTEGER, START + MINUTE / 2) == 0
    tell_groups(database, Timeline.INTEGER, START + MINUTE)
    ((_, second),) = sent(database, START + MINUTE)
    assert (second["open"], second["cleared"], second["truncated"]) == (MOST_TOLD + 18, 2, 20)
    assert {each["key"] for each in second["alerts"][:2]} == {"k0", "k1"}


def test_what_people_do_makes_a_group_tell_only_whoever_asks_for_changes(
    store: PostgresStore, database: Engine
) -> None:
    registered = PostgresWebhooks(database)
    registered.put(grouped("plain", ("rule",), 0, 60), 1)
    asks = Webhook("asks", "http://w", "s", START, group=Grouping(("rule",), 0, 60), changes=True)
    registered.put(asks, 1)
    (first,) = commit(store, START, ("a", "info"))
    tell_groups(database, Timeline.INTEGER, START)
    assert {name for name, _ in sent(database, START)} == {"plain", "asks"}
    PostgresIncidents(database).acknowledge(first, "ann", "", START)
    later = START + MINUTE
    tell_groups(database, Timeline.INTEGER, later)
    ((name, data),) = sent(database, later)
    assert name == "asks"
    assert data["alerts"][0]["acknowledged_by"] == "ann"


def test_a_group_of_what_has_escalated_has_nothing_else(
    store: PostgresStore, database: Engine
) -> None:
    boss = Webhook("boss", "http://w", "s", START, group=Grouping((), 0, 60), escalated=True)
    PostgresWebhooks(database).put(boss, 1)
    first, second = commit(store, START, ("a", "info"), ("b", "critical"))
    PostgresIncidents(database).acknowledge(first, "ann", "", START)
    assert tell_groups(database, Timeline.INTEGER, START) == 0
    tend(database, AlertSettings(escalate_after=1), START + MINUTE)
    assert tell_groups(database, Timeline.INTEGER, START + MINUTE) == 1
    ((_, data),) = sent(database, START + MINUTE)
    assert [(each["id"], each["escalated"]) for each in data["alerts"]] == [(second, "critical")]


def test_a_disabled_webhook_is_told_of_its_groups_as_they_are_when_it_is_enabled(
    store: PostgresStore, database: Engine
) -> None:
    registered = PostgresWebhooks(database)
    registered.put(grouped("w", (), 0, 60), 1)
    PostgresOutbox(database).disable("w", START)
    commit(store, START, ("a", "info"), ("b", "info"))
    assert tell_groups(database, Timeline.INTEGER, START) == 0
    registered.enable("w", START)
    commit(store, START, "a")
    assert tell_groups(database, Timeline.INTEGER, START) == 1
    ((_, data),) = sent(database, START)
    assert [each["key"] for each in data["alerts"]] == ["b"]


def test_another_grouping_begins_anew_and_none_tells_each_alert_again(
    store: PostgresStore, database: Engine
) -> None:
    registered = PostgresWebhooks(database)
    registered.put(grouped("w", ("key",), 0, 60), 1)
    commit(store, START, ("a", "info"))
    registered.put(grouped("w", ("rule",), 0, 60), 2)
    assert tell_groups(database, Timeline.INTEGER, START) == 0
    commit(store, START, ("b", "info"))
    assert tell_groups(database, Timeline.INTEGER, START) == 1
    ((_, data),) = sent(database, START)
    assert data["group"] == {"rule": "hot"}
    registered.put(Webhook("w", "http://w", "s", START), 3)
    (raised,) = commit(store, START, ("c", "info"))
    assert [each.event.id for each in PostgresOutbox(database).due(START, 9)] == [raised]
    assert registered.one("w").webhook.group is None
