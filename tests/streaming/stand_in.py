"""What Spark does for a pipeline, without Spark, and what one engine does in its place.

:class:`Keys` has its journal in memory, :class:`StandIn` in a database.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from threading import Event, Thread
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from pyspark.sql import Row

from sensorstream.app.control.rule_exchange import Exchange
from sensorstream.app.control.wiring import Deployment, build_machine
from sensorstream.history.effects_writer import EngineStanding, Writes
from sensorstream.history.journal_rows import JournalRow, record_of
from sensorstream.history.store import PostgresStore
from sensorstream.journal.entry_effects import effects_of, merged
from sensorstream.journal.key_routing import CONTROLS, key_reader
from sensorstream.journal.kinds import replay
from sensorstream.journal.message import PassTime
from sensorstream.journal.records import Effects, Record
from sensorstream.model.events import Alert
from sensorstream.model.timeline import Timeline
from sensorstream.streaming.batch_figures import BatchFigures
from sensorstream.streaming.engine_host import EngineHost
from sensorstream.streaming.journal_source import JournalReader
from sensorstream.streaming.keyed_engine import Controls
from sensorstream.streaming.keyed_state import KeyedState
from sensorstream.streaming.spark_stream import HistorySink
from tests.streaming.conftest import START, seen


def entry(
    seq: int, content: bytes, source: str = "", kind: str = "message", received: int = 0
) -> JournalRow:
    """A row of a journal."""
    return (seq, f"m{seq}", source, START, received or seq, content, None, kind, False, "")


def message(seq: int, source: str, time: int, people: Any) -> JournalRow:
    return entry(seq, seen(source, time, *people), source)


def passed(seq: int, moved: int, present: int | None = None, received: int = 0) -> JournalRow:
    content = PassTime(moved, moved if present is None else present).encode()[0]
    return entry(seq, content, kind="time", received=received)


def registered(seq: int, name: str, text: str) -> JournalRow:
    return entry(seq, text.encode(), name, "query")


def batches(rows: list[JournalRow], cuts: set[int]) -> list[list[JournalRow]]:
    found: list[list[JournalRow]] = [[]]
    for number, row in enumerate(rows):
        if number in cuts and found[-1]:
            found.append([])
        found[-1].append(row)
    return found


class Column:
    """A value, or a list, in the state of the key in work."""

    def __init__(self, engines: Engines, name: str, empty: Any) -> None:
        self._engines, self._name, self._empty = engines, name, empty

    def get(self) -> Any:
        return self._engines.state.get((self._engines.key, self._name), self._empty)

    def update(self, value: Any) -> None:
        self._engines.state[self._engines.key, self._name] = value

    def appendValue(self, value: Any) -> None:  # noqa: N802 - Spark's name
        self.update([*self.get(), value])

    def clear(self) -> None:
        self.update([])


class Engines:
    """Engines by key, and the state that Spark keeps of each: its columns by key and name."""

    def __init__(self, deployment: Deployment, url: str = "", upto: int = 0) -> None:
        """Make a host of a deployment that is in force after an entry."""
        self.deployment, self.url, self.key, self._upto = deployment, url, "", upto
        self.state: dict[tuple[str, str], Any] = {}
        task: Any = None
        self._operator: Any = KeyedState("", task)
        handle = SimpleNamespace(
            getValueState=lambda name, _: Column(self, name, None),
            getListState=lambda name, _: Column(self, name, ()),
        )
        self._operator.init(handle)
        self._begin()

    def _begin(self) -> None:
        self.host = self._operator._client = EngineHost(self.deployment, self.url, self._upto)

    def lose_engines(self) -> None:
        """The process of the engines ends, and another begins."""
        self.host.close()
        self._begin()

    def lay_down(self) -> None:
        """All engines fall asleep."""
        for key in list(self.host._engines):
            self.host.lay_down(key)

    def work(self, rows: Iterable[Mapping[str, Any]], *, commit: bool = True) -> list[Row]:
        """A row for each key with something to do; without ``commit``, its state is forgotten."""
        groups: dict[str, list[Row]] = {}
        for row in rows:
            groups.setdefault(row["key"], []).append(Row(**row))
        before, found = dict(self.state), []
        for self.key, given in groups.items():
            found += self._operator.handleInputRows((self.key,), iter(given), None)
        if not commit:
            self.state = before
        return found


def take(
    engines: Engines, key: str, rows: Sequence[JournalRow], controls: int = 0
) -> list[Effects]:
    """What the engine of a key makes of its rows."""
    row = {"key": key, "first": rows[0][0], "controls": controls, "entries": pickle.dumps(rows)}
    return parts(*engines.work([row]))


def parts(*done: Any) -> list[Effects]:
    """The effects in what engines have done."""
    return [effects for each in done for effects in pickle.loads(each.effects)]


class Said(Controls):
    """The entries for all engines, from memory."""

    def __init__(self, rows: Sequence[JournalRow]) -> None:
        super().__init__("")
        self._rows = rows

    def _read(self, after: int, upto: int, kinds: Sequence[str]) -> Sequence[Record]:
        return [record_of(r) for r in self._rows if after < r[0] <= upto and r[7] in kinds]


class Keys(Engines):
    """A pipeline that takes the rows of a journal in memory."""

    def __init__(self, deployment: Deployment) -> None:
        self.key_of = key_reader("source", {}, 64)
        self.rows: list[JournalRow] = []
        self.standings: dict[str, EngineStanding] = {}
        super().__init__(deployment)

    def _begin(self) -> None:
        super()._begin()
        self.host._controls = Said(self.rows)

    def start_again(self, files: Deployment) -> None:
        """A pipeline starts with what was put so far; the files may say something else by now."""
        upto = max(row[0] for row in self.rows)
        controls = Said(self.rows)
        controls.know(upto)
        self.deployment = controls.in_force(files, upto)
        self.lose_engines()
        self.host._controls.begin(self.deployment, upto)

    def take(self, rows: Sequence[JournalRow], *, commit: bool = True) -> list[Effects]:
        """The effects of a batch; without ``commit``, Spark forgets that it has happened."""
        groups: dict[str, list[JournalRow]] = {}
        for row in rows:
            groups.setdefault(self.key_of(row[7], row[2], row[5]), []).append(row)
        self.rows += (row for row in rows if row not in self.rows)
        times = [(row, PassTime.decode(row[5], "")) for row in rows if row[7] == PassTime.kind]
        told_all = any(row[7] in CONTROLS for row in rows)
        for key, standing in self.standings.items():
            due = any(standing.waits.over(r[4], time.moved, time.present) for r, time in times)
            if due or (told_all and (standing.individuals or standing.waits)):
                groups.setdefault(key, [])
        needed = max((row[0] for row in self.rows if row[7] != "message"), default=0)
        given = [
            {"key": key, "first": part[0][0] if part else 0, "controls": needed,
             "entries": pickle.dumps(part)}
            for key, its in groups.items() for part in (its[1::2], its[::2])
        ]  # fmt: skip
        done = self.work(given, commit=commit)
        if commit:
            self.standings |= {each.key: pickle.loads(each.standing) for each in done}
        return parts(*done)


def by_keys(
    deployment: Deployment,
    batches: Sequence[Sequence[JournalRow]],
    lost: Collection[int] = (),
    again: Collection[int] = (),
    edited: Deployment | None = None,
    asleep: Collection[int] = (),
) -> Effects:
    """The effects of engines by key that end before some batches, or fall asleep, while some are
    done twice.

    Where there are edited files, a pipeline starts with them when engines have ended.
    """
    keys, effects = Keys(deployment), []
    kinds: set[str] = set()
    for number, rows in enumerate(batches):
        if number in lost and edited is not None and kinds >= {"ontology", "rules"}:
            keys.start_again(edited)
        elif number in lost:
            keys.lose_engines()
        if number in asleep:
            keys.lay_down()
        kinds |= {row[7] for row in rows}
        if number in again:
            keys.take(rows, commit=False)
        effects += keys.take(rows)
    keys.host.close()
    return merged(effects)


def of_one_engine(deployment: Deployment, records: Sequence[Record]) -> Effects:
    """The effects that a server with one engine stores."""
    machine = build_machine(deployment, perf_counter)
    target = Exchange(machine.engine, machine.mapper, deployment)
    outcomes = [replay(each, target, ()) for each in records]
    machine.engine.close()
    return effects_of(records, outcomes)


def told(effects: Effects) -> dict[str, object]:
    """All that effects say."""
    return {
        "departures": sorted(
            (
                repr(each.individual.name),
                each.individual.stay,
                each.individual.entered,
                each.individual.time,
                each.expired_at,
                repr(each.individual.statements),
                sorted(map(repr, each.inferred)),
            )
            for each in effects.departures
        ),
        "ended": sorted(map(repr, effects.ended)),
        "alerts": sorted(map(repr, effects.alerts)),
        "reasons": sorted(
            repr((each.id, each.evidence)) for each in effects.alerts if isinstance(each, Alert)
        ),
        "statuses": effects.statuses,
        "watermark": effects.watermark,
    }


def write(url: str, records: Sequence[Record], effects: Effects | None = None) -> None:
    """Put entries, and their effects if there are any, into a history."""
    writes = Writes.JOURNAL if effects is None else Writes.ALL
    with PostgresStore.open(url, Timeline.INTEGER, writes) as store:
        store.append(records)
        if effects is not None:
            store.commit(effects)


def reader(url: str, batch: int = 1000, **more: str) -> JournalReader:
    """The reader of a journal; ``more`` of its options."""
    options = {"url": url, "key": "source", "prefixes": pickle.dumps({}).hex(), "depth": "64"}
    return JournalReader(options | {"batch": str(batch), "parts": "2"} | more)


def rows_between(
    found: JournalReader, start: dict[str, int], end: dict[str, int]
) -> list[dict[str, Any]]:
    """The rows of a batch."""
    tables = [table for part in found.partitions(start, end) for table in found.read(part)]
    return [row for table in tables for row in table.to_pylist()]


def frame(rows: Sequence[Any]) -> Any:
    """As much of a data frame as the sink uses."""
    names = ("effects", "standing")
    columns = {name: pa.array([each[name] for each in rows], pa.binary()) for name in names}
    return SimpleNamespace(toArrow=lambda: pa.table(columns))


class StandIn(Engines):
    """A pipeline over a history."""

    def __init__(self, deployment: Deployment, url: str) -> None:
        super().__init__(deployment, url)
        self._store = PostgresStore.open(url, deployment.timeline, Writes.EFFECTS)
        self._figures, self._reader, self._number = BatchFigures(url, 2), reader(url), 0
        self.offset = self._reader.initialOffset()

    def batch(
        self, *, commit: bool = True, twice: bool = False, forgets: bool = False
    ) -> list[str]:
        """Do the next batch, and return its keys. Without ``commit`` it ends before anything is
        stored; it may be stored ``twice``; or Spark ``forgets`` that it has been stored.
        """
        end = self._reader.latestOffset(self.offset, self._reader.getDefaultReadLimit())
        if end == self.offset:
            return []
        given = rows_between(self._reader, self.offset, end)
        done = self.work(given, commit=commit and not forgets)
        sink: Any = HistorySink(self._store, lambda *_: None, self._figures, self.deployment.stages)
        for _ in range(commit * (1 + twice)):
            sink(frame(done), self._number)
        if commit and not forgets:
            self.offset = end
            self._number += 1
        return sorted(each.key for each in done)

    def close(self) -> None:
        for each in (self.host, self._figures, self._store):
            each.close()


@contextmanager
def running(deployment: Deployment, url: str) -> Iterator[StandIn]:
    """A pipeline that does one batch after the other in a thread."""
    ended = Event()

    with closing(StandIn(deployment, url)) as found:

        def run() -> None:
            while not ended.wait(0.02):
                found.batch()

        thread = Thread(target=run)
        thread.start()
        try:
            yield found
        finally:
            ended.set()
            thread.join()
