"""Rules with time: what a message costs while more and more individuals are in the window.

Run it with ``python -m benchmarks.rule_times [MESSAGES]``. For each kind of rule and size of the
window an engine (plain profile) has one rule and so many sensors; then each message changes the
value of one of them. Nearly all solutions of the rules go on, so what is measured is what a message
costs that concerns one of many. It is the processor time of a message; the last column is the
largest window against the smallest.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from sensorstream.app.control.wiring import build_machine, read_deployment
from sensorstream.model.events import Message, Status
from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WindowSettings,
)

SIZES: Final = (10, 100, 1000, 10_000)
MESSAGES: Final = 400
_HOT: Final = "when select { SELECT ?s { ?s :value ?v FILTER(?v > 30) } } becomes true"
_ALERT: Final = 'then alert warning "{?s}" key "{?s}"'
KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "no rule": "",
        "when": f"{_HOT}\n{_ALERT}",
        "when … for": f'{_HOT} for "1000000"\n{_ALERT}',
        "when … until": f"{_HOT}\nuntil ask {{ ASK {{ ?s :value ?v FILTER(?v < 28) }} }}\n{_ALERT}",
        "when … until, of all": f"{_HOT}\nuntil exists :Stop\n{_ALERT}",
        "on update of a property": 'on update :value as ?s new ?new\nthen alert info "{?new}"',
        "on update of a class": 'on update :Sensor as ?s new ?new\nthen alert info "{?new}"',
        "on silence": f'on silence of :Sensor as ?s for "1000000"\n{_ALERT}',
        "every": 'every "10"\nif not exists :Stop\nthen alert info "{?now}"',
    }
)
_HEAD: Final = "prefix : <http://example.org/>\nprefix xsd: <http://www.w3.org/2001/XMLSchema#>\n"
_MAPPING: Final = """mapping value on message {/m}
then update individual :{@id} a :Sensor at {@t} ; :value {@v}^^xsd:integer .
"""
_ONTOLOGY: Final = """@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Sensor a owl:Class . :Stop a owl:Class . :value a owl:DatatypeProperty .
"""


def measure(rule: str, size: int, messages: int) -> float:
    """Milliseconds of processor time a message."""
    with tempfile.TemporaryDirectory() as folder:
        rules, ontology = Path(folder) / "times.rules", Path(folder) / "times.ttl"
        written = f"rule measured\n{rule}\n" if rule else ""
        rules.write_text(_HEAD + _MAPPING + written, encoding="utf-8")
        ontology.write_text(_ONTOLOGY, encoding="utf-8")
        deployment = read_deployment(
            Settings(
                path=Path(folder) / "sensorstream.toml",
                ontology=OntologySettings(files=(ontology,)),
                rules=RuleSettings(files=(rules,)),
                window=WindowSettings(size=str(size)),
                reasoning=ReasoningSettings(profile="plain"),
            )
        )
    machine = build_machine(deployment, time.perf_counter)
    try:
        begun = 0.0
        for number, message in enumerate(_values(size, messages)):
            if number == 2 * size:
                begun = time.process_time()
            outcome = machine.engine.take(machine.mapper.map(message))
            if outcome.status is not Status.ACCEPTED:
                raise RuntimeError(f"{message.id} was {outcome.status.value}: {outcome.warnings}")
        return 1e3 * (time.process_time() - begun) / messages
    finally:
        machine.engine.close()


def _values(size: int, messages: int) -> Iterator[Message]:
    """Twice a value of each sensor, all above the limit; then some fall below it."""
    for number in range(1, 2 * size + messages + 1):
        low = number > 2 * size and number % 4 == 0
        value = 20 if low else 31 + number % 7
        content = f"<m id='s{number % size}' t='{number}' v='{value}'/>"
        yield Message(f"m{number}", content.encode(), number)


def table(messages: int) -> Iterator[str]:
    """The lines of a Markdown table."""
    yield "| rule | " + " | ".join(f"{size:,}" for size in SIZES) + " | largest / smallest |"
    yield "|---|" + "--:|" * (len(SIZES) + 1)
    for name, rule in KINDS.items():
        spent = [measure(rule, size, messages) for size in SIZES]
        cells = " | ".join(f"{each:.3f}" for each in spent)
        yield f"| {name} | {cells} | {spent[-1] / spent[0]:.1f} |"


def main(arguments: Sequence[str]) -> None:
    """Measure every kind of rule at every size, and print the table."""
    for line in table(int(arguments[0]) if arguments else MESSAGES):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
