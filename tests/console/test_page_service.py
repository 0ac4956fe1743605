from __future__ import annotations

import asyncio
import json
import ssl
from contextlib import closing, suppress
from pathlib import Path
from typing import cast

import httpx
import pytest
from fastapi import FastAPI
from nicegui import Client, ui
from starlette.middleware import Middleware

from sensorstream.client.clients import AsyncClient
from sensorstream.console.page_addresses import OVERVIEW
from sensorstream.console.page_routes import site_routes
from sensorstream.console.page_service import UNSHOWN, ContentSecurity, build_page, forget_unshown
from sensorstream.console.page_visits import Visit, page_of
from sensorstream.server.console_proxy import ConsoleProcess


async def fail(visit: Visit) -> None:
    raise ZeroDivisionError


def test_a_page_that_fails_says_so_and_the_fault_goes_on_to_the_log() -> None:
    async def opened() -> list[str]:
        with Client(ui.page("/")) as client:
            with pytest.raises(ZeroDivisionError):
                await build_page(page_of(OVERVIEW, fail), cast(Visit, None))
            return [each.text for each in client.elements.values() if isinstance(each, ui.label)]

    assert asyncio.run(opened()) == ["This page cannot be shown: the log of the server says why."]


def test_a_page_opens_while_the_server_does_not_answer() -> None:
    asked: list[asyncio.Task[None] | None] = []

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(asyncio.current_task())
        await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def opened(process: ConsoleProcess) -> httpx.Response:
        interface = await asyncio.start_unix_server(never, process.interface)
        assert await process.listening()
        transport = httpx.AsyncHTTPTransport(uds=str(process.pages), verify=False)
        async with (
            interface,
            httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client,
        ):
            answer = await client.get("/console/messages")
            process.close()
            await asyncio.gather(*(each for each in asked if each is not None))
            return answer

    tiles = "https://{s}.example.org/{z}/{x}/{y}.png?a=1&b"
    with closing(ConsoleProcess(tiles, 'the "map" people')) as process:
        answer = asyncio.run(opened(process))
    assert asked
    assert (
        "img-src 'self' data: https://*.example.org;" in answer.headers["content-security-policy"]
    )
    assert answer.status_code == 200
    assert "<title>Messages · SensorStream</title>" in answer.text


def test_pages_that_no_browser_shows_are_kept_up_to_a_number() -> None:
    async def opened() -> None:
        clients = [Client(ui.page("/")) for _ in range(UNSHOWN + 20)]
        clients[0].environ = {}  # A browser shows this one.
        forget_unshown()
        assert [each.is_deleted for each in clients[:21]] == [False, *[True] * 19, False]
        assert not any(each.is_deleted for each in clients[20:])
        for each in [clients[0], *clients[20:]]:
            each.delete()

    asyncio.run(opened())


def test_a_client_on_a_socket_reads_no_certificates(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read: list[object] = []
    monkeypatch.setattr(ssl, "create_default_context", lambda **given: read.append(given))

    async def client() -> None:
        async with AsyncClient("http://localhost", socket=tmp_path / "socket"):
            pass

    asyncio.run(client())
    assert read == []


def test_what_a_slow_browser_sends_after_its_session_is_refused() -> None:
    async def statuses(process: ConsoleProcess) -> list[int]:
        assert await process.listening()
        transport = httpx.AsyncHTTPTransport(uds=str(process.pages), verify=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            there = "/console/_nicegui_ws/socket.io/?EIO=4&transport=polling"
            opened = await client.get(there)
            sid = json.loads(opened.text[1:])["sid"]
            # A packet that ends the session, and one that comes after it.
            sent = [await client.post(f"{there}&sid={sid}", content=each) for each in ("1", "3")]
            process.close()
            return [each.status_code for each in sent]

    with closing(ConsoleProcess()) as process:
        assert asyncio.run(statuses(process)) == [200, 400]


def test_documents_are_served_where_they_are_installed(tmp_path: Path) -> None:
    assert site_routes(tmp_path) == []
    (tmp_path / "index.html").write_text("<script src='search.js'></script>")
    api = FastAPI(routes=site_routes(tmp_path), middleware=[Middleware(ContentSecurity)])

    async def asked(*paths: str) -> list[httpx.Response]:
        transport = httpx.ASGITransport(api)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return [await client.get(f"/console/{path}") for path in paths]

    first, *others = asyncio.run(asked("docs/", "docs/no.html", "docs/%2e%2e/%2e%2e/x", "other"))
    assert "search.js" in first.text
    # Their own scripts run, but nobody else's.
    assert "script-src 'self'" in first.headers["Content-Security-Policy"]
    assert [each.status_code for each in others] == [404, 404, 404]
    assert "default-src 'none'" in others[-1].headers["Content-Security-Policy"]
