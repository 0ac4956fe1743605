"""Bring a database's schema to the newest version, by Alembic, without an ini file."""

from __future__ import annotations

from functools import cache

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, text

from sensorstream.errors import HistoryError
from sensorstream.history.database import translating
from sensorstream.history.tables import STORE
from sensorstream.history.time_functions import install_time_functions
from sensorstream.history.views import drop_views
from sensorstream.resources import bundled

# Two processes may open one new database at the same moment; the second one waits here.
_MIGRATING = 0x53535F4D


def migrate(database: Engine) -> None:
    """Create or upgrade schema ``store``; all or nothing.

    An upgrade removes the generated views of schema ``history``; they are made again when the
    deployment starts.

    Raises:
        HistoryError: the database cannot be reached, its user may not create a schema, or its
            schema comes from a newer SensorStream.
    """
    with translating("cannot prepare the history's schema"), database.begin() as connection:
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
        connection.execute(text(f"create schema if not exists {STORE}"))
        try:
            there = MigrationContext.configure(
                connection, opts={"version_table_schema": STORE}
            ).get_current_revision()
            if there != _newest():
                if there is not None:
                    drop_views(connection)
                command.upgrade(configuration(connection), "head")
            install_time_functions(connection)
        except CommandError as error:
            raise HistoryError(f"cannot prepare the history's schema: {error}") from error


@cache
def _newest() -> str | None:
    """The revision of this version; to find it, Alembic imports them all."""
    return ScriptDirectory.from_config(configuration(None)).get_current_head()


def configuration(connection: Connection | None) -> Config:
    """Alembic's configuration for one open connection, which ``alembic/env.py`` uses."""
    settings = Config()
    settings.set_main_option("script_location", str(bundled("alembic")).replace("%", "%%"))
    settings.attributes["connection"] = connection
    return settings
