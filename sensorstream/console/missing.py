"""What stands at an address that no page has."""

from __future__ import annotations

from html import escape
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from sensorstream.console.places import BASE, ICON, PLACES, address

_PAGE: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>No such page · SensorStream</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:image/svg+xml,{icon}">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem system-ui, sans-serif; max-width: 26rem; margin: 15vh auto 0; padding: 0 1rem; }}
p {{ overflow-wrap: anywhere; }}
</style></head><body><main>
<h1>SensorStream</h1>
<p>There is no page <code>{path}</code>. The pages are:</p>
<ul>{links}</ul>
</main></body></html>
"""


async def no_such_page(request: Request, _: Exception) -> Response:
    """Name the address that was asked for, and lead to the pages."""
    path = request.url.path
    links = "".join(
        f'<li><a href="{address(place.path)}">{place.name}</a></li>' for place in PLACES
    )
    asked = escape(path if path.startswith(BASE) else f"{BASE}{path}")
    return HTMLResponse(_PAGE.format(path=asked, links=links, icon=quote(ICON)), 404)
