"""The content of an engine's window about one subject, as text and back.

The text is JSON, with terms as they are in memory: what reads it runs no code of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from json import JSONEncoder
from typing import Any, Final

from sensorstream.engine.engine import Engine
from sensorstream.engine.inferences import BegunInterval
from sensorstream.model.events import Individual, Provenance
from sensorstream.model.frozen import field, frozen
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple, term

_KEPT: Final = 1 << 16
_write: Final = JSONEncoder(separators=(",", ":")).encode


@frozen
class HeldContent:
    """The stay of an individual, None where it has none, and what is inferred about it."""

    individual: Individual | None = None
    inferred: Mapping[Triple, BegunInterval] = field(default_factory=dict)

    @property
    def statements(self) -> Mapping[Triple, Provenance]:
        """The statements about it, and about the blank nodes that it owns."""
        return {} if self.individual is None else self.individual.statements


@frozen
class WindowTotals:
    """The partitions of a window that hold something, and messages that wait, in it and before;
    whether the plain profile stands in for the engine's reasoner.
    """

    partitions: int = 0
    pending: int = 0
    held: int = 0
    degraded: bool = False

    @property
    def text(self) -> str:
        """The totals for :func:`read_held`."""
        return _write((self.partitions, self.pending, self.held, self.degraded))


def totals_of(engine: Engine) -> WindowTotals | None:
    """The totals of an engine's window; None: nothing is there."""
    window = engine.window
    if not (len(window) or window.pending or engine.held):
        return None
    return WindowTotals(window.partitions, window.pending, engine.held, bool(engine.degraded))


def digests(key: str, subjects: Iterable[Subject]) -> Iterator[bytes]:
    """The names of parts: of the totals of a key's engine, then of its content about subjects."""
    named = sha256(key.encode())
    yield named.digest()
    named.update(b"\0")
    for subject in subjects:
        each = named.copy()
        each.update(subject.encode("utf-8", "surrogatepass"))
        yield each.digest()


def content_of(engine: Engine, subject: Subject) -> str | None:
    """The content about a subject; None: there is none."""
    one, begun = engine.window.get(subject), engine.inferences.begun()
    inferred = [
        (*triple[1:], each.stay, each.name, each.provenance.message, each.provenance.time)
        for triple in engine.kb.match(subject, None, None)
        if (each := begun.get(triple)) is not None
    ]
    if one is None:
        return _write((subject, None, inferred)) if inferred else None
    said = [(*t, each.message, each.time, each.graphs) for t, each in one.statements.items()]
    stay = (one.stay, one.entered, one.time, one.arrival, one.message, said)
    return _write((subject, stay, inferred))


def read_held(text: str) -> HeldContent | WindowTotals:
    """Read what :func:`content_of` or :func:`totals_of` has told; most equal terms are shared."""
    told = json.loads(text)
    if isinstance(told[0], int):
        return WindowTotals(*told)
    name, stay, inferred = told
    subject: Any = _term(name)
    individual = None
    if stay is not None:
        number, entered, time, arrival, message, said = stay
        individual = Individual(subject, number, entered, time, arrival, message)
        for s, p, o, *cause in said:
            individual.statements[_term(s), _term(p), _term(o)] = Provenance(*cause)
    begun: Any = {
        (subject, _term(p), _term(o)): BegunInterval(number, _term(home), Provenance(*cause))
        for p, o, number, home, *cause in inferred
    }
    return HeldContent(individual, begun)


@lru_cache(_KEPT)
def _term(text: str) -> Any:
    if text.startswith('"'):
        return term(text)
    return BlankNode(text) if text.startswith("_:") else IRI(text)
