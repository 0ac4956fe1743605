"""Feeding engines with XML messages, as a server does: map, then take."""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from weakref import WeakKeyDictionary

from sensorstream.app.control.wiring import Deployment, Machine, build_machine
from sensorstream.engine.engine import Engine
from sensorstream.engine.message_reading import Mapper
from sensorstream.engine.outcome import Outcome
from sensorstream.model.events import Message

_MAPPERS: WeakKeyDictionary[Engine, Mapper] = WeakKeyDictionary()


def machine_of(deployment: Deployment, counter: Callable[[], float] = time.perf_counter) -> Machine:
    """A machine whose engine :func:`process` can feed."""
    machine = build_machine(deployment, counter)
    _MAPPERS[machine.engine] = machine.mapper
    return machine


def process(engine: Engine, message: Message, refused: Container[str] = ()) -> Outcome:
    """Map a message and let an engine of :func:`machine_of` take it."""
    return engine.take(_MAPPERS[engine].map(message), refused)


def mapper_of(engine: Engine) -> Mapper:
    """The mapper of an engine of :func:`machine_of`."""
    return _MAPPERS[engine]
