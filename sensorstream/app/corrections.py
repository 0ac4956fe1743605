"""Intervals of inferred statements: those that history has against those that follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from sensorstream.engine.engine import EngineState
from sensorstream.history.spans import Held
from sensorstream.journal.records import message_id
from sensorstream.model.events import Ended, Provenance
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant

Key: TypeAlias = tuple[int, Triple]
"""A statement in a stay."""
Span: TypeAlias = tuple[Instant, Instant]
"""``[start, end)``"""
Spans: TypeAlias = list[Span]
"""In order, and apart from each other."""


class Corrections:
    """What is to change where history has other intervals than follow."""

    def __init__(self, state: EngineState) -> None:
        self.added: set[Key] = set()
        self.removed: set[Key] = set()
        self.standing: set[Key] = set()
        # What is inferred in the window, and since when: it has no end yet.
        self._open = {
            (each.stay, (each.subject, *value)): each.time
            for each in state.inferred or ()
            for value in each.values
        }

    def __call__(
        self, span: Span, found: Sequence[Held], wanted: Sequence[Held]
    ) -> tuple[list[Ended], list[Ended]]:
        """What is to be stored and what is to be deleted in a span.

        Args:
            span: the times that are compared.
            found: the rows that history has in the span or next to it.
            wanted: what follows, within the span.
        """
        there, follows = _by_key(found), _by_key(wanted)
        added: list[Ended] = []
        revoked: list[Ended] = []
        for key in {**there, **follows, **self._open}:
            rows, should = there.get(key, []), follows.get(key, [])
            standing = self._open.get(key)
            lasting = [] if standing is None else clipped([(standing, span[1])], span)
            stored = united([(each.valid_from, each.valid_to) for each in rows])
            follow = united([(each.valid_from, each.valid_to) for each in should])
            missing = without(follow, [*stored, *lasting])
            extra = without(clipped(stored, span), follow)
            if without(lasting, follow):
                self.standing.add(key)
            if not missing and not extra:
                continue
            if missing:
                self.added.add(key)
            if extra:
                self.removed.add(key)
            right = united([*without(stored, extra), *missing])
            old = {(each.valid_from, each.valid_to) for each in rows}
            revoked += (
                _ended(each, each.valid_from, each.valid_to)
                for each in rows
                if (each.valid_from, each.valid_to) not in right
            )
            added += (
                _ended(_origin(begin, rows, should), begin, end)
                for begin, end in right
                if (begin, end) not in old
            )
        return added, revoked


def _by_key(every: Iterable[Held]) -> dict[Key, list[Held]]:
    found: dict[Key, list[Held]] = {}
    for each in every:
        found.setdefault((each.stay, each.triple), []).append(each)
    return found


def _origin(begin: Instant, rows: Sequence[Held], should: Sequence[Held]) -> Held:
    """The interval that says which message caused one that begins then."""
    every = [*rows, *should]
    return next((each for each in every if each.valid_from <= begin < each.valid_to), every[0])


def _ended(held: Held, begin: Instant, end: Instant) -> Ended:
    said = Provenance(message_id(held.message), begin)
    return Ended(held.stay, held.triple[0], held.triple, said, end, inferred=True)


def united(spans: Iterable[Span]) -> Spans:
    """The spans in order; those that touch are one."""
    found: Spans = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def clipped(spans: Iterable[Span], to: Span) -> Spans:
    """The parts of the spans that are within another one."""
    cut = ((max(begin, to[0]), min(end, to[1])) for begin, end in spans)
    return [(begin, end) for begin, end in cut if begin < end]


def without(spans: Iterable[Span], others: Iterable[Span]) -> Spans:
    """The parts of the spans that no other one has."""
    left = list(spans)
    for start, stop in others:
        parts = (((begin, min(end, start)), (max(begin, stop), end)) for begin, end in left)
        left = [(begin, end) for pair in parts for begin, end in pair if begin < end]
    return left
