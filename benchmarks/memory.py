"""Memory over millions of messages: it must stay flat, whatever their number.

Run it with ``python -m benchmarks.memory [MESSAGES]``. One engine (plain profile) reads, maps and
windows the messages and runs the rules on them. No identifier comes back once its bearer has
left, so a dictionary that only grows anywhere in the engine shows in the figures.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from sensorstream.app.control.wiring import build_machine, read_deployment
from sensorstream.installation import bundled
from sensorstream.model.events import Message, Status
from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WindowSettings,
)

MESSAGES: Final = 10_000_000
WINDOW: Final = 1000
SAMPLES: Final = 500
_KNOWN: Final = 500
_MESSAGE: Final = b"""\
<Message><Event id='%d'><Tracker type='FaceTracker'><TimeStamp value='%d'/>\
<person id='%d' certainty='%d'><location2d x='%d' y='%d'/></person></Tracker></Event></Message>
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """The process after a number of messages; megabytes are 10^6 bytes."""

    messages: int
    seconds: float
    megabytes: float
    individuals: int
    triples: int


def crowd(count: int, seed: int = 2678) -> Iterator[bytes]:
    """Messages in time order: one half brings somebody new, the other a recent one again."""
    dice = random.Random(seed)
    newest = 0
    for moment in range(1, count + 1):
        if newest == 0 or dice.random() < 0.5:
            person = newest = newest + 1
        else:
            person = dice.randint(max(1, newest - _KNOWN), newest)
        yield _MESSAGE % (
            moment,
            moment,
            person,
            dice.randint(40, 100),
            dice.randrange(640),
            dice.randrange(480),
        )


def measure(count: int) -> list[Sample]:
    """Send the messages through one engine; a sample now and then, printed as it is taken."""
    settings = Settings(
        path=Path("benchmark.toml").absolute(),
        ontology=OntologySettings(files=(bundled("ontologies") / "tracking.ttl",)),
        rules=RuleSettings(files=(Path(__file__).parent / "memory.rules",)),
        window=WindowSettings(size=str(WINDOW)),
        reasoning=ReasoningSettings(profile="plain"),
    )
    machine = build_machine(read_deployment(settings), time.perf_counter)
    engine, mapper = machine.engine, machine.mapper
    process, start = psutil.Process(), time.perf_counter()
    every = max(1, count // SAMPLES)
    samples: list[Sample] = []
    print(f"{'messages':>10} {'seconds':>9} {'resident MB':>12} {'individuals':>12} {'triples':>8}")
    try:
        for number, content in enumerate(crowd(count), 1):
            message = Message(f"m{number}", content, number)
            outcome = engine.take(mapper.map(message))
            if outcome.status is not Status.ACCEPTED:
                raise RuntimeError(f"{message.id} was {outcome.status.value}: {outcome.warnings}")
            if number % every == 0:
                sample = Sample(
                    number,
                    time.perf_counter() - start,
                    process.memory_info().rss / 1e6,
                    len(engine.window),
                    len(engine.kb),
                )
                samples.append(sample)
                print(
                    f"{sample.messages:>10} {sample.seconds:>9.1f} {sample.megabytes:>12.1f} "
                    f"{sample.individuals:>12} {sample.triples:>8}",
                    flush=True,
                )
    finally:
        engine.close()
    return samples


def summary(samples: list[Sample]) -> str:
    """How much memory moved from the first tenth of the run to the last."""
    tenth = max(1, len(samples) // 10)
    # The window fills up within the first sample or two of a long run.
    first = sum(s.megabytes for s in samples[:tenth]) / tenth
    last = sum(s.megabytes for s in samples[-tenth:]) / tenth
    end = samples[-1]
    return (
        f"{end.messages} messages in {end.seconds:.0f} s; resident memory: first tenth "
        f"{first:.1f} MB, last tenth {last:.1f} MB, most {max(s.megabytes for s in samples):.1f} MB"
    )


def run(count: int = MESSAGES) -> list[Sample]:
    """Measure and print."""
    samples = measure(count)
    print(summary(samples))
    return samples


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES)
