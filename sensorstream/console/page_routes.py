"""Addresses that are no pages: signing in, and the data of a page as the HTTP interface gives them.

The browser keeps an API key, which only the pages' own process reads. It stands in a cookie that no
script of a page can read and no other site can send (``HttpOnly``, ``SameSite=Strict``: RFC
6265bis, section 4.1.2). It serves as long as the key does.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import httpx
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from sensorstream.client.clients import local
from sensorstream.console.page_addresses import BASE, ICON, PLACES, address, twin
from sensorstream.console.page_visits import COOKIE, Upstream, key_of
from sensorstream.errors import SensorStreamError

PATH: Final = "/sign-in"
_BYTES: Final = 4096
_FORM: Final = """{told}
<form method="post" action="{base}{path}">
<input type="hidden" name="then" value="{then}">
<input type="text" name="username" value="SensorStream" autocomplete="username" hidden>
<label for="key">API key</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus>
<button>Sign in</button>
</form>
<p>A key is made by <code>sensorstream keys create --name ME --role query</code>; with the role
<code>operator</code> or <code>admin</code> more can be done.</p>"""
_MISSING: Final = """<p>There is no page <code>{path}</code>. The pages are:</p>
<ul>{links}</ul>"""
_PLAIN: Final = Path(__file__).with_name("plain.html")


def routes(upstream: Upstream) -> list[BaseRoute]:
    """The page to sign in, what takes its form, and the way out."""

    async def form(request: Request) -> Response:
        return _page(_here(request.query_params.get("then", "")))

    async def sign_in(request: Request) -> Response:
        text = b""
        async for part in request.stream():
            text += part
            if len(text) > _BYTES:
                return _page("", "A key is one line of less than 4096 characters.", 413)
        fields = parse_qs(text.decode("utf-8", "replace"))
        key = fields.get("key", [""])[0].strip()
        then = _here(fields.get("then", [""])[0])
        try:
            async with upstream.client(key) as client:
                await client.metrics()
        except SensorStreamError as error:
            return _page(then, error.message, 403)
        answer = RedirectResponse(then, 303)
        secure = request.headers.get("x-forwarded-proto") == "https"
        answer.set_cookie(
            COOKIE, key, path=BASE, httponly=True, samesite="strict", secure=secure, max_age=None
        )
        return answer

    async def sign_out(request: Request) -> Response:
        answer = RedirectResponse(f"{BASE}{PATH}", 303)
        answer.delete_cookie(COOKIE, path=BASE)
        return answer

    return [
        Route(f"{BASE}{PATH}", form, methods=["GET"]),
        Route(f"{BASE}{PATH}", sign_in, methods=["POST"]),
        Route(f"{BASE}/sign-out", sign_out, methods=["POST"]),
    ]


def way_in(then: str) -> str:
    """The address of the page to sign in, which leads to another page of the console then."""
    return f"{BASE}{PATH}?{urlencode({'then': then})}"


def _here(then: str) -> str:
    """The address to go to after signing in: a page of the console, whatever a link says."""
    asked = urlsplit(then)
    is_here = not (asked.scheme or asked.netloc) and asked.path.startswith(f"{BASE}/")
    plain = then.isascii() and then.isprintable() and "\\" not in then
    return then if is_here and plain else f"{BASE}/"


def _page(then: str, told: str = "", status: int = 200) -> Response:
    said = f'<p role="alert">{escape(told)}</p>' if told else ""
    form = _FORM.format(told=said, base=BASE, path=PATH, then=escape(then or f"{BASE}/"))
    answer = _plain("Sign in", form, status)
    answer.headers["Cache-Control"] = "no-store"
    return answer


async def no_such_page(request: Request, _: Exception) -> Response:
    """Name the address that was asked for, and lead to the pages."""
    path = request.url.path
    links = "".join(
        f'<li><a href="{address(place.path)}">{place.name}</a></li>' for place in PLACES
    )
    asked = escape(path if path.startswith(BASE) else f"{BASE}{path}")
    return _plain("No such page", _MISSING.format(path=asked, links=links), 404)


def _plain(title: str, body: str, status: int) -> Response:
    """A page without a script."""
    text = _PLAIN.read_text("utf-8").format(title=title, icon=quote(ICON), body=body)
    return HTMLResponse(text, status)


SITE: Final = f"{BASE}/docs"
"""The path of the documents."""


def site_routes(folder: Path) -> list[BaseRoute]:
    """The documents of this version; none if the installation has none (``make docs``)."""
    if not (folder / "index.html").exists():
        return []
    return [Mount(SITE, StaticFiles(directory=folder, html=True))]


_PATIENCE: Final = 30.0
_MOST_BYTES: Final = 64 * 2**20
_STREAM: Final = "text/event-stream"
_HEADERS: Final = {
    # The answer is shown as it is: nothing in it runs.
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def twin_routes(upstream: Upstream) -> list[BaseRoute]:
    """The way to each operation that only reads."""

    async def read(request: Request) -> Response:
        # The browser tells the site (Fetch Metadata); links of other sites ask no question here.
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return PlainTextResponse("another site leads here: ask the server itself\n", 403)
        query = request.url.query
        asked = "/" + request.path_params["path"] + (f"?{query}" if query else "")
        answer = await _read(upstream, key_of(request), asked)
        if answer.status_code == 401:
            return RedirectResponse(way_in(twin(asked)), 303)
        return answer

    return [Route(f"{BASE}/api/{{path:path}}", read, methods=["GET"])]


async def _read(upstream: Upstream, key: str, path: str) -> Response:
    headers = {"Accept": "application/json, application/sparql-results+json, */*;q=0.5"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        async with (
            httpx.AsyncClient(
                transport=local(upstream.socket), timeout=_PATIENCE, trust_env=False
            ) as client,
            client.stream("GET", upstream.url + path, headers=headers) as answer,
        ):
            kind = answer.headers.get("content-type", "application/octet-stream")
            if kind.startswith(_STREAM):
                return PlainTextResponse("this operation has no end: ask the server itself\n", 406)
            content = b""
            async for part in answer.aiter_bytes():
                content += part
                if len(content) > _MOST_BYTES:
                    told = f"more than {_MOST_BYTES} bytes: ask the server itself\n"
                    return PlainTextResponse(told, 413)
            return Response(content, answer.status_code, {**_HEADERS, "Content-Type": kind})
    except (httpx.HTTPError, httpx.InvalidURL):
        return PlainTextResponse("the server does not answer\n", 503)
