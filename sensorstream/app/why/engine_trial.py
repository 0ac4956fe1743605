"""An engine to try things on, with all effects of each message.

``sensorstream run`` and ``sensorstream test`` use it. It is the engine of the server, with a list
of the changes in the knowledge base beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from sensorstream.engine.engine import Engine
from sensorstream.engine.message_reading import Arrived, UnmappedMessage
from sensorstream.engine.outcome import Outcome
from sensorstream.kb.graph_index import Origin
from sensorstream.model.events import Event
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant

_INFERRED: Final = int(Origin.INFERRED | Origin.STATIC_INFERRED)
_WINDOW: Final = int(Origin.WINDOW)
_Triples: TypeAlias = tuple[Triple, ...]


@frozen
class TrialTrace:
    """The result of a step: the outcome, and the change of the knowledge base.

    ``made`` are the statements that the mapping rules made of the message, or those of the event;
    the message may still have to wait. The changes are those of the whole step, that is, of the
    message and of those that it released: ``asserted`` are new in the window graph, by messages or
    by semantic rules, ``withdrawn`` left it; ``inferred`` and ``revoked`` are the same of the
    inferred graph.
    """

    outcome: Outcome
    made: _Triples = ()
    asserted: _Triples = ()
    withdrawn: _Triples = ()
    inferred: _Triples = ()
    revoked: _Triples = ()


class EngineTrial:
    """An engine under observation; it is not closed here."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._before: dict[Triple, int] = {}
        engine.kb.subscribe(self._note)

    def take(self, arrived: Event | Arrived | UnmappedMessage) -> TrialTrace:
        """Take in an event, or the mapping of a message."""
        made: _Triples = ()
        if isinstance(arrived, Event):
            made = arrived.triples
        elif isinstance(arrived, Arrived):
            made = tuple(triple for event in arrived.mapped.events for triple in event.triples)
        return self.seen(self.engine.take(arrived), made)

    def advance(self, time: Instant) -> TrialTrace:
        """Let application time pass; see :meth:`.Engine.advance`."""
        return self.seen(self.engine.advance(time))

    def finish(self) -> TrialTrace:
        """End the streams; see :meth:`.Engine.finish`."""
        return self.seen(self.engine.finish())

    def seen(self, outcome: Outcome, made: _Triples = ()) -> TrialTrace:
        """The changes by an outcome, which may come from elsewhere."""
        before, self._before = self._before, {}
        now = {triple: self.engine.kb.marks(triple) for triple in before}

        def new(graph: int, old: Mapping[Triple, int], young: Mapping[Triple, int]) -> _Triples:
            return tuple(each for each in old if young[each] & graph and not old[each] & graph)

        asserted, withdrawn = new(_WINDOW, before, now), new(_WINDOW, now, before)
        inferred, revoked = new(_INFERRED, before, now), new(_INFERRED, now, before)
        return TrialTrace(outcome, made, asserted, withdrawn, inferred, revoked)

    def _note(self, triples: Sequence[Triple], old: int, _new: int) -> None:
        for triple in triples:
            self._before.setdefault(triple, old)
