"""The web page: a process of its own, to which the server hands the requests for it.

So the cost and memory of pages are no part of the engine's process, and a fault of theirs ends only
them. Server and process talk over two sockets in a folder that only this user may enter: by one the
server asks for pages, by the other the pages ask the server, as any client does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from functools import cache, partial
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from sensorstream.errors import MissingExtra
from sensorstream.installation import require
from sensorstream.processes.child_process import Child
from sensorstream.processes.own_folders import own_folder
from sensorstream.server.problems import http_problem, refusal, respond

PATH: Final = "/console"
_LOG: Final = logging.getLogger(__name__)
_MODULE: Final = "sensorstream.console.page_process"
_START_SECONDS: Final = 30.0
_LOOK: Final = 0.1
_AGAIN: Final = 10.0
"""Seconds between two starts."""
_ANSWER_SECONDS: Final = 60.0
"""Longer than a page waits for news with one request."""
_MOST: Final = 200
"""Requests to the process at a time."""
_PATIENCE: Final = 1.0
"""Seconds that a request waits for a place, and that a part of an answer may be unread then."""
_OF_THE_HOP: Final = frozenset(
    {b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"date"}
)
"""Fields about one connection (RFC 9110, section 7.6.1), and one that the server itself adds."""
_KEPT_BACK: Final = _OF_THE_HOP | {b"content-length", b"x-forwarded-for", b"x-forwarded-proto"}


class ConsoleProcess:
    """The process of the pages: it runs from the first request on."""

    def __init__(self, tiles: str = "", credit: str = "") -> None:
        """``tiles``: the address of pictures of the ground, with their ``credit``; "": none."""
        self._ground = tiles, credit
        self._stack = contextlib.ExitStack()
        folder = self._stack.enter_context(own_folder("sensorstream-console-"))
        self.pages = folder / "pages"
        """The socket that the process listens on."""
        self.interface = folder / "interface"
        """The socket that the server listens on for the process."""
        self._process: Child | None = None
        self._started = -_AGAIN
        self._closed = False

    def close(self) -> None:
        """End the process, and remove the sockets; a second call does nothing."""
        self._closed = True
        if self._process is not None:
            self._process.close()
            self._process = None
        self._stack.close()

    async def listening(self) -> bool:
        """Whether it listens; starts it if it does not run, and waits for it."""
        process = self._process
        if process is None or not process.alive:
            if self._closed or time.monotonic() - self._started < _AGAIN:
                return False
            process = self._start()
        until = self._started + _START_SECONDS
        while not self.pages.exists():
            if not process.alive or time.monotonic() > until:
                return False
            await asyncio.sleep(_LOOK)
        return True

    def _start(self) -> Child:
        if self._process is not None:
            _LOG.warning("the process of the pages ended with %s", self._process.code())
            self._process.close()
        self.pages.unlink(missing_ok=True)
        self._started = time.monotonic()
        self._process = Child(_MODULE, str(self.pages), str(self.interface), *self._ground)
        return self._process


def console(process: ConsoleProcess) -> ASGIApp:
    """The ASGI application that hands requests on to the process; made at the first of them."""
    made = cache(partial(_console, process))
    return lambda scope, receive, send: made()(scope, receive, send)


def _console(process: ConsoleProcess) -> ASGIApp:
    import httpx

    # Not a client: that would keep the cookie of one browser and send it for another one. Each
    # request has a connection of its own: the process ends those that were idle for some seconds,
    # and a request that is sent just then would be lost.
    limits = httpx.Limits(max_connections=_MOST, max_keepalive_connections=0)
    transport = httpx.AsyncHTTPTransport(uds=str(process.pages), verify=False, limits=limits)
    timeout = httpx.Timeout(_ANSWER_SECONDS, pool=_PATIENCE).as_dict()
    unread: dict[httpx.Response, float] = {}  # since when a part of an answer is

    async def asked(request: httpx.Request) -> httpx.Response:
        try:
            return await transport.handle_async_request(request)
        except httpx.PoolTimeout:
            since = time.monotonic() - _PATIENCE
            late = [answer for answer, begun in unread.items() if begun <= since]
            if not late:
                raise
            for answer in late:
                del unread[answer]
                await answer.aclose()
            return await transport.handle_async_request(request)

    async def hand_back(answer: httpx.Response, send: Send) -> None:
        headers = [each for each in answer.headers.raw if each[0].lower() not in _OF_THE_HOP]
        start = {"type": "http.response.start", "status": answer.status_code}
        await send({**start, "headers": headers})
        assert isinstance(answer.stream, httpx.AsyncByteStream)
        async for part in answer.stream:
            unread[answer] = time.monotonic()
            await send({"type": "http.response.body", "body": part, "more_body": True})
            if unread.pop(answer, None) is None:
                _LOG.info("an answer of the pages was not read: another request has its place")
                return
        await send({"type": "http.response.body", "body": b""})

    async def hand_on(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            require("console", "the web page")
        except MissingExtra as error:
            await refusal(error)(scope, receive, send)
            return
        if not await process.listening():
            told = "the process of the pages starts, or has failed: the server's log may say why"
            await respond(http_problem(503, told), {"Retry-After": "5"})(scope, receive, send)
            return
        query = scope["query_string"]
        raw = scope["raw_path"] + (b"?" + query if query else b"")
        request = httpx.Request(
            scope["method"],
            httpx.URL("http://localhost").copy_with(raw_path=raw),
            headers=[
                *(each for each in scope["headers"] if each[0] not in _KEPT_BACK),
                (b"x-forwarded-proto", scope["scheme"].encode()),
            ],
            content=await Request(scope, receive).body(),
            extensions={"timeout": timeout},
        )
        try:
            answer = await asked(request)
        except httpx.HTTPError as error:
            _LOG.warning("the process of the pages does not answer: %s", error)
            told = "the process of the pages does not answer"
            await respond(http_problem(503, told), {"Retry-After": "1"})(scope, receive, send)
            return
        try:
            await hand_back(answer, send)
        finally:
            unread.pop(answer, None)
            await answer.aclose()

    return hand_on
