"""Content negotiation: which of the offered media types the client prefers.

Source: RFC 9110, section 12.5.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

XML_TYPES: Final = ("application/xml", "text/xml")


@dataclass(frozen=True, slots=True)
class _Range:
    kind: str
    subkind: str
    quality: float

    def specificity(self, kind: str, subkind: str) -> int:
        """How specifically this range matches a media type; 0 if it does not match."""
        if self.kind == kind:
            return 3 if self.subkind == subkind else 2 if self.subkind == "*" else 0
        return 1 if self.kind == self.subkind == "*" else 0


def choose(accept: str, offered: Sequence[str]) -> str | None:
    """The offered media type that the client prefers; of equal ones, the first offered. An empty
    ``accept`` accepts all. None if no offered type is acceptable.
    """
    ranges = _parse(accept or "*/*")
    best: tuple[float, str | None] = (0.0, None)
    for media_type in offered:
        quality = _quality(media_type, ranges)
        if quality > best[0]:
            best = (quality, media_type)
    return best[1]


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


def _quality(media_type: str, ranges: Sequence[_Range]) -> float:
    kind, _, subkind = media_type.partition("/")
    specificity, quality = 0, 0.0
    for each in ranges:
        exactness = each.specificity(kind, subkind)
        if exactness > specificity:
            specificity, quality = exactness, each.quality
    return quality


def _parse(accept: str) -> list[_Range]:
    ranges = []
    for item in accept.lower().split(","):
        media_type, *parameters = (part.strip() for part in item.split(";"))
        kind, slash, subkind = media_type.partition("/")
        if not slash:
            continue
        quality = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                try:
                    quality = min(max(float(value), 0.0), 1.0)
                except ValueError:
                    quality = 0.0
        ranges.append(_Range(kind, subkind, quality))
    return ranges


def check_xml(content_type: str) -> None:
    """Check that a body is XML, in an encoding that its header does not hide.

    Raises:
        HTTPException: it is not.
    """
    if content_type in XML_TYPES:
        return
    media_type = media_type_of(content_type)
    if media_type not in XML_TYPES and not media_type.endswith("+xml"):
        raise HTTPException(
            415, f"'{media_type or 'no Content-Type'}' is not XML: expected application/xml"
        )
    charset = content_type.lower().partition("charset=")[2].partition(";")[0].strip(' "')
    if charset not in ("", "utf-8", "us-ascii"):
        raise HTTPException(
            415, f"charset {charset}: send UTF-8, or name the encoding in the XML declaration only"
        )
