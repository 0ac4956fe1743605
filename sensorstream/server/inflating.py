"""Bodies that were sent compressed (RFC 9110, section 8.4.1.3: gzip)."""

from __future__ import annotations

import zlib
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Scope

ACCEPTED: Final = {"Accept-Encoding": "gzip"}
"""The header that tells a client which codings are understood (RFC 9110, section 12.5.3)."""
_GZIP: Final = 16 + zlib.MAX_WBITS
_MEMBERS: Final = 64
"""The most members of a gzip file: the rest of a piece is copied for each."""


class Inflating:
    """Decompresses a body piece by piece, never more of it than is asked for."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._members = 1
        self._fed = False

    def feed(self, piece: bytes, most: int) -> bytes:
        """What a piece holds; of more than ``most`` bytes the first ones alone.

        Raises:
            HTTPException: it is not gzip.
        """
        found = b""
        self._fed = self._fed or bool(piece)
        try:
            while piece and len(found) < most:
                if self._member.eof:
                    self._next_member()
                found += self._member.decompress(piece, most - len(found))
                piece = self._member.unused_data
        except zlib.error as error:
            raise HTTPException(
                400, f"the body is not gzip, as Content-Encoding says: {error}"
            ) from None
        return found

    def end(self) -> None:
        """Check that the body is whole.

        Raises:
            HTTPException: it is not.
        """
        if self._fed and not self._member.eof:
            raise HTTPException(400, "the body breaks off: expected the rest of the gzip file")

    def _next_member(self) -> None:
        self._members += 1
        if self._members > _MEMBERS:
            raise HTTPException(400, f"the body has over {_MEMBERS} gzip files: expected one")
        self._member = zlib.decompressobj(_GZIP)


def coding_of(scope: Scope) -> str:
    """The content coding of a request's body; "": it is as it is.

    Raises:
        HTTPException: it is not understood.
    """
    told = ", ".join(Headers(scope=scope).getlist("content-encoding")).strip().lower()
    if told in ("", "identity"):
        return ""
    if told in ("gzip", "x-gzip"):
        return "gzip"
    raise HTTPException(415, f"Content-Encoding '{told}': expected gzip, or none", ACCEPTED)


def without_coding(scope: Scope) -> Scope:
    """The same request, with the headers of a body that was sent as it is."""
    gone = (b"content-encoding", b"content-length")
    return {**scope, "headers": [each for each in scope["headers"] if each[0].lower() not in gone]}
