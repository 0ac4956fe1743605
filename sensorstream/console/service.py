"""The process that serves the pages."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final

import uvicorn
from engineio.payload import Payload
from fastapi import FastAPI
from nicegui import Client, ui
from nicegui import app as pages
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sensorstream.console import (
    alert,
    alerts,
    ask,
    bench,
    individual,
    individuals,
    message,
    messages,
    ontology,
    overview,
    quarantine,
    queries,
    query,
    receivers,
    rule_file,
    rules,
    settings,
    sign_in,
    twins,
)
from sensorstream.console.frame import frame
from sensorstream.console.links import go
from sensorstream.console.missing import no_such_page
from sensorstream.console.names import local_name
from sensorstream.console.notices import Notice
from sensorstream.console.pages import Page, Visit, page_of
from sensorstream.console.places import (
    ALERTS,
    ASK,
    BASE,
    BENCH,
    ICON,
    INDIVIDUALS,
    MESSAGES,
    ONTOLOGY,
    OVERVIEW,
    QUARANTINE,
    QUERIES,
    RULES,
    SETTINGS,
)
from sensorstream.console.policy import Late, Policy
from sensorstream.console.refreshing import while_visible
from sensorstream.console.sign_in import way_in
from sensorstream.console.visits import Upstream, key_of
from sensorstream.console.watches import Watches
from sensorstream.errors import InternalFault

PAGES: Final = (
    page_of(OVERVIEW, overview.build),
    page_of(MESSAGES, messages.build),
    Page("/messages/{message_id}", MESSAGES, lambda asked: asked["message_id"], message.build),
    page_of(INDIVIDUALS, individuals.build),
    Page(
        "/individual", INDIVIDUALS, lambda asked: local_name(asked.get("iri", "")), individual.build
    ),
    page_of(QUERIES, queries.build),
    Page("/query", QUERIES, lambda asked: local_name(asked.get("name", "")), query.build),
    page_of(ASK, ask.build),
    page_of(ALERTS, alerts.build),
    Page("/alerts/{alert_id}", ALERTS, lambda asked: f"Alert {asked['alert_id']}", alert.build),
    Page("/receivers", ALERTS, lambda asked: "Receivers", receivers.build),
    page_of(RULES, rules.build),
    Page("/rules/{name}", RULES, lambda asked: asked["name"], rule_file.build),
    page_of(BENCH, bench.build),
    page_of(ONTOLOGY, ontology.build),
    page_of(QUARANTINE, quarantine.build),
    page_of(SETTINGS, settings.build),
)
_PACKETS: Final = 2000
"""In one request. Its bytes are limited too, by Engine.IO to 1,000,000."""
_AT_ONCE: Final = 1.0
"""Seconds in which the server may say that a key is none, before the page opens without that."""
UNSHOWN: Final = 100
"""Pages that are kept until a browser shows them, which it may never do."""
_RECONNECT: Final = 10.0
"""Seconds for which a page without connection keeps its state."""


def serve(upstream: Upstream, listener: socket.socket, on_ready: Callable[[], object]) -> None:
    """Serve the pages of a server on a socket, until the process is told to end."""
    own = [*sign_in.routes(upstream), *twins.routes(upstream)]
    api = FastAPI(openapi_url=None, routes=own, middleware=[Middleware(Policy)])
    # Of the pages before they are compressed.
    pages.add_middleware(Policy)
    pages.add_middleware(Late)
    # The server passes on requests of HTTP, not web sockets.
    pages.config.socket_io_js_transports = ["polling"]
    # A bar that nobody can read: each page says itself what it waits for.
    pages.config.quasar_config["loadingBar"]["skipHijack"] = True
    # Each key that somebody presses is a packet; those pressed during a request come together.
    Payload.max_decode_packets = _PACKETS
    watches = Watches(upstream)
    for page in PAGES:
        _add(page, upstream, watches)
    pages.exception_handler(404)(no_such_page)
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


def _add(page: Page, upstream: Upstream, watches: Watches) -> None:
    @ui.page(page.path)
    async def show(request: Request) -> Response | None:
        key = key_of(request)
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        # A page opens at once, however slow the server is, and fills in later.
        admission = asyncio.create_task(upstream.admits(key))
        await asyncio.wait([admission], timeout=_AT_ONCE)
        opened = ui.context.client
        if admission.done() and not admission.result():
            opened.delete()
            return RedirectResponse(way_in(here))
        forget_unshown()
        asked = {**request.query_params, **request.path_params}
        watch = watches.of(key)
        client = upstream.client(key)
        while_visible(watch.enter, watch.leave)
        opened.on_delete(client.close)
        visit = Visit(client, watch, asked)

        async def fill() -> None:
            if await admission:
                await build_page(page, visit)
            else:
                go(way_in(here))

        with frame(page.place, page.title(asked), watch, signed_in=bool(key)):
            # Once the browser shows the page: an answer may take longer than a page may.
            ui.timer(0, fill, once=True)
        return None


def forget_unshown() -> None:
    """Forget the oldest of the pages that no browser has shown yet, if there are many of such."""
    waiting = [each for each in Client.instances.values() if each.environ is None]
    for each in waiting[:-UNSHOWN]:
        each.delete()


async def build_page(page: Page, visit: Visit) -> None:
    """Build a page; where it stands says why it cannot be shown, if so."""
    notice = Notice()
    try:
        with notice.of():
            await page.build(visit)
    except Exception:
        notice.show(InternalFault("This page cannot be shown: the log of the server says why."))
        raise
