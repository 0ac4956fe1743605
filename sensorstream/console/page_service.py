"""The process that serves the pages."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

import uvicorn
from engineio.payload import Payload
from fastapi import FastAPI
from nicegui import Client, ui
from nicegui import app as pages
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sensorstream import __version__
from sensorstream.console import (
    alerts_page,
    ask_page,
    bench_page,
    individuals_page,
    messages_page,
    ontology_page,
    overview_page,
    page_addresses,
    page_routes,
    queries_page,
    rules_page,
    settings_page,
    shapes_page,
)
from sensorstream.console.elements import Notice, go, heading, link, loading, while_visible
from sensorstream.console.page_addresses import BASE, ICON, PLACES, ListedPage, address, local_name
from sensorstream.console.page_routes import way_in
from sensorstream.console.page_scripts import CODE, ask, run, shade_button
from sensorstream.console.page_visits import ZONE, Page, Upstream, Visit, Watch, key_of, page_of
from sensorstream.console.shown_values import VIEWERS, Viewer
from sensorstream.errors import InternalFault
from sensorstream.installation import bundled

PAGES: Final = (
    page_of(page_addresses.OVERVIEW, overview_page.build),
    page_of(page_addresses.MESSAGES, messages_page.build),
    Page(
        "/messages/{message_id}",
        page_addresses.MESSAGES,
        "{message_id}".format_map,
        messages_page.build_one,
    ),
    page_of(page_addresses.INDIVIDUALS, individuals_page.build),
    Page(
        "/individual",
        page_addresses.INDIVIDUALS,
        lambda asked: local_name(asked.get("iri", "")),
        individuals_page.build_one,
    ),
    page_of(page_addresses.QUERIES, queries_page.build),
    Page(
        "/query",
        page_addresses.QUERIES,
        lambda asked: local_name(asked.get("name", "")),
        queries_page.build_one,
    ),
    page_of(page_addresses.ASK, ask_page.build),
    page_of(page_addresses.ALERTS, alerts_page.build),
    Page(
        "/alerts/{alert_id}",
        page_addresses.ALERTS,
        "Alert {alert_id}".format_map,
        alerts_page.build_one,
    ),
    Page("/receivers", page_addresses.ALERTS, "Receivers".format_map, alerts_page.build_receivers),
    page_of(page_addresses.RULES, rules_page.build),
    Page("/rules/{name}", page_addresses.RULES, "{name}".format_map, rules_page.build_file),
    page_of(page_addresses.BENCH, bench_page.build),
    page_of(page_addresses.ONTOLOGY, ontology_page.build),
    page_of(page_addresses.SHAPES, shapes_page.build),
    page_of(page_addresses.QUARANTINE, messages_page.build_quarantine),
    page_of(page_addresses.SETTINGS, settings_page.build),
)
_PACKETS: Final = 2000
"""The packets of one request; Engine.IO limits its bytes, too, to 1,000,000."""
_AT_ONCE: Final = 1.0
"""Seconds in which the server may say that a key is none, before the page opens without that."""
UNSHOWN: Final = 100
"""Pages that are kept until a browser shows them, which it may never do."""
_RECONNECT: Final = 10.0
"""Seconds for which a page without connection keeps its state."""


def serve(upstream: Upstream, listener: socket.socket, on_ready: Callable[[], object]) -> None:
    """Serve the pages of a server on a socket, until the process is told to end."""
    own = [
        *page_routes.routes(upstream),
        *page_routes.twin_routes(upstream),
        *page_routes.site_routes(bundled("site")),
    ]
    api = FastAPI(openapi_url=None, routes=own, middleware=[Middleware(ContentSecurity)])
    # It sees the pages before they are compressed.
    pages.add_middleware(ContentSecurity, tiles=upstream.tiles)
    pages.add_middleware(Late)
    # The server passes on HTTP requests, not web sockets.
    pages.config.socket_io_js_transports = ["polling"]
    # No loading bar, which nobody can read: each page says itself what it waits for.
    pages.config.quasar_config["loadingBar"]["skipHijack"] = True
    # Each pressed key is a packet; those pressed during a request come together.
    Payload.max_decode_packets = _PACKETS
    pages.add_static_file(local_file=CODE, url_path=f"/{CODE.name}", max_cache_age=0)
    # The readings for each key in use: all open pages with this key share them.
    watches: WeakValueDictionary[str, Watch] = WeakValueDictionary()
    for page in PAGES:
        _add(page, upstream, watches)
    pages.exception_handler(404)(page_routes.no_such_page)
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


def _add(page: Page, upstream: Upstream, watches: WeakValueDictionary[str, Watch]) -> None:
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
        watch = watches.setdefault(key, Watch(upstream, key))
        client = upstream.client(key)
        while_visible(watch.enter, watch.leave)
        opened.on_delete(client.close)
        visit = Visit(client, watch, asked)
        if upstream.tiles:
            run("keepGround", upstream.tiles, upstream.credit)
        viewer = VIEWERS[opened] = Viewer()
        zone = request.cookies.get(ZONE, "")

        async def fill() -> None:
            if await admission:
                viewer.read_zone(zone or await ask("zone"))
                with loading():
                    viewer.labels = await watch.read_labels()
                    await build_page(page, visit)
            else:
                go(way_in(here))

        with frame(page.place, page.title(asked), watch, signed_in=bool(key)):
            # After the browser shows the page, since an answer may take longer than a page may.
            ui.timer(0, fill, once=True)
        return None


def forget_unshown() -> None:
    """Forget the oldest of the pages that no browser has shown yet, if there are many of such."""
    waiting = [each for each in Client.instances.values() if each.environ is None]
    for each in waiting[:-UNSHOWN]:
        each.delete()


async def build_page(page: Page, visit: Visit) -> None:
    """Build a page; if it cannot be shown, the reason stands in its place."""
    notice = Notice()
    try:
        with notice.of():
            await page.build(visit)
    except Exception:
        notice.show(InternalFault("This page cannot be shown: the log of the server says why."))
        raise


_POLICY: Final = "Content-Security-Policy"
_ALL: Final = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
_PLAIN: Final = _ALL + "img-src data:; style-src 'unsafe-inline'"
# Vue makes functions of the templates, and styles for what it places.
# Documents have scripts of their own, and a worker that searches.
_SITE: Final = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "script-src 'self' 'unsafe-inline'; worker-src 'self' blob:; frame-ancestors 'none'"
)
_PAGE: Final = (
    _ALL + "img-src 'self' data: {images}; style-src 'self' 'unsafe-inline'; font-src 'self'; "
    "connect-src 'self'; script-src 'self' 'unsafe-eval' 'nonce-{nonce}'"
)


class ContentSecurity:
    """ASGI middleware: gives each answer a Content-Security-Policy, if it has none of its own.

    The scripts in a page have a number that nobody can know before (CSP Level 3, section 7.1); any
    other script that came into it does not run.
    """

    def __init__(self, app: ASGIApp, tiles: str = "") -> None:
        """``tiles``: the address of pictures that pages may show besides their own."""
        self._app = app
        self._images = "/".join(tiles.replace("{s}", "*").split("/")[:3])

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
                    headers[_POLICY] = _PAGE.format(nonce=nonce, images=self._images)
                    begun = message
                    return
                is_site = scope["path"].startswith(f"{page_routes.SITE}/")
                headers.setdefault(_POLICY, _SITE if is_site else _PLAIN)
            elif begun is not None:
                # A page comes in one piece. In its data "<" is written "&lt;".
                body = message["body"].replace(b"<script", f'<script nonce="{nonce}"'.encode())
                MutableHeaders(scope=begun)["Content-Length"] = str(len(body))
                await send(begun)
                begun, message = None, {**message, "body": body}
            await send(message)

        await self._app(scope, receive, told)


class Late:
    """ASGI middleware: refuses requests for a session that has ended.

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


_SCRIPT: Final = f'<script src="{BASE}/{CODE.name}"></script>'
_STYLE: Final = Path(__file__).with_name("style.css")
_PAUSE: Final = 1.0
_HELP: Final = (
    ("Documents", "menu_book", page_routes.SITE),
    ("HTTP interface", "api", "/docs"),
)
_STALE: Final = "The figures are out of date: "


@contextmanager
def frame(here: ListedPage, title: str, watch: Watch, *, signed_in: bool) -> Iterator[None]:
    """A page at a place in the list of pages; the block says what stands on it."""
    ui.page_title(f"{title} · SensorStream")
    ui.add_css(_STYLE)
    ui.add_head_html(_SCRIPT)
    ui.colors(primary="#1f5f8b", secondary="#37474f", accent="#8a4f00")
    with ui.header().classes("items-center"):
        drawer_button = ui.button(icon="menu").props('flat dense color=white aria-label="Pages"')
        ui.label("SensorStream").classes("text-h6")
        ui.space()
        state = ui.label().classes("state").props('role=status aria-live="polite"')
        shade_button()
        if signed_in:
            with ui.element("form").props(f'method=post action="{BASE}/sign-out"'):
                out = ui.button(icon="logout").props("flat dense color=white type=submit")
                out.props('aria-label="Sign out"')
    drawer = _drawer()
    with drawer, ui.element("nav").props('aria-label="Pages"').classes("places"):
        for place in PLACES:
            way = link("", address(place.path)).classes("place")
            way.props["accesskey"] = place.letter
            if place == here:
                way.props("aria-current=page")
            with way:
                ui.icon(place.icon).props("aria-hidden=true")
                ui.label(place.name)
        ui.separator()
        for name, icon, leads in _HELP:
            if leads != page_routes.SITE or page_routes.site_routes(bundled("site")):
                with link("", leads).classes("place"):
                    ui.icon(icon).props("aria-hidden=true")
                    ui.label(name)
        ui.label(f"Version {__version__}").classes("hint")
    drawer_button.on_click(lambda: drawer.run_method("toggle"))
    ui.timer(_PAUSE, lambda: _tell(state, watch))
    with ui.element("main").classes("content") as content:
        heading(title, "h1")
        yield
    ui.skip_link("Skip to content", target=content)


def _drawer() -> ui.element:
    """The place of the list of pages; it is open where there is room for it.

    NiceGUI's own asks the browser for that, and takes a slow answer for a fault.
    """
    client = ui.context.client
    client.layout.props('view="hHh Lpr fff"')
    with client.layout:
        drawer = ui.element("q-drawer").props("side=left show-if-above width=200 breakpoint=700")
    drawer.props("bordered")
    drawer.move(target_index=client.layout.default_slot.children.index(client.page_container))
    return drawer


def _tell(state: ui.label, watch: Watch) -> None:
    fault = watch.fault
    state.set_text("" if fault is None else f"{_STALE}{fault.message}")
    state.classes(add="stale" if fault else "", remove="" if fault else "stale")
