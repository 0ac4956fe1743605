"""A name for every request: in its answer, and in all lines of the log that concern it."""

from __future__ import annotations

import itertools
import re
import secrets
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sensorstream.logs import concerning

HEADER: Final = "X-Request-Id"
_FIELD: Final = HEADER.lower().encode()
_VALID: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class Named:
    """ASGI middleware: the name is the client's ``X-Request-Id``, or a new one if it has none that
    is valid (up to 64 letters, digits and ``._-``).
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        # They are no secret. The system's random bits for each would cost a change of threads.
        self._start = secrets.token_hex(4)
        self._count = itertools.count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == _FIELD), b"")
        name = given if _VALID.fullmatch(given) else self._new_name()

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                fields = [*message.get("headers", ()), (_FIELD, name)]
                message = {**message, "headers": fields}
            await send(message)

        with concerning(request_id=name.decode()):
            await self._app(scope, receive, named)

    def _new_name(self) -> bytes:
        return f"{self._start}{next(self._count) & 0xFFFFFFFF:08x}".encode()
