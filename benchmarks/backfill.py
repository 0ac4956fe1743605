"""How fast recorded messages are filled into history: ``python -m benchmarks.backfill``.

Messages of the paper's face tracker, in one ZIP archive, into an empty history: mapped by this
process alone, and by as many processes as there are processors.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from sensorstream.backfill.documents import Refused
from sensorstream.backfill.filling import backfill
from sensorstream.backfill.mapping import DocumentMapper
from sensorstream.cli.workspace import TEMPLATES, make_workspace
from sensorstream.history import embedded
from sensorstream.history.store import PostgresStore
from sensorstream.settings import load_settings
from sensorstream.simulation.tracker import tracker_messages


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    count = parser.parse_args(arguments).messages
    rates = {each: rate(count, each) for each in (1, len(os.sched_getaffinity(0)))}
    alone = rates[1]
    for processes, found in rates.items():
        print(f"{processes} processes: {found:.0f} messages/s, {found / alone:.2f} x one")
    return 0


def rate(count: int, processes: int) -> float:
    """Messages a second, until all are stored."""
    with tempfile.TemporaryDirectory(prefix="sensorstream-") as name:
        folder = Path(name)
        with embedded.start(folder / "data") as server:
            file = make_workspace(
                folder / "work", TEMPLATES["tracking"], {"history": {"url": server.url}}
            )
            settings = load_settings(file)
            PostgresStore.open(server.url, settings.time.timeline).close()
            recorded = folder / "recorded"
            recorded.mkdir()
            with zipfile.ZipFile(recorded / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                for number, content in enumerate(tracker_messages(count)):
                    archive.writestr(f"{number}.xml", content)
            DocumentMapper(settings, "rest")  # what one process needs to start is not counted
            bad: list[Refused] = []
            start = perf_counter()
            filled = backfill(
                server.url, recorded, settings, "rest", tell=bad.append, processes=processes
            )
            seconds = perf_counter() - start
            assert filled.stored == count, bad[:3]
            return count / seconds


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
