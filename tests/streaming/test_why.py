"""Why an alert was raised, asked of a server whose engines run elsewhere, by key."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from sensorstream.app.application import Application
from sensorstream.app.control.rule_exchange import Exchange
from sensorstream.app.control.wiring import Deployment, build_machine, read_deployment
from sensorstream.app.deployment_handle import Handle
from sensorstream.app.why.reasons import Reasons
from sensorstream.errors import UnknownAlert
from sensorstream.history.database import engine
from sensorstream.history.journal_rows import JournalRow, record_of
from sensorstream.history.postgres_reader import PostgresReader
from sensorstream.journal.records import Effects
from sensorstream.model.events import Alert
from tests.streaming.conftest import more_rules, on_spark, write_deployment
from tests.streaming.stand_in import (
    batches,
    by_keys,
    message,
    of_one_engine,
    passed,
    registered,
    write,
)
from tests.streaming.test_passing_time import WAITING
from tests.streaming.test_patterns_by_key import PATTERN

ROWS: Sequence[JournalRow] = (
    registered(1, "climbs", PATTERN),
    message(2, "north", 1, [(1, 20)]),
    message(3, "south", 2, [(1, 80)]),
    message(4, "north", 3, [(1, 30)]),
    message(5, "south", 4, [(2, 90)]),
    # Both are told that time has passed: the one waits for silence, the other for its condition.
    passed(6, 20, 20, received=1000),
)


def told(reasons: Reasons, effects: Effects) -> dict[tuple[str, str, int], Any]:
    """Why each alert was raised, but for the number of the engine in the ids of entries."""
    found = {}
    for each in effects.alerts:
        if isinstance(each, Alert):
            why = reasons.of_alert(each.id)
            said = repr((why.rule, why.because, why.profile, why.notes))
            found[each.rule, each.key, each.time] = re.sub(r"'m(\d+)\.\d+'", r"'m\1'", said)
    return found


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    return read_deployment(more_rules(write_deployment(tmp_path), tmp_path, WAITING))


def test_why_is_answered_as_by_a_server_with_one_engine(
    deployment: Deployment, new_database: Callable[[], str]
) -> None:
    url, other = new_database(), new_database()
    found = by_keys(deployment, batches(list(ROWS), {3, 5}), {2})
    records = [record_of(row) for row in ROWS]
    expected = of_one_engine(deployment, records)
    write(url, records, found)
    write(other, records, expected)
    machine = build_machine(deployment, perf_counter)
    with closing(machine.engine), Application.open(on_spark(deployment.settings, url)) as server:
        database = engine(other)
        app = Handle()
        app.settings, app.url, app.database = deployment.settings, other, database
        app.reader = PostgresReader(database)
        app.exchange = Exchange(machine.engine, machine.mapper, deployment)
        answers = told(Reasons(app), expected)
        assert told(server.reasons, found) == answers
        database.dispose()
        rules = {rule for rule, *_ in answers}
        assert rules == {"far", "near", "gone", "climbs"}
        with pytest.raises(UnknownAlert):
            server.reasons.of_alert("m99-1")
