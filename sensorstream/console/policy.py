"""What a browser may do with an answer: run no script but the pages' own; and one that is late."""

from __future__ import annotations

import secrets
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY: Final = "Content-Security-Policy"
_ALL: Final = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
_PLAIN: Final = _ALL + "img-src data:; style-src 'unsafe-inline'"
# Vue makes functions of the templates, and styles for what it places.
_PAGE: Final = (
    _ALL + "img-src 'self' data:; style-src 'self' 'unsafe-inline'; font-src 'self'; "
    "connect-src 'self'; script-src 'self' 'unsafe-eval' 'nonce-{nonce}'"
)


class Policy:
    """ASGI middleware: gives each answer a Content-Security-Policy, if it has none of its own.

    The scripts in a page have a number that nobody can know before (CSP Level 3, section 7.1): what
    came into it otherwise does not run.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(16)
        begun: Message | None = None

        async def told(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Content-Type-Options"] = "nosniff"
                if headers.get("X-NiceGUI-Content") == "page" and _POLICY not in headers:
                    headers[_POLICY] = _PAGE.format(nonce=nonce)
                    begun = message
                    return
                headers.setdefault(_POLICY, _PLAIN)
            elif begun is not None:
                # A page comes in one piece. In what it has of data, "<" is written "&lt;".
                body = message["body"].replace(b"<script", f'<script nonce="{nonce}"'.encode())
                MutableHeaders(scope=begun)["Content-Length"] = str(len(body))
                await send(begun)
                begun, message = None, {**message, "body": body}
            await send(message)

        await self._app(scope, receive, told)


class Late:
    """ASGI middleware: what a browser sends for a session that has ended is refused.

    Engine.IO (4.15) does so itself, but raises these errors if the session ended just before, as
    that of a slow browser does: each would be a traceback in the log.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # NiceGUI alters the path.
        is_of_session = scope["type"] == "http" and "/_nicegui_ws/" in scope["path"]
        try:
            await self._app(scope, receive, send)
        except (KeyError, UnboundLocalError):
            if not is_of_session:
                raise
            await PlainTextResponse("the session has ended\n", 400)(scope, receive, send)
