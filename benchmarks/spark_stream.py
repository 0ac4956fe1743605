"""How fast the pipeline on Spark is: ``python -m benchmarks.spark_stream``.

Messages of the paper's scenario (section 5.2), from as many sources as there are keys, wait in the
journal. For each number of cores are printed the seconds until the first batch is stored, and the
messages a second of the batches after it; beside them the server's engine and one without history,
each in this process, over the same messages. On a machine with other work the seconds of CPU tell
more: those of all processes, PostgreSQL apart.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psutil

from sensorstream.app.control.rule_exchange import Exchange
from sensorstream.app.control.wiring import build_machine, read_deployment
from sensorstream.app.life.recovery import Start, recover
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.history import embedded
from sensorstream.history.effects_writer import PositionReader, Writes
from sensorstream.history.store import PostgresStore
from sensorstream.installation import bundled
from sensorstream.journal.records import Record
from sensorstream.model.events import Message
from sensorstream.settings.settings import OntologySettings, RuleSettings, Settings
from sensorstream.streaming.spark_stream import running_stream

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
GROUP: Final = 5000
PEOPLE: Final = 200


@dataclass(frozen=True, slots=True)
class Measured:
    """Messages, and the seconds they took: by the clock, and of CPU."""

    messages: int
    seconds: float
    cpu: float

    def __str__(self) -> str:
        if not self.messages:
            return "no batch after the first: more messages, or smaller batches"
        return (
            f"{self.messages / self.seconds:7.0f} messages/s, "
            f"{self.cpu / self.messages * 1e3:.2f} ms of CPU a message"
        )


def records(count: int, keys: int) -> Iterator[Record]:
    """Entries in turn from each source."""
    texts = [tracker_messages(seed=key, people=PEOPLE) for key in range(keys)]
    for seq in range(1, count + 1):
        key = seq % keys
        yield Record(seq, Message(f"m{seq}", next(texts[key]), seq, f"camera-{key}"), NOW)


def cpu() -> float:
    """Seconds of CPU of this process and of all that it has started."""
    total = 0.0
    me = psutil.Process()
    for each in (me, *me.children(recursive=True)):
        try:
            total += sum(each.cpu_times()[:4])
        except psutil.Error:
            continue
    return total


def journal(url: str, settings: Settings, entries: Sequence[Record]) -> None:
    """Put the entries into the journal of a history."""
    with PostgresStore.open(url, settings.time.timeline, Writes.JOURNAL) as store:
        for start in range(0, len(entries), GROUP):
            store.append(entries[start : start + GROUP])


def bare(settings: Settings, entries: Sequence[Record]) -> Measured:
    """One engine without history: no pipeline is faster than this, for each core."""
    machine = build_machine(read_deployment(settings), time.perf_counter)
    begin, spent = time.perf_counter(), time.process_time()
    for each in entries:
        machine.engine.take(machine.mapper.map(each.message))
    done = Measured(len(entries), time.perf_counter() - begin, time.process_time() - spent)
    machine.engine.close()
    return done


def server(settings: Settings, url: str) -> Measured:
    """One engine with history, as a server that has all to process that is in its journal."""
    deployment = read_deployment(settings)
    machine = build_machine(deployment, time.perf_counter)
    target = Exchange(machine.engine, machine.mapper, deployment)
    with PostgresStore.open(url, settings.time.timeline) as store:
        begin, spent = time.perf_counter(), time.process_time()
        count = recover(target, store, Start(), lambda _: None, NOW)
        done = Measured(count, time.perf_counter() - begin, time.process_time() - spent)
    machine.engine.close()
    return done


def spark(settings: Settings, url: str) -> tuple[Measured, Measured]:
    """The pipeline on Spark: the start with the first batch, and all batches after it."""
    begin, spent = time.perf_counter(), cpu()
    batches: list[Measured] = []

    def told(count: int, _last: int) -> None:
        batches.append(Measured(count, time.perf_counter() - begin, cpu() - spent))

    reader = PositionReader(url)
    with running_stream(settings, url, told) as running:
        while reader.read().lag:
            running.wait(0.2)
    reader.close()
    first, last = batches[0], batches[-1]
    warm = sum(each.messages for each in batches[1:])
    return first, Measured(warm, last.seconds - first.seconds, last.cpu - first.cpu)


def main(arguments: Sequence[str]) -> int:
    """Write journals, run over them, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=60_000)
    parser.add_argument("--keys", type=int, default=10)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="sensorstream-bench-") as name:
        folder = Path(name)
        settings = Settings(
            path=folder / "sensorstream.toml",
            ontology=OntologySettings((bundled("ontologies") / "tracking.ttl",)),
            rules=RuleSettings((bundled("mapping_rules") / "tracking.rules",)),
        )
        settings = replace(settings, window=replace(settings.window, partition="source"))
        entries = list(records(options.messages, options.keys))
        print(f"{options.messages} messages of {options.keys} keys, {os.cpu_count()} cores here")
        _print("one engine, no history", bare(settings, entries))
        with embedded.start(folder / "server") as database:
            journal(database.url, settings, entries)
            _print("a server's engine", server(settings, database.url))
        for cores in options.cores:
            with embedded.start(folder / f"history-{cores}") as database:
                journal(database.url, settings, entries)
                pipeline = replace(
                    settings.pipeline, folder=folder / f"state-{cores}", batch=options.batch
                )
                on_spark = replace(
                    settings,
                    spark=replace(settings.spark, master=f"local[{cores}]"),
                    pipeline=pipeline,
                )
                first, warm = spark(on_spark, database.url)
            _print(f"Spark on {cores}", warm)
            print(
                f"  its first batch is stored after {first.seconds:.1f} s, {first.cpu:.1f} s of CPU"
            )
    return 0


def _print(name: str, measured: Measured) -> None:
    load = os.getloadavg()[0]
    print(f"{name:24}{measured}, load {load:.1f}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
