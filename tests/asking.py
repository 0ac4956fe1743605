"""Questions to the HTTP interface of a server in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx

from sensorstream.app.application import Application
from sensorstream.server.web_application import create_app

Ask = Callable[..., httpx.Response]


def asking(server: Application) -> Ask:
    """Asks a server: a path, a method, and options of httpx."""
    transport = httpx.ASGITransport(create_app(server))

    async def ask(path: str, method: str = "GET", **options: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **options)

    return lambda *asked, **options: asyncio.run(ask(*asked, **options))
