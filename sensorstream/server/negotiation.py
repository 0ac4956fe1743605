"""Content negotiation: the offered media type a client prefers (RFC 9110, section 12.5.1)."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sensorstream.errors import MalformedMessage
from sensorstream.mapping.xml_document import encoded

XML_TYPES: Final = ("application/xml", "text/xml")
_UTF_8: Final = "utf-8"
_PLAIN: Final = (b"utf-8", b"us-ascii")
_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DECLARED: Final = re.compile(rb"""<\?xml\s[^>]*?\sencoding\s*=\s*["']([^"'>]*)""")
# Python's other codecs are no character sets, or take quadratic time.
_ENCODING: Final = re.compile(
    r"utf-(?:8|(?:16|32)(?:-[bl]e)?)|iso8859-\d+|cp\d+|koi8-[ru]|gb2312|gbk|gb18030|big5"
    "|shift_jis|euc_(?:jp|kr)|iso2022_jp"
)


def choose(accept: str, offered: Sequence[str]) -> str | None:
    """The offered media type that the client prefers; of equal ones, the first offered. An empty
    ``accept`` accepts all. None if no offered type is acceptable.
    """
    ranges: dict[str, float] = {}
    for item in (accept or "*/*").lower().split(","):
        media_type, *parameters = (part.strip() for part in item.split(";"))
        ranges.setdefault(media_type, _quality(parameters))

    def quality(media_type: str) -> float:
        kind = media_type.partition("/")[0]
        # The most specific range counts.
        return next((ranges[e] for e in (media_type, f"{kind}/*", "*/*") if e in ranges), 0.0)

    best = max(offered, key=quality, default=None)
    return best if best is not None and quality(best) > 0 else None


def chosen(accept: str, offered: Sequence[str]) -> str:
    """Do :func:`choose`.

    Raises:
        HTTPException: 406, no offered type is acceptable.
    """
    found = choose(accept, offered)
    if found is None:
        raise not_acceptable(accept, offered)
    return found


def not_acceptable(accept: str, offered: Iterable[str]) -> HTTPException:
    """The error where no format suits the client."""
    return HTTPException(406, f"'{accept}' matches none of {', '.join(offered)}")


def accepted(request: Request) -> str:
    """The header ``Accept`` of a request; "" if it has none."""
    return ",".join(request.headers.getlist("accept"))


def _quality(parameters: Iterable[str]) -> float:
    for each in parameters:
        name, _, value = each.partition("=")
        if name.strip() == "q":
            try:
                return min(1.0, max(0.0, float(value)))
            except ValueError:
                return 0.0
    return 1.0


def tagged(response: Response, request: Request) -> Response:
    """The answer with its ETag, or 304 if the client has it (RFC 9110, section 13.1.2)."""
    tag = f'"{sha256(bytes(response.body)).hexdigest()[:32]}"'
    known = request.headers.get("if-none-match", "")
    if tag in (each.strip().removeprefix("W/") for each in known.split(",")) or known == "*":
        return Response(status_code=304, headers={"ETag": tag})
    response.headers["ETag"] = tag
    return response


def media_type_of(content_type: str) -> str:
    """A Content-Type without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def xml_of(body: bytes, content_type: str) -> bytes:
    """Decode a body that is XML, so that it can be read without its header. A ``charset`` wins over
    the encoding that the document declares, a byte order mark over both (RFC 7303, 3.2): the
    document is then in UTF-8, and declares nothing.

    Raises:
        HTTPException: not XML, or in an encoding that is not known.
        MalformedMessage: not in the encoding of the header.
    """
    if content_type in XML_TYPES:
        return body
    check_xml(content_type)
    charset = _charset(content_type)
    declared = _DECLARED.match(body)
    unlike = charset != _UTF_8 or (declared and declared[1].lower() not in _PLAIN)
    if not charset or not unlike:
        return body
    charset = next((name for mark, name in _MARKS.items() if body.startswith(mark)), charset)
    try:
        return encoded(body.decode(charset))
    except UnicodeDecodeError as error:
        raise MalformedMessage(f"not in {charset}, which Content-Type names: {error}") from None


def check_xml(content_type: str) -> None:
    """Check that a body is XML.

    Raises:
        HTTPException: it is not.
    """
    media_type = media_type_of(content_type)
    if media_type not in XML_TYPES and not media_type.endswith("+xml"):
        raise HTTPException(
            415, f"'{media_type or 'no Content-Type'}' is not XML: expected application/xml"
        )


def _charset(content_type: str) -> str:
    """The encoding that a header names, as Python names it; empty if it names none."""
    named = content_type.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
    if named in ("", "us-ascii"):  # part of UTF-8
        return named and _UTF_8
    try:
        known = codecs.lookup(named).name
    except LookupError:
        known = ""
    if not _ENCODING.fullmatch(known):
        raise HTTPException(415, f"charset {named[:60]} is not known: expected e.g. utf-8")
    return known
