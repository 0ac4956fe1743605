"""API keys, as the store keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, Row, func, insert, or_, select, update

from sensorstream.access.keys import Key
from sensorstream.access.roles import Role
from sensorstream.history.database import translating
from sensorstream.history.tables import keys as table


class PostgresKeys:
    """Safe to use from several threads and processes; every method is one transaction.

    All of them raise :class:`~sensorstream.errors.HistoryError` when the database fails.
    """

    def __init__(self, database: Engine) -> None:
        self._database = database

    def add(self, key: Key, replaced_from: datetime | None = None) -> None:
        """Keep a new key; with ``replaced_from``, older ones of its name end by that time."""
        row = {
            "prefix": key.prefix,
            "name": key.name,
            "digest": key.digest,
            "roles": [each.value for each in key.roles],
            "sources": None if key.sources is None else list(key.sources),
            "created_at": key.created_at,
            "expires_at": key.expires_at,
        }
        with translating("cannot store the key"), self._database.begin() as connection:
            if replaced_from is not None:
                connection.execute(
                    update(table)
                    .where(table.c.name == key.name)
                    # least() ignores null: a key without an end gets this one.
                    .values(expires_at=func.least(table.c.expires_at, replaced_from))
                )
            connection.execute(insert(table).values(row))

    def all(self) -> list[Key]:
        """All keys, oldest first, those that are not valid any more too."""
        query = select(table).order_by(table.c.created_at, table.c.prefix)
        with translating("cannot read the keys"), self._database.connect() as connection:
            return [_key(row) for row in connection.execute(query)]

    def revoke(self, named: str, at: datetime) -> list[str]:
        """End the keys with a name, or the one with a beginning; the beginnings of those ended."""
        command = (
            update(table)
            .where(or_(table.c.name == named, table.c.prefix == named))
            .where(table.c.revoked_at.is_(None))
            .values(revoked_at=at)
            .returning(table.c.prefix)
        )
        with translating("cannot revoke the key"), self._database.begin() as connection:
            return list(connection.execute(command).scalars())

    def used(self, when: Mapping[str, datetime]) -> None:
        """Note when keys, by their beginnings, were last used."""
        with translating("cannot note the use of keys"), self._database.begin() as connection:
            for prefix, moment in when.items():
                connection.execute(
                    update(table).where(table.c.prefix == prefix).values(used_at=moment)
                )


def _key(row: Row[Any]) -> Key:
    return Key(
        prefix=row.prefix,
        name=row.name,
        digest=bytes(row.digest),
        # A role that only a newer version has gives nothing here.
        roles=tuple(Role(each) for each in row.roles if each in list(Role)),
        sources=None if row.sources is None else tuple(row.sources),
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        used_at=row.used_at,
    )
