"""A Python data source for Structured Streaming: the journal's entries by key.

A row holds several entries of one key: a row costs Spark more than a message costs the engine. The
offset is the number of an entry.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from psycopg2 import extensions
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows
from pyspark.sql.types import StructType

from sensorstream.clock import SystemClock
from sensorstream.errors import HistoryError
from sensorstream.history.database import one_value, opened
from sensorstream.history.effects_writer import waiting_keys
from sensorstream.history.journal_rows import JournalRow, journal_rows
from sensorstream.journal.key_routing import ANSWERED, ASK, CONTROLS, TIME, TOPIC, key_reader
from sensorstream.journal.records import (
    TopicSlice,
    is_of_topic,
    message_id,
    origin_of_topic,
    slices_of,
)
from sensorstream.model.events import Status
from sensorstream.settings.endpoints import KafkaInput, most_kept
from sensorstream.streaming.worker_messages import PROTOCOL

FORMAT: Final = "sensorstream-journal"
SCHEMA: Final = "key string, first bigint, controls bigint, entries binary"
_ARROW: Final = pa.schema(
    [
        ("key", pa.string()),
        ("first", pa.int64()),
        ("controls", pa.int64()),
        ("entries", pa.binary()),
    ]
)
_NEXT: Final = """
    select coalesce(
        (select max(seq) from store.messages where seq > %(after)s and seq <= %(after)s + %(most)s),
        (select min(seq) from store.messages where seq > %(after)s),
        %(after)s
    )
"""
"""The last entry of the next batch; one that stands for messages of a topic is not divided."""
_LEAST: Final = 500
"""Entries that are worth a partition of their own."""
_AT_A_TIME: Final = 5_000
"""Entries that a partition holds in memory."""


@dataclass
class SeqRange(InputPartition):  # type: ignore[misc]
    """The entries with ``after < seq <= upto``; ``controls``: the last control entry to know."""

    after: int
    upto: int
    controls: int


@dataclass
class TopicPart(InputPartition):  # type: ignore[misc]
    """The messages of a slice of a topic; the first offset has the number ``number``. ``entry`` is
    the row of the journal, without its content.
    """

    cut: TopicSlice
    number: int
    entry: JournalRow
    controls: int


class Woken(SeqRange):
    """The keys of engines that entries among ``after < seq <= upto`` ask, or that wait for some."""


class JournalSource(DataSource):  # type: ignore[misc]
    """The source; options: ``url`` of the history, ``key``, ``prefixes``, ``depth``, ``batch``,
    ``parts``, ``inputs``, ``size``, maybe ``end``. ``prefixes`` and ``inputs``, those that read
    topics, are dictionaries, pickled and in hexadecimal digits; ``size`` is the most bytes of a
    message. No batch begins any more when there is a file ``end``.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.options = options

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> JournalReader:  # noqa: N802 - Spark's name
        return JournalReader(dict(self.options))


class JournalReader(DataSourceStreamReader):  # type: ignore[misc]
    """A reader, planned in a Python process of the driver and run in those of the executors."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"seq": 0, "controls": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(int(self._options["batch"]))

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """The last entry of the next batch.

        Raises:
            HistoryError: the journal cannot be read, or it is not the one that was read before.
        """
        end = self._options.get("end")
        if end and Path(end).exists():
            return start
        with self._opened("cannot read the journal") as cursor:
            last = one_value(cursor, "select coalesce(max(seq), 0) from store.messages")
            if last < start["seq"]:
                raise HistoryError(
                    f"the journal ends at entry {last}, but the pipeline has processed entry "
                    f"{start['seq']}: pipeline.folder belongs to another history; expected a "
                    "folder of its own"
                )
            if isinstance(limit, ReadMaxRows):
                last = one_value(cursor, _NEXT, {"after": start["seq"], "most": limit.max_rows})
            control = one_value(
                cursor,
                "select max(seq) from store.messages "
                "where seq > %s and seq <= %s and kind <> 'message' and kind = any(%s)",
                (start["seq"], last, [*CONTROLS, TIME, ASK]),
            )
        return {"seq": last, "controls": control or start["controls"]}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Ranges of entries; more entries give more ranges."""
        first, last = start["seq"], end["seq"]
        parts = max(1, min(int(self._options["parts"]), (last - first) // _LEAST))
        bounds = [first + (last - first) * n // parts for n in range(parts + 1)]
        found: list[InputPartition] = [
            SeqRange(low, high, end["controls"]) for low, high in pairwise(bounds) if high > low
        ]
        for row in journal_rows(self._options["url"], first, last, (TOPIC,)):
            number, entry = row[0], (*row[:5], b"", *row[6:])
            # Of one that was passed over nothing is taken.
            for cut in reversed(() if row[6] == Status.SKIPPED.value else slices_of(row[5])):
                number -= cut.end - cut.first
                if cut.end > cut.first:
                    found.append(TopicPart(cut, number, entry, end["controls"]))
        if end["controls"] > first:
            found.append(Woken(first, last, end["controls"]))
        return found

    def read(self, partition: SeqRange | TopicPart) -> Iterator[pa.RecordBatch]:
        """The entries of a range or of a part of a topic by key, in order for each key; or the keys
        that are woken.
        """
        if isinstance(partition, Woken):
            return self._woken(partition)
        if isinstance(partition, TopicPart):
            return self._by_key(self._messages(partition), partition.controls)
        rows = journal_rows(self._options["url"], partition.after, partition.upto)
        # What of a topic is in the journal, to be seen there, comes with its part of the topic.
        rows = (row for row in rows if not is_of_topic(row[9]))
        return self._by_key(rows, partition.controls)

    def _woken(self, partition: SeqRange) -> Iterator[pa.RecordBatch]:
        # With the engine, which takes long to import and is not needed for anything else.
        from sensorstream.journal.message import PassTime

        after, upto = partition.after, partition.upto
        rows = list(journal_rows(self._options["url"], after, upto, (*CONTROLS, TIME, ASK)))
        since = SystemClock().now() - ANSWERED
        asked = {row[2] for row in rows if row[7] == ASK and row[3] > since}
        said = [row for row in rows if row[7] != ASK]
        times = [
            (row[4], time.moved, time.present)
            for row in said
            if row[7] == TIME
            for time in (PassTime.decode(row[5], ""),)
        ]
        # A query begins and ends in all of them.
        every = "" in asked or len(times) < len(said)
        latest = None if every else list(map(max, zip(*times, strict=True)))
        with self._opened("cannot read what the engines wait for") as cursor:
            waiting = waiting_keys(cursor, after, latest) if every or times else ()
            keys = chain(asked - {""}, waiting)
            while batch := list(islice(keys, _AT_A_TIME)):
                yield _batch({key: [] for key in batch}, partition.controls)

    def _messages(self, part: TopicPart) -> Iterator[JournalRow]:
        from sensorstream.streaming.topic_records import topic_records

        _, _, name, received_at, received, *_ = part.entry
        options: KafkaInput = _unpickled(self._options["inputs"])[name]
        first, most = part.number - part.cut.first, most_kept(int(self._options["size"]))
        source = part.cut.topic if options.topic_is_source else name
        for offset, content in topic_records(name, options, part.cut):
            number = first + offset
            origin = origin_of_topic(part.cut, offset)
            head = (number, message_id(number), source, received_at, received)
            yield (*head, content[:most], None, "message", False, origin)

    def _by_key(self, rows: Iterable[JournalRow], controls: int) -> Iterator[pa.RecordBatch]:
        prefixes = _unpickled(self._options["prefixes"])
        key_of = key_reader(self._options["key"], prefixes, int(self._options["depth"]))
        groups: dict[str, list[JournalRow]] = {}
        held = 0
        for row in rows:
            _, _, source, _, _, content, _, kind, *_ = row
            groups.setdefault(key_of(kind, source, content), []).append(row)
            held += 1
            if held == _AT_A_TIME:
                yield _batch(groups, controls)
                groups, held = {}, 0
        if groups:
            yield _batch(groups, controls)

    def _opened(self, doing: str) -> AbstractContextManager[extensions.cursor]:
        return opened(self._options["url"], doing, application="sensorstream stream")

    def commit(self, end: Any) -> None:
        """Do nothing: the journal is kept."""

    def stop(self) -> None:
        """Do nothing: nothing is open."""


def _unpickled(text: str) -> Any:
    return pickle.loads(bytes.fromhex(text))


def _batch(groups: dict[str, list[JournalRow]], controls: int) -> pa.RecordBatch:
    columns = {
        "key": list(groups),
        "first": [each[0][0] if each else 0 for each in groups.values()],
        "controls": [controls] * len(groups),
        "entries": [pickle.dumps(each, PROTOCOL) for each in groups.values()],
    }
    return pa.RecordBatch.from_pydict(columns, schema=_ARROW)
