"""The engine beside its floor: ``python -m benchmarks.floor [MESSAGES]``.

The floor parses a message of the paper by lxml, evaluates six compiled XPaths and keeps the five
values in a dict of 191 individuals. All ways take turns of 25 messages; printed are microseconds of
the thread's processor time for a message in the median turn, and the median of the turns' ratios.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import islice
from statistics import median
from typing import Any, Final

from lxml import etree

from benchmarks.scenario import SLIDING, deployment
from sensorstream.app.control.wiring import Machine, build_machine, read_deployment
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.model.events import Message, Status

MESSAGES: Final = 20_000
_SIZE: Final = 191
_TURN: Final = 25
_TRACKER: Final = "/Message/Event/Tracker[@type='FaceTracker']"
_VALUES: Final = (
    "person/@id",
    "TimeStamp/@value",
    "person/location2d/@x",
    "person/location2d/@y",
    "person/@certainty",
)


def ways() -> dict[str, Callable[[bytes], object]]:
    """What is done with a message, by name."""
    machine = build_machine(read_deployment(deployment("plain", SLIDING, _SIZE)), time.perf_counter)
    return {"floor": floor(_SIZE), "mapping": _mapping(machine), "engine": _engine(machine)}


def floor(size: int) -> Callable[[bytes], object]:
    """What takes a message in: it keeps the values of so many individuals."""
    find: Any = etree.XPath(_TRACKER)
    values: list[Any] = [etree.XPath(each, smart_strings=False) for each in _VALUES]
    held: dict[str, list[str]] = {}

    def take(content: bytes) -> None:
        for tracker in find(etree.fromstring(content)):
            said = [value(tracker)[0] for value in values]
            held[said[0]] = said
            if len(held) > size:
                del held[next(iter(held))]

    return take


def _mapping(machine: Machine) -> Callable[[bytes], object]:
    return lambda content: machine.mapper.map(Message("m", content, 1))


def _engine(machine: Machine) -> Callable[[bytes], object]:
    number = 0

    def take(content: bytes) -> None:
        nonlocal number
        number += 1
        outcome = machine.engine.take(machine.mapper.map(Message(f"m{number}", content, number)))
        if outcome.status is not Status.ACCEPTED:
            raise RuntimeError(f"message {number} was {outcome.status.value}: {outcome.warnings}")

    return take


def measure(messages: int) -> dict[str, list[float]]:
    """Microseconds of processor time for a message in each turn, by way."""
    spent: dict[str, list[float]] = {}
    stream = tracker_messages(2 * _SIZE + messages)
    before = [next(stream) for _ in range(2 * _SIZE)]
    measured = ways()
    for way in measured.values():
        for content in before:
            way(content)
    while turn := list(islice(stream, _TURN)):
        for name, way in measured.items():
            begun = time.thread_time()
            for content in turn:
                way(content)
            spent.setdefault(name, []).append((time.thread_time() - begun) / len(turn) * 1e6)
    return spent


def main() -> None:
    """Measure and print."""
    spent = measure(int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES)
    for name, turns in spent.items():
        ratio = median(each / floor for each, floor in zip(turns, spent["floor"], strict=True))
        print(f"{name:8} {median(turns):8.1f} us {ratio:6.2f} times the floor")


if __name__ == "__main__":
    main()
