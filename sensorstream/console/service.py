"""The process that serves the pages."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

import uvicorn
from fastapi import FastAPI
from nicegui import app as pages
from nicegui import ui
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sensorstream.console import overview
from sensorstream.console.frame import frame
from sensorstream.console.places import BASE, ICON
from sensorstream.console.sign_in import PATH, routes
from sensorstream.console.visits import Upstream, key_of
from sensorstream.console.watches import Watches

_RECONNECT: Final = 10.0
"""Seconds for which a page without connection keeps its state."""


def serve(upstream: Upstream, listener: socket.socket, on_ready: Callable[[], object]) -> None:
    """Serve the pages of a server on a socket, until the process is told to end."""
    api = FastAPI(openapi_url=None, routes=routes(upstream))
    # The server passes on requests of HTTP, not web sockets.
    pages.config.socket_io_js_transports = ["polling"]
    _add_pages(upstream)
    ui.run_with(
        api,
        title="SensorStream",
        favicon=ICON,
        mount_path=BASE,
        dark=None,
        reconnect_timeout=_RECONNECT,
        binding_refresh_interval=None,
        message_history_length=0,
        tailwind=False,
        unocss=None,
        show_welcome_message=False,
    )
    config = uvicorn.Config(api, log_level="warning", lifespan="on", ws="none")
    _Server(config, on_ready).run([listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        self._on_ready()


def _add_pages(upstream: Upstream) -> None:
    watches = Watches(upstream)

    @ui.page("/")
    async def show_overview(request: Request) -> Response | None:
        key = key_of(request)
        if not await upstream.admits(key):
            return RedirectResponse(f"{BASE}{PATH}")
        watch = watches.enter(key)
        ui.context.client.on_delete(lambda: watches.leave(key))
        with frame("/", "Overview", watch, signed_in=bool(key)):
            overview.build(watch)
        return None
