"""The partitions of ``store.statements``: ranges of ``valid_to``, made when they are first needed.

A partition begins and ends at a multiple of the time line's unit: a day (UTC) on the dateTime
line, 65,536 on the integer line (as seconds, 18 hours). How wide a new one is follows from the one
next to it: half as wide if that one is full (512 MB, some five million statements), else twice as
wide. So a day of much traffic has a partition of its own, and slow traffic shares one, at most 32
units on the dateTime line.

Times come from messages and may be any. Sparse partitions are therefore few: once there are
:data:`_MOST_SPARSE`, a new partition between two others takes the whole gap between them, and one
outside of all others is twice as wide as the last, without limit. (No DEFAULT partition: it would
have to be searched, under a lock, whenever a partition is added.)
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from psycopg2 import extensions, sql

from sensorstream.history.database import one_value, opened
from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Instant, Timeline

FIRST: Final = -(2**63)
END: Final = 2**63
"""Instants are at least FIRST and below END; PostgreSQL calls these MINVALUE and MAXVALUE."""

_UNIT: Final = {Timeline.INTEGER: 2**16, Timeline.DATETIME: 86_400_000_000}
_WIDEST: Final = {Timeline.INTEGER: END, Timeline.DATETIME: 32 * 86_400_000_000}
_FULL: Final = 512 * 2**20
_MOST_SPARSE: Final = 64
# Beyond any partition.
_FAR: Final = 2**65
_ENOUGH: Final = 1000
"""Rows of a new partition that make an analysis useful: its statistics hold for more."""
_BOUNDS: Final = re.compile(
    r"FOR VALUES FROM \((?:'(?P<low>-?\d+)'|MINVALUE)\) TO \((?:'(?P<high>-?\d+)'|MAXVALUE)\)"
)


@frozen
class StatementPartition:
    """The statements with ``low <= valid_to < high``."""

    low: int
    high: int

    @property
    def name(self) -> str:
        """The name of its table, in schema ``store``."""
        return f"statements_{_digits(self.low)}_{_digits(self.high)}"


class Partitions:
    """The existing partitions, as the writer knows them."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._there: list[StatementPartition] | None = None
        # Rows in partitions that were never analysed, and the partitions that were needed.
        self._young: dict[StatementPartition, int] = {}
        self._used: set[StatementPartition] = set()

    def forget(self) -> None:
        """Forget the partitions: read the catalog again before the next use."""
        self._there = None
        self._young = {}

    def lack(self, instants: Iterable[Instant]) -> bool:
        """Whether a partition may be missing for some instants."""
        there = self._there
        return there is None or not all(_holds(there, each) for each in set(instants))

    def make(self, cursor: extensions.cursor, instants: Iterable[Instant]) -> None:
        """Make the missing partitions for some instants.

        Readers are not blocked: attaching an empty table waits for no query.
        """
        if self._there is None:
            self._there = partitions(cursor)
            self._young = dict.fromkeys(partitions(cursor, young=True), 0)
        needed = set(instants)
        missing = sorted(each for each in needed if not _holds(self._there, each))
        full = _full(cursor) if missing else frozenset()
        for instant in missing:
            if not _holds(self._there, instant):
                new = new_partition(instant, self._there, full, self._timeline)
                _create(cursor, new)
                self._young[new] = 0
                self._there = sorted([*self._there, new], key=lambda each: each.low)
        self._used.update(_holder(self._there, each) for each in needed)

    def grown(self, instants: Iterable[Instant]) -> tuple[StatementPartition, ...]:
        """Partitions without statistics that have enough rows after these; each is given once."""
        if not self._young or self._there is None:
            return ()
        for instant in instants:
            holder = _holder(self._there, instant)
            if holder in self._young:
                self._young[holder] += 1
        found = tuple(each for each, rows in self._young.items() if rows >= _ENOUGH)
        for each in found:
            del self._young[each]
        return found

    def analyze_used(self, cursor: extensions.cursor) -> None:
        """Analyse all partitions that :meth:`make` was called for."""
        if self._used:
            analyze(cursor, self._used)
            self._used = set()


def analyze(cursor: extensions.cursor, changed: Iterable[StatementPartition]) -> None:
    """Gather statistics of partitions, and of the tables beside them.

    Until then PostgreSQL's planner takes every subject to have one of 200 parts of the rows, and
    reads tables whole. Autovacuum runs once a minute, and never for all partitions as one table,
    whose statistics predict the rows of a join.
    """
    new = one_value(cursor, "select current_setting('server_version_num')::integer >= 180000")
    # Before PostgreSQL 18 this would read every partition.
    shared = ["only store.statements"] if new else []
    names = sorted(each.name for each in changed)
    tables = [f"store.{each}" for each in ("terms", "stays", "class_sets", *names)]
    cursor.execute(f"analyze {', '.join(shared + tables)}")


def partitions(cursor: extensions.cursor, *, young: bool = False) -> list[StatementPartition]:
    """The partitions of ``store.statements`` in order; ``young``: those never analysed."""
    cursor.execute(
        "select pg_get_expr(c.relpartbound, c.oid) from pg_inherits i "
        "join pg_class c on c.oid = i.inhrelid "
        "where i.inhparent = 'store.statements'::regclass"
        + (" and c.reltuples < 0" if young else "")
    )
    found = [partition_of(bounds) for (bounds,) in cursor.fetchall()]
    return sorted((each for each in found if each is not None), key=lambda each: each.low)


def instant_ago(url: str, length: int, timeline: Timeline, now: datetime) -> Instant:
    """The instant that lies a length of the time line back.

    On the dateTime line it counts back from ``now``. Whole numbers need not be seconds of any
    clock: on the integer line it counts back from the latest end of a statement in history. Raises
    HistoryError if the database cannot be read.
    """
    if timeline is Timeline.DATETIME:
        return timeline.of(now) - length
    with opened(url, "cannot read the history") as cursor:
        for each in reversed(partitions(cursor)):
            found = one_value(cursor, f'select max(valid_to) from store."{each.name}"')
            if found is not None:
                return int(found) - length
    return -length


def partition_of(bounds: str | None) -> StatementPartition | None:
    """The partition of PostgreSQL's text of bounds; None: it has none."""
    match = _BOUNDS.fullmatch(bounds or "")
    return match and StatementPartition(int(match["low"] or FIRST), int(match["high"] or END))


def new_partition(
    instant: Instant, there: Sequence[StatementPartition], full: frozenset[str], timeline: Timeline
) -> StatementPartition:
    """The partition to make for an instant that no partition in ``there`` (in order) holds.

    ``full``: the names of those that hold enough statements.
    """
    unit = _UNIT[timeline]
    position = bisect_right([each.low for each in there], instant)
    low = there[position - 1].high if position else FIRST
    high = there[position].low if position < len(there) else END
    crowded = sum(each.name not in full for each in there) >= _MOST_SPARSE
    if crowded and low > FIRST and high < END:
        return StatementPartition(low, high)
    width = unit
    if there:
        before = instant - low if position else _FAR
        after = high - instant if position < len(there) else _FAR
        nearest = there[position - 1] if before <= after else there[position]
        width = max(nearest.high - nearest.low, unit)
        width = width // 2 if nearest.name in full else width * 2
    if not crowded:
        width = min(width, _WIDEST[timeline])
    while True:
        width = max(unit, _unit_multiple(width, unit))
        start = instant // width * width
        if width == unit or (start >= low and start + width <= high):
            return StatementPartition(max(start, low), min(start + width, high))
        width //= 2


def _unit_multiple(width: int, unit: int) -> int:
    """The greatest power of two of units that is not wider."""
    units = max(width // unit, 1)
    return unit << (units.bit_length() - 1)


def _holds(there: Sequence[StatementPartition], instant: Instant) -> bool:
    return bool(there) and there[0].low <= instant < _holder(there, instant).high


def _holder(there: Sequence[StatementPartition], instant: Instant) -> StatementPartition:
    return there[bisect_right([each.low for each in there], instant) - 1]


def _full(cursor: extensions.cursor) -> frozenset[str]:
    cursor.execute(
        "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid "
        "where i.inhparent = 'store.statements'::regclass and pg_relation_size(c.oid) >= %s",
        (_FULL,),
    )
    return frozenset(name for (name,) in cursor.fetchall())


def _create(cursor: extensions.cursor, new: StatementPartition) -> None:
    # CREATE TABLE ... PARTITION OF would wait for every running query, and the next queries for it;
    # ATTACH does not block them.
    table = sql.Identifier("store", new.name)
    cursor.execute(
        sql.SQL("create table {} (like store.statements including defaults)").format(table)
    )
    cursor.execute(
        sql.SQL(
            "alter table store.statements attach partition {} for values from ({}) to ({})"
        ).format(
            table,
            sql.SQL("minvalue") if new.low == FIRST else sql.Literal(new.low),
            sql.SQL("maxvalue") if new.high == END else sql.Literal(new.high),
        )
    )


def _digits(bound: int) -> str:
    if bound == FIRST:
        return "first"
    if bound == END:
        return "end"
    return str(bound).replace("-", "m")
