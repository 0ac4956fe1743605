"""Entries from outside: a message as it arrived, independent of its outcome; time; an answer; a
question.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from hashlib import sha256
from typing import Any, ClassVar, Final, Self, TypeVar

from sensorstream.engine.codec import decode
from sensorstream.engine.message_reading import Arrived, ReadMessage, UnmappedMessage
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import MessageError
from sensorstream.journal.entry import Entry, Target, json_content, number_stays
from sensorstream.journal.key_routing import ASK
from sensorstream.journal.records import PASSED, Record, TopicSlice, slices_of
from sensorstream.mapping.mapping_plan import MappedMessage
from sensorstream.model.events import Event, Status
from sensorstream.model.frozen import field, frozen, replace
from sensorstream.model.terms import BlankNode, Term, term
from sensorstream.model.timeline import Instant
from sensorstream.rules.rule_memory import Answer, SolutionKey

_T = TypeVar("_T", bound=Term)
_KEY: Final = "key:"
_REPLAY: Final = "replay:"


def origin_of_key(sender: str, key: str) -> str:
    """The origin of a message that its sender gave an idempotency key; senders share no keys."""
    return _KEY + sha256(f"{sender}\0{key}".encode(errors="replace")).hexdigest()


def origin_of_replay(name: str) -> str:
    """The origin of a message that is taken in anew, instead of the quarantined one of the name."""
    return _REPLAY + name


def replay_of(origin: str) -> str:
    """The name of the message that a message of this origin replays; "": it is no replay."""
    return origin.removeprefix(_REPLAY) if origin.startswith(_REPLAY) else ""


def is_of_key(origin: str) -> bool:
    """Whether an origin is one of :func:`origin_of_key`, which are remembered for a time only."""
    return origin.startswith(_KEY)


@frozen
class TakeMessage(Entry):
    """The processing of a message; ``reading`` is its document if that has been read already.

    ``origin`` names the message among all that inputs have delivered, so that a second delivery of
    the same message is recognised. By HTTP it has one if it came with an idempotency key, see
    :func:`origin_of_key`; empty: it has none.
    """

    kind: ClassVar[str] = "message"

    content: bytes
    source: str = ""
    reading: ReadMessage | None = field(default=None, compare=False, repr=False)
    origin: str = field(default="", compare=False)

    def encode(self) -> tuple[bytes, str]:
        return self.content, self.source

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        return cls(content, source)

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        if record.status is Status.SKIPPED:
            return target.engine.take(UnmappedMessage(record.message, None, skipped=True), refused)
        number_stays(target, record)
        # The limits may be narrower now than when the message arrived: it may be malformed now.
        # Its time is not compared with the clock again: a replay comes to the same state.
        arrived = target.mapper.map(record.message, self.reading, again=record.status is not None)
        outcome = target.engine.take(arrived, refused)
        if isinstance(arrived, Arrived) and outcome.status is not Status.REJECTED:
            target.mapper.hear({event.time for event in arrived.mapped.events})
        return outcome


@frozen
class TakeEvent(TakeMessage):
    """The processing of an event that engines of another stage have made. ``content`` is the event,
    ``source`` the key of the engine that takes it, ``origin`` the number under which it waited.
    """

    kind: ClassVar[str] = "event"

    @classmethod
    def of(cls, number: int, key: str, content: bytes) -> Self:
        """The entry of an event that waited."""
        return cls(content, key, origin=f"{PASSED}{number}")

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        number_stays(target, record)
        name = record.message.id
        try:
            told = decode(json.loads(self.content), Event)
        except ValueError as error:
            # A term that no RDF has.
            fault = MessageError(f"the event cannot be read: {error}")
            return target.engine.take(UnmappedMessage(record.message, fault), refused)
        # Engines give blank nodes names of their own, which must not meet.
        triples = tuple((_own(s, name), p, _own(o, name)) for s, p, o in told.triples)
        event = replace(told, triples=triples, message=name)
        message = replace(record.message, content=b"", source=event.source)
        mapped = MappedMessage((), (event,), tuple(dict.fromkeys(t[0] for t in triples)))
        return target.engine.take(Arrived(message, mapped), refused)


def _own(term: _T, entry: str) -> _T:
    """A term; a blank node gets a name of this entry."""
    return type(term)(f"_:{entry}-{term[2:]}") if isinstance(term, BlankNode) else term


@frozen
class TakeTopic(Entry):
    """The processing of messages that stay in their topics: a pipeline on Spark reads them there.

    In the order of the slices they have the numbers before the entry's own. A record that is gone
    leaves a number without a message. Every entry of an ``input`` names all its partitions, so the
    last one says where the next begins.
    """

    kind: ClassVar[str] = "topic"

    input: str
    slices: tuple[TopicSlice, ...]

    @property
    def numbers(self) -> int:
        return 1 + sum(each.end - each.first for each in self.slices)

    def encode(self) -> tuple[bytes, str]:
        told = [(each.topic, each.partition, each.first, each.end) for each in self.slices]
        return json.dumps(told).encode(), self.input

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        return cls(source, slices_of(content))


@frozen
class Tick(Entry):
    """Time that passes; ``content`` is the result of :meth:`.Dues.tick_content`."""

    kind: ClassVar[str] = "tick"
    columns: ClassVar[tuple[str, str]] = ("content", "")

    content: bytes

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        number_stays(target, record)
        return target.engine.tick(record.message, refused)


@frozen
class PassTime(Entry):
    """Application time that has come to ``moved`` by messages, and in silence to ``present``, for
    the engines of a stage; "": for the first ones.
    """

    kind: ClassVar[str] = "time"

    moved: Instant
    present: Instant
    stage: str = ""

    def encode(self) -> tuple[bytes, str]:
        return f"{self.moved} {self.present} {self.stage}".rstrip().encode(), ""

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        moved, present, *stage = content.decode().split()
        return cls(int(moved), int(present), *stage)

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        # Stays that begin now are numbered on from this engine's last message: the numbers of this
        # entry would be those of every engine.
        return target.engine.pass_time(record.message, self.moved, self.present, refused)


@frozen
class AnswerRule(Entry):
    """An answer of the history to a rule; a replay takes it from here and does not ask again."""

    kind: ClassVar[str] = "answer"

    answer: Answer

    def encode(self) -> tuple[bytes, str]:
        asked = self.answer
        told: dict[str, object] = {"digest": asked.digest, "moment": _texts(asked.moment)}
        if self.answer.failure:
            told["failure"] = self.answer.failure
        else:
            told["solutions"] = [_texts(each) for each in self.answer.solutions]
        return json_content(told), self.answer.rule

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        told = json.loads(content)
        solutions = tuple(_terms(each.items()) for each in told.get("solutions", ()))
        failure = told.get("failure", "")
        moment = _terms(told["moment"].items())
        return cls(Answer(source, told["digest"], moment, solutions, failure))

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        number_stays(target, record)
        return target.engine.answer(record.message, self.answer)


@frozen
class AskEngines(Entry):
    """A question to the engine of a key on Spark, or to all that hold something (""). It changes
    nothing, also where there is one engine.
    """

    kind: ClassVar[str] = ASK

    question: str
    """A name in :data:`.QUESTIONS`."""
    arguments: Mapping[str, Any]
    key: str = ""

    def encode(self) -> tuple[bytes, str]:
        return json_content({"question": self.question, "arguments": self.arguments}), self.key

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        return cls(**json.loads(content), key=source)


def _texts(solution: SolutionKey) -> dict[str, str]:
    return {name: value.n3 for name, value in solution}


def _terms(texts: Iterable[tuple[str, str]]) -> SolutionKey:
    return tuple((name, term(text)) for name, text in texts)
