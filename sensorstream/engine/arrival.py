"""Before the engine: a message becomes events, or the reason why it gives none.

The engine takes events. Where they come from XML messages, a :class:`Mapper` stands before it;
what it makes of a message is taken as one unit. It holds no state but the rules in force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from lxml import etree

from sensorstream.engine.spacing import Spacing
from sensorstream.errors import MappingError, MessageTooLarge
from sensorstream.mapping.document import parse_document
from sensorstream.mapping.plan import Mapped, MappingPlan
from sensorstream.mapping.rule_cost import size_of
from sensorstream.model.events import Event, Message
from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Instant
from sensorstream.processes.apart import run_apart

DEEPEST: Final = 64
"""How deep the elements of a message may be nested, where nothing else is said."""


@frozen
class Arrived:
    """Events that are taken in as one unit: all of them or none, with one outcome.

    ``seconds`` is what reading and mapping the message took. ``silent``: no message has come, only
    time has passed.
    """

    message: Message
    mapped: Mapped
    seconds: float = field(default=0.0, compare=False)
    silent: bool = False

    @classmethod
    def of(cls, event: Event) -> Arrived:
        """An event that comes by itself; no time of arrival is known of it."""
        message = Message(event.message, b"", 0, event.source)
        return cls(message, Mapped((), (event,), ()))


@dataclass(frozen=True, slots=True)
class Unmapped:
    """A message that gives no events.

    ``error`` is why it cannot be mapped; None: no rule matched it, ``root`` is then the name of
    its document element and ``hint`` the likely cause. ``skipped``: it was passed over before, and
    is again.
    """

    message: Message
    error: Exception | None
    root: str = ""
    hint: str = ""
    seconds: float = field(default=0.0, compare=False)
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A well-formed message, and the seconds it took to read (they count as t_m)."""

    document: etree._ElementTree
    seconds: float


def _no_time() -> float:
    return 0.0


class Mapper:
    """Reads messages and applies the mapping rules.

    ``plan`` may be exchanged between two messages. ``counter`` gives seconds for the phase times
    (:meth:`sensorstream.clock.Clock.counter`).
    """

    def __init__(
        self,
        plan: MappingPlan,
        max_depth: int = DEEPEST,
        counter: Callable[[], float] = _no_time,
        max_bytes: int | None = None,
        seconds: float | None = None,
        ahead: int | Spacing | None = None,
    ) -> None:
        """Messages of more than ``max_bytes`` are refused; None: no limit.

        ``seconds`` is how long the rules may take for a message that is so large that they could
        take long (:attr:`.MappingPlan.largest`): these are mapped in a fork. None: no limit.
        ``ahead`` is how far the times of a message may be after its arrival, or after the times of
        those before it: windows and lateness follow the latest time that any message has said.
        None: however far.
        """
        self.plan = plan
        self._max_bytes = max_bytes
        self._max_depth = max_depth
        self._counter = counter
        self._seconds = seconds
        self._ahead = ahead

    def read(self, content: bytes) -> Reading:
        """Parse a message; safe to call from any thread.

        Raises:
            MalformedMessage: not well-formed XML, or XML that is refused.
            MessageTooLarge: more bytes than the limit.
        """
        start = self._counter()
        if self._max_bytes is not None and len(content) > self._max_bytes:
            raise MessageTooLarge(
                f"the message holds {len(content)} bytes, the limit is {self._max_bytes}"
            )
        document = parse_document(content, max_depth=self._max_depth)
        return Reading(document, self._counter() - start)

    def map(
        self, message: Message, reading: Reading | None = None, *, again: bool = False
    ) -> Arrived | Unmapped:
        """What the mapping rules make of a message, for :meth:`.Engine.take`.

        ``reading`` is what :meth:`read` made of its content; without it that is done here.
        ``again``: it was mapped before, within the limits, and is now whatever it takes.
        """
        start, seconds = self._counter(), 0.0
        try:
            if reading is None:
                reading = self.read(message.content)
            else:
                seconds = reading.seconds
            mapped = self._mapped(reading, message, again)
            if not again:
                self._check_times(mapped, message)
        except Exception as error:
            # Its own fault or one of ours: the engine tells it, and goes on with the next.
            return Unmapped(message, error, seconds=seconds + self._counter() - start)
        seconds += self._counter() - start
        if mapped.matched:
            return Arrived(message, mapped, seconds)
        root = str(reading.document.getroot().tag)
        return Unmapped(message, None, root, mapped.hint, seconds)

    def hear(self, times: Iterable[Instant]) -> None:
        """Learn how far apart the times of messages are from some that were taken in."""
        if isinstance(self._ahead, Spacing):
            self._ahead.hear(times)

    def _check_times(self, mapped: Mapped, message: Message) -> None:
        if self._ahead is None or not mapped.events:
            return
        latest = max(event.time for event in mapped.events)
        if isinstance(self._ahead, Spacing):
            if latest != message.received and (reason := self._ahead.refuses(latest)):
                raise MappingError(f"the message is of a time ({latest}) that is {reason}")
        elif latest > message.received + self._ahead:
            raise MappingError(
                f"the message is of a time ({latest}) that is further ahead of its arrival "
                f"({message.received}) than time.ahead allows: expected one of the present or past"
            )

    def _mapped(self, reading: Reading, message: Message, again: bool) -> Mapped:
        plan, seconds = self.plan, self._seconds
        apart = plan.largest is not None and size_of(message.content) > plan.largest
        if seconds is None or again or not apart:
            return plan.apply(reading.document, message, again=again)
        return run_apart(
            lambda: plan.apply(reading.document, message),
            seconds,
            what="mapping the message",
            setting="limits.mapping_seconds",
        )
