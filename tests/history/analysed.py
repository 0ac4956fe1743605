"""What PostgreSQL's planner knows of a history."""

from __future__ import annotations

from tests.databases import execute


def analysed(url: str) -> set[str]:
    """The tables of which it has statistics."""
    return {
        name
        for (name,) in execute(
            url, "select tablename from pg_stats where schemaname = 'store' and tablename !~ '_idx'"
        )
    }
