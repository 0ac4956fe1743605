"""A message as it came, whatever becomes of it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import ClassVar, Self

from sensorstream.engine.engine import Reading
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import MalformedMessage
from sensorstream.journal.entry import Entry, Target
from sensorstream.journal.records import Record


@dataclass(frozen=True, slots=True)
class TakeMessage(Entry):
    """A message is taken in; ``reading`` is its document where that has been read already."""

    kind: ClassVar[str] = "message"

    content: bytes
    source: str = ""
    reading: Reading | None = field(default=None, compare=False, repr=False)

    def encode(self) -> tuple[bytes, str]:
        return self.content, self.source

    @classmethod
    def decode(cls, content: bytes, source: str) -> Self:
        return cls(content, source)

    def apply(self, target: Target, record: Record, refused: Container[str]) -> Outcome:
        engine, reading = target.engine, self.reading
        if reading is None:
            try:
                reading = engine.read(self.content)
            except MalformedMessage as error:
                # It was well-formed enough when it came: the limits have been narrowed since.
                return engine.reject(record.message, error)
        return engine.process(record.message, reading, refused)
