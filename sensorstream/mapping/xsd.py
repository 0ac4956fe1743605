"""Validation of documents by XML Schema, for all sources or for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from lxml import etree

from sensorstream.errors import InvalidMessage
from sensorstream.mapping.document import Document

_SHOWN: Final = 50
"""The most violations that an error lists; a document can have one at each element."""


@dataclass(frozen=True, slots=True)
class MessageSchemas:
    """A schema for the messages of all sources, and others for the sources that have their own."""

    common: etree.XMLSchema | None = None
    by_source: Mapping[str, etree.XMLSchema] = field(default_factory=dict)

    def check(self, document: Document, source: str) -> None:
        """Validate a document by the schema of its source, else by the common one.

        Raises:
            InvalidMessage: it does not conform; every violation with its line.
        """
        schema = self.by_source.get(source, self.common)
        if schema is None or schema.validate(document):
            return
        log: Iterable[Any] = cast(Any, schema.error_log)
        violations = [f"line {each.line}: {each.message}" for each in log]
        more = len(violations) - _SHOWN
        told = [*violations[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]
        raise InvalidMessage(f"the message is not valid against its schema: {'; '.join(told)}")
