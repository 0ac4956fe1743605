"""The messages of a batch: a JSON array, one JSON string a line, or XML in an element `Messages`. A
batch that cannot be read is refused as a whole, before a message of it is taken in.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from typing import Final
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from starlette.exceptions import HTTPException

from sensorstream.mapping.xml_document import encoded
from sensorstream.server.negotiation import XML_TYPES, media_type_of, xml_of

JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"
ROOT: Final = "Messages"
"""The local name of the element around XML messages; its namespace may be any, or none."""
_MAX_BATCH: Final = 10_000
_DEEPEST: Final = 1000
"""Levels of elements, each of which takes memory: far more than a message may have."""
_DECLARED: Final = 4096
"""Signs of namespace declarations of the root, which are repeated in every message."""
_UTF_8: Final = ("utf-8", "us-ascii")


def read_batch(body: bytes, content_type: str) -> list[bytes]:
    """The messages of a batch, in order.

    Raises:
        HTTPException: the body is no batch, or holds too many messages.
        MalformedMessage: not in the encoding of the header.
    """
    media_type = media_type_of(content_type)
    if media_type in (JSON, LINES):
        return _of_json(body, media_type)
    if media_type in XML_TYPES or media_type.endswith("+xml"):
        return _Envelope(xml_of(body, content_type)).messages()
    expected = ", ".join((JSON, LINES, XML_TYPES[0]))
    raise HTTPException(415, f"expected one of {expected}, not '{media_type}'")


def _of_json(body: bytes, media_type: str) -> list[bytes]:
    try:
        if media_type == LINES:
            texts = [json.loads(line) for line in body.splitlines() if line.strip()]
        else:
            texts = json.loads(body)
    except ValueError as error:
        raise HTTPException(400, f"the body is not {media_type}: {error}") from None
    except RecursionError:
        raise HTTPException(400, "expected an array of strings, and no arrays in it") from None
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise HTTPException(400, "expected an array of strings, each an XML document")
    if len(texts) > _MAX_BATCH:
        raise _too_many(str(len(texts)))
    return [encoded(each) for each in texts]


class _Envelope:
    """A reader that cuts the children out of a document, byte by byte as they are. A child is a
    document of its own then: it gets the declarations of namespaces that were in force where it
    stood. Only the text of the document is held, however many elements it has.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._found: list[bytes] = []
        self._depth = 0
        self._declared: dict[str, str] = {}
        self._start = -1  # of the child whose end is not known yet
        self._head = b""
        parser = expat.ParserCreate("utf-8")
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        self._parser = parser

    def messages(self) -> list[bytes]:
        """The children.

        Raises:
            HTTPException: the body is not such a document, or has too many children.
        """
        # expat would read UTF-16 all the same.
        if self._body[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) or b"\0" in self._body[:4]:
            raise self._refusal("the encoding is UTF-16 or UTF-32, expected UTF-8")
        try:
            self._parser.Parse(self._body, True)
        except expat.ExpatError as error:
            raise HTTPException(400, f"the body is not well-formed XML: {error}") from None
        return self._found

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._cut()
        self._depth += 1
        if self._depth == 1:
            if name.rpartition(":")[2] != ROOT:
                raise self._refusal(f"the root is {name}, expected {ROOT} around the messages")
            self._declared = {
                each: value
                for each, value in attributes.items()
                if each == "xmlns" or each.startswith("xmlns:")
            }
            if sum(len(each) + len(value) for each, value in self._declared.items()) > _DECLARED:
                raise self._refusal(f"the root declares namespaces in over {_DECLARED} signs")
        elif self._depth == 2:
            if len(self._found) == _MAX_BATCH:
                raise _too_many("more")
            self._start = self._parser.CurrentByteIndex
            declared = "".join(
                f" {each}={quoteattr(value)}"
                for each, value in self._declared.items()
                if each not in attributes
            )
            self._head = f"<{name}{declared}".encode()
            self._start += 1 + len(name.encode())
        elif self._depth > _DEEPEST:
            raise self._refusal(f"elements are nested over {_DEEPEST} deep")

    def _end(self, _name: str) -> None:
        self._cut()
        self._depth -= 1
        if self._depth == 1:
            # Its end is known when anything else begins.
            self._parser.DefaultHandler = self._other

    def _other(self, _text: str) -> None:
        self._cut()
        self._parser.DefaultHandler = None

    def _cut(self) -> None:
        if self._depth == 1 and self._start >= 0:
            self._found.append(self._head + self._body[self._start : self._parser.CurrentByteIndex])
            self._start = -1

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _UTF_8:
            raise self._refusal(f"the encoding is {encoding}, expected UTF-8")

    def _doctype(self, *_: object) -> None:
        raise self._refusal("a batch may not have a DOCTYPE, which could define entities")

    def _refusal(self, told: str) -> HTTPException:
        return HTTPException(400, f"{told} (line {self._parser.CurrentLineNumber})")


def _too_many(count: str) -> HTTPException:
    return HTTPException(413, f"a batch may hold {_MAX_BATCH} messages, this one {count}")
