"""The role of user queries: it may read schema ``history``, and of schema ``store`` what SPARQL and
Spark need; no more.

It has its own login. To reduce the rights of the writer for a while (``set role``) is not safe: a
statement can undo that with ``set_config``. Its password is derived from the writer's, so every
process that knows the history's URL knows it, and it is stored nowhere.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

from psycopg2 import errors, extensions, sql
from sqlalchemy.engine import make_url

from sensorstream.history.allowed_functions import close_functions

_READABLE: Final = ("terms", "stays", "statements", "alerts", "archives")
"""The base tables that the reader may read."""
_DEFAULTS: Final = (
    ("search_path", "history"),
    ("default_transaction_read_only", "on"),
    ("idle_in_transaction_session_timeout", "10min"),
    # Most questions take milliseconds: to compile them, or to start a process for them, takes
    # longer. Pages are mostly in memory, or on a disk that has no head to move.
    ("jit", "off"),
    ("parallel_setup_cost", "10000"),
    ("random_page_cost", "1.1"),
    ("work_mem", "16MB"),
)
_TEMPORARY: Final = ("temp_file_limit", "1GB")
"""What a process of a question may put on the disk to sort and join; a superuser alone sets it."""


def reader_name(database: str) -> str:
    """The reader of a database; roles are per server, so the name contains the database."""
    return f"{database[:50]}_reader"


def reader_url(url: str) -> str:
    """The history's URL with the reader instead of the writer."""
    parsed = make_url(url)
    name = reader_name(parsed.database or parsed.username or "postgres")
    return parsed.set(username=name, password=_password(parsed.password, name)).render_as_string(
        hide_password=False
    )


def admit_reader(cursor: extensions.cursor, schemas: Sequence[str]) -> None:
    """Create the reader if that is allowed, and grant it the views of ``schemas``. Without the
    right to create roles there is no reader, unless the owner of the server made a role of this
    name (see docs/history.md).
    """
    info = cursor.connection.info
    name = reader_name(info.dbname)
    role = sql.Identifier(name)
    close_functions(cursor)
    cursor.execute("savepoint reader")
    try:
        cursor.execute("select rolconfig from pg_roles where rolname = %s", (name,))
        found = cursor.fetchone()
        if found is None:
            cursor.execute(sql.SQL("create role {} login").format(role))
        settled = _settled(found)
        # Programs that log in themselves find the views, and leave connections for the writer.
        for setting, value in _DEFAULTS:
            if setting not in settled:
                told = sql.SQL("alter role {} set {} = {}").format(
                    role, sql.Identifier(setting), sql.Literal(value)
                )
                cursor.execute(told)
        if _TEMPORARY[0] not in settled and _is_superuser(cursor):
            cursor.execute(
                sql.SQL("alter role {} set {} = {}").format(
                    role, sql.Identifier(_TEMPORARY[0]), sql.Literal(_TEMPORARY[1])
                )
            )
        if not settled:
            cursor.execute(sql.SQL("alter role {} connection limit 40").format(role))
        password = _password(info.password, name)
        if password is not None:
            cursor.execute(sql.SQL("alter role {} password %s").format(role), (password,))
    except (errors.InsufficientPrivilege, errors.DuplicateObject):
        cursor.execute("rollback to savepoint reader")
    cursor.execute("select 1 from pg_roles where rolname = %s", (name,))
    if cursor.fetchone() is not None and schemas:
        where = sql.SQL(", ").join(map(sql.Identifier, schemas))
        cursor.execute(sql.SQL("grant usage on schema {} to {}").format(where, role))
        cursor.execute(sql.SQL("grant select on all tables in schema {} to {}").format(where, role))
        # What SPARQL and Spark read; the other tables are not for everybody.
        cursor.execute(sql.SQL("grant usage on schema store to {}").format(role))
        tables = sql.SQL(", ").join(sql.Identifier("store", name) for name in _READABLE)
        cursor.execute(sql.SQL("grant select on {} to {}").format(tables, role))


def reader_lacks(cursor: extensions.cursor) -> Sequence[str]:
    """The statements that would give the reader those settings that it has not; ``()`` without one.

    They are missing where the writer may not alter roles.
    """
    name = reader_name(cursor.connection.info.dbname)
    cursor.execute("select rolconfig from pg_roles where rolname = %s", (name,))
    found = cursor.fetchone()
    if found is None:
        return ()
    settled = _settled(found)
    return [
        f"alter role \"{name}\" set {setting} = '{value}'"
        for setting, value in _DEFAULTS
        if setting not in settled
    ]


def _settled(found: tuple[Sequence[str] | None] | None) -> set[str]:
    """The settings that a role has, from the row with them."""
    return {each.partition("=")[0] for each in found[0] or ()} if found else set()


def _is_superuser(cursor: extensions.cursor) -> bool:
    cursor.execute("select rolsuper from pg_roles where rolname = current_user")
    row = cursor.fetchone()
    return row is not None and bool(row[0])


def _password(writers: str | None, name: str) -> str | None:
    if not writers:
        return None
    return hmac.new(writers.encode(), name.encode(), hashlib.sha256).hexdigest()
