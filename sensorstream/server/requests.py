"""What every request gets: a name, in its answer and in all lines of the log that concern it.

And what every answer says to browsers: that it is what its media type says, that nothing in it
runs, and that no page shows it in a frame.
"""

from __future__ import annotations

import itertools
import re
import secrets
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sensorstream.logs import concerning

HEADER: Final = "X-Request-Id"
_FIELD: Final = HEADER.lower().encode()
_TO_BROWSERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
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
                own = message.get("headers", ())
                said = {each[0].lower() for each in own}
                more = [each for each in _TO_BROWSERS if each[0] not in said]
                message = {**message, "headers": [*own, (_FIELD, name), *more]}
            await send(message)

        with concerning(request_id=name.decode()):
            await self._app(scope, receive, named)

    def _new_name(self) -> bytes:
        return f"{self._start}{next(self._count) & 0xFFFFFFFF:08x}".encode()
