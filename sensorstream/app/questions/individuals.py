"""The present values of individuals: those in the window, and the last ones of history."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from sensorstream.app.deployment_handle import Handle
from sensorstream.app.questions.mirrored_window import EngineView
from sensorstream.errors import QueryError, UnknownIndividual
from sensorstream.history.asked_records import Latest
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf
from sensorstream.model.events import Provenance
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Subject
from sensorstream.model.timeline import Instant
from sensorstream.settings.settings import WindowSettings


@frozen
class IndividualView:
    """An individual: its classes, asserted and inferred, and when it came."""

    name: Subject
    types: tuple[str, ...]
    entered: Instant
    time: Instant
    statements: int
    message: str


@frozen
class WindowView:
    """The window's definition, its totals and one page of its individuals, oldest first."""

    kind: str
    unit: str
    elements: str
    size: str
    step: str
    start: str
    partition: str
    partitions: int
    total: int
    pending: int
    held: int
    statements: int
    inferred: int
    now: Instant | None
    individuals: tuple[IndividualView, ...]


def view_window(
    engine: EngineView, settings: WindowSettings, limit: int, offset: int = 0
) -> WindowView:
    """The view of the window; it must not change meanwhile."""
    kb, window = engine.kb, engine.window
    steps = {"sliding": settings.step or "1", "tumbling": settings.size}
    first = heapq.nsmallest(offset + limit, window, key=lambda each: (each.time, each.arrival))
    return WindowView(
        kind=settings.kind,
        unit=settings.unit,
        elements=window.spec.elements.value,
        size="" if settings.kind == "landmark" else settings.size,
        step=steps.get(settings.kind, ""),
        start=settings.start,
        partition=settings.partition,
        partitions=window.partitions,
        total=len(window),
        pending=window.pending,
        held=engine.held,
        statements=kb.size(Origin.WINDOW),
        inferred=kb.size(Origin.INFERRED),
        now=window.now,
        individuals=tuple(
            IndividualView(
                name=each.name,
                types=_types(kb, each.name),
                entered=each.entered,
                time=each.time,
                statements=len(each.statements),
                message=each.message,
            )
            for each in first[offset:]
        ),
    )


def _types(kb: KnowledgeBase, name: Subject) -> tuple[str, ...]:
    """The classes of an individual: those that messages say first, then by name."""
    found = [each for each in kb.match(name, rdf.TYPE, None) if isinstance(each[2], IRI)]
    return tuple(
        str(o) for *_, o in sorted(found, key=lambda t: (Origin.WINDOW not in kb.origins(t), t[2]))
    )


_FIRST_OF_HISTORY: Final = (2**63 - 1, 2**63 - 1)
_CURSOR: Final = re.compile(r"history:(-?[0-9]{1,19}):([0-9]{1,19})|window:(.*)", re.DOTALL)
_Found = TypeVar("_Found")


@frozen
class KnownIndividual:
    """An individual and the latest values of each of its properties."""

    name: Subject
    in_window: bool
    values: tuple[Latest, ...]


@frozen
class KnownIndividuals:
    """A page of individuals; ``after`` is where the next one begins, None if there is none."""

    individuals: tuple[KnownIndividual, ...]
    after: str | None


class IndividualQuestions:
    """Questions to the window first, and to history for what is not there. Thread-safe. They raise
    :class:`.Unavailable` if the window cannot be read now, :class:`.HistoryError` if history
    cannot.
    """

    def __init__(self, app: Handle) -> None:
        self._app = app

    def individual(self, name: str) -> KnownIndividual:
        """Find an individual, in the window or in history.

        Raises:
            UnknownIndividual: it is in neither.
        """
        subject: Subject = BlankNode(name) if name.startswith("_:") else IRI(name)
        live = self._read(lambda seen: self._live(seen, [subject]))
        known = self._known([subject], live)[0]
        if not known.values and not known.in_window:
            raise UnknownIndividual(f"neither the window nor history has <{name}>")
        return known

    def latest(self, class_: str, limit: int, after: str = "") -> KnownIndividuals:
        """A page of the individuals of a class, asserted or inferred. First those in the window, by
        name; then the others, those that had it last first.

        Raises:
            QueryError: ``after`` is not one that a page gave.
        """
        cursor = _CURSOR.fullmatch(after or "window:")
        if cursor is None:
            raise QueryError("'after' is not the one that the page before gave")
        name = IRI(class_)
        if cursor[3] is not None:
            names, live = self._read(lambda seen: self._members(seen, name, cursor[3], limit + 1))
            if len(names) > limit:
                shown = names[:limit]
                return KnownIndividuals(self._known(shown, live), f"window:{shown[-1]}")
            before = _FIRST_OF_HISTORY
        else:
            names, live, before = [], {}, (int(cursor[1]), int(cursor[2]))
        if max(map(abs, before)) >= 2**63:
            raise QueryError("'after' is not the one that the page before gave")
        wanted = limit - len(names)
        found = self._app.reader.last_members(name, before, wanted + 1)
        page = found[:wanted]
        others = [each.name for each in page]
        there = self._read(lambda seen: self._live(seen, others)) if others else {}
        # Those that have the class in the window stand on the pages before.
        gone = [
            each
            for each in others
            if not any(one.triple[1:] == (rdf.TYPE, name) for one in there.get(each, ()))
        ]
        end = page[-1] if page else None
        last = before if end is None else (end.valid_to, end.number)
        return KnownIndividuals(
            (*self._known(names, live), *self._known(gone, there)),
            f"history:{last[0]}:{last[1]}" if len(found) > wanted else None,
        )

    def said_by(self, message: str, names: Sequence[str]) -> tuple[int, int]:
        """The numbers of statements about window individuals that a message said and caused."""
        subjects = [BlankNode(name) if name.startswith("_:") else IRI(name) for name in names]
        live = self._read(lambda seen: self._live(seen, subjects))
        found = [
            each
            for values in live.values()
            for each in values
            if each.provenance.message == message
        ]
        inferred = sum(each.inferred for each in found)
        return len(found) - inferred, inferred

    def _read(self, read: Callable[[EngineView], _Found]) -> _Found:
        late = "the server is busy and the window cannot be read: ask again later"
        return self._app.seen(read, self._app.seconds, late)

    def _members(
        self, seen: EngineView, name: IRI, after: str, limit: int
    ) -> tuple[list[Subject], dict[Subject, list[Latest]]]:
        members = (each for each, _, _ in seen.kb.match(None, rdf.TYPE, name))
        names = heapq.nsmallest(
            limit, (each for each in members if each in seen.window and each > after)
        )
        return names, self._live(seen, names)

    def _live(self, seen: EngineView, names: Sequence[Subject]) -> dict[Subject, list[Latest]]:
        """The values of those that are in the window."""
        found: dict[Subject, list[Latest]] = {}
        kb, begun = seen.kb, seen.inferences.begun()
        for name in names:
            individual = seen.window.get(name)
            if individual is None:
                continue
            # Of a partition that is not its own.
            newest = Provenance(individual.message, individual.time)
            values = found[name] = []
            for triple in kb.match(name, None, None):
                origins = kb.origins(triple)
                if Origin.WINDOW in origins:
                    said = individual.statements.get(triple, newest)
                    values.append(Latest(triple, said, None, inferred=False))
                if Origin.INFERRED in origins:
                    caused = begun[triple].provenance
                    values.append(Latest(triple, caused, None, inferred=True))
        return found

    def _known(
        self, names: Sequence[Subject], live: dict[Subject, list[Latest]]
    ) -> tuple[KnownIndividual, ...]:
        """The live values, and history's of the other properties."""
        if not names:
            return ()
        kept = self._app.reader.latest_values(names)
        return tuple(
            KnownIndividual(name, name in live, _merged(live.get(name, []), kept.get(name, [])))
            for name in names
        )


def _merged(live: Sequence[Latest], kept: Sequence[Latest]) -> tuple[Latest, ...]:
    has = {each.triple[1] for each in live}
    values = (*live, *(each for each in kept if each.triple[1] not in has))
    return tuple(sorted(values, key=lambda each: (each.triple[1:], each.inferred)))
