"""Events from before the latest one of their individual: they get their place in time.

The past of a stay becomes what it would be if the events had come in order of their times: an
update from between two others replaces the value of the first, until the second. What follows:

- a value that it replaces ended at its time; what has been handed out otherwise is revoked
- its own value ends with the next update of the property, or with a later value that is held
- what the window holds changes only if no later update has replaced it

What a rule or its age *removed* ended when that happened. To say again what holds already changes
nothing, unless an update says it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

from sensorstream.model.events import Ended, Event, Individual, Provenance
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.change import WindowChange
from sensorstream.window.past import Past, Update

Pair: TypeAlias = tuple[Subject, IRI]
_NO_GRAPHS: Final[tuple[IRI, ...]] = ()


@dataclass(slots=True)
class Latecomer:
    """One individual's part of one event that comes late.

    ``graphs`` are the event's named graphs. ``supersede`` takes a statement out of the window at a
    time.
    """

    individual: Individual
    event: Event
    graphs: Mapping[Triple, Sequence[IRI]]
    past: Past
    record: WindowChange
    supersede: Callable[[Individual, Triple, Instant, WindowChange], None]
    _placed: dict[Triple, None] = field(default_factory=dict)
    _over: dict[BlankNode, Instant] = field(default_factory=dict)
    """Blank nodes whose reference is over: when."""

    def place(self, said: Sequence[Triple], replaces: Iterable[Pair]) -> Mapping[Triple, None]:
        """Put what the event says into the past, as far as it is over.

        ``said`` are the triples about the individual and its blank nodes, ``replaces`` the
        properties of theirs that the event replaces.

        Returns:
            Those of them that must not enter the window.
        """
        values: dict[Pair, dict[Triple, None]] = {}
        for triple in said:
            values.setdefault(triple[:2], {})[triple] = None
        for pair in replaces:
            values.setdefault(pair, {})
        for pair, new in values.items():
            following = self.past.next_update(self.individual.stay, pair, self.event.time)
            until = None if following is None else following.time
            if pair in self.event.replaces:
                self._update(pair, new, following)
            else:
                self._say(new, until)
        self._follow_nodes(said)
        return self._placed

    def _update(self, pair: Pair, new: Collection[Triple], following: Update | None) -> None:
        one, time = self.individual, self.event.time
        forgotten = one.settled is not None and time < one.settled
        if forgotten and any(triple[:2] == pair for triple in one.statements):
            # What came after it is not known any more: it is kept as said, and never held.
            for triple in new:
                if triple not in one.statements:
                    self._end(triple, time)
            return
        for row in self.past.ended_at(one.stay, time):
            if row.triple[:2] == pair and row.triple not in new:
                self._cut(row, following)
        for triple, known in list(one.statements.items()):
            if triple[:2] == pair and triple not in new and known.time <= time:
                if following is None:
                    self.supersede(one, triple, time, self.record)
                else:
                    self._interrupt(triple, known, following)
        newer = [
            known.time
            for triple, known in one.statements.items()
            if triple[:2] == pair and triple not in new and known.time > time
        ]
        if following is not None:
            newer.append(following.time)
        self._say(new, min(newer, default=None))

    def _say(self, new: Collection[Triple], until: Instant | None) -> None:
        """Let values hold from the time of the event until another one; None: they still hold.

        What is held since later holds from then on by what was said then.
        """
        one, time = self.individual, self.event.time
        for triple in new:
            known = one.statements.get(triple)
            if known is not None and known.time <= time:
                continue
            ends = [] if until is None else [until]
            ends += () if known is None else (known.time,)
            if ends:
                self._end(triple, min(ends))

    def _cut(self, row: Ended, following: Update | None) -> None:
        """Let an interval that is over end now already; with its blank node's, if it has one."""
        time = self.event.time
        self.past.revoke(row, self.record)
        self.past.note_ended(replace(row, valid_to=time), self.record)
        if following is not None and row.valid_to > following.time:
            # The following update said it again.
            said = replace(row.provenance, message=following.message, time=following.time)
            self.past.note_ended(replace(row, provenance=said), self.record)
        elif isinstance(row.triple[2], BlankNode):
            for each in self.past.ended_at(row.stay, time):
                if each.triple[0] == row.triple[2]:
                    self._cut(each, None)

    def _interrupt(self, triple: Triple, known: Provenance, following: Update) -> None:
        """A statement did not hold from now to the following update, which said it again."""
        one = self.individual
        ended = Ended(one.stay, one.name, triple, known, self.event.time)
        self.past.note_ended(ended, self.record)
        said = replace(known, message=following.message, time=following.time)
        one.statements[triple] = said
        self.record.undo.append(partial(one.statements.__setitem__, triple, known))

    def _end(self, triple: Triple, until: Instant) -> None:
        """Hand out a value that is over already."""
        one, event = self.individual, self.event
        graphs = " ".join(sorted(self.graphs.get(triple, _NO_GRAPHS)))
        said = Provenance(event.message, event.time, graphs)
        self.past.note_ended(Ended(one.stay, one.name, triple, said, until), self.record)
        self._placed[triple] = None
        if isinstance(triple[2], BlankNode):
            self._over[triple[2]] = until

    def _follow_nodes(self, said: Sequence[Triple]) -> None:
        """What is said of a blank node is over with the only reference to it."""
        done: set[BlankNode] = set()
        while self._over.keys() - done:
            node = next(node for node in self._over if node not in done)
            done.add(node)
            held = (t for t in said if t not in self._placed)
            if any(t[2] == node for t in (*held, *self.individual.statements)):
                continue
            for triple in said:
                if triple[0] == node and triple not in self._placed:
                    self._end(triple, self._over[node])
