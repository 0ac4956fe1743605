"""The process that writes effects: its lock, its runner, its position.

The windows of another runner would store the same ends once more. On Spark, the state and waits of
the engines of many keys are kept as the last batches left them: a batch is repeated after a crash,
maybe when it is stored already, and must then wake the same engines. So the table also keeps for
each engine the state before the last batch.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Flag
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias

from psycopg2 import extensions
from psycopg2.extras import Json, execute_values
from sqlalchemy import Engine, text

from sensorstream.engine.codec import decode, encode
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.errors import HistoryError
from sensorstream.history.copying import RowShape
from sensorstream.history.database import (
    OwnConnection,
    describe,
    one_value,
    opened,
    pipelined,
    translating,
)
from sensorstream.journal.key_routing import ANSWERED, CONTROL, QUERIES
from sensorstream.journal.records import PASSED, EngineAnswer, number_of_message
from sensorstream.model.frozen import asdict, frozen
from sensorstream.model.timeline import Instant
from sensorstream.model.waits import Waits

_JOURNAL_LOCK: Final = 0x53535752
EFFECTS_LOCK: Final = 0x53535746
"""The advisory lock of the process that writes effects."""
# The server notices a killed writer within moments; a restart must not fail in between.
_PATIENCE: Final = 5.0


class Writes(Flag):
    """The parts of the store that a process writes; no two processes may write the same part."""

    JOURNAL = 1
    """New entries: :meth:`.PostgresStore.append`."""
    EFFECTS = 2
    """The rest: effects, the watermark and checkpoints."""
    ALL = JOURNAL | EFFECTS


def lock(what: Writes, connection: extensions.connection, url: str) -> None:
    """Become the only process that writes the journal, or the only one that writes effects.

    The lock lasts as long as the connection, also after the process was killed. Raises HistoryError
    if another process holds it.
    """
    key = EFFECTS_LOCK if what is Writes.EFFECTS else _JOURNAL_LOCK
    deadline = time.monotonic() + _PATIENCE
    while True:
        with translating("cannot lock the store"), pipelined(connection) as cursor:
            if one_value(cursor, "select pg_try_advisory_lock(%s)", (key,)):
                return
        if time.monotonic() > deadline:
            raise HistoryError(
                f"another process writes to {describe(url)}: stop it first, or give "
                "this one a store of its own"
            )
        time.sleep(0.1)


_SETTINGS: Final = {"engine": "one engine", "spark": "engines on Spark"}


@frozen
class PipelineRunner:
    """The settings that decide which window an entry of the journal goes to.

    ``key`` divides the windows; empty: there is one. ``by_count``: they count elements, and
    messages do not wait for each other, so that a window depends on the entries of its key alone.
    """

    kind: Literal["engine", "spark"]
    key: str
    by_count: bool

    def __str__(self) -> str:
        return f"{_SETTINGS[self.kind]} (pipeline.runner = {self.kind!r}{self._by_key})"

    @property
    def _by_key(self) -> str:
        return f", pipeline.key = {self.key!r}" if self.kind == "spark" else ""

    def goes_on_from(self, other: PipelineRunner) -> bool:
        """Whether its windows, rebuilt from the journal, equal those of another runner."""
        if self.kind == other.kind:
            return self.kind == "engine" or self.key == other.key
        return self.by_count and other.by_count and bool(self.key) and self.key == other.key


def claim(url: str, runner: PipelineRunner) -> None:
    """Store that a runner is the history's; the schema must exist.

    Raises HistoryError if it belongs to another one, whose windows hold what this one would store
    again.
    """
    doing = "cannot read which runner the history belongs to"
    with opened(url, doing, application="sensorstream runner") as cursor:
        cursor.execute(
            "select runner, exists (select from store.messages) from store.pipeline for update"
        )
        found, begun = cursor.fetchone() or (None, False)
        known = None if found is None else PipelineRunner(**found)
        if begun and known is not None and not runner.goes_on_from(known):
            raise HistoryError(
                f"the history {describe(url)} belongs to {known}, and this is {runner}: what is in "
                "the windows there would be missing or stored twice. Set [pipeline] as it was, or "
                "give this runner an empty database (history.url, or history.folder). One can "
                "follow the other where both have the same windows: window.unit = individuals or "
                "triples, window.partition = source, pipeline.key = source, and no time.lateness"
            )
        if known != runner:
            cursor.execute("update store.pipeline set runner = %s", (Json(asdict(runner)),))


_RUNS: Final = """
        exists (
            select from pg_locks l join pg_database d on d.oid = l.database
            where l.locktype = 'advisory' and l.granted and l.classid = 0 and l.objid = %s
                and d.datname = current_database()
        )
"""
_QUERY: Final = f"""
    select
        coalesce((select watermark from store.progress), 0),
        (select coalesce(max(seq), 0) from store.messages),
        (select stored_at from store.pipeline),
        (select progress from store.pipeline),
        (select count(*) from store.engines where "until" is null),
        exists (
            select from store.engines e join store.pipeline p
                on e.moved <= p.moved or e.present <= p.moved
            where e."until" is null
        ),
        (select count(*) from store.passed_on),
        {_RUNS}
"""


_HOT: Final = 1.5


@frozen
class BatchProgress:
    """The figures of the last batch on Spark.

    ``seconds`` are those of its phases by their names; ``state_rows`` and ``state_bytes`` are
    Spark's state. ``busiest`` is the key with the most of the last messages, ``share`` its part of
    them, of which ``tasks`` would have the same each; empty before there were enough.
    """

    entries: int
    keys: int
    seconds: Mapping[str, float]
    state_rows: int
    state_bytes: int
    busiest: str = ""
    share: float = 0.0
    tasks: int = 1

    @property
    def skew(self) -> float:
        """The part of the busiest key as a multiple of a task's fair part."""
        return self.share * self.tasks

    @property
    def hot(self) -> str | None:
        """The busiest key, if the other tasks wait for the one that has it."""
        return self.busiest if self.skew >= _HOT else None

    @property
    def heat(self) -> str:
        """A sentence on the busiest key."""
        return f"hot key {self.busiest!r}: {self.share:.0%} of the messages, all in one task"

    @classmethod
    def decode(cls, row: Mapping[str, Any] | None) -> BatchProgress | None:
        """The figures from their column."""
        return None if row is None else cls(**row)


def store_progress(cursor: extensions.cursor, progress: BatchProgress) -> None:
    """Store the figures of the last batch. A crash may lose them: they are not waited for."""
    cursor.execute(
        "set synchronous_commit = off; update store.pipeline set progress = %s",
        (Json(asdict(progress)),),
    )


@frozen
class JournalPosition:
    """The position of processing: numbers of entries; the time of the last batch, and its figures,
    or None.

    ``keys`` counts the engines that hold something; ``behind``: one of them waits for a time that
    others have reached. ``passed`` counts the events that wait for the process that writes the
    journal, to go on to later stages. ``runs``: a process may write effects now.
    """

    journalled: int
    stored: int
    stored_at: datetime | None = None
    batch: BatchProgress | None = None
    keys: int = 0
    behind: bool = False
    passed: int = 0
    runs: bool = True

    @property
    def lag(self) -> int:
        """The number of entries that wait."""
        return self.journalled - self.stored

    def __str__(self) -> str:
        if not self.runs:
            told = f"no pipeline runs, {self.lag} entries wait: start sensorstream stream"
        else:
            told = f"{self.lag} entries wait" if self.lag else ""
        if self.runs and self.batch is not None and self.batch.hot is not None:
            told = "; ".join(filter(None, (told, self.batch.heat)))
        if told and self.stored_at is not None:
            told += f"; last stored {self.stored_at.isoformat(timespec='seconds')}"
        return told


class PositionReader(OwnConnection):
    """A reader of the position on a connection of its own, usable in any thread."""

    def __init__(self, url: str) -> None:
        super().__init__(lambda: url, "sensorstream position")

    def read(self) -> JournalPosition:
        """The position now, all of one moment; raises HistoryError."""
        with self.cursor("cannot read how far the pipeline is") as cursor:
            cursor.execute(_QUERY, (EFFECTS_LOCK,))
            row = cursor.fetchone() or (0, 0, None, None, 0, False, 0, False)
        stored, journalled, stored_at, progress, *more = row
        return JournalPosition(journalled, stored, stored_at, BatchProgress.decode(progress), *more)


HeldRow: TypeAlias = tuple[bytes, str | None]
"""A part of what an engine's window holds: a digest that names it, and its text; None: it is gone.
"""


@frozen
class EngineStanding:
    """The state of an engine after a batch.

    ``now`` is its application time, ``heard`` the time of arrival of the last message of the batch
    that went to it, ``entries`` the number of its own entries in the batch. ``held`` is what its
    window holds anew, for :func:`store_held`.
    """

    key: str
    individuals: int
    waits: Waits
    now: Instant | None
    heard: Instant | None
    entries: int = 0
    held: Sequence[HeldRow] = ()


@frozen
class Standings:
    """The engines that a batch changed; ``upto`` is its last entry. ``passed`` are the events that
    go on to later stages: the key of the engine that takes each, its time and its content.
    """

    upto: int
    changed: Sequence[EngineStanding]
    passed: Sequence[tuple[str, Instant, bytes]] = ()


def store_standings(cursor: extensions.cursor, standings: Standings, *, new: bool) -> None:
    """Store the state of the engines after a batch, unless it is stored already.

    ``new``: the batch's effects are stored with it.
    """
    upto, changed = standings.upto, standings.changed
    moved = max((each.now for each in changed if each.now is not None), default=None)
    heard = max((each.heard for each in changed if each.heard is not None), default=None)
    covered = one_value(
        cursor,
        "update store.pipeline set covered = routed, routed = %s, moved = greatest(moved, %s), "
        "moved_at = greatest(moved_at, %s), stored_at = case when %s then now() else stored_at end "
        "where routed < %s returning covered",
        (upto, moved, heard, new, upto),
    )
    if covered is None:
        return
    # States that the batch before replaced are not needed any more.
    cursor.execute('delete from store.engines where "until" <= %s', (covered,))
    digests = [sha256(each.key.encode()).digest() for each in changed]
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
    store_held(cursor, upto, [row for each in changed for row in each.held])
    if upto // GONE_KEPT != covered // GONE_KEPT:
        cursor.execute(
            "delete from store.held where content is null and since <= %s", (upto - GONE_KEPT,)
        )


GONE_KEPT: Final = 50_000
"""Entries for which it is known what has gone; who has read none of them reads all again."""
_HELD: Final = RowShape("pg_temp.held_anew", ("digest", "content"))


def store_held(cursor: extensions.cursor, upto: int, rows: Sequence[HeldRow]) -> None:
    """Store what windows hold anew after a batch that ended with the entry ``upto``."""
    if not rows:
        return
    cursor.execute(
        "create temporary table if not exists held_anew (digest bytea, content text) "
        "on commit delete rows"
    )
    _HELD.copy(cursor, rows)
    cursor.execute(
        "insert into store.held (digest, since, content) "
        "select digest, %s, content from pg_temp.held_anew "
        "on conflict (digest) do update set since = excluded.since, content = excluded.content",
        (upto,),
    )


def pass_on(cursor: extensions.cursor, standings: Standings) -> None:
    """Store the events of a batch that go on, with its effects."""
    sql = "insert into store.passed_on (key, time, content) values %s"
    execute_values(cursor, sql, standings.passed)


def forget_events(cursor: extensions.cursor, stages: Sequence[str] = ()) -> None:
    """Delete the events that are in the journal, and those of other stages than these, if any are
    given. Origins tell which are there, so a crash between the two writes does no harm.
    """
    cursor.execute(
        "delete from store.passed_on p where split_part(key, '=', 1) <> all(%s) "
        "or exists (select from store.messages where origin = %s || p.number)",
        (list(stages) or None, PASSED),
    )


def waiting_events(
    cursor: extensions.cursor, stage: str, upto: Instant, most: int
) -> list[tuple[int, str, bytes]]:
    """The first events for a stage up to a time, in order: number, key and content."""
    cursor.execute(
        "select number, key, content from store.passed_on "
        "where split_part(key, '=', 1) = %s and time <= %s order by time, number limit %s",
        (stage, upto, most),
    )
    return [(number, key, bytes(content)) for number, key, content in cursor]


def store_answers(cursor: extensions.cursor, answers: Sequence[EngineAnswer]) -> None:
    """Store answers of engines, and delete those that nobody has read."""
    cursor.execute("delete from store.answers where stored_at < now() - %s", (ANSWERED,))
    rows = [(each.seq, each.key, each.content) for each in answers]
    execute_values(cursor, "insert into store.answers (entry, key, content) values %s", rows)


def take_answers(cursor: extensions.cursor, entry: int) -> dict[str, bytes]:
    """The stored answers to an entry by their keys, which are deleted."""
    cursor.execute("delete from store.answers where entry = %s returning key, content", (entry,))
    return {key: bytes(content) for key, content in cursor}


_MOST_REPORTS: Final = 1_000
_MOST_BYTES: Final = 64 << 20
"""Of the reports that are kept: the most of a batch, and the most of a registration."""
_AWAY: Final = 1 << 20


def store_followed(cursor: extensions.cursor, reports: Sequence[EngineReport]) -> None:
    """Store the reports of a batch whose registrations are followed (:func:`followed`).

    They are answers without a question. A row with the entry 0 has a registration as its key, and
    as its content the number of its last report: those of all engines are counted together. A row
    with the registration's entry has the reports of a batch; its key is the number of the last.
    """
    of: dict[str, list[EngineReport]] = {}
    for each in reports:
        name, *engine = each.entry.split(".")
        # Each engine of a stage begins a registration at an entry of its own.
        of.setdefault(engine[1] if len(engine) > 1 else name, []).append(each)
    cursor.execute(
        "select key, convert_from(content, 'utf8')::bigint from store.answers "
        "where entry = 0 and key = any(%s) and stored_at > now() - %s for update",
        (list(of), ANSWERED),
    )
    for name, last in dict(cursor.fetchall()).items():
        numbered = list(enumerate(of[name], last + 1))
        end = last + len(numbered)
        told = (EngineReport(name, n, r.report) for n, r in numbered[-_MOST_REPORTS:])
        content = json.dumps([encode(each, EngineReport) for each in told]).encode()
        entry = number_of_message(name)
        store_answers(cursor, [EngineAnswer(entry, f"{end:020}", content)])
        cursor.execute(
            "update store.answers set content = %s where entry = 0 and key = %s; "
            "delete from store.answers a using (select key, sum(length(content)) over "
            "(order by key desc) - length(content) as newer from store.answers where entry = %s) b "
            "where a.entry = %s and a.key = b.key and b.newer > %s",
            (str(end).encode(), name, entry, entry, _MOST_BYTES),
        )


_FOLLOW: Final = text(
    f"""
    with known as (
      select content from store.answers
      where entry = 0 and key = :entry and stored_at > now() - :age
    ), touched as (  -- rarely, because it waits for a batch that is being stored
      update store.answers set stored_at = now() where entry = 0 and key = :entry
      and stored_at > now() - :age and stored_at < now() - :age / 10
    ), new as (
      insert into store.answers (entry, key, content)
      select 0, :entry, convert_to((watermark * {_AWAY})::text, 'utf8') from store.progress
      where not exists (select from known) returning content
    )
    select convert_from(content, 'utf8')::bigint
    from (select * from known union all select * from new) f limit 1
    """
)
_NEXT: Final = text(
    "select content from store.answers where entry = :entry and key > :after order by key limit 1"
)
_MET: Final = text(
    "select not exists (select from store.messages where kind = any(:kinds) "
    "and seq > (select watermark from store.progress))"
)


def followed(database: Engine, entry: str, after: int | None) -> tuple[int, Sequence[EngineReport]]:
    """Follow a registration: later reports are stored, as long as somebody asks for them.

    Returns the number that the next kept reports come after, and those: ``after``, or another one
    if it is None, or too long ago for the number of those between to be known.
    """
    with translating("cannot read the reports"), database.begin() as connection:
        told = {"entry": entry, "age": ANSWERED}
        last: int = connection.execute(_FOLLOW, told).scalar_one()
        if after is None or after >= last:
            return last if after is None else after, ()
        place = {"entry": number_of_message(entry), "after": f"{after:020}"}
        content = connection.execute(_NEXT, place).scalar() or b"[]"
    reports = [decode(each, EngineReport) for each in json.loads(bytes(content))]
    reports = [each for each in reports if each.number > after]
    if reports and reports[0].number - after >= _AWAY // 2:
        after = reports[0].number - 2
    return after, reports


def queries_met(database: Engine) -> bool:
    """Whether the engines on Spark have met all that starts and ends queries."""
    with translating("cannot read the journal"), database.connect() as connection:
        return bool(connection.execute(_MET, {"kinds": list(QUERIES)}).scalar())


def is_written(cursor: extensions.cursor) -> bool:
    """Whether a process may write effects now."""
    return bool(one_value(cursor, f"select {_RUNS}", (EFFECTS_LOCK,)))


def keys_of_engines(cursor: extensions.cursor, most: int, stage: str | None = None) -> list[str]:
    """The first keys of messages, or of a stage, in order, whose engines hold something."""
    cursor.execute(
        'select key from store.engines where "until" is null and key <> %s '
        "and starts_with(key, %s) order by key limit %s",
        (CONTROL, "" if stage is None else f"{stage}=", most),
    )
    return [key for (key,) in cursor]


def forget_standings(cursor: extensions.cursor) -> None:
    """Delete the states of engines: the journal is processed from its beginning again."""
    cursor.execute("delete from store.engines; delete from store.held")
    cursor.execute(
        "update store.pipeline set routed = 0, covered = 0, moved = null, displaced = displaced + 1"
    )


def waiting_keys(
    cursor: extensions.cursor, after: int, times: Sequence[Instant] | None
) -> Iterator[str]:
    """The keys of the engines that wait for no later times, after the batch that ended so.

    ``times`` are the three of :meth:`.Waits.over`; None: all that hold something.
    """
    query = 'select key from store.engines where since <= %s and ("until" is null or "until" > %s)'
    if times is not None:
        query += " and (received <= %s or moved <= %s or present <= %s)"
    cursor.execute(query, (after, after, *(times or ())))
    return (key for (key,) in cursor)
