"""``spark.read.format("sensorstream")``: a view of the history for any Spark.

A read is one statement of PostgreSQL, so that it sees one moment, and one task; or a few, over
ranges of time, each of which sees its own moment. What runs in a Spark of SensorStream's own, over
the archive too, by many tasks and at one moment, is :mod:`.spark_sessions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from psycopg2 import sql
from pyspark.sql import datasource
from pyspark.sql.types import StructType

from sensorstream.archive.manifest import State, kept_parts
from sensorstream.errors import HistoryError, QueryError, SettingsError, TermError
from sensorstream.history.database import opened
from sensorstream.history.open_history import open_kept
from sensorstream.history.read_only_sql import AnswerColumn, describe_sql, reading_url
from sensorstream.history.view_definitions import ENTRY_VIEWS
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.settings.settings_file import load_settings
from sensorstream.spark.copy_reader import HistoryReader, Range
from sensorstream.spark.source_tables import (
    ColumnComparison,
    ColumnCondition,
    SourceColumn,
    SourceTable,
    Value,
    condition_of,
)
from sensorstream.sql.postgres.sql_scope import BY_OID, SPARK_NAMES

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_NAME: Final = "sensorstream"
_CHOSEN: Final = {"class": ("individuals", "class"), "property": ("statements", "predicate")}
"""Options that choose rows: their view, and its column."""
_OPTIONS: Final = ("url", "config", "view", *_CHOSEN, "from", "until", "partitions")
_MOST_TASKS: Final = 40
"""The most connections of a read."""
_TIMES: Final = (
    ("time", "expired_at"),
    ("valid_from", "valid_to"),
    ("received_at", "received_at"),
    ("time", "time"),
)
"""The columns of a row's beginning and end; the first pair that a view has counts."""
_TYPED: Final = ("boolean", "bigint", "double", "string", "binary", "timestamp")
"""Types that are Spark's too; a column of another one, as a number of any digits, is its text."""
_COMPARISONS: Final = {
    datasource.EqualTo: ColumnComparison.IN,
    datasource.In: ColumnComparison.IN,
    datasource.LessThan: ColumnComparison.LESS,
    datasource.LessThanOrEqual: ColumnComparison.AT_MOST,
    datasource.GreaterThan: ColumnComparison.MORE,
    datasource.GreaterThanOrEqual: ColumnComparison.AT_LEAST,
}
_COMPARED: Final = {"bigint": int, "double": float, "boolean": bool, "string": str}
_PLANNING: Final = 60.0
"""Seconds that PostgreSQL may take to name the columns."""


def register(spark: SparkSession) -> None:
    """Let a session of Spark read the history by ``spark.read.format("sensorstream")``, and leave
    conditions on it to PostgreSQL.
    """
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(HistorySource)


class HistorySource(datasource.DataSource):  # type: ignore[misc]
    """A view of the history as it is when it is read; see docs/use/spark.md for the options."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        """Check the options; raises SettingsError."""
        self._options = {name.lower(): value for name, value in options.items()}
        chosen = [name for name in _CHOSEN if name in self._options]
        implied = _CHOSEN[chosen[0]][0] if chosen else "statements"
        self._view = self._options.get("view", implied)
        for name in self._options:
            if name not in _OPTIONS:
                raise SettingsError(f"option {name}: expected one of {', '.join(_OPTIONS)}")
        if ("url" in self._options) == ("config" in self._options):
            raise SettingsError(
                "expected one of the options url (of the history's PostgreSQL) and config (the "
                "path of a settings file)"
            )
        count = self._options.get("partitions", "1")
        if not count.isdecimal() or not 1 <= int(count) <= _MOST_TASKS:
            raise SettingsError(f"option partitions: expected 1 to {_MOST_TASKS}, not '{count}'")
        for name in chosen:
            if self._view != _CHOSEN[name][0]:
                raise SettingsError(
                    f"option {name}: the view {self._view} has none; expected the view "
                    f"{_CHOSEN[name][0]}"
                )

    @classmethod
    def name(cls) -> str:
        return _NAME

    def schema(self) -> str:
        """The columns of the view; raises HistoryError and QueryError."""
        return self._table().schema

    def reader(self, schema: StructType) -> ViewReader:
        """A reader of some columns of the view, in the order of the schema."""
        table = self._table()
        there = {each.name: each for each in table.columns}
        wanted = {each.name: each.dataType.simpleString() for each in schema}
        for name, kind in wanted.items():
            if name not in there or there[name].kind != kind:
                raise QueryError(
                    f"{self._view} has no column {name} {kind}: expected columns of {table.schema}"
                )
        columns = tuple(there[name] for name in wanted)
        return ViewReader(self._options, table, columns)

    def _table(self) -> SourceTable:
        with ExitStack() as stack:
            url = _opened(self._options, stack)
            text = f"select * from history.{_quoted(self._view)}"
            told, _ = stack.enter_context(describe_sql(url, text, timeout=_PLANNING))
            # With a key, a table is read in schema history.
            return SourceTable(self._view, tuple(map(_column, told)), key="")


class ViewReader(datasource.DataSourceReader):  # type: ignore[misc]
    """A reader, planned in a Python process of the driver and run in one of an executor."""

    def __init__(
        self, options: Mapping[str, str], table: SourceTable, columns: tuple[SourceColumn, ...]
    ) -> None:
        """``columns`` are read; conditions may be on all of the table."""
        self._options = options
        self._table = table
        self._read = columns
        self._kinds = {each.name: each.kind for each in table.columns}
        self._conditions = [
            ColumnCondition(_CHOSEN[name][1], ColumnComparison.IN, (options[name],))
            for name in _CHOSEN
            if name in options
        ]
        start, self._end = next(each for each in _TIMES if set(each) <= set(self._kinds))
        numbers = self._kinds[self._end] == "bigint"
        self._timeline = Timeline.INTEGER if numbers else Timeline.DATETIME
        self._begin = self._bound("from", self._end, ColumnComparison.AT_LEAST)
        self._bound("until", start, ColumnComparison.LESS)

    def pushFilters(  # noqa: N802 - Spark's name
        self, filters: list[datasource.Filter]
    ) -> Iterable[datasource.Filter]:
        """Take the conditions that PostgreSQL decides as Spark does; the rest is Spark's."""
        for each in filters:
            condition = self._condition(each)
            if condition is None:
                yield each
            else:
                self._conditions.append(condition)

    def partitions(self) -> Sequence[datasource.InputPartition]:
        """Conditions that together all rows fulfil, each row one; by equal spans between the first
        and the last end of a row.

        Raises:
            HistoryError: rows of the view may be in the archive, or it cannot be reached.
        """
        self._check_archive()
        parts = int(self._options.get("partitions", "1"))
        inner = list(self._bounds(parts)) if parts > 1 else []
        from_ = [[ColumnCondition(self._end, ColumnComparison.AT_LEAST, (e,))] for e in inner]
        until = [[ColumnCondition(self._end, ColumnComparison.LESS, (e,))] for e in inner]
        pairs = zip([[], *from_], [*until, []], strict=True)
        return [datasource.InputPartition((*begin, *end)) for begin, end in pairs]

    def read(self, partition: datasource.InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a part, as they come; raises HistoryError as :meth:`partitions`."""
        with ExitStack() as stack:
            url = reading_url(_opened(self._options, stack))
            table = replace(self._table, columns=self._read)
            told = condition_of(self._table, [*self._conditions, *partition.value])
            reader = HistoryReader(table, url, None, told)
            yield from reader.read([Range(table.name)])
        # Rows may have gone there since the read was planned.
        self._check_archive()

    def _bounds(self, parts: int) -> Iterator[Value]:
        """The values of the column of ends between some parts."""
        (column,) = (each for each in self._table.columns if each.name == self._end)
        query = sql.SQL("select min({0}), max({0}) from {1} where {2}").format(
            sql.SQL(column.written),
            self._table.identifier,
            condition_of(self._table, self._conditions),
        )
        with ExitStack() as stack:
            url = reading_url(_opened(self._options, stack))
            reading = opened(url, "cannot read the history", application="sensorstream spark")
            cursor = stack.enter_context(reading)
            cursor.execute(query)
            ((low, high),) = cursor.fetchall()
        if low is not None:
            for part in range(1, parts):
                yield self._value(low + (high + 1 - low) * part // parts)

    def _value(self, instant: Instant) -> Value:
        numbers = self._timeline is Timeline.INTEGER
        return instant if numbers else self._timeline.format(instant)

    def _bound(self, option: str, column: str, comparison: ColumnComparison) -> Instant | None:
        """Add the condition of an option; the instant of its value, if there is one."""
        if option not in self._options:
            return None
        try:
            instant = self._timeline.instant(self._options[option])
        except TermError as error:
            raise SettingsError(f"option {option}: {error}") from None
        self._conditions.append(ColumnCondition(column, comparison, (self._value(instant),)))
        return instant

    def _condition(self, each: datasource.Filter) -> ColumnCondition | None:
        comparison = _COMPARISONS.get(type(each))
        if comparison is None or len(each.attribute) != 1 or each.attribute[0] not in self._kinds:
            return None
        (name,) = each.attribute
        kind = self._kinds[name]
        given = each.value if isinstance(each, datasource.In) else (each.value,)
        values = [_compared(value, kind) for value in given if value is not None]
        if not values or None in values:
            return None
        if kind == "string" and comparison is not ColumnComparison.IN:
            # PostgreSQL's order of texts may be a language's.
            return None
        return ColumnCondition(name, comparison, tuple(each for each in values if each is not None))

    def _check_archive(self) -> None:
        if self._table.name in ENTRY_VIEWS:
            return
        with ExitStack() as stack:
            parts = kept_parts(reading_url(_opened(self._options, stack)), State.ARCHIVED)
        last = max((each.ended_before for each in parts), default=None)
        if last is None or (self._begin is not None and self._begin >= last):
            return
        raise HistoryError(
            f"the archive has rows of {self._table.name} until {self._timeline.format(last)}, and "
            "this source reads PostgreSQL only: give an option from that is not before, or use "
            "sensorstream.spark.session, which reads both"
        )


def _opened(options: Mapping[str, str], stack: ExitStack) -> str:
    """The URL of the history, until the stack closes."""
    if "url" in options:
        return options["url"]
    return open_kept(load_settings(Path(options["config"])).history, stack)


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _column(told: AnswerColumn) -> SourceColumn:
    type_ = BY_OID.get(told.type)
    kind = "" if type_ is None else SPARK_NAMES.get(type_.kind, "").lower()
    name = _quoted(told.name)
    if kind in _TYPED:
        return SourceColumn(told.name, kind, name)
    return SourceColumn(told.name, "string", f"{name}::text")


def _compared(value: object, kind: str) -> Value | None:
    """A value as PostgreSQL compares it with a column; None: Spark must compare."""
    if isinstance(value, datetime):
        aware = kind == "timestamp" and value.tzinfo is not None
        return value.astimezone(UTC).isoformat() if aware else None
    expected = _COMPARED.get(kind)
    if type(value) is not expected or (isinstance(value, str) and "\0" in value):
        return None
    return value  # type: ignore[return-value]
