"""The HTTP server itself: listens, says when it is ready, stops cleanly."""

from __future__ import annotations

import socket
from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType

import uvicorn
from fastapi import FastAPI

from sensorstream.errors import SettingsError

_GRACE = 10  # seconds that requests under way may still take at the end


class Listener:
    """Serves one app at one address, in the calling thread or in one of its own.

    The socket is bound by the constructor: ``port`` 0 takes a free one and ``url`` tells it.
    ``before_shutdown`` is called when the server is asked to stop, before it waits for open
    connections: streams that would never end by themselves are ended there.

    Raises:
        SettingsError: the address cannot be bound.
    """

    def __init__(
        self,
        app: FastAPI,
        host: str,
        port: int,
        *,
        before_shutdown: Callable[[], None],
    ) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise SettingsError(f"cannot listen on {host} port {port}: {error}") from None
        shown = f"[{host}]" if family == socket.AF_INET6 else host
        self.url = f"http://{shown}:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=_GRACE,
            server_header=False,
        )
        self._server = _Server(config, before_shutdown)
        self._thread: Thread | None = None

    def run(self, ready: Callable[[str], None]) -> None:
        """Serve until SIGTERM or SIGINT; ``ready`` is told the URL once requests are accepted.

        Only for the main thread, which alone gets signals.
        """
        self._server.ready = lambda: ready(self.url)
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def start(self) -> str:
        """Serve from a thread of its own; returns the URL once requests are accepted."""
        started = Event()
        self._server.ready = started.set
        self._thread = Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="http", daemon=True
        )
        self._thread.start()
        while not started.wait(0.1):
            if not self._thread.is_alive():
                raise SettingsError(f"the server did not start on {self.url}")
        return self.url

    def stop(self) -> None:
        """End what :meth:`start` began; requests under way are finished first."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        self._socket.close()

    def __enter__(self) -> Listener:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, before_shutdown: Callable[[], None]) -> None:
        super().__init__(config)
        self.ready: Callable[[], None] = lambda: None
        self._before_shutdown = before_shutdown

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._before_shutdown()
        await super().shutdown(sockets)
