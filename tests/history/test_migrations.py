from __future__ import annotations

from collections.abc import Callable

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text

from sensorstream.errors import HistoryError
from sensorstream.history.database import engine
from sensorstream.history.migrations import configuration, migrate
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
