"""How fast recorded messages are filled into history: ``python -m benchmarks.backfill``.

Messages of the paper's face tracker, in one ZIP archive: mapped only, and filled into an empty
history; by this process alone, by as many processes as there are processors, and by Spark.
Spark's start is counted.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from sensorstream.app.backfill.document_mapping import MappedDocument, batches
from sensorstream.app.backfill.history_filling import backfill, map_in_processes, map_on_spark
from sensorstream.app.backfill.xml_documents import Document, Refused, documents
from sensorstream.cli.init_command import TEMPLATES, make_workspace
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.history import embedded
from sensorstream.history.store import PostgresStore
from sensorstream.settings.settings import HistorySettings, Settings
from sensorstream.settings.settings_file import load_settings


@dataclass(frozen=True, slots=True)
class Way:
    """Who maps; ``processes`` 0: Spark."""

    name: str
    processes: int


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    count = parser.parse_args(arguments).messages
    many = len(os.sched_getaffinity(0))
    ways = (Way("1 process", 1), Way(f"{many} processes", many), Way("Spark, all cores", 0))
    with tempfile.TemporaryDirectory(prefix="sensorstream-") as name:
        folder = Path(name)
        settings = load_settings(make_workspace(folder / "work", TEMPLATES["tracking"], {}))
        recorded = folder / "recorded"
        recorded.mkdir()
        with zipfile.ZipFile(recorded / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for number, content in enumerate(tracker_messages(count)):
                archive.writestr(f"{number}.xml", content)
        measures: dict[str, Callable[[Way], int]] = {
            "mapped": lambda way: mapped(settings, recorded, way),
            "stored": lambda way: stored(settings, recorded, way, folder),
        }
        for what, measure in measures.items():
            alone = 0.0
            for way in ways:
                start = perf_counter()
                assert measure(way) == count
                rate = count / (perf_counter() - start)
                alone = alone or rate
                print(f"{what} by {way.name}: {rate:.0f} messages/s, {rate / alone:.2f} x one")
    return 0


def mapped(settings: Settings, recorded: Path, way: Way) -> int:
    """How many documents were mapped."""
    most = settings.server.max_message_bytes
    groups = batches(each for each in documents(recorded, most) if isinstance(each, Document))
    results = (
        map_in_processes(settings, "rest", groups, way.processes)
        if way.processes
        else map_on_spark(settings, "rest", groups)
    )
    return sum(isinstance(each, MappedDocument) for group in results for each in group)


def stored(settings: Settings, recorded: Path, way: Way, folder: Path) -> int:
    """How many documents were stored, in a history of their own."""
    with embedded.start(folder / way.name.replace(" ", "-")) as server:
        settings = replace(settings, history=HistorySettings(url=server.url))
        PostgresStore.open(server.url, settings.time.timeline).close()
        bad: list[Refused] = []
        filled = backfill(
            server.url,
            recorded,
            settings,
            "rest",
            tell=bad.append,
            processes=way.processes or None,
            on_spark=not way.processes,
        )
        assert not bad, bad[:3]
        return filled.stored


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
