"""Conditions of semantic rules: kept in step by the network, or evaluated anew.

Run it with ``python -m benchmarks.rule_conditions [MESSAGES]``. For each number of rules and size
of the window two engines (plain profile, the same messages) take turns; what is told is the
processor time of a message. The rules are of three kinds, each with constants of its own, so
that no two share a condition: a selection, a join from the individual that has just come, and
an aggregation. Hardly any of them fires: what is measured is the asking.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.memory import crowd
from sensorstream.app.control.wiring import Machine, build_machine, read_deployment
from sensorstream.installation import bundled
from sensorstream.model.events import Message, Status
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WindowSettings,
)

RULES: Final = (1, 10, 100)
SIZES: Final = (200, 1000, 3000)
MESSAGES: Final = 200
"""Measured messages; the slow way gets a twentieth of them."""
TURNS: Final = 5
_SHARE: Final = 20
_MAPPING: Final = Path(__file__).parent / "memory.rules"
_KINDS: Final = (
    "on change\n"
    "if select {{ SELECT ?p {{ ?p a :Human ; :hasXLocation ?x ; :hasYLocation ?y "
    "FILTER(?x = {n} && ?y = {n}) }} }}\n",
    "on insert :Human as ?p\n"
    "if select {{ SELECT ?other {{ ?p :hasXLocation ?x ; :hasYLocation ?y . "
    "?other :hasXLocation ?x ; :hasYLocation ?y FILTER(?other != ?p && ?x = {n}) }} }}\n",
    "on change\n"
    "if select {{ SELECT ?x (COUNT(?p) AS ?n) {{ ?p :hasXLocation ?x }} "
    "GROUP BY ?x HAVING (COUNT(?p) > {n} + 100) }}\n",
)


@dataclass(frozen=True, slots=True)
class Row:
    """Milliseconds of processor time a message; the window's size in individuals."""

    rules: int
    size: int
    network: float
    anew: float


def rules_text(count: int) -> str:
    """A rule file with so many semantic rules."""
    written = [
        f'rule r{n}\n{_KINDS[n % len(_KINDS)].format(n=n)}then alert info "r{n}"\n'
        for n in range(count)
    ]
    prefix = "prefix : <http://sensorstream.example/tracking#>\n"
    return prefix + "\n".join(written)


def measure(rules: int, size: int, messages: int) -> Row:
    """Fill two windows with the same messages, then let both ways take turns."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "conditions.rules"
        file.write_text(rules_text(rules), encoding="utf-8")
        settings = Settings(
            path=Path(folder) / "sensorstream.toml",
            ontology=OntologySettings(files=(bundled("ontologies") / "tracking.ttl",)),
            rules=RuleSettings(files=(_MAPPING, file)),
            window=WindowSettings(size=str(size)),
            reasoning=ReasoningSettings(profile="plain"),
        )
        deployment = read_deployment(settings)
    kept, anew = (build_machine(deployment, time.perf_counter) for _ in range(2))
    try:
        # Every other message brings somebody new: this fills the window.
        filling = 2 * size + size // 4
        stream = [
            Message(f"m{number}", content, number)
            for number, content in enumerate(crowd(filling + messages), 1)
        ]
        measured = stream[filling:]
        few = measured[: max(TURNS, messages // _SHARE)]
        for machine in (kept, anew):
            _send(machine, stream[: filling - 1])
        anew.engine.evaluator.prepare([])
        anew.engine.evaluator = ConditionEvaluator(anew.engine.kb)
        for machine in (kept, anew):
            # The first question makes the copy; that is not a message's to pay.
            _send(machine, stream[filling - 1 : filling])
        spent = [0.0, 0.0]
        for turn in range(TURNS):
            for way, (machine, part) in enumerate(((kept, measured), (anew, few))):
                first, last = (len(part) * n // TURNS for n in (turn, turn + 1))
                begun = time.process_time()
                _send(machine, part[first:last])
                spent[way] += time.process_time() - begun
        return Row(
            rules,
            size,
            1e3 * spent[0] / len(measured),
            1e3 * spent[1] / len(few),
        )
    finally:
        kept.engine.close()
        anew.engine.close()


def _send(machine: Machine, messages: Sequence[Message]) -> None:
    for message in messages:
        outcome = machine.engine.take(machine.mapper.map(message))
        if outcome.status is not Status.ACCEPTED:
            raise RuntimeError(f"{message.id} was {outcome.status.value}: {outcome.warnings}")


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| rules | individuals | network, ms a message | anew, ms a message | ratio |",
        "|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        ratio = row.anew / max(row.network, 1e-9)
        lines.append(
            f"| {row.rules} | {row.size} | {row.network:.2f} | {row.anew:.2f} | {ratio:.0f} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Measure every number of rules at every size, and print the table."""
    messages = int(arguments[0]) if arguments else MESSAGES
    print(table([measure(rules, size, messages) for rules in RULES for size in SIZES]))


if __name__ == "__main__":
    main(sys.argv[1:])
