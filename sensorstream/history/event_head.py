"""The numbers of what receivers are told of: one sequence, in which each receiver has its place."""

from __future__ import annotations

from sqlalchemy import Connection, select

from sensorstream.history.tables import event_head


def last_event(connection: Connection) -> int:
    """The number of the last event; none is added before the transaction ends."""
    found: int = connection.execute(select(event_head.c.last).with_for_update()).scalar_one()
    return found
