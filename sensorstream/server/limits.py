"""Stops reading a request body at its limit."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final

from anyio import move_on_after
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sensorstream.server.problems import http_problem, respond

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


_CONNECTION_CLOSE: Final = {"connection": "close"}
_LINGER_SECONDS: Final = 5.0
_LINGER_BYTES: Final = 64 * 1024 * 1024


class BodyLimit:
    """ASGI middleware: answers 413 as soon as a body, or its declared length, is too large.

    ``limits`` are bytes by path; ``default`` is the limit of every other path. A body in gzip is
    decompressed, and both its lengths are limited.
    """

    def __init__(self, app: ASGIApp, default: int, limits: Mapping[str, int]) -> None:
        self._app = app
        self._default = default
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limits.get(scope["path"], self._default)
        told = f"The body may hold {limit} bytes."
        try:
            fields = dict(reversed(scope["headers"]))
            coded = b"content-encoding" in fields and coding_of(scope)
            inflating = Inflating() if coded else None
        except HTTPException as error:
            problem = http_problem(error.status_code, error.detail)
            await respond(problem, error.headers)(scope, receive, send)
            return
        announced = fields.get(b"content-length", b"0")
        over = announced.isdigit() and int(announced) > limit
        sent = read = 0

        async def limited() -> Message:
            nonlocal sent, read, over
            message = await receive()
            body = message.get("body", b"")
            sent += len(body)
            of_body = message["type"] == "http.request"
            if inflating is not None and of_body:
                body = inflating.feed(body, limit + 1 - read)
                message = {**message, "body": body}
            read += len(body)
            if max(sent, read) > limit:
                over = True
                raise HTTPException(413, told, dict(_CONNECTION_CLOSE))
            if inflating is not None and of_body and not message.get("more_body"):
                inflating.end()
            return message

        async def patient(message: Message) -> None:
            if over and message["type"] == "http.response.body" and not message.get("more_body"):
                await send({**message, "more_body": True})
                await _throw_away(receive)
                message = {"type": "http.response.body"}
            await send(message)

        if over:
            response = respond(http_problem(413, told), _CONNECTION_CLOSE)
            await response(scope, receive, patient)
        else:
            plain_scope = scope if inflating is None else without_coding(scope)
            await self._app(plain_scope, limited, patient)


async def _throw_away(receive: Receive) -> None:
    """Read on for a while before the connection closes.

    To close while the client still sends would reset the connection, and the client might lose the
    answer (RFC 9112, section 9.6).
    """
    thrown = 0
    with move_on_after(_LINGER_SECONDS):
        while thrown < _LINGER_BYTES:
            message = await receive()
            if not message.get("more_body"):
                return
            thrown += len(message["body"])
