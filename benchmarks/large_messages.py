"""The cost of one message by its number of individuals: ``python -m benchmarks.large_messages``.

Prints CPU seconds for each number of individuals, and their ratio to the number before. Twice the
individuals should cost twice as much: a ratio far above 2 is a place that is not linear.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.scenario import NAMESPACE
from sensorstream.app.control.wiring import Deployment, build_machine, read_deployment
from sensorstream.app.life.process_memory import spare_what_stays
from sensorstream.engine.outcome import Outcome
from sensorstream.installation import bundled
from sensorstream.journal.entry_effects import effects_of
from sensorstream.journal.records import Record, message_id
from sensorstream.model.events import Message
from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    ServerSettings,
    Settings,
    WindowSettings,
)
from sensorstream.testing import DAWN

SIZES = (1000, 2000, 4000, 8000)
EACH = """message each {/Messages/Message}
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """A way in which one document says much."""

    name: str
    window: str = "100000"
    profile: str = "plain"
    each: bool = False
    known: bool = False
    """Whether the individuals are in the window already, and move."""


SHAPES = (
    Shape("one message"),
    Shape("no reasoning", profile="none"),
    Shape("message each", each=True),
    Shape("small window", window="100"),
    Shape("known individuals", known=True),
    Shape("HermiT", profile="hermit"),
)


def document(individuals: int, *, each: bool = False, shift: int = 0) -> bytes:
    """A document of a face tracker that sees many people at once."""
    people = [
        f"<person id='{n}' certainty='{40 + n % 61}'>"
        f"<location2d x='{(n + shift) % 640}' y='{n % 480}'/></person>"
        for n in range(individuals)
    ]
    head = f"<Message><Event id='9'><Tracker type='FaceTracker'><TimeStamp value='{7 + shift}'/>"
    tail = "</Tracker></Event></Message>"
    if not each:
        return f"{head}{''.join(people)}{tail}".encode()
    return f"<Messages>{''.join(f'{head}{one}{tail}' for one in people)}</Messages>".encode()


def deployment_of(shape: Shape, folder: Path) -> Deployment:
    """The tracking scenario; its rules with ``message each`` where the shape wants it."""
    rules = bundled("mapping_rules") / "tracking.rules"
    if shape.each:
        text = rules.read_text()
        prefix = f"prefix : <{NAMESPACE}>\n"
        own = folder / "each.rules"
        own.write_text(text.replace(prefix, prefix + EACH))
        rules = own
    return read_deployment(
        Settings(
            path=folder / "sensorstream.toml",
            ontology=OntologySettings((bundled("ontologies") / "tracking.ttl",)),
            rules=RuleSettings((rules,)),
            window=WindowSettings(size=shape.window),
            reasoning=ReasoningSettings(profile=shape.profile),
            server=ServerSettings(max_message_bytes=1 << 30),
        )
    )


def spent(shape: Shape, sizes: Sequence[int]) -> list[tuple[float, dict[str, float]]]:
    """CPU seconds for one document of each size, and those of its phases."""
    found = []
    with TemporaryDirectory() as name:
        deployment = deployment_of(shape, Path(name))
        for size in sizes:
            machine = build_machine(deployment, time.process_time)
            content = document(size, each=shape.each)
            before = [content] if shape.known else []
            outcomes: list[Outcome] = []
            spare_what_stays()
            for seq, each in enumerate([*before, document(size, each=shape.each, shift=1)], 1):
                start = time.process_time()
                message = Message(message_id(seq), each, seq, "hall")
                outcome = machine.engine.take(machine.mapper.map(message))
                effects_of([Record(seq, message, DAWN)], [outcome])
                cost = time.process_time() - start
                outcomes.append(outcome)
            assert len(outcomes[-1].individuals) == size, outcomes[-1].warnings
            found.append((cost, outcomes[-1].timings))
            machine.engine.close()
    return found


def main() -> None:
    """Measure the shapes that the command line names, or all."""
    wanted = [each for each in SHAPES if each.name in sys.argv[1:]] or list(SHAPES)
    for shape in wanted:
        last = None
        for size, (cost, phases) in zip(SIZES, spent(shape, SIZES), strict=True):
            ratio = "" if last is None else f"  x {cost / last:.2f}"
            told = "  ".join(f"{name} {seconds:.2f}" for name, seconds in phases.items())
            print(f"{shape.name:18} {size:6} {cost:8.3f} s  {told}{ratio}", flush=True)
            last = cost


if __name__ == "__main__":
    main()
