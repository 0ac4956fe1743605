"""Contradictions that were not narrowed down when their message was refused are, later."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread
from typing import Final

from sqlalchemy import Engine

from sensorstream.clock import Clock
from sensorstream.errors import Contradiction, HistoryError
from sensorstream.history.kept_messages import Chosen, Quarantined, keep_contradiction, quarantined
from sensorstream.quoting import LONGEST
from sensorstream.reasoning.dl.contradictions import clashing, told, triple_of
from sensorstream.reasoning.ontology import Ontology
from sensorstream.settings import ReasoningSettings

_LOG = logging.getLogger(__name__)
_NAP: Final = 10.0
"""Seconds between two looks at what was refused."""
_AT_ONCE: Final = 20
_SECONDS: Final = 300.0
"""Seconds that one contradiction may take."""
_PATIENCE: Final = 1.0
"""Seconds to wait for the end of the thread, which ends with the process otherwise."""


class Narrowing:
    """A thread that narrows down contradictions of refused messages, one after the other.

    It begins with those that are in quarantine already. Each is tried once, with the ontology of
    now; where that finds no contradiction, what was kept stays.
    """

    def __init__(
        self,
        database: Engine,
        ontology: Callable[[], Ontology],
        reasoning: ReasoningSettings,
        clock: Clock,
    ) -> None:
        self._database = database
        self._ontology = ontology
        self._reasoning = reasoning
        self._clock = clock
        self._seen = 0
        self._halt = Event()
        self._thread = Thread(target=self._run, name="narrowing", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, or let it end with the process."""
        self._halt.set()
        self._thread.join(_PATIENCE)

    def look(self) -> None:
        """Narrow down what was refused since the last look.

        Raises:
            HistoryError: history cannot be read or written.
        """
        chosen = Chosen(status="rejected", code="inconsistent", after=self._seen)
        found = quarantined(self._database, _AT_ONCE, chosen)
        for each in reversed(found):
            if self._halt.is_set():
                return
            if each.contradiction is not None and each.contradiction.limits:
                self._narrow(each, each.contradiction)
            self._seen = each.seq

    def _run(self) -> None:
        while not self._halt.wait(_NAP):
            try:
                self.look()
            except HistoryError as error:
                _LOG.warning("contradictions wait to be narrowed down: %s", error)
            except Exception:
                _LOG.exception("internal error while a contradiction was narrowed down")

    def _narrow(self, refused: Quarantined, contradiction: Contradiction) -> None:
        # Of a longer line the middle is not kept; what clashes without it does so with it.
        whole = [line for line in contradiction.triples if len(line) < LONGEST]
        assertions = tuple(map(triple_of, whole))
        found = clashing(
            assertions,
            self._ontology(),
            java=self._reasoning.java,
            heap=self._reasoning.heap,
            seconds=_SECONDS,
            clock=self._clock,
        )
        if not found.limits:
            lines = tuple(" ".join(t.n3 for t in each) + " ." for each in found.assertions)
            narrowed = Contradiction(lines, found.axioms)
            reason = f"the message contradicts the ontology: {told(narrowed)}"
            keep_contradiction(self._database, refused.id, reason, narrowed)
            _LOG.info("the contradiction of message %s is narrowed down", refused.id)
