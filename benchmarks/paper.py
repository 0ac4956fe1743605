"""The paper's scenario (section 5): 4000 tracker messages through windows of three sizes.

Every configuration runs in one process, one after the other on the same messages, so the
ratios between the rows are what to look at; absolute times belong to the machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sensorstream.app.wiring import build_machine, read_deployment
from sensorstream.engine.outcome import Status
from sensorstream.model.events import Message
from sensorstream.resources import bundled
from sensorstream.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WindowSettings,
)
from sensorstream.simulation.tracker import tracker_messages

MESSAGES = 4000
SIZES = (191, 991, 2991)
PROFILES = ("plain", "hermit", "pellet")
PHASES = ("t_i", "t_w", "t_m", "t_s")


@dataclass(frozen=True, slots=True)
class Measurement:
    """Milliseconds per message, median over the messages after the window was full."""

    profile: str
    kind: str
    size: int
    phases: dict[str, float]
    total: float
    p99: float


def settings(profile: str, kind: str, size: int) -> Settings:
    """The paper's deployment: its ontology, its mapping rule, its semantic rule."""
    return Settings(
        path=Path("benchmark.toml").absolute(),
        ontology=OntologySettings(files=(bundled("ontologies") / "tracking.ttl",)),
        rules=RuleSettings(files=(Path(__file__).parent / "paper.rules",)),
        window=WindowSettings(kind=kind, size=str(size)),
        reasoning=ReasoningSettings(profile=profile),
    )


def measure(profile: str, kind: str, size: int, messages: Sequence[bytes]) -> Measurement:
    """Run all messages through one engine, without journal and network."""
    machine = build_machine(read_deployment(settings(profile, kind, size)), time.perf_counter)
    engine = machine.engine
    rows: list[tuple[float, ...]] = []
    try:
        for number, content in enumerate(messages, 1):
            message = Message(f"m{number}", content, number)
            outcome = engine.process(message, engine.read(content))
            if outcome.status is not Status.ACCEPTED:
                raise RuntimeError(f"{message.id} was {outcome.status.value}: {outcome.warnings}")
            rows.append(tuple(1000 * outcome.timings[phase] for phase in PHASES))
    finally:
        engine.close()
    steady = rows[min(size, len(rows) // 2) :]
    totals = [sum(row) for row in steady]
    medians = (statistics.median(row[i] for row in steady) for i in range(len(PHASES)))
    return Measurement(
        profile,
        kind,
        size,
        dict(zip(PHASES, medians, strict=True)),
        statistics.median(totals),
        statistics.quantiles(totals, n=100)[98],
    )


def run(
    profiles: Iterable[str] = PROFILES,
    *,
    count: int = MESSAGES,
    report: Callable[[str], None] = print,
) -> list[Measurement]:
    """Measure and print every profile at every size; sliding, then gradually filling."""
    messages = list(tracker_messages(count))
    report(f"{count} tracker messages; milliseconds per message, median once the window is full")
    report(f"{'profile':8} {'window':8} {'size':>5} " + _columns(*PHASES, "total", "p99", "x"))
    results = []
    for profile in profiles:
        for kind in ("sliding", "filling"):
            first: float | None = None
            for size in SIZES:
                result = measure(profile, kind, size, messages)
                first = first or result.total
                values = [*(result.phases[p] for p in PHASES), result.total, result.p99]
                ratio = f"{result.total / first:>8.2f}"
                report(
                    f"{profile:8} {kind:8} {size:>5} "
                    + _columns(*(f"{v:.4f}" for v in values))
                    + ratio
                )
                results.append(result)
    report("x: total against the same profile and window at the first size; flat is 1")
    return results


def _columns(*values: str) -> str:
    return "".join(f"{value:>8}" for value in values)
