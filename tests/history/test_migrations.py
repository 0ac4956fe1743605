from __future__ import annotations

from collections.abc import Callable

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text

from sensorstream.errors import HistoryError
from sensorstream.history.database import engine
from sensorstream.history.migrations import configuration, migrate, newest
from sensorstream.history.tables import STORE, metadata


def columns(database: Engine) -> set[str]:
    return {each["name"] for each in inspect(database).get_columns("pipeline", STORE)}


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
    with pytest.raises(HistoryError, match=r"9999.* another version .* name another database"):
        migrate(database)
    database.dispose()


def test_an_upgrade_adds_what_is_new_and_removes_generated_views_only(url: str) -> None:
    database = engine(url)
    migrate(database)
    views = (
        "create schema history; create view history.old as select * from store.statements; "
        "comment on view history.old is 'SensorStream: old [0]'; "
        "create view history.mine as select * from store.statements"
    )
    with database.begin() as connection:
        connection.execute(text(views))
        command.downgrade(configuration(connection), "0001")
    assert "progress" not in columns(database)
    migrate(database)
    assert "progress" in columns(database)
    assert inspect(database).get_view_names("history") == ["mine"]
    database.dispose()
