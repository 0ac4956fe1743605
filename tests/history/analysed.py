"""What PostgreSQL's planner knows of a history."""

from __future__ import annotations

from contextlib import closing

import psycopg2


def analysed(url: str) -> set[str]:
    """The tables of which it has statistics."""
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute(
            "select tablename from pg_stats where schemaname = 'store' and tablename !~ '_idx'"
        )
        return {name for (name,) in cursor.fetchall()}
