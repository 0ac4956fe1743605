"""The applications under examples/, run from seeded messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

from click.testing import CliRunner

from sensorstream.cli import main
from sensorstream.installation import bundled

EXAMPLES = bundled("ontologies").parent / "examples"


@dataclass(frozen=True)
class Row:
    """A row of a query's report, with names and values as plain texts."""

    query: str
    time: datetime
    bindings: dict[str, str]
    interval: tuple[datetime, datetime] | None = None


def simulated(simulation: str, count: int, folder: Path) -> list[ElementTree.Element]:
    """The messages of a simulation, which are in the folder now, too."""
    made = CliRunner().invoke(
        main, ["simulate", simulation, "--count", str(count), "--out", str(folder)]
    )
    assert made.exit_code == 0, made.output
    return [ElementTree.fromstring(file.read_bytes()) for file in sorted(folder.glob("*.xml"))]


def reports(application: str, folder: Path, *queries: str) -> Iterator[Row]:
    """What the queries of an application report of the messages in a folder."""
    home = EXAMPLES / application
    named = [part for each in queries for part in ("--query", str(home / each))]
    config = str(home / "sensorstream.toml")
    result = CliRunner().invoke(
        main, ["run", "-c", config, *named, "--messages", str(folder), "--json"]
    )
    assert result.exit_code == 0, result.output
    for line in result.stdout.splitlines():
        for report in json.loads(line)["reports"]:
            rows = report.get("bindings", [{}])
            intervals = report.get("intervals", [report.get("interval")] * len(rows))
            for row, interval in zip(rows, intervals, strict=True):
                yield Row(
                    report["query"].rsplit("#")[-1],
                    datetime.fromisoformat(report["time"]),
                    {name: term["value"].rsplit("#")[-1] for name, term in row.items()},
                    interval and (moment(interval[0]), moment(interval[1])),
                )


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
