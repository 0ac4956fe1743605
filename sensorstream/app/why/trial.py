"""An engine to try things on: what it makes of each message, whole.

``sensorstream run`` and ``sensorstream test`` use it. It is the engine of the server; beside it
stands a list of what has changed in the knowledge base.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sensorstream.engine.arrival import Arrived, Unmapped
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.kb.graph import Origin
from sensorstream.model.events import Event
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant

_INFERRED: Final = int(Origin.INFERRED | Origin.STATIC_INFERRED)
_WINDOW: Final = int(Origin.WINDOW)


@dataclass(frozen=True, slots=True)
class Trace:
    """What one step came to: the outcome, and the change of the knowledge base.

    ``made`` is what the mapping rules made of the message, or what the event says; the message
    may still have to wait. The changes are those of the whole step, that is, of the message and of
    those that it released: ``asserted`` are new in the window graph, by messages or by semantic
    rules, ``withdrawn`` left it; ``inferred`` and ``revoked`` are the same of the inferred graph.
    """

    outcome: Outcome
    made: tuple[Triple, ...] = ()
    asserted: tuple[Triple, ...] = ()
    withdrawn: tuple[Triple, ...] = ()
    inferred: tuple[Triple, ...] = ()
    revoked: tuple[Triple, ...] = ()


class Trial:
    """An engine under observation; it is not closed here."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._before: dict[Triple, int] = {}
        engine.kb.subscribe(self._note)

    def take(self, arrived: Event | Arrived | Unmapped) -> Trace:
        """Take an event in, or what the mapping rules made of a message."""
        made: tuple[Triple, ...] = ()
        if isinstance(arrived, Event):
            made = arrived.triples
        elif isinstance(arrived, Arrived):
            made = tuple(triple for event in arrived.mapped.events for triple in event.triples)
        return self._trace(self.engine.take(arrived), made)

    def advance(self, time: Instant) -> Trace:
        """Let application time pass; see :meth:`.Engine.advance`."""
        return self._trace(self.engine.advance(time))

    def finish(self) -> Trace:
        """The streams have ended; see :meth:`.Engine.finish`."""
        return self._trace(self.engine.finish())

    def seen(self, outcome: Outcome) -> Trace:
        """What has changed by an outcome that came from elsewhere."""
        return self._trace(outcome)

    def _note(self, triple: Triple, old: int, _new: int) -> None:
        self._before.setdefault(triple, old)

    def _trace(self, outcome: Outcome, made: tuple[Triple, ...] = ()) -> Trace:
        before, self._before = self._before, {}
        marks = self.engine.kb.marks
        asserted: list[Triple] = []
        withdrawn: list[Triple] = []
        inferred: list[Triple] = []
        revoked: list[Triple] = []
        for triple, old in before.items():
            now = marks(triple)
            for graph, came, went in (
                (_WINDOW, asserted, withdrawn),
                (_INFERRED, inferred, revoked),
            ):
                if now & graph and not old & graph:
                    came.append(triple)
                elif old & graph and not now & graph:
                    went.append(triple)
        return Trace(
            outcome, made, tuple(asserted), tuple(withdrawn), tuple(inferred), tuple(revoked)
        )
