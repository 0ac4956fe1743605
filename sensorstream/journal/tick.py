"""Time passed without a message, and this changed the engine."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar, Self

from sensorstream.engine.outcome import Outcome
from sensorstream.journal.entry import Entry, Target, number_stays
from sensorstream.journal.records import Record
from sensorstream.model.timeline import Instant


@dataclass(frozen=True, slots=True)
class Tick(Entry):
    """Time passes; ``content`` is the result of :meth:`.Dues.tick_content`."""

    kind: ClassVar[str] = "tick"

    content: bytes

    def encode(self) -> tuple[bytes, str]:
        return self.content, ""

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        return cls(content)

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        number_stays(target, record)
        return target.engine.tick(record.message, refused)


@dataclass(frozen=True, slots=True)
class PassTime(Entry):
    """Application time has come to ``moved`` by messages, and in silence to ``present``."""

    kind: ClassVar[str] = "time"

    moved: Instant
    present: Instant

    def encode(self) -> tuple[bytes, str]:
        return f"{self.moved} {self.present}".encode(), ""

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        moved, present = content.split()
        return cls(int(moved), int(present))

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        # Stays that begin now are numbered on from this engine's last message: the numbers of this
        # entry would be those of every engine.
        return target.engine.pass_time(record.message, self.moved, self.present, refused)
