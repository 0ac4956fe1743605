"""The role of user queries, the functions that it may call, and a port for it.

It may read schema ``history``, and the parts of schema ``store`` that SPARQL and Spark need. It has
its own login. To reduce the rights of the writer for a while (``set role``) is not safe: a
statement can undo that with ``set_config``. Its password is derived from the writer's, so every
process that knows the history's URL knows it, and it is stored nowhere.

It may call all functions that only compute, and a few more by name. A function that PostgreSQL
marks as *volatile* may have effects: write to the log on disk (``pg_logical_emit_message``), take a
lock that stops the writers (``pg_advisory_lock``), run another text (``query_to_xml``). Only those
named here are allowed, so that functions of later versions or extensions are refused. There are two
guards: the text of a question is searched; and in a database that is SensorStream's alone only
superusers may execute them, so that a program that logs in as the reader cannot, either.

The embedded PostgreSQL opens its port on 127.0.0.1 only, and only if the settings ask for it. The
password there is random, made once, and kept beside the cluster, in a file that only its owner can
read.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import pwd
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_urlsafe
from typing import Final

from psycopg2 import errors, extensions, sql
from sqlalchemy.engine import URL, make_url

from sensorstream.errors import QueryError
from sensorstream.history.database import one_value

ALLOWED: Final = (
    # Chance and the clock.
    *("random", "random_normal", "gen_random_uuid", "uuidv4", "uuidv7"),
    *("clock_timestamp", "timeofday"),
    # They take time only, which limits.question_seconds bounds.
    *("pg_sleep", "pg_sleep_for", "pg_sleep_until"),
    # Sizes.
    *("pg_relation_size", "pg_table_size", "pg_indexes_size", "pg_total_relation_size"),
    *("pg_database_size", "pg_tablespace_size"),
)
_REFUSED_BESIDE: Final = (
    # Each call uses up a transaction number.
    *("txid_current", "pg_current_xact_id"),
    # They show the questions of others, and their addresses.
    *("pg_stat_get_activity", "pg_stat_get_backend_activity"),
    *("pg_stat_get_backend_client_addr", "pg_stat_get_backend_client_port"),
)
"""Functions that do more than compute, although PostgreSQL does not mark them as volatile."""
_VIEW: Final = "pg_stat_activity"
_OURS: Final = ("set_config", "pg_export_snapshot")
"""Functions that our own statements call as the reader; refused in the text of a question."""
_SCHEMAS: Final = ("store", "history", "live")
"""Our schemas; of their functions only the one that takes the rows of the question is refused."""
_INTERNAL: Final = (
    *("internal", "trigger", "event_trigger", "language_handler", "fdw_handler", "tsm_handler"),
    *("index_am_handler", "table_am_handler"),
)
"""Results of functions that no statement can call."""

_WORDS: Final = re.compile(r"\w+")
# Characters written by number could spell any name.
_SPELLED: Final = re.compile(r'\bu&"', re.IGNORECASE)
_REFUSED: Final = """select p.proname from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where p.proname = any(%s)
  and (p.provolatile = 'v' and p.proname <> all(%s) or p.proname = any(%s))
  and (n.nspname <> all(%s) or p.proname = 'next_rows')
  and p.prorettype <> all(%s::regtype[]) order by 1 limit 1"""

_ALONE: Final = """select (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
and not exists (
  select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname <> all(%s) and n.nspname !~ '^pg_' and n.nspname <> 'information_schema')"""
_OPEN_TO_ALL: Final = """select string_agg(p.oid::regprocedure::text, ', ')
from pg_catalog.pg_proc p
where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f'
  and (p.provolatile = 'v' and p.proname <> all(%s) or p.proname = any(%s))
  and p.prorettype <> all(%s::regtype[])
  and has_function_privilege('public', p.oid, 'execute')"""


def check_functions(cursor: extensions.cursor, text: str) -> None:
    """Refuse a text that names a function it may not call, also in a string or a comment.

    Raises QueryError; also for the view of the questions of others.
    """
    if _SPELLED.search(text):
        raise QueryError('names that are spelled by numbers (U&"…") are not allowed')
    words = list(set(map(str.lower, _WORDS.findall(text))))
    if _VIEW in words:
        raise QueryError(f"the view {_VIEW} is not allowed in a question: it tells what others ask")
    told = words, list(ALLOWED), list(_REFUSED_BESIDE), list(_SCHEMAS), list(_INTERNAL)
    found = one_value(cursor, _REFUSED, told)
    if found is not None:
        raise QueryError(
            f"the function {found} is not allowed in a question: it may do more than compute"
        )


def close_functions(cursor: extensions.cursor) -> None:
    """Let only superusers execute refused functions, if the database is ours alone.

    If others have tables in it, or the writer is no superuser, nothing is changed:
    :func:`check_functions` is then the only guard.
    """
    if not one_value(cursor, _ALONE, (list(_SCHEMAS),)):
        return
    told = [*ALLOWED, *_OURS], list(_REFUSED_BESIDE), list(_INTERNAL)
    if found := one_value(cursor, _OPEN_TO_ALL, told):
        cursor.execute(f"revoke execute on function {found} from public")


_READABLE: Final = ("terms", "stays", "statements", "alerts", "archives")
"""The base tables that the reader may read."""
_DEFAULTS: Final = (
    ("search_path", "history"),
    ("default_transaction_read_only", "on"),
    ("idle_in_transaction_session_timeout", "10min"),
    # Most questions take milliseconds; to compile them, or to start a process, takes longer. Pages
    # are mostly in memory, or on a disk without seek times.
    ("jit", "off"),
    ("parallel_setup_cost", "10000"),
    ("random_page_cost", "1.1"),
    ("work_mem", "16MB"),
)
_IS_ROLE: Final = "select true from pg_roles where rolname = %s"
_TEMPORARY: Final = ("temp_file_limit", "1GB")
"""The disk space of a question to sort and join; only a superuser can set it."""


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
    """Create the reader if that is allowed, and grant it the views of ``schemas``.

    Without the right to create roles there is no reader, unless the owner of the server made a role
    of this name (see docs/operate/storage.md).
    """
    info = cursor.connection.info
    name = reader_name(info.dbname)
    role = sql.Identifier(name)
    close_functions(cursor)
    cursor.execute("savepoint reader")
    try:
        settled = _settled(cursor, name)
        if settled is None:
            cursor.execute(sql.SQL("create role {} login").format(role))
            settled = set()
        # Settings for programs that log in: they find the views, and leave connections for the
        # writer.
        for setting, value in (*_DEFAULTS, *([_TEMPORARY] if is_superuser(cursor) else ())):
            if setting not in settled:
                told = sql.SQL("alter role {} set {} = {}").format(
                    role, sql.Identifier(setting), sql.Literal(value)
                )
                cursor.execute(told)
        if not settled:
            cursor.execute(sql.SQL("alter role {} connection limit 40").format(role))
        password = _password(info.password, name)
        if password is not None:
            cursor.execute(sql.SQL("alter role {} password %s").format(role), (password,))
    except (errors.InsufficientPrivilege, errors.DuplicateObject):
        cursor.execute("rollback to savepoint reader")
    if one_value(cursor, _IS_ROLE, (name,)) and schemas:
        where = sql.SQL(", ").join(map(sql.Identifier, schemas))
        cursor.execute(sql.SQL("grant usage on schema {} to {}").format(where, role))
        cursor.execute(sql.SQL("grant select on all tables in schema {} to {}").format(where, role))
        # The tables that SPARQL and Spark read; the others stay closed.
        cursor.execute(sql.SQL("grant usage on schema store to {}").format(role))
        tables = sql.SQL(", ").join(sql.Identifier("store", name) for name in _READABLE)
        cursor.execute(sql.SQL("grant select on {} to {}").format(tables, role))


def reader_lacks(cursor: extensions.cursor) -> Sequence[str]:
    """The statements that would give the reader its missing settings; ``()`` without a reader.

    They are missing where the writer may not alter roles.
    """
    name = reader_name(cursor.connection.info.dbname)
    settled = _settled(cursor, name)
    if settled is None:
        return ()
    return [
        f"alter role \"{name}\" set {setting} = '{value}'"
        for setting, value in _DEFAULTS
        if setting not in settled
    ]


def _settled(cursor: extensions.cursor, name: str) -> set[str] | None:
    """The settings of a role; None: there is no such role."""
    query = "select coalesce(rolconfig, '{}') from pg_roles where rolname = %s"
    found = one_value(cursor, query, (name,))
    return None if found is None else {each.partition("=")[0] for each in found}


def is_superuser(cursor: extensions.cursor) -> bool:
    """Whether the role of a session is a superuser."""
    return bool(one_value(cursor, "select rolsuper from pg_roles where rolname = current_user"))


def _password(writers: str | None, name: str) -> str | None:
    if not writers:
        return None
    return hmac.new(writers.encode(), name.encode(), hashlib.sha256).hexdigest()


HOST: Final = "127.0.0.1"
_RULES: Final = """\
# Written by SensorStream whenever it starts PostgreSQL with history.port.
local all all trust
host "{database}" "{reader}" {host}/32 scram-sha-256
"""


def port_options(
    cluster: Path, database: str, port: int, owner: pwd.struct_passwd | None
) -> Mapping[str, str]:
    """PostgreSQL's options that open ``port``; writes the file of admitted clients."""
    rules = cluster / "reader_hba.conf"
    text = _RULES.format(database=database, reader=reader_name(database), host=HOST)
    rules.write_text(text)
    if owner is not None:
        os.chown(rules, owner.pw_uid, owner.pw_gid)
    return {"listen_addresses": HOST, "port": str(port), "hba_file": str(rules)}


def let_in(cursor: extensions.cursor, folder: Path, database: str) -> None:
    """Give the reader of ``database`` its password; makes the role if it is not there yet."""
    name = reader_name(database)
    role = sql.Identifier(name)
    if not one_value(cursor, _IS_ROLE, (name,)):
        cursor.execute(sql.SQL("create role {} login").format(role))
    cursor.execute(sql.SQL("alter role {} password %s").format(role), (_kept_password(folder),))


def port_address(folder: Path, database: str, port: int) -> str:
    """The reader's URL on TCP."""
    return URL.create(
        "postgresql",
        username=reader_name(database),
        password=_kept_password(folder),
        host=HOST,
        port=port,
        database=database,
    ).render_as_string(hide_password=False)


def _kept_password(folder: Path) -> str:
    file = folder / "reader-password"
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file.read_text()
    password = token_urlsafe(32)
    with os.fdopen(handle, "w") as opened:
        opened.write(password)
    return password
