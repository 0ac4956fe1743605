"""Time passed without a message, and this changed the engine."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar, Self

from sensorstream.engine.outcome import Outcome
from sensorstream.journal.entry import Entry, Target, number_stays
from sensorstream.journal.records import Record


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
