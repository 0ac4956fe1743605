"""How fast the pipeline on Spark is: ``python -m benchmarks.spark_stream``.

Messages of the paper's scenario (section 5.2), from as many sources as there are keys, wait in the
journal. Printed are the seconds until Spark runs and until the first batch is stored, the messages
a second of the batches after it, and the CPU time of all processes; beside them one engine that
processes the same messages in this process, without history.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psutil

from sensorstream.app.wiring import build_machine, read_deployment
from sensorstream.history import embedded
from sensorstream.history.position import PositionReader
from sensorstream.history.store import PostgresStore, Writes
from sensorstream.journal.records import Record
from sensorstream.model.events import Message
from sensorstream.resources import bundled
from sensorstream.settings import OntologySettings, RuleSettings, Settings
from sensorstream.simulation.tracker import tracker_messages
from sensorstream.streaming.stream import running_stream

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
GROUP: Final = 5000
PEOPLE: Final = 200


def records(count: int, keys: int) -> Iterator[Record]:
    """Entries in turn from each source."""
    texts = [tracker_messages(seed=key, people=PEOPLE) for key in range(keys)]
    for seq in range(1, count + 1):
        key = seq % keys
        yield Record(seq, Message(f"m{seq}", next(texts[key]), seq, f"camera-{key}"), NOW)


def cpu() -> float:
    """Seconds of CPU of this process and of all that it has started and that run."""
    total = 0.0
    me = psutil.Process()
    for each in (me, *me.children(recursive=True)):
        try:
            times = each.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total


def alone(settings: Settings, entries: Sequence[Record]) -> float:
    """Messages a second of one engine without history."""
    machine = build_machine(read_deployment(settings), time.perf_counter)
    start = time.perf_counter()
    for each in entries:
        machine.engine.take(machine.mapper.map(each.message))
    seconds = time.perf_counter() - start
    machine.engine.close()
    return len(entries) / seconds


def main(arguments: Sequence[str]) -> int:
    """Write the journal, run the pipeline, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=60_000)
    parser.add_argument("--keys", type=int, default=10)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="sensorstream-bench-") as name:
        folder = Path(name)
        plain = Settings(
            path=folder / "sensorstream.toml",
            ontology=OntologySettings((bundled("ontologies") / "tracking.ttl",)),
            rules=RuleSettings((bundled("mapping_rules") / "tracking.rules",)),
        )
        settings = replace(
            plain,
            spark=replace(plain.spark, master=f"local[{options.cores}]"),
            pipeline=replace(plain.pipeline, folder=folder / "stream", batch=options.batch),
        )
        entries = list(records(options.messages, options.keys))
        with embedded.start(folder / "history") as server:
            measure(settings, server.url, entries)
        print(f"one engine without history  {alone(settings, entries):8.0f} messages/s")
    return 0


def measure(settings: Settings, url: str, entries: Sequence[Record]) -> None:
    """Run the pipeline over the entries, and print."""
    with PostgresStore.open(url, settings.time.timeline, Writes.JOURNAL) as journal:
        for start in range(0, len(entries), GROUP):
            journal.append(entries[start : start + GROUP])
    begin, cpu_begin = time.perf_counter(), cpu()
    batches: list[tuple[float, float, int]] = []

    def told(count: int, _last: int) -> None:
        batches.append((time.perf_counter() - begin, cpu() - cpu_begin, count))

    reader = PositionReader(url)
    with running_stream(settings, url, told) as running:
        print(f"Spark runs after            {time.perf_counter() - begin:8.1f} s", flush=True)
        while reader.read().lag:
            running.wait(0.2)
    reader.close()
    (first, cpu_first, _), (last, cpu_last, _) = batches[0], batches[-1]
    warm = sum(count for _, _, count in batches[1:])
    print(f"first batch stored after    {first:8.1f} s, {cpu_first:.1f} s of CPU")
    if warm:
        print(f"batches after it            {warm / (last - first):8.0f} messages/s")
        print(
            f"CPU of these                {(cpu_last - cpu_first) / warm * 1e3:8.2f} ms a message"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
