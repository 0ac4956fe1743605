"""Engines for trials, with reasoners that do not touch the one that runs.

HermiT and Pellet take seconds to start, so the process of the last trial stays, and serves the next
one with the same ontology. Questions to it are self-contained, so two engines may share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from sensorstream.app.wiring import Deployment, Machine, build_machine, message_limits
from sensorstream.clock import thread_seconds
from sensorstream.reasoning.dl.process import Worker
from sensorstream.reasoning.dl.reasoner import DlReasoner
from sensorstream.reasoning.profiles import DESCRIPTION_LOGIC, told_to
from sensorstream.reasoning.reasoner import Reasoner

_NICE: Final = 5
"""Messages that come in meanwhile are more urgent."""


class TrialReasoners:
    """Makes engines for trials; for one trial at a time."""

    def __init__(self, counter: Callable[[], float]) -> None:
        """``counter`` is :meth:`.Clock.counter`."""
        self._counter = counter
        self._workers: dict[tuple[str, bytes], Worker] = {}

    @contextmanager
    def machines(self) -> Iterator[Callable[[Deployment], Machine]]:
        """What makes the engines of one trial, the first one for what is in force."""
        used: dict[tuple[str, bytes], None] = {}
        own: list[Machine] = []

        def made(deployment: Deployment) -> Machine:
            reasoner, key = self._reasoner(deployment)
            machine = build_machine(deployment, self._counter, reasoner)
            if key is None:
                own.append(machine)
            else:
                used[key] = None
            return machine

        try:
            yield made
        finally:
            for machine in own:
                machine.engine.close()
            # One process stays: that of the ontology in force.
            for key in self._workers.keys() - list(used)[:1]:
                self._workers.pop(key).close()

    def close(self) -> None:
        """End the processes."""
        while self._workers:
            self._workers.popitem()[1].close()

    def _reasoner(self, deployment: Deployment) -> tuple[Reasoner | None, tuple[str, bytes] | None]:
        """A reasoner over a process that stays; None: the profile has no process."""
        reasoning = deployment.settings.reasoning
        if reasoning.profile not in DESCRIPTION_LOGIC:
            return None, None
        terminology = told_to(reasoning.profile, deployment.ontology)
        key = reasoning.profile, terminology.document(reasoning.profile)
        if key not in self._workers:
            self._workers[key] = Worker(
                *key,
                java=reasoning.java,
                timeout=reasoning.timeout,
                heap=reasoning.heap,
                nice=_NICE,
            )
        limits = message_limits(deployment.settings.limits, thread_seconds)
        made = DlReasoner(terminology, self._workers[key], limits=limits)
        # What cannot be decided refuses no message, as in the engine that runs.
        made.questions.leaves_open = True
        return made, key
