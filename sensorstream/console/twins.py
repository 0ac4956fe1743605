"""What a page shows, as the HTTP interface says it: for people who want the data themselves."""

from __future__ import annotations

from typing import Final

import httpx
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from sensorstream.client.clients import local
from sensorstream.console.places import BASE, twin
from sensorstream.console.sign_in import way_in
from sensorstream.console.visits import Upstream, key_of

_SECONDS: Final = 30.0
_BYTES: Final = 64 * 2**20
_STREAM: Final = "text/event-stream"
_HEADERS: Final = {
    # It is shown as it is: nothing in it runs.
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def routes(upstream: Upstream) -> list[BaseRoute]:
    """The way to each operation that only reads."""

    async def read(request: Request) -> Response:
        # As the browser says (Fetch Metadata): an address of another site asks no question here.
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
                transport=local(upstream.socket), timeout=_SECONDS, trust_env=False
            ) as client,
            client.stream("GET", upstream.url + path, headers=headers) as answer,
        ):
            kind = answer.headers.get("content-type", "application/octet-stream")
            if kind.startswith(_STREAM):
                return PlainTextResponse("this operation has no end: ask the server itself\n", 406)
            content = b""
            async for part in answer.aiter_bytes():
                content += part
                if len(content) > _BYTES:
                    told = f"more than {_BYTES} bytes: ask the server itself\n"
                    return PlainTextResponse(told, 413)
            return Response(content, answer.status_code, {**_HEADERS, "Content-Type": kind})
    except (httpx.HTTPError, httpx.InvalidURL):
        return PlainTextResponse("the server does not answer\n", 503)
