"""No request body is read beyond its limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sensorstream.server.problems import http_problem, respond

_CONNECTION_CLOSE: Final = {"connection": "close"}  # what is left of the body is not read


class BodyLimit:
    """ASGI middleware: answers 413 as soon as a body is, or says it is, too large.

    ``limits`` are bytes by path; ``default`` holds for every other path.
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
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdigit() and int(announced) > limit:
            response = respond(http_problem(413, told), _CONNECTION_CLOSE)
            await response(scope, receive, send)
            return
        read = 0

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > limit:
                raise HTTPException(413, told, dict(_CONNECTION_CLOSE))
            return message

        await self._app(scope, limited, send)
