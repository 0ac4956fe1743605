"""A journal and checkpoints that the version before wrote are read, with every kind of entry.

``data/version-2.json`` holds the rows of ``store.messages`` and ``store.checkpoints`` (state in
base64), and under ``expected`` what that version held in its window and had stored when it was
stopped. It was made by an application over ``first.ttl`` and ``all.rules`` with the settings
below: four queries were registered and one of them removed, messages of two sources came in any
order (one late, one that no rule matches, one that contradicts the ontology), ``second.ttl`` was
put in force, the clock released what waited, a flood was shed, a checkpoint was kept as number 31,
an audit found a wrong inference that had been put in by hand, the reasoner's process and its Java
were taken away and came back.
"""

from __future__ import annotations

import base64
import json
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from psycopg2.extras import Json, execute_values

from sensorstream.app.application import Application
from sensorstream.history.store import PostgresStore
from sensorstream.model.timeline import Timeline
from sensorstream.settings import (
    HistorySettings,
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    SheddingSettings,
    SourceSettings,
    TimeSettings,
    WindowSettings,
)
from sensorstream.testing import ManualClock

DATA = Path(__file__).parent / "data"
WRITTEN: dict[str, Any] = json.loads((DATA / "version-2.json").read_text())
EXPECTED: dict[str, Any] = WRITTEN["expected"]
KINDS = {"message", "tick", "ontology", "reasoner", "audit", "query", "query-end"}
COLUMNS = (
    *("seq", "id", "kind", "source", "received_at", "received", "content"),
    *("status", "reason", "contradiction", "degraded"),
)


@pytest.fixture
def settings(tmp_path: Path, database: str) -> Settings:
    return Settings(
        path=tmp_path / "sensorstream.toml",
        ontology=OntologySettings((DATA / "first.ttl",)),
        rules=RuleSettings((DATA / "all.rules",)),
        window=WindowSettings(size="6"),
        history=HistorySettings(url=database, checkpoint_every=1000),
        reasoning=ReasoningSettings("hermit", heap=256, explain=60),
        time=TimeSettings(lateness="3", idle=5.0),
        sources={"slow": SourceSettings("8")},
        shedding=SheddingSettings(budget=2, queue=3, period="20", keep="first"),
    )


def write(url: str, checkpoints: set[int], stored: int) -> None:
    """The rows as they were written; effects up to ``stored`` had been stored."""
    PostgresStore.open(url, Timeline.INTEGER).close()
    with closing(psycopg2.connect(url)) as connection, connection, connection.cursor() as cursor:
        rows = []
        for row in WRITTEN["journal"]:
            done = row["seq"] <= stored
            cells = {
                **row,
                "content": row["content"].encode(),
                "status": row["status"] if done else None,
                "reason": row["reason"] if done else None,
                "contradiction": Json(row["contradiction"]) if row["contradiction"] else None,
            }
            rows.append(tuple(cells[name] for name in COLUMNS))
        execute_values(cursor, f"insert into store.messages ({', '.join(COLUMNS)}) values %s", rows)
        for each in WRITTEN["checkpoints"]:
            if each["seq"] in checkpoints:
                cursor.execute(
                    "insert into store.checkpoints (seq, state) values (%s, %s)",
                    (each["seq"], base64.b64decode(each["state"])),
                )
        cursor.execute("update store.progress set watermark = %s", (stored,))


def found(application: Application) -> dict[str, Any]:
    view = application.window_view(100)
    queries = application.queries.views()
    return {
        "window": {
            "total": view.total,
            "statements": view.statements,
            "inferred": view.inferred,
            "individuals": [[e.name, e.time, sorted(e.types)] for e in view.individuals],
        },
        "held": application.held(),
        "queries": {q.name: [q.entry, q.reports, q.reported, q.last_report] for q in queries},
    }


def rows(url: str, query: str) -> list[dict[str, Any]]:
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        names = [each.name for each in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def number(alert: str) -> int:
    """The number of the entry that raised an alert, from the alert's id."""
    return int(alert.partition("-")[0][1:])


def test_the_journal_holds_every_kind_of_entry_that_version_knew() -> None:
    assert {row["kind"] for row in WRITTEN["journal"]} == KINDS
    assert [each["seq"] for each in WRITTEN["checkpoints"]] == [31, 43]


@pytest.mark.parametrize("checkpoints", [{31, 43}, {31}, set()])
def test_what_was_in_force_when_it_stopped_is_so_again(
    settings: Settings, checkpoints: set[int]
) -> None:
    write(settings.history.url, checkpoints, EXPECTED["watermark"])
    with Application.open(settings, ManualClock()) as application:
        again = found(application)
        assert application.ontologies.in_force().origin == "m14"
    expected = deepcopy({name: EXPECTED[name] for name in again})
    for each in (again, expected):
        # That version reported with each message; now a query reports when time has moved on.
        each["queries"] = {name: entry for name, (entry, *_) in each["queries"].items()}
    assert again == expected


@pytest.mark.parametrize("checkpoints", [{31}, set()])
def test_effects_that_had_not_been_stored_are_made_from_the_journal(
    settings: Settings, checkpoints: set[int]
) -> None:
    """Up to a tick before the reasoner failed; some messages still wait there."""
    stored, last = 31, 37
    url = settings.history.url
    write(url, checkpoints, stored)
    with closing(psycopg2.connect(url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute("delete from store.messages where seq > %s", (last,))
    with Application.open(settings, ManualClock()):
        pass
    alerts = rows(url, "select id, kind, text, key, time from store.alerts order by seq")
    assert alerts == [e for e in EXPECTED["alerts"] if stored < number(e["id"]) <= last]
    assert alerts
    again = rows(url, "select seq, status, reason from store.messages where status <> 'held'")
    written = [{name: row[name] for name in again[0]} for row in WRITTEN["journal"]]
    assert all(each in written for each in again)
    assert len(again) > stored
