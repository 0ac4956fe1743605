"""The reading of messages before the engine: each becomes events, or the reason why it gives none.

The engine takes events. Where they come from XML messages, a :class:`Mapper` stands before it; its
result for a message is taken as one unit. It holds no state but the rules in force. Terms that are
no RDF stay out, whatever made them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from lxml import etree

from sensorstream.errors import InvalidTerm, MappingError, MessageTooLarge, TermError
from sensorstream.kb.oxigraph_terms import to_oxigraph
from sensorstream.mapping.mapping_plan import MappedMessage, MappingPlan
from sensorstream.mapping.rule_cost import size_of
from sensorstream.mapping.xml_document import parse_document
from sensorstream.model.events import Event, Message
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.budget import no_time
from sensorstream.processes.fork_once import run_apart

STEPS: Final = 10
"""Steps before the first judgement of a time; and so many messages in a row that are too far ahead
are no fault: the stream has moved."""
FARTHEST: Final = 1_000_000_000
"""A time may be so many mean steps ahead: of milliseconds, 11 days."""


class Spacing:
    """The mean step between the times of messages, by which a time too far ahead is recognised. It
    is for times that cannot be compared with the clock: integers may count seconds, milliseconds,
    frames or rounds. The steps before distinguish a wrong time from a pause.
    """

    __slots__ = ("_first", "_in_a_row", "_latest", "_steps")

    def __init__(self) -> None:
        self._first: Instant = 0
        self._latest: Instant | None = None
        self._steps = 0
        self._in_a_row = 0

    def hear(self, times: Iterable[Instant]) -> None:
        """Take in the times of accepted messages, in any order."""
        for time in sorted(times):
            if self._latest is None or (self._steps >= STEPS and time > self._limit):
                self._first, self._latest, self._steps = time, time, 0
            elif time > self._latest:
                self._latest = time
                self._steps += 1
            self._in_a_row = 0

    def refuses(self, time: Instant) -> str:
        """The reason why a time cannot be of this stream; "": it may be."""
        if self._latest is None or self._steps < STEPS or time <= self._limit:
            return ""
        self._in_a_row += 1
        if self._in_a_row == STEPS:
            return ""
        return (
            f"{time - self._latest} after the latest one ({self._latest}), where {FARTHEST} times "
            f"the mean step so far is {self._limit - self._latest}: expected a time of this "
            f"stream; after {STEPS} such messages in a row, or with time.ahead set, it may be one"
        )

    @property
    def _limit(self) -> Instant:
        assert self._latest is not None
        return self._latest + FARTHEST * max((self._latest - self._first) // self._steps, 1)


DEEPEST: Final = 64
"""How deep the elements of a message may be nested, where nothing else is said."""


@frozen
class Arrived:
    """Events that are taken in as one unit: all of them or none, with one outcome. ``seconds`` is
    what reading and mapping the message took.
    """

    message: Message
    mapped: MappedMessage
    seconds: float = field(default=0.0, compare=False)

    @classmethod
    def of(cls, event: Event) -> Arrived:
        """An event that comes by itself; no time of arrival is known of it."""
        message = Message(event.message, b"", 0, event.source)
        return cls(message, MappedMessage((), (event,), ()))


@frozen
class UnmappedMessage:
    """A message that gives no events. ``error`` is why it cannot be mapped; None: no rule matched
    it, ``root`` is then the name of its document element and ``hint`` the likely cause.
    ``skipped``: it was skipped before, and is again.
    """

    message: Message
    error: Exception | None
    root: str = ""
    hint: str = ""
    seconds: float = field(default=0.0, compare=False)
    skipped: bool = False


@frozen
class ReadMessage:
    """A well-formed message, and the seconds it took to read (they count as t_m)."""

    document: etree._ElementTree
    seconds: float


@dataclass(slots=True, eq=False)
class Mapper:
    """The reader of messages, which applies the mapping rules."""

    plan: MappingPlan
    """It may be exchanged between two messages."""
    max_depth: int = DEEPEST
    counter: Callable[[], float] = no_time
    """Gives seconds for the phase times (:meth:`sensorstream.clock.Clock.counter`)."""
    max_bytes: int | None = None
    """Messages of more are refused; None: no limit."""
    seconds: float | None = None
    """How long the rules may take for a message above :attr:`.MappingPlan.largest`, which is mapped
    in a fork. None: no limit."""
    ahead: int | Spacing | None = None
    """How far the times of a message may be after its arrival, or after the times of those before
    it: windows and lateness follow the latest time that any message has said. None: however far."""
    door: Callable[[MappedMessage], MappedMessage] | None = None
    """The last check of the statements of a message, which may add notes or raise MessageError."""

    def read(self, content: bytes) -> ReadMessage:
        """Parse a message; safe to call from any thread.

        Raises:
            MalformedMessage: not well-formed XML, or XML that is refused.
            MessageTooLarge: more bytes than the limit.
        """
        start = self.counter()
        if self.max_bytes is not None and len(content) > self.max_bytes:
            raise MessageTooLarge(
                f"the message holds {len(content)} bytes, the limit is {self.max_bytes}"
            )
        document = parse_document(content, max_depth=self.max_depth)
        return ReadMessage(document, self.counter() - start)

    def map(
        self, message: Message, reading: ReadMessage | None = None, *, again: bool = False
    ) -> Arrived | UnmappedMessage:
        """Apply the mapping rules to a message; the result is for :meth:`.Engine.take`. ``reading``
        is the result of :meth:`read` for its content; without it that is done here. ``again``: it
        was mapped before within the limits, which do not count now.
        """
        start, seconds = self.counter(), 0.0
        try:
            if reading is None:
                reading = self.read(message.content)
            else:
                seconds = reading.seconds
            mapped = self._mapped(reading, message, again)
            if not again:
                self._check_times(mapped, message)
                mapped = mapped if self.door is None else self.door(mapped)
        except Exception as error:
            # A fault of the message or an internal one: the engine reports it and goes on.
            return UnmappedMessage(message, error, seconds=seconds + self.counter() - start)
        seconds += self.counter() - start
        if mapped.matched:
            return Arrived(message, mapped, seconds)
        root = str(reading.document.getroot().tag)
        return UnmappedMessage(message, None, root, mapped.hint, seconds)

    def hear(self, times: Iterable[Instant]) -> None:
        """Learn the spacing of messages' times from some that were taken in."""
        if isinstance(self.ahead, Spacing):
            self.ahead.hear(times)

    def _check_times(self, mapped: MappedMessage, message: Message) -> None:
        if self.ahead is None or not mapped.events:
            return
        latest = max(event.time for event in mapped.events)
        if isinstance(self.ahead, Spacing):
            if latest != message.received and (reason := self.ahead.refuses(latest)):
                raise MappingError(f"the message is of a time ({latest}) that is {reason}")
        elif latest > message.received + self.ahead:
            raise MappingError(
                f"the message is of a time ({latest}) that is further ahead of its arrival "
                f"({message.received}) than time.ahead allows: expected one of the present or past"
            )

    def _mapped(self, reading: ReadMessage, message: Message, again: bool) -> MappedMessage:
        plan, seconds = self.plan, self.seconds
        apart = plan.largest is not None and size_of(message.content) > plan.largest
        if seconds is None or again or not apart:
            return plan.apply(reading.document, message, again=again)
        return run_apart(
            lambda: plan.apply(reading.document, message),
            seconds,
            what="mapping the message",
            setting="limits.mapping_seconds",
        )


_MOST: Final = 65_536
"""So many valid IRIs and language tags are remembered, then all are forgotten."""


class TermCheck:
    """The last check of terms before the window: it refuses events with an invalid one.

    A term that Oxigraph refuses would make every later query of the knowledge base fail. Rules and
    mappings check their own terms; programs that build events, and functions of others, may not.
    IRIs repeat, so each is examined once, whichever engine of the process gets it first.
    """

    __slots__ = ()
    _iris: Final[set[str]] = set()
    _languages: Final[set[str]] = set()

    def check(self, events: Iterable[Event]) -> None:
        """Raise InvalidTerm if a name or literal is none of RDF, or stands where it cannot."""
        iris = self._iris
        if len(iris) > _MOST:
            iris.clear()
            self._languages.clear()
        for event in events:
            if event.stream is not None and event.stream not in iris:
                self._iri(event.stream, "the stream")
            for _, graph in event.graphs:
                if graph is not None and graph not in iris:
                    self._iri(graph, "the name of a graph")
            for triple in event.triples:
                subject, predicate, value = triple
                if type(subject) is not IRI:
                    if type(subject) is not BlankNode:
                        raise _misplaced(triple, "subject", "an IRI or a blank node")
                    self._other(subject, triple)
                elif subject not in iris:
                    self._iri(subject, triple)
                if type(predicate) is not IRI:
                    raise _misplaced(triple, "predicate", "an IRI")
                if predicate not in iris:
                    self._iri(predicate, triple)
                if type(value) is IRI:
                    if value not in iris:
                        self._iri(value, triple)
                elif not (
                    type(value) is Literal
                    and value.isascii()
                    and (
                        value.datatype in iris
                        if value.language is None
                        else value.language in self._languages
                    )
                ):
                    self._other(value, triple)

    def _iri(self, name: IRI, where: Triple | str) -> None:
        self._convert(name, where)
        self._iris.add(name)

    def _other(self, term: BlankNode | Literal | IRI, where: Triple) -> None:
        if not isinstance(term, Literal | BlankNode):
            raise _misplaced(where, "object", "an IRI, a blank node or a literal")
        self._convert(term, where)
        if isinstance(term, Literal):
            if term.language is None:
                self._iris.add(term.datatype)
            else:
                self._languages.add(term.language)

    def _convert(self, term: BlankNode | Literal | IRI, where: Triple | str) -> None:
        try:
            to_oxigraph(term)
        except TermError as error:
            raise _refused(error.message, where) from None


def _misplaced(triple: Triple, what: str, expected: str) -> InvalidTerm:
    return _refused(f"the {what} of a triple must be {expected}", triple)


def _refused(reason: str, where: Triple | str) -> InvalidTerm:
    place = where if isinstance(where, str) else " ".join(map(str, where))
    # The error is stored and sent: it must not hold half of a surrogate pair.
    text = f"{reason}, in {place}".encode("utf-8", "backslashreplace").decode()
    return InvalidTerm(text)
