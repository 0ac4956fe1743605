"""What alerts for many receivers of one host cost: statements, connections and rows, not times."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from sensorstream.alerts.alert_records import Webhook
from sensorstream.alerts.poster import Attempt
from sensorstream.alerts.signing import new_secret
from sensorstream.history.outbox import _DUE, _PRUNE, PostgresOutbox
from sensorstream.history.store import PostgresStore
from sensorstream.history.webhook_store import PostgresWebhooks
from tests.alerts.bench import Bench
from tests.history.alerting import commit
from tests.waiting import eventually

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RECEIVERS, ALERTS = 20, 40


class Host:
    """Takes all that comes, and keeps connections; counts both."""

    def __init__(self) -> None:
        self.url = ""
        self.paths: list[str] = []
        self.connections = 0


@pytest.fixture
def host() -> Iterator[Host]:
    told = Host()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            told.connections += 1

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            told.paths.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Do not log requests."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 64
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        told.url = f"http://127.0.0.1:{server.server_port}"
        yield told
        server.shutdown()
        thread.join()


def register(store: PostgresStore, database: Engine, url: str) -> None:
    """Receivers of one host, and alerts for all of them."""
    hooks = PostgresWebhooks(database)
    for number in range(RECEIVERS):
        hooks.put(Webhook(f"h{number}", f"{url}/{number}", new_secret(), NOW), RECEIVERS)
    commit(store, NOW, *((f"k{number}", "info") for number in range(ALERTS)))


def test_deliveries_share_statements_and_connections(
    store: PostgresStore, database: Engine, host: Host
) -> None:
    register(store, database, host.url)
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(database, "before_cursor_execute", note)
    bench = Bench(PostgresOutbox(database))
    bench.start(poll=1.0)
    try:
        eventually(lambda: bench.count("delivered") == RECEIVERS * ALERTS)
    finally:
        bench.made[0].stop()
        event.remove(database, "before_cursor_execute", note)
    assert len(host.paths) == RECEIVERS * ALERTS
    assert len(statements) < len(host.paths) / 2
    assert host.connections < len(host.paths) / 5


def test_receivers_are_locked_in_one_order(store: PostgresStore, database: Engine) -> None:
    register(store, database, "http://127.0.0.1:9")
    outbox = PostgresOutbox(database)
    came = {each.id: Attempt(NOW, 0.1) for each in reversed(outbox.due(NOW, RECEIVERS))}
    with database.begin() as connection:  # in the table, its row is the last one now
        connection.execute(text("update store.webhooks set failing_since = null where number = 1"))
    lock = "select count(*) from (select from store.webhooks {} for no key update {}) locked"
    waits = text("select count(*) from pg_locks where not granted")
    with ThreadPoolExecutor(1) as thread, database.begin() as other:
        assert other.scalar(text(lock.format("where number = 1", ""))) == 1
        marked = thread.submit(outbox.delivered, came)
        eventually(lambda: other.scalar(waits))
        assert other.scalar(text(lock.format("", "skip locked"))) == RECEIVERS
        other.commit()
        marked.result()
    assert {each.event.id for each in outbox.due(NOW, RECEIVERS)} == {"m1-1"}


def rows_of(plan: dict[str, Any], relation: str = "") -> int:
    """How many rows the nodes of a plan gave, those over a table or all."""
    here = plan["Actual Rows"] * plan["Actual Loops"]
    below = sum(rows_of(each, relation) for each in plan.get("Plans", ()))
    return int(below + (here if relation in ("", plan.get("Relation Name")) else 0))


def analyzed(database: Engine, statement: str, **values: object) -> dict[str, Any]:
    """How PostgreSQL has worked a statement off; what it has changed is taken back."""
    with database.connect() as connection:
        [[told]] = connection.execute(
            text(f"explain (analyze, timing off, format json) {statement}"), values
        )
        plan: dict[str, Any] = told[0]["Plan"]
        return plan


def test_the_log_is_shortened_at_the_cost_of_its_rows_and_not_of_their_square(
    store: PostgresStore, database: Engine
) -> None:
    register(store, database, "http://127.0.0.1:9")
    outbox = PostgresOutbox(database)
    while due := outbox.due(NOW, 1000):
        outbox.delivered({each.id: Attempt(NOW, 0.1) for each in due})
    plan = analyzed(database, _PRUNE.text, kept=1000, oldest=datetime(2020, 1, 1, tzinfo=UTC))
    assert rows_of(plan) < 10 * RECEIVERS * ALERTS


def test_only_what_is_taken_is_read_whole(store: PostgresStore, database: Engine) -> None:
    register(store, database, "http://127.0.0.1:9")
    plan = analyzed(database, _DUE.text, now=NOW, limit=RECEIVERS, one=20, busy=[])
    assert plan["Actual Rows"] == RECEIVERS
    # Of a small table all rows may be read at once.
    assert rows_of(plan, "alerts") <= max(RECEIVERS, ALERTS)
