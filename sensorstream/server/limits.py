"""Stops reading a request body at its limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from anyio import move_on_after
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sensorstream.server.inflating import Inflating, coding_of, without_coding
from sensorstream.server.problems import http_problem, respond

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
