from __future__ import annotations

from collections.abc import Callable

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from sensorstream.errors import HistoryError
from sensorstream.history.database import engine
from sensorstream.history.migrations import configuration, migrate, newest
from sensorstream.history.tables import STORE, metadata


@pytest.fixture
def url(empty_database: Callable[[], str]) -> str:
    return empty_database()


def test_the_migrations_make_exactly_the_tables_of_the_code(url: str) -> None:
    database = engine(url)
    migrate(database)
    with database.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "version_table_schema": STORE,
                "include_schemas": True,
                "include_name": lambda name, kind, _: kind != "schema" or name == STORE,
                "compare_server_default": True,
            },
        )
        assert compare_metadata(context, metadata) == []
    database.dispose()


def test_the_migrations_go_back_to_nothing(url: str) -> None:
    database = engine(url)
    migrate(database)
    with database.begin() as connection:
        command.downgrade(configuration(connection), "base")
    assert inspect(database).get_table_names(STORE) == ["alembic_version"]
    migrate(database)
    database.dispose()


def test_the_newest_migration_is_found_by_the_name_of_its_file(url: str) -> None:
    database = engine(url)
    migrate(database)
    with database.connect() as connection:
        scripts = ScriptDirectory.from_config(configuration(connection))
        found = MigrationContext.configure(connection, opts={"version_table_schema": STORE})
        assert newest() == scripts.get_current_head() == found.get_current_revision()
    database.dispose()


def test_migrating_twice_changes_nothing(url: str) -> None:
    database = engine(url)
    migrate(database)
    migrate(database)
    assert "statements" in inspect(database).get_table_names(STORE)
    database.dispose()


def test_a_schema_from_a_newer_version_is_refused(url: str) -> None:
    database = engine(url)
    migrate(database)
    with database.begin() as connection:
        connection.execute(text("update store.alembic_version set version_num = '9999'"))
    with pytest.raises(HistoryError, match="9999"):
        migrate(database)
    database.dispose()


def test_deliveries_of_before_keep_their_state_when_events_stand_once(url: str) -> None:
    database = engine(url)
    migrate(database)
    with database.begin() as connection:
        command.downgrade(configuration(connection), "0023")
        connection.execute(
            text(
                "insert into store.webhooks (id, url, secret, created_at, disabled_at) values "
                "('a', 'http://a', 's', now(), null), ('b', 'http://b', 's', now(), now()); "
                "insert into store.alerts "
                "(id, rule, kind, severity, text, key, time, raised_at, message_id) "
                "select 'm' || n, 'r', 'rule', 'info', '', '', n, now(), 'm' || n "
                "from generate_series(1, 2) n; "
                "insert into store.deliveries (webhook_id, alert_id, status, attempts) values "
                "('a', 'm1', 'delivered', 1), ('b', 'm1', 'dead', 0), ('a', 'm2', 'pending', 2); "
                "insert into store.deliveries "
                "(webhook_id, report_id, report_query, report_data, reported_at) "
                "values ('a', 'q-1', 'q', '{}', now())"
            )
        )
    told = "select webhook_id, coalesce(alert_id, report_id), status, attempts from "
    before = [
        ("a", "m1", "delivered", 1),
        ("a", "m2", "pending", 2),
        ("a", "q-1", "pending", 0),
        ("b", "m1", "dead", 0),
    ]
    migrate(database)
    with database.begin() as connection:
        assert connection.execute(text(f"{told} store.outbox order by 1, 2")).all() == before
        places = connection.execute(text("select number, place from store.webhooks order by 1"))
        assert places.all() == [(1, 3), (2, 3)]
        command.downgrade(configuration(connection), "0023")
        assert connection.execute(text(f"{told} store.deliveries order by 1, 2")).all() == before
    database.dispose()
