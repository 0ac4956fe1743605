"""What the commit of a message with many alerts costs, by the number of webhooks.

Each alert is stored once, whoever it is for: one webhook and 999 are to cost the same.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sensorstream.alerts.alert_records import Webhook
from sensorstream.history.database import connect, engine
from sensorstream.history.open_history import open_history
from sensorstream.history.store import PostgresStore
from sensorstream.history.webhook_store import PostgresWebhooks
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model.events import Alert, Message, Status
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import HistorySettings

_ALERTS: Final = 900
_WEBHOOKS: Final = (1, 100, 999)
_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one commit: ``seconds``, and ``size`` in bytes by which the database has grown."""

    webhooks: int
    seconds: float
    size: int


def measure(counts: Sequence[int] = _WEBHOOKS) -> list[Cost]:
    """The cost of a commit of 900 alerts beside so many webhooks; counts ascend."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = open_history(HistorySettings(folder=folder / "pg"), stack)
        store = stack.enter_context(PostgresStore.open(url, Timeline.INTEGER))
        database = engine(url)
        stack.callback(database.dispose)
        registered, found = PostgresWebhooks(database), []
        there = 0
        _commit(store, 1, 1)  # plans and pages are warm
        for number, count in enumerate(counts, 2):
            for each in range(there, count):
                name = f"wh_{each}"
                registered.put(Webhook(name, f"http://192.0.2.1/{each}", "whsec_x", _NOW), 1)
            there = count
            before = _size(url)
            begun = time.perf_counter()
            _commit(store, number, _ALERTS)
            found.append(Cost(count, time.perf_counter() - begun, _size(url) - before))
        return found


def _commit(store: PostgresStore, number: int, count: int) -> None:
    store.append([Record(number, Message(f"m{number}", b"<a/>", 0), _NOW)])
    alerts = tuple(
        Alert(f"m{number}-{n}", "hot", "rule", "warning", f"it is hot in room {n}", f"{n}", 0, "m1")
        for n in range(count)
    )
    status = MessageStatus(number, Status.ACCEPTED)
    store.commit(Effects(number, (), (), alerts, (status,), _NOW))


def _size(url: str) -> int:
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("select pg_database_size(current_database())")
        row = cursor.fetchone()
        assert row is not None
        return int(row[0])


def main() -> None:
    """Print the cost for each number of webhooks, and its ratio to that of the fewest."""
    costs = measure(tuple(map(int, sys.argv[1:])) or _WEBHOOKS)
    for each in costs:
        ratio = each.seconds / costs[0].seconds
        print(
            f"{_ALERTS} alerts, {each.webhooks:3} webhooks: {each.seconds:7.3f} s "
            f"({ratio:.2f} times), {each.size / 1e6:6.1f} MB"
        )


if __name__ == "__main__":
    main()
