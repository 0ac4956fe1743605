from __future__ import annotations

import asyncio
import signal
from contextlib import closing, suppress

import httpx
import psutil
from starlette.types import Message

from sensorstream.server.console_proxy import ConsoleProcess, console
from tests.server.conftest import Served
from tests.waiting import command_of, eventually


def of_pages() -> list[psutil.Process]:
    """The processes that serve pages for this one."""
    found = psutil.Process().children(recursive=True)
    return [each for each in found if "sensorstream.console.page_process" in command_of(each)]


def test_no_process_runs_until_somebody_looks_and_one_from_then_on(served: Served) -> None:
    before = len(of_pages())
    first = served.client.get("/console/")
    assert first.status_code == 200
    assert "SensorStream" in first.text
    assert served.client.get("/console/").status_code == 200
    assert len(of_pages()) == before + 1


def test_a_process_that_ended_costs_its_pages_only(served: Served) -> None:
    assert served.client.get("/console/").status_code == 200
    for process in of_pages():
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    answer = served.client.get("/console/")
    assert answer.status_code == 503
    assert served.client.get("/readyz").status_code == 200
    eventually(lambda: served.client.get("/console/").status_code == 200)


class OneRequestAConnection(ConsoleProcess):
    """Ends a connection at its second request, as a server does to one that was idle for long."""

    async def listening(self) -> bool:
        return True

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        await writer.drain()
        with suppress(asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
        writer.close()


def test_a_request_is_not_lost_with_a_connection_that_the_process_ends() -> None:
    async def statuses(process: OneRequestAConnection) -> list[int]:
        pages = await asyncio.start_unix_server(process.answer, process.pages)
        transport = httpx.ASGITransport(console(process))
        async with pages, httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return [(await client.get("/console/")).status_code for _ in range(3)]

    with closing(OneRequestAConnection()) as process:
        assert asyncio.run(statuses(process)) == [200, 200, 200]


class Endless(ConsoleProcess):
    """Gives an answer that is longer than what is read ahead of it."""

    async def listening(self) -> bool:
        return True

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = await reader.readuntil(b"\r\n\r\n")
        size = 2 if b" /console/short " in path else 2**22
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        with suppress(ConnectionError):
            writer.write(bytes(size))
            await writer.drain()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def test_answers_that_nobody_reads_do_not_close_the_pages() -> None:
    async def status(process: Endless) -> int:
        pages = await asyncio.start_unix_server(process.answer, process.pages)
        app = console(process)
        parts: list[bytes] = []
        is_read = asyncio.Event()

        async def keep(message: Message) -> None:
            parts.append(message.get("body", b""))
            if message.get("body"):
                await is_read.wait()

        async def nothing() -> Message:
            return {"type": "http.request"}

        scope = {"type": "http", "method": "GET", "scheme": "http", "headers": []}
        there = {**scope, "raw_path": b"/console/long", "query_string": b""}
        async with pages:
            downloads = [asyncio.ensure_future(app(there, nothing, keep)) for _ in range(220)]
            while sum(map(bool, parts)) < 200:
                await asyncio.sleep(0.01)
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                answer = await client.get("/console/short")
            is_read.set()
            # What was cut off is no fault either.
            await asyncio.gather(*downloads)
        return answer.status_code

    with closing(Endless()) as process:
        assert asyncio.run(status(process)) == 200
