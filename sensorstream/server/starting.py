"""What a server answers while it starts, before there is an application."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from sensorstream.server.problems import http_problem, respond

_RETRY_AFTER: Final = {"Retry-After": "5"}


class Starting:
    """ASGI application: ``/healthz`` says that it lives, ``/readyz`` what the start does, and all
    else to come again.
    """

    def __init__(self, ailment: Callable[[], str], doing: Callable[[], str]) -> None:
        self._ailment = ailment
        self._doing = doing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        doing = self._doing()
        if scope["path"] == "/healthz":
            if ailment := self._ailment():
                answer = respond(http_problem(503, ailment))
            else:
                answer = JSONResponse({"status": "alive", "held": 0})
        else:
            told = http_problem(503, f"the server starts: {doing}")
            more = None
            if scope["path"] == "/readyz":
                more = {"parts": {"start": {"ready": False, "detail": doing, "age": 0.0}}}
            answer = respond(told, _RETRY_AFTER, more=more or {})
        await answer(scope, receive, send)
