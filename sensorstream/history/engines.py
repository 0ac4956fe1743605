"""What the engines of many keys hold and wait for, as the last batches left it.

A batch of Spark is repeated after a crash, maybe when it is stored already, and must then wake the
same engines. So the table keeps for each engine also what was true before the last batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from psycopg2 import extensions
from psycopg2.extras import execute_values

from sensorstream.model.timeline import Instant
from sensorstream.model.waits import Waits


@dataclass(frozen=True, slots=True)
class Standing:
    """One engine after a batch.

    ``now`` is its application time, ``heard`` the time of arrival of the last message of the batch
    that went to it.
    """

    key: str
    individuals: int
    waits: Waits
    now: Instant | None
    heard: Instant | None


@dataclass(frozen=True, slots=True)
class Standings:
    """Those engines that a batch changed; ``upto`` is its last entry."""

    upto: int
    changed: Sequence[Standing]


def store_standings(cursor: extensions.cursor, standings: Standings, *, new: bool) -> None:
    """Write down how a batch has left the engines; nothing if it is written already.

    ``new``: the batch's effects are stored with it.
    """
    upto, changed = standings.upto, standings.changed
    moved = max((each.now for each in changed if each.now is not None), default=None)
    heard = max((each.heard for each in changed if each.heard is not None), default=None)
    cursor.execute(
        "update store.pipeline set covered = routed, routed = %s, moved = greatest(moved, %s), "
        "moved_at = greatest(moved_at, %s), stored_at = case when %s then now() else stored_at end "
        "where routed < %s returning covered",
        (upto, moved, heard, new, upto),
    )
    row = cursor.fetchone()
    if row is None:
        return
    # What was replaced by the batch before can be asked for no more.
    cursor.execute('delete from store.engines where "until" <= %s', (row[0],))
    digests = [_digest(each.key) for each in changed]
    cursor.execute(
        'update store.engines set "until" = %s where "until" is null and digest = any(%s)',
        (upto, digests),
    )
    execute_values(
        cursor,
        "insert into store.engines (digest, since, key, individuals, received, moved, present) "
        "values %s",
        [
            (digest, upto, each.key, each.individuals, waits.received, waits.moved, waits.present)
            for digest, each in zip(digests, changed, strict=True)
            if (waits := each.waits) or each.individuals
        ],
    )


def forget_standings(cursor: extensions.cursor) -> None:
    """The journal is processed from its beginning again."""
    cursor.execute("delete from store.engines")
    cursor.execute("update store.pipeline set routed = 0, covered = 0, moved = null")


def waiting_keys(
    cursor: extensions.cursor, after: int, times: tuple[Instant, Instant, Instant] | None
) -> Iterator[str]:
    """The keys of the engines that wait for no later times, after the batch that ended so.

    ``times`` are those of :meth:`.Waits.over`; None: all that hold something.
    """
    held = 'since <= %s and ("until" is null or "until" > %s)'
    if times is None:
        cursor.execute(f"select key from store.engines where {held}", (after, after))
    else:
        cursor.execute(
            f"select key from store.engines where {held} "
            "and (received <= %s or moved <= %s or present <= %s)",
            (after, after, *times),
        )
    return (key for (key,) in cursor)


def _digest(key: str) -> bytes:
    return sha256(key.encode()).digest()
