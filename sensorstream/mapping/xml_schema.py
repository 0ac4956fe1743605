"""Validation of documents by XML Schema, for all sources or for one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote, unquote, urlsplit

from lxml import etree

from sensorstream.errors import InvalidMessage
from sensorstream.mapping.document_worker import DocumentWorker, serve
from sensorstream.mapping.xml_document import Document, parse_document
from sensorstream.model.events import Message
from sensorstream.model.frozen import field, frozen

_SHOWN: Final = 50
"""The most violations that an error lists; a document can have one at each element."""
_MAX_DEPTH: Final = 256
"""What libxml2 allows; the owner has looked at the depth."""


@frozen
class SchemaFiles:
    """The file of an XML Schema and those that it refers to, by their absolute paths."""

    root: str
    texts: Mapping[str, bytes]


class _Resolver(etree.Resolver):
    """A resolver of a schema's references to given texts: libxml2 reads and downloads nothing."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = texts

    def resolve(self, system_url: str, public_id: str, context: Any = None) -> Any:
        path = str(Path(unquote(urlsplit(system_url).path)).resolve())
        # Any other file is taken as empty, which is no schema.
        text = self._texts.get(path, b"")
        return self.resolve_string(text, context, base_url=quote(path))


def compile_schema(files: SchemaFiles) -> etree.XMLSchema:
    """The schema of these files.

    Raises:
        XMLSchemaParseError: they are not an XML Schema 1.0.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    parser.resolvers.add(_Resolver(files.texts))
    root = etree.fromstring(files.texts[files.root], parser, base_url=quote(files.root))
    return etree.XMLSchema(root)


def violations(schema: etree.XMLSchema, document: Document) -> list[str]:
    """The violations of a schema in a document, each with its line; at most some fifty."""
    try:
        if schema.validate(document):
            return []
    except etree.XMLSchemaValidateError:
        return ["a value or a list of elements can be matched in too many ways"]
    log: Iterable[Any] = cast(Any, schema.error_log)
    found = [f"line {each.line}: {each.message}" for each in log]
    more = len(found) - _SHOWN
    return [*found[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]


class MessageSchema:
    """A schema for messages. Thread-safe.

    libxml2 takes a time that grows with the square of a message's violations, and more for some
    patterns: so messages are validated in a process of their own, which may take ``seconds``; None:
    in this process, without a limit.
    """

    def __init__(self, files: SchemaFiles, seconds: float | None = None) -> None:
        """Raises XMLSchemaParseError: the files are not an XML Schema 1.0."""
        self._schema = compile_schema(files)
        self._owner = os.getpid()
        texts = {files.root: files.texts[files.root], **files.texts}
        given = chain.from_iterable((path.encode(), text) for path, text in texts.items())
        self._worker = (
            None
            if seconds is None
            else DocumentWorker(
                __name__,
                tuple(given),
                f"the validation by {Path(files.root).name}",
                seconds,
                "limits.mapping_seconds",
            )
        )

    def violations(self, document: Document, message: Message, *, again: bool) -> list[str]:
        """See :func:`violations`; ``again`` as :meth:`.DocumentWorker.ask`.

        Raises:
            Overrun: it takes too long, or too much memory.
        """
        # A fork of this process, in which a large message is mapped, has limits of its own.
        if self._worker is None or self._owner != os.getpid():
            return violations(self._schema, document)
        found: list[str] = json.loads(self._worker.ask(message.content, message.id, again=again))
        return found


@frozen
class MessageSchemas:
    """A schema for the messages of all sources, and others for the sources that have their own."""

    common: MessageSchema | None = None
    by_source: Mapping[str, MessageSchema] = field(default_factory=dict)

    def check(self, document: Document, message: Message, *, again: bool = False) -> None:
        """Validate a message by the schema of its source, else by the common one. ``again``: it was
        validated before, within the limit of time, and has none now.

        Raises:
            InvalidMessage: it does not conform; every violation with its line.
            Overrun: it takes too long.
        """
        schema = self.by_source.get(message.source, self.common)
        if schema is None:
            return
        found = schema.violations(document, message, again=again)
        if found:
            raise InvalidMessage(f"the message is not valid against its schema: {'; '.join(found)}")


def main(owner: Connection) -> None:
    """The process of a :class:`MessageSchema`."""
    serve(owner, _prepare)


def _prepare(given: list[bytes]) -> Callable[[bytes], bytes]:
    """The violations of documents; ``given`` are paths and texts in turn, the schema's first."""
    paths, texts = given[::2], given[1::2]
    files = {path.decode(): text for path, text in zip(paths, texts, strict=True)}
    schema = compile_schema(SchemaFiles(next(iter(files)), files))

    def answer(content: bytes) -> bytes:
        document = parse_document(content, max_depth=_MAX_DEPTH)
        return json.dumps(violations(schema, document)).encode()

    return answer
