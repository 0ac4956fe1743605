"""The least that a server of durable messages does: ``python -m benchmarks.server_floor JOURNAL``.

Raw HTTP on asyncio: no checks, no routes. A message is parsed by lxml, five XPaths give its values
to a dict of a full window, and those that have come meanwhile share one ``fsync`` of the journal.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any, Final

from benchmarks.floor import floor

_WINDOW: Final = 1000
_END: Final = b"\r\n\r\n"


class _Group:
    """The requests that have come since the last ``fsync``."""

    def __init__(self, journal: int) -> None:
        self._journal = journal
        self._take = floor(_WINDOW)
        self._waiting: list[tuple[asyncio.Transport, list[bytes]]] = []

    def add(self, transport: asyncio.Transport, contents: list[bytes]) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._store)
        self._waiting.append((transport, contents))

    def _store(self) -> None:
        waiting, self._waiting = self._waiting, []
        for _, contents in waiting:
            for each in contents:
                self._take(each)
        os.write(self._journal, b"".join(each for _, contents in waiting for each in contents))
        os.fsync(self._journal)
        for transport, contents in waiting:
            body = json.dumps([{"status": "accepted"}] * len(contents)).encode()
            transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))


class _Connection(asyncio.Protocol):
    def __init__(self, group: _Group) -> None:
        self._group = group
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(_END)
        if not end or len(body) < int(head.rpartition(b"Length: ")[2]):
            return
        self._received = b""
        if head.startswith(b"GET "):  # the metrics, of which there are none
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            return
        batch = head.startswith(b"POST /messages/batch")
        contents = [each.encode() for each in json.loads(body)] if batch else [body]
        self._group.add(self._transport, contents)


async def _serve(journal: str) -> None:
    group = _Group(os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(group), "127.0.0.1", 0)
    print(f"listening on http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
