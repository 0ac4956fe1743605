"""Checkpoints: the engine's state after some entry of the journal, in the store."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import psycopg2
from psycopg2 import extensions

from sensorstream.errors import HistoryError
from sensorstream.history.progress import watermark

_KEPT: Final = 2


def save_checkpoint(cursor: extensions.cursor, seq: int, state: bytes) -> None:
    """See :meth:`.PostgresStore.save_checkpoint`."""
    stored = watermark(cursor)
    if seq > stored:
        raise HistoryError(f"a checkpoint at message {seq} is ahead of the watermark {stored}")
    cursor.execute(
        "insert into store.checkpoints (seq, state) values (%s, %s) "
        "on conflict (seq) do update set state = excluded.state, created_at = now()",
        (seq, psycopg2.Binary(state)),
    )
    cursor.execute(
        "delete from store.checkpoints where seq not in "
        "(select seq from store.checkpoints order by seq desc limit %s)",
        (_KEPT,),
    )


def checkpoints(cursor: extensions.cursor) -> list[tuple[int, bytes]]:
    """Number and state of those that are kept, newest first."""
    cursor.execute("select seq, state from store.checkpoints order by seq desc")
    return [(seq, bytes(state)) for seq, state in cursor]


def drop_checkpoints(cursor: extensions.cursor, seqs: Collection[int]) -> None:
    """Keep some no longer."""
    cursor.execute("delete from store.checkpoints where seq = any(%s)", (list(seqs),))
