"""The intervals of inferred statements, and the stays that they belong to.

The reasoner reports the beginnings and ends of inferences; here they become intervals of
application time, for history. An inferred statement belongs to the stay of its subject (a blank
node's to its owner's), or to no stay, number 0, while that is not in the window. Where the subject
enters or leaves, the interval ends and another one begins. An interval that ends at the instant of
its beginning is not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta, Ended, Provenance
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.window import Window
from sensorstream.window.window_change import Undo


@frozen
class BegunInterval:
    """The beginning of an interval that is not over: its stay, individual, cause and time."""

    stay: int
    name: Subject
    provenance: Provenance


@frozen
class InferredState:
    """The inferences about one subject since one moment, as (property, value), for a checkpoint."""

    subject: Subject
    stay: int
    name: Subject
    message: str
    time: Instant
    values: tuple[tuple[IRI, Term], ...]


class Inferences:
    """The beginnings of present inferences; ``ended`` are intervals to report. O(change) each."""

    __slots__ = ("_about", "_begun", "ended", "touched")

    def __init__(self) -> None:
        self.ended: list[Ended] = []
        self.touched: set[Subject] | None = None
        """Gets the subjects of what begins or ends, if anybody wants to know them."""
        self._begun: dict[Triple, BegunInterval] = {}
        self._about: dict[Subject, dict[Triple, None]] = {}

    def take_ended(self) -> tuple[Ended, ...]:
        """The intervals that ended since the last call, in order; earlier changes are final."""
        ended, self.ended = tuple(self.ended), []
        return ended

    def follow(
        self,
        now: Instant,
        inferred: Delta,
        window: Window,
        kb: KnowledgeBase,
        cause: str,
        undo: list[Undo],
        resettled: Iterable[Subject] = (),
    ) -> None:
        """Follow a change of the inferred graph by the message ``cause``, which ``kb`` and
        ``window`` hold already. ``undo`` gets the way back, ``resettled`` are the subjects that may
        belong to another stay than before.
        """
        for triple in inferred.removed:
            self._end(triple, now, undo)
        homes: dict[Subject, BegunInterval] = {}
        for triple in inferred.added:
            self._begin(triple, _home(triple[0], homes, window, cause, now), undo)
        for subject in resettled:
            for triple in self.about(subject, kb):
                home = _home(subject, homes, window, cause, now)
                if self._begun[triple].stay != home.stay:
                    self._end(triple, now, undo)
                    self._begin(triple, home, undo)

    def about(self, subject: Subject, kb: KnowledgeBase) -> Sequence[Triple]:
        """The statements about a subject that are inferred now, in the order of the index."""
        found = self._about.get(subject, ())
        if len(found) < 2:
            return tuple(found)
        return [triple for triple in kb.match(subject, None, None) if triple in found]

    def begun(self) -> Mapping[Triple, BegunInterval]:
        """The beginning of each statement that is inferred now; it changes with the engine."""
        return MappingProxyType(self._begun)

    def state(self) -> tuple[InferredState, ...]:
        """The state for :meth:`restore`, in an order that is the same in every process."""
        groups: dict[tuple[Subject, BegunInterval], list[tuple[IRI, Term]]] = {}
        for triple, begun in self._begun.items():
            groups.setdefault((triple[0], begun), []).append(triple[1:])
        return tuple(
            InferredState(
                subject,
                begun.stay,
                begun.name,
                begun.provenance.message,
                begun.provenance.time,
                tuple(sorted(values, key=lambda each: (each[0], each[1].n3))),
            )
            for (subject, begun), values in sorted(groups.items(), key=_place)
        )

    def restore(
        self, state: Sequence[InferredState] | None, window: Window, kb: KnowledgeBase
    ) -> None:
        """Go on from a state; window and inferred graph are as they are now. Rules and ontology may
        have changed since: lost inferences end now, new ones begin now. A state of None is older
        than this class: its inferences hold since their individuals' last times.
        """
        now = window.now or 0
        cause = latest_message(window)
        saved = {
            (each.subject, *value): BegunInterval(
                each.stay, each.name, Provenance(each.message, each.time)
            )
            for each in state or ()
            for value in each.values
        }
        homes: dict[Subject, BegunInterval] = {}
        for triple in kb.triples(Origin.INFERRED):
            begun = saved.pop(triple, None)
            if begun is None:
                begun = _home(triple[0], homes, window, cause, now)
                one = window.get(begun.name) if state is None else None
                if one is not None:
                    begun = BegunInterval(one.stay, one.name, Provenance(one.message, one.time))
            self._set(triple, begun)
        for triple, begun in saved.items():
            self._tell(triple, begun, now, [])

    def _begin(self, triple: Triple, begun: BegunInterval, undo: list[Undo]) -> None:
        if self.touched is not None:
            self.touched.add(triple[0])
        self._set(triple, begun)
        undo.append(partial(self._drop, triple))

    def _end(self, triple: Triple, now: Instant, undo: list[Undo]) -> None:
        if self.touched is not None:
            self.touched.add(triple[0])
        begun = self._drop(triple)
        undo.append(partial(self._set, triple, begun))
        self._tell(triple, begun, now, undo)

    def _set(self, triple: Triple, begun: BegunInterval) -> None:
        self._begun[triple] = begun
        self._about.setdefault(triple[0], {})[triple] = None

    def _drop(self, triple: Triple) -> BegunInterval:
        about = self._about[triple[0]]
        if len(about) > 1:
            del about[triple]
        else:
            del self._about[triple[0]]
        return self._begun.pop(triple)

    def _tell(self, triple: Triple, begun: BegunInterval, now: Instant, undo: list[Undo]) -> None:
        if begun.provenance.time < now:
            undo.append(self.ended.pop)
            self.ended.append(
                Ended(begun.stay, begun.name, triple, begun.provenance, now, inferred=True)
            )


def latest_message(window: Window) -> str:
    """The latest message of which the window still holds something."""
    return max(window, key=lambda each: each.arrival).message if len(window) else ""


def _place(
    group: tuple[tuple[Subject, BegunInterval], object],
) -> tuple[Subject, int, Instant, str]:
    (subject, begun), _ = group
    return subject, begun.stay, begun.provenance.time, begun.provenance.message


def _home(
    subject: Subject, homes: dict[Subject, BegunInterval], window: Window, cause: str, now: Instant
) -> BegunInterval:
    """The interval of a present inference about a subject."""
    found = homes.get(subject)
    if found is None:
        name = window.owner(subject)
        individual = window.get(name)
        stay = 0 if individual is None else individual.stay
        found = homes[subject] = BegunInterval(stay, name, Provenance(cause, now))
    return found
