"""Upgrades a database's schema to the newest version, by Alembic, without an ini file.

It also makes the SQL functions for times and durations in SPARQL (``persistent/times.sql``).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, text

from sensorstream.errors import HistoryError
from sensorstream.history.database import translating
from sensorstream.history.tables import STORE
from sensorstream.installation import bundled

if TYPE_CHECKING:
    from alembic.config import Config


def install_time_functions(connection: Connection) -> None:
    """Make the functions, unless this version's are there."""
    script = (bundled("persistent") / "times.sql").read_text("utf-8")
    made = hashlib.sha256(script.encode()).hexdigest()[:12]
    last = "store.time_part(text, text, text)"
    told = connection.execute(
        text(f"select obj_description(to_regprocedure('{last}'), 'pg_proc')")
    ).scalar()
    if told != made:
        connection.exec_driver_sql(script.replace("%", "%%"))
        connection.exec_driver_sql(f"comment on function {last} is '{made}'")


# Two processes may open one new database at the same moment; the second one waits here.
_MIGRATING = 0x53535F4D


def migrate(database: Engine) -> None:
    """Create or upgrade schema ``store``; all or nothing.

    An upgrade removes the generated views of schema ``history``; the start of the deployment makes
    them again. Raises HistoryError if the database cannot be reached, its user may not create a
    schema, or its schema comes from a newer SensorStream.
    """
    with translating("cannot prepare the history's schema"), database.begin() as connection:
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
        connection.execute(text(f"create schema if not exists {STORE}"))
        there = _revision(connection)
        if there != newest():
            _upgrade(connection, there is not None)
        install_time_functions(connection)


def newest() -> str:
    """The revision of this version; the files of migrations begin with theirs."""
    files = (bundled("alembic") / "versions").glob("[0-9]*.py")
    return max(each.name.partition("_")[0] for each in files)


def _revision(connection: Connection) -> str | None:
    """The revision of a database, as Alembic stores it; None: its schema is empty."""
    table = f"{STORE}.alembic_version"
    found = connection.execute(text("select to_regclass(:table)"), {"table": table}).scalar()
    if found is None:
        return None
    return connection.execute(text(f"select version_num from {table}")).scalar()


def _upgrade(connection: Connection, with_views: bool) -> None:
    # These and all migrations take time to import, and most starts do not need them.
    from alembic import command
    from alembic.util import CommandError

    from sensorstream.history.views import drop_views

    if with_views:
        drop_views(connection)
    try:
        command.upgrade(configuration(connection), "head")
    except CommandError as error:
        raise HistoryError(
            f"cannot prepare the history's schema: {error}: another version of SensorStream has "
            "made it; name another database in history.url, or serve this one with that version"
        ) from error


def configuration(connection: Connection) -> Config:
    """Alembic's configuration for one open connection, which ``alembic/env.py`` uses."""
    from alembic.config import Config

    settings = Config()
    settings.set_main_option("script_location", str(bundled("alembic")).replace("%", "%%"))
    settings.attributes["connection"] = connection
    return settings
