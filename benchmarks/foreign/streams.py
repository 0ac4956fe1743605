"""Random streams of linked individuals over any ontology, through a window that they leave."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import Final, Protocol, TypeAlias

import psutil

from sensorstream.clock import SystemClock
from sensorstream.errors import Inconsistent, Overrun
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Delta
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.xsd import XSD
from sensorstream.network.budget import Limits
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology
from sensorstream.settings.settings import LimitSettings

BASE: Final = "urn:stream:n"
_VALUES: Final = {
    xsd.INTEGER: "7",
    f"{XSD}int": "7",
    f"{XSD}nonNegativeInteger": "7",
    f"{XSD}positiveInteger": "7",
    f"{XSD}decimal": "7.5",
    f"{XSD}float": "7.5",
    xsd.DOUBLE: "7.5",
    xsd.BOOLEAN: "true",
    xsd.DATE_TIME: "2026-01-01T00:00:00Z",
    xsd.STRING: "a text",
}
_WARM: Final = 2
"""Messages before those that are measured."""
Message: TypeAlias = tuple[Triple, ...]


class Way(Protocol):
    """A reasoner, or the part of it that keeps what follows."""

    def start(self, kb: KnowledgeBase) -> None:
        """Derive what follows from the ontology."""

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """Follow a change of the window."""

    def close(self) -> None:
        """Forget everything."""


class Slow(Exception):
    """A limit of time was reached."""


class Stream:
    """An engine's part that reasons: a window of messages, and what is inferred about it."""

    def __init__(self, ontology: Ontology, reasoner: Way, worker: Worker, size: int) -> None:
        """``size`` is the window's, in messages; it may grow. ``worker`` is the reasoner's.

        Raises:
            OntologyError: the ontology contradicts itself or cannot be reasoned with.
            ReasonerError: the process failed.
        """
        self.kb = KnowledgeBase()
        self.kb.add(Origin.STATIC, ontology.triples)
        self.size = size
        self._reasoner = reasoner
        self._worker = worker
        self._window: deque[Message] = deque()
        reasoner.start(self.kb)

    @classmethod
    def opened(cls, ontology: Ontology, reasoner: str, size: int, timeout: float) -> Stream:
        """A stream that HermiT or Pellet reasons about, in a process of its own.

        ``timeout`` limits a question, in seconds; rules have the limits that are set by default. It
        raises what a new stream does.
        """
        terminology = Terminology.of(ontology)
        default = LimitSettings()
        limits = Limits(
            default.message_rows, default.message_seconds, SystemClock().counter, "limits.message"
        )
        worker = Worker(reasoner, terminology.document(), timeout=timeout)
        try:
            return cls(ontology, DlReasoner(terminology, worker, limits=limits), worker, size)
        except BaseException:
            worker.close()
            raise

    @property
    def asked(self) -> int:
        """How many questions HermiT or Pellet was asked; a known answer is no question."""
        return self._reasoner.memo.misses if isinstance(self._reasoner, DlReasoner) else 0

    @property
    def left_out(self) -> frozenset[str]:
        """The rules that a trial at the start has left out."""
        found = self._reasoner
        return found.left_out if isinstance(found, DlReasoner) else frozenset()

    @property
    def held(self) -> int:
        """The messages in the window."""
        return len(self._window)

    def take(self, message: Message) -> bool:
        """Take a message in, and let the oldest go; False: it contradicts the ontology.

        Raises:
            Overrun: rules take too much for it; it is not taken in.
        """
        gone = self._window[0] if len(self._window) >= self.size else ()
        delta = Delta(0, tuple(dict.fromkeys(message)), gone)
        self.kb.apply(Origin.WINDOW, delta)
        try:
            self._reasoner.react(self.kb, delta)
        except Inconsistent:
            self.kb.apply(Origin.WINDOW, delta.inverse())
            return False
        except Overrun:
            self.kb.apply(Origin.WINDOW, delta.inverse())
            raise
        self._window.append(delta.added)
        if gone:
            self._window.popleft()
        return True

    def clear(self) -> None:
        """Let all messages go."""
        delta = Delta(0, (), tuple(t for message in self._window for t in message))
        self.kb.apply(Origin.WINDOW, delta)
        self._reasoner.react(self.kb, delta)
        self._window.clear()

    def triples(self) -> list[Triple]:
        """What ontology and messages assert."""
        return [*self.kb.triples(Origin.STATIC), *self.kb.triples(Origin.WINDOW)]

    def types(self, classes: frozenset[IRI]) -> set[tuple[str, str]]:
        """The individuals of the stream and all their classes."""
        return {
            (str(s), str(o))
            for s, _, o in self.kb.match(None, rdf.TYPE, None)
            if o in classes and s.startswith(BASE)
        }

    def individuals(self) -> list[IRI]:
        """The individuals of the stream in the window."""
        found = {part for t in self.kb.triples(Origin.WINDOW) for part in (t[0], t[2])}
        return sorted(IRI(each) for each in found if each.startswith(BASE))

    def cpu(self) -> float:
        """CPU seconds of this process and of the reasoner's."""
        return cpu(self._worker)

    def close(self) -> None:
        self._reasoner.close()
        self._worker.close()


def cpu(worker: Worker) -> float:
    """CPU seconds of this process and of the reasoner's, if that runs."""
    spent = time.process_time()
    if worker.pid is not None:
        with suppress(psutil.Error):
            times = psutil.Process(worker.pid).cpu_times()
            spent += times.user + times.system
    return spent


def random_messages(schema: Schema, seed: int) -> Iterator[Message]:
    """Individuals of random classes, with links to individuals before them and values."""
    draw = Random(seed)
    classes = sorted(schema.classes)
    links, values = sorted(schema.object_properties), sorted(schema.datatype_properties)
    number = 0
    while True:
        one = IRI(f"{BASE}{number}")
        said: dict[Triple, None] = {}
        if classes and draw.random() < 0.8:
            said[one, rdf.TYPE, draw.choice(classes)] = None
        for _ in range(draw.randint(0, 2) if links and number else 0):
            other = IRI(f"{BASE}{draw.randrange(max(0, number - 8), number)}")
            ends = (one, other) if draw.random() < 0.7 else (other, one)
            said[ends[0], draw.choice(links), ends[1]] = None
        if values and draw.random() < 0.4:
            prop = draw.choice(values)
            said[one, prop, _value(schema, prop)] = None
        if said:
            yield tuple(said)
            number += 1


def _value(schema: Schema, prop: IRI) -> Literal:
    datatype = schema.datatype_of(prop) or xsd.STRING
    if datatype not in _VALUES:
        datatype = xsd.STRING
    return Literal(_VALUES[datatype], datatype)


def shape(name: str, kind: IRI, link: IRI | None, size: int) -> Callable[[int], Message]:
    """The messages of a shape by number: ``alone``, ``chain``, ``hub`` or ``clique``."""

    def message(number: int) -> Message:
        one = IRI(f"{BASE}{number}")
        before: Sequence[IRI] = ()
        if name == "chain" and number:
            before = [IRI(f"{BASE}{number - 1}")]
        elif name == "hub":
            before = [IRI(f"{BASE}hub")]
        elif name == "clique":
            before = [IRI(f"{BASE}{n}") for n in range(max(0, number - size + 1), number)]
        links = [(one, link, other) for other in before] if link is not None else []
        return ((one, rdf.TYPE, kind), *links)

    return message


def cost(stream: Stream, message: Callable[[int], Message], size: int, seconds: float) -> float:
    """CPU milliseconds a message, of four windows, or of as many as there are in ``seconds``.

    Raises:
        Inconsistent: a message contradicts the ontology.
        Overrun: rules take too much for a message.
        Slow: not even three messages were processed.
    """
    end = time.monotonic() + seconds
    begun, measured = 0.0, 0
    for number in range(4 * size):
        if number == _WARM:
            begun = stream.cpu()
        if not stream.take(message(number)):
            raise Inconsistent(f"message {number} contradicts the ontology")
        measured += number >= _WARM
        if time.monotonic() > end:
            break
    if not measured:
        raise Slow
    return 1000 * (stream.cpu() - begun) / measured
