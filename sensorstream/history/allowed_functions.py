"""Which SQL functions a question may call: all that only compute, and a few more by name.

A function that PostgreSQL marks as *volatile* may do something: write to the log on disk
(``pg_logical_emit_message``), take a lock that stops the writers (``pg_advisory_lock``), run
another text (``query_to_xml``). Only those named here are allowed, so that one that a later
version or an extension brings is refused.

Two guards: the text of a question is looked through; and in a database that is SensorStream's alone
nobody but superusers may execute them, so that a program that logs in as the reader cannot, either.
"""

from __future__ import annotations

import re
from typing import Final

from psycopg2 import extensions

from sensorstream.errors import QueryError

ALLOWED: Final = (
    # Chance and the clock.
    *("random", "random_normal", "gen_random_uuid", "uuidv4", "uuidv7"),
    *("clock_timestamp", "timeofday"),
    # They take time only, of which a question has limits.question_seconds.
    *("pg_sleep", "pg_sleep_for", "pg_sleep_until"),
    # How much there is.
    *("pg_relation_size", "pg_table_size", "pg_indexes_size", "pg_total_relation_size"),
    *("pg_database_size", "pg_tablespace_size"),
)
_REFUSED_BESIDE: Final = (
    # Each call uses up a number of a transaction.
    *("txid_current", "pg_current_xact_id"),
    # They tell what others ask, and from where.
    *("pg_stat_get_activity", "pg_stat_get_backend_activity"),
    *("pg_stat_get_backend_client_addr", "pg_stat_get_backend_client_port"),
)
"""Functions that PostgreSQL does not mark as volatile, and that do more than compute."""
_VIEW: Final = "pg_stat_activity"
_OURS: Final = ("set_config", "pg_export_snapshot")
"""What our own statements call as the reader; refused in the text of a question."""
_SCHEMAS: Final = ("store", "history", "live")
"""Ours; of their functions only the one that takes the rows of the question itself is refused."""
_INTERNAL: Final = (
    *("internal", "trigger", "event_trigger", "language_handler", "fdw_handler", "tsm_handler"),
    *("index_am_handler", "table_am_handler"),
)
"""Results of functions that no statement can call."""

_WORDS: Final = re.compile(r"\w+")
# Characters by their numbers could spell any name.
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

    Raises:
        QueryError: the text names one, or the view of what others ask.
    """
    if _SPELLED.search(text):
        raise QueryError('names that are spelled by numbers (U&"…") are not allowed')
    words = list(set(map(str.lower, _WORDS.findall(text))))
    if _VIEW in words:
        raise QueryError(f"the view {_VIEW} is not allowed in a question: it tells what others ask")
    told = words, list(ALLOWED), list(_REFUSED_BESIDE), list(_SCHEMAS), list(_INTERNAL)
    cursor.execute(_REFUSED, told)
    found = cursor.fetchone()
    if found is not None:
        raise QueryError(
            f"the function {found[0]} is not allowed in a question: it may do more than compute"
        )


def close_functions(cursor: extensions.cursor) -> None:
    """Let only superusers execute what questions may not, if the database is ours alone.

    Where others have tables in it, or the writer is no superuser, nothing is changed:
    :func:`check_functions` is then the only guard.
    """
    cursor.execute(_ALONE, (list(_SCHEMAS),))
    row = cursor.fetchone()
    if row is None or not row[0]:
        return
    cursor.execute(_OPEN_TO_ALL, ([*ALLOWED, *_OURS], list(_REFUSED_BESIDE), list(_INTERNAL)))
    row = cursor.fetchone()
    if row is not None and row[0]:
        cursor.execute(f"revoke execute on function {row[0]} from public")
