"""What was measured, as data: written after each section, read by tables and figures."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks import ROOT
from benchmarks.scenario import PHASES

FILE: Final = ROOT / "build" / "paper" / "results.json"
_CURVE_POINTS: Final = 200


@dataclass(frozen=True, slots=True)
class Step:
    """One message's way through a system.

    ``seconds`` are by phase; ``asserted`` and ``inferred`` count the statements of the knowledge
    base afterwards, ontology included (``inferred`` includes ``asserted``; 0 where a system
    would have to realise its whole window to tell). ``remembered``: the reasoner's process was
    not asked.
    """

    number: int
    seconds: Mapping[str, float]
    asserted: int
    inferred: int = 0
    remembered: bool = False

    @property
    def milliseconds(self) -> float:
        return 1000 * sum(self.seconds.values())


@dataclass(frozen=True, slots=True)
class Point:
    """Some messages in a row: the last one's number, their median and worst time in ms."""

    number: int
    median: float
    worst: float
    asserted: int
    inferred: int


@dataclass(frozen=True, slots=True)
class Row:
    """One system in one section: milliseconds per message.

    ``size`` is what the section varies. ``phases``, ``median``, ``p99`` are over the
    ``messages`` measured with a full window; ``cpu`` is their mean, over all processes and
    threads of the system (None: not measured apart). ``curve`` shows all messages. ``checked``
    counts the individuals whose types were compared with another system's and found equal.
    ``hit`` is the median over the ``remembered`` messages, those that need not ask the
    reasoner's process, ``miss`` that over the others (None where there are none).
    """

    section: str
    system: str
    size: int
    messages: int
    phases: Mapping[str, float]
    median: float
    p99: float
    cpu: float | None
    curve: tuple[Point, ...] = ()
    checked: int = 0
    remembered: int = 0
    hit: float | None = None
    miss: float | None = None

    @classmethod
    def of(
        cls,
        section: str,
        system: str,
        size: int,
        steady: Sequence[Step],
        *,
        cpu: float | None = None,
        everything: Sequence[Step] = (),
        checked: int = 0,
    ) -> Row:
        """Summarise steps; ``cpu`` are the seconds all of ``steady`` took."""
        totals = [step.milliseconds for step in steady]
        hits = [step.milliseconds for step in steady if step.remembered]
        misses = [step.milliseconds for step in steady if not step.remembered]
        return cls(
            section=section,
            system=system,
            size=size,
            messages=len(steady),
            phases={
                phase: 1000 * statistics.median(step.seconds[phase] for step in steady)
                for phase in PHASES
            },
            median=statistics.median(totals),
            p99=percentile(totals, 0.99),
            cpu=None if cpu is None else 1000 * cpu / len(steady),
            curve=tuple(_curve(everything or steady)),
            checked=checked,
            remembered=len(hits),
            hit=statistics.median(hits) if hits else None,
            miss=statistics.median(misses) if misses else None,
        )


@dataclass(slots=True)
class Results:
    """All rows of a run, by unit of work; and on what machine and how they were measured."""

    machine: dict[str, str]
    units: dict[str, list[Row]] = field(default_factory=dict)

    def rows(self, section: str) -> list[Row]:
        """A section's rows; none where it did not run."""
        return [row for rows in self.units.values() for row in rows if row.section == section]

    def row(self, section: str, system: str, size: int) -> Row | None:
        """One row, if it was measured."""
        for each in self.rows(section):
            if each.system == system and each.size == size:
                return each
        return None

    def write(self, file: Path = FILE) -> None:
        """Replace the file by these results, at once."""
        file.parent.mkdir(parents=True, exist_ok=True)
        data = {
            "machine": self.machine,
            "units": {name: [asdict(row) for row in rows] for name, rows in self.units.items()},
        }
        fresh = file.with_suffix(".new")
        fresh.write_text(_dump(data), encoding="utf-8")
        fresh.replace(file)

    @classmethod
    def read(cls, file: Path = FILE) -> Results:
        """The results that :meth:`write` wrote."""
        data = json.loads(file.read_text(encoding="utf-8"))
        return cls(
            data["machine"],
            {name: [_row(each) for each in rows] for name, rows in data["units"].items()},
        )


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` of all values do not exceed (nearest rank)."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def _curve(steps: Sequence[Step]) -> Iterable[Point]:
    length = math.ceil(len(steps) / _CURVE_POINTS)
    for first in range(0, len(steps), length):
        part = steps[first : first + length]
        times = [step.milliseconds for step in part]
        last = part[-1]
        yield Point(
            last.number,
            round(statistics.median(times), 4),
            round(max(times), 4),
            last.asserted,
            last.inferred,
        )


def _row(data: dict[str, Any]) -> Row:
    curve = tuple(Point(*point) for point in data.pop("curve"))
    return Row(**data, curve=curve)


def _dump(data: dict[str, Any]) -> str:
    """JSON with a row a line, so that two runs can be compared."""
    units = []
    for name, rows in data["units"].items():
        lines = []
        for row in rows:
            row["curve"] = [list(point.values()) for point in row["curve"]]
            lines.append("      " + json.dumps(_rounded(row)))
        units.append(f"    {json.dumps(name)}: [\n" + ",\n".join(lines) + "\n    ]")
    machine = json.dumps(data["machine"])
    return f'{{\n  "machine": {machine},\n  "units": {{\n' + ",\n".join(units) + "\n  }\n}\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return value
