"""Storage of API keys and of the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Engine, Row, delete, func, insert, or_, select, update

from sensorstream.access.api_keys import Key
from sensorstream.access.audit import AuditedChange
from sensorstream.access.roles import Role
from sensorstream.history.database import record, rows_of, translating
from sensorstream.history.tables import audit, keys


class PostgresKeys:
    """The API keys. Safe to use from several threads and processes.

    Every method is one transaction and raises HistoryError when the database fails.
    """

    def __init__(self, database: Engine) -> None:
        self._database = database

    def add(self, key: Key, replaced_from: datetime | None = None) -> None:
        """Keep a new key; with ``replaced_from``, older ones of its name end by that time."""
        row = asdict(key) | {
            "roles": [each.value for each in key.roles],
            "sources": None if key.sources is None else list(key.sources),
        }
        with translating("cannot store the key"), self._database.begin() as connection:
            if replaced_from is not None:
                connection.execute(
                    update(keys)
                    .where(keys.c.name == key.name)
                    # least() ignores null, so a key without an end gets this one.
                    .values(expires_at=func.least(keys.c.expires_at, replaced_from))
                )
            connection.execute(insert(keys).values(row))

    def all(self) -> list[Key]:
        """The keys, oldest first, including those that are no longer valid."""
        query = select(keys).order_by(keys.c.created_at, keys.c.prefix)
        return [_key(row) for row in rows_of(self._database, "cannot read the keys", query)]

    def revoke(self, named: str, at: datetime) -> list[str]:
        """End the keys of a name, or the key of a beginning; return their beginnings."""
        command = (
            update(keys)
            .where(or_(keys.c.name == named, keys.c.prefix == named))
            .where(keys.c.revoked_at.is_(None))
            .values(revoked_at=at)
            .returning(keys.c.prefix)
        )
        with translating("cannot revoke the key"), self._database.begin() as connection:
            return list(connection.execute(command).scalars())

    def used(self, when: Mapping[str, datetime]) -> None:
        """Note the last use of keys, by their beginnings."""
        with translating("cannot note the use of keys"), self._database.begin() as connection:
            for prefix, moment in when.items():
                connection.execute(
                    update(keys).where(keys.c.prefix == prefix).values(used_at=moment)
                )


def _key(row: Row[Any]) -> Key:
    return record(
        Key,
        row,
        digest=bytes(row.digest),
        # A role of a newer version is ignored.
        roles=tuple(Role(each) for each in row.roles if each in list(Role)),
        sources=None if row.sources is None else tuple(row.sources),
    )


_COLUMNS: Final = ("at", "kind", "who", "address", "method", "path", "status")


class PostgresAuditLog:
    """The audit log. Safe to use from several threads and processes.

    Every method is one transaction and raises HistoryError when the database fails.
    """

    def __init__(self, database: Engine) -> None:
        self._database = database

    def add(self, change: AuditedChange) -> None:
        """Store a change; its number is given here."""
        told = {name: getattr(change, name) for name in _COLUMNS}
        # A path may have NUL, but a text of PostgreSQL may not.
        row = {k: v.replace("\0", "\\0") if isinstance(v, str) else v for k, v in told.items()}
        with translating("cannot write the audit log"), self._database.begin() as connection:
            connection.execute(insert(audit).values(row))

    def before(self, seq: int | None, limit: int) -> list[AuditedChange]:
        """Up to ``limit`` changes, newest first, with a number below ``seq``."""
        query = select(audit).order_by(audit.c.seq.desc()).limit(limit)
        if seq is not None:
            query = query.where(audit.c.seq < seq)
        rows = rows_of(self._database, "cannot read the audit log", query)
        return [record(AuditedChange, row) for row in rows]

    def forget(self, before: datetime) -> None:
        """Delete the changes before a time."""
        with translating("cannot shorten the audit log"), self._database.begin() as connection:
            connection.execute(delete(audit).where(audit.c.at < before))
