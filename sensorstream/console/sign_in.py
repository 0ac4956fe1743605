"""Signing in: the browser keeps an API key, which only the pages' own process reads.

The key stands in a cookie that no script of a page can read and no other site can send
(``HttpOnly``, ``SameSite=Strict``: RFC 6265bis, section 4.1.2). It serves as long as the key does.
"""

from __future__ import annotations

from html import escape
from typing import Final
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from sensorstream.console.places import BASE, ICON
from sensorstream.console.visits import COOKIE, Upstream
from sensorstream.errors import SensorStreamError

PATH: Final = "/sign-in"
_BYTES: Final = 4096
_PAGE: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in · SensorStream</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:image/svg+xml,{icon}">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem system-ui, sans-serif; max-width: 26rem; margin: 15vh auto 0; padding: 0 1rem; }}
label, input, button {{ display: block; width: 100%; box-sizing: border-box; font: inherit; }}
input, button {{ margin: 0.5rem 0 1rem; padding: 0.5rem; }}
[role=alert] {{ color: #b3261e; }}
</style></head><body><main>
<h1>SensorStream</h1>
{told}
<form method="post" action="{base}{path}">
<input type="text" name="username" value="SensorStream" autocomplete="username" hidden>
<label for="key">API key</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus>
<button>Sign in</button>
</form>
<p>A key is made by <code>sensorstream keys create --name ME --role query</code>; with the role
<code>operator</code> or <code>admin</code> more can be done.</p>
</main></body></html>
"""


def routes(upstream: Upstream) -> list[BaseRoute]:
    """The page to sign in, what takes its form, and the way out."""

    async def form(request: Request) -> Response:
        return _page("")

    async def sign_in(request: Request) -> Response:
        text = b""
        async for part in request.stream():
            text += part
            if len(text) > _BYTES:
                return _page("A key is one line of less than 4096 characters.", 413)
        key = parse_qs(text.decode("utf-8", "replace")).get("key", [""])[0].strip()
        try:
            async with upstream.client(key) as client:
                await client.metrics()
        except SensorStreamError as error:
            return _page(error.message, 403)
        answer = RedirectResponse(f"{BASE}/", 303)
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


def _page(told: str, status: int = 200) -> Response:
    said = f'<p role="alert">{escape(told)}</p>' if told else ""
    text = _PAGE.format(told=said, base=BASE, path=PATH, icon=quote(ICON))
    return HTMLResponse(text, status, {"Cache-Control": "no-store"})
