"""HEAD for every GET: the same answer without its body (RFC 9110, section 9.3.2)."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Heads:
    """ASGI middleware: asks as GET, and ends the answer after its header.

    An answer that has no end, such as an event stream, is told that its client has left.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        answered = False

        async def only_head(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b""})
                answered = True

        async def leaving() -> Message:
            return {"type": "http.disconnect"} if answered else await receive()

        await self._app({**scope, "method": "GET"}, leaving, only_head)
