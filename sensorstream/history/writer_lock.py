"""The advisory locks that let one process at a time write the journal, and one the effects."""

from __future__ import annotations

import time
from enum import Flag
from typing import Final

from psycopg2 import extensions

from sensorstream.errors import HistoryError
from sensorstream.history.database import describe, translating
from sensorstream.history.pipelining import pipelined

_JOURNAL_LOCK: Final = 0x53535752
EFFECTS_LOCK: Final = 0x53535746
"""The advisory lock of the process that writes effects."""
# The server notices a killed writer within moments; a restart must not fail for them.
_PATIENCE: Final = 5.0


class Writes(Flag):
    """What a process writes; two processes must not write the same."""

    JOURNAL = 1
    """New entries: :meth:`.PostgresStore.append`."""
    EFFECTS = 2
    """All else: effects, the watermark and checkpoints."""
    ALL = JOURNAL | EFFECTS


def lock(what: Writes, connection: extensions.connection, url: str) -> None:
    """Become the only process that writes the journal, or the only one that writes effects.

    The lock lasts as long as the connection, also after the process was killed.

    Raises:
        HistoryError: another process writes it.
    """
    key = EFFECTS_LOCK if what is Writes.EFFECTS else _JOURNAL_LOCK
    deadline = time.monotonic() + _PATIENCE
    while True:
        with translating("cannot lock the store"), pipelined(connection) as cursor:
            cursor.execute("select pg_try_advisory_lock(%s)", (key,))
            row = cursor.fetchone()
            if row is not None and row[0]:
                return
        if time.monotonic() > deadline:
            raise HistoryError(
                f"another process writes to {describe(url)}: stop it first, or give "
                "this one a store of its own"
            )
        time.sleep(0.1)
