"""The audit log, as the store keeps it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Engine, Row, delete, insert, select

from sensorstream.access.audit import Change
from sensorstream.history.database import translating
from sensorstream.history.tables import audit as table

_COLUMNS: Final = ("at", "kind", "who", "address", "method", "path", "status")


class PostgresAuditLog:
    """Safe to use from several threads and processes; every method is one transaction.

    All of them raise :class:`~sensorstream.errors.HistoryError` when the database fails.
    """

    def __init__(self, database: Engine) -> None:
        self._database = database

    def add(self, change: Change) -> None:
        """Write a change down; its number is given here."""
        row = {name: _storable(getattr(change, name)) for name in _COLUMNS}
        with translating("cannot write the audit log"), self._database.begin() as connection:
            connection.execute(insert(table).values(row))

    def before(self, seq: int | None, limit: int) -> list[Change]:
        """Up to ``limit`` changes, newest first, with a number below ``seq``."""
        query = select(table).order_by(table.c.seq.desc()).limit(limit)
        if seq is not None:
            query = query.where(table.c.seq < seq)
        with translating("cannot read the audit log"), self._database.connect() as connection:
            return [_change(row) for row in connection.execute(query)]

    def forget(self, before: datetime) -> None:
        """Delete what is older than a time."""
        with translating("cannot shorten the audit log"), self._database.begin() as connection:
            connection.execute(delete(table).where(table.c.at < before))


def _change(row: Row[Any]) -> Change:
    return Change(row.at, row.kind, row.who, row.address, row.method, row.path, row.status, row.seq)


def _storable(value: object) -> object:
    """PostgreSQL keeps no NUL in a text, and a path may have one."""
    return value.replace("\0", "\\0") if isinstance(value, str) else value
