"""Who looks at a page: the key that the browser keeps, and the server it is shown to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.requests import Request

from sensorstream.client.clients import AsyncClient
from sensorstream.errors import AccessError, SensorStreamError

COOKIE: Final = "sensorstream-key"
_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Upstream:
    """The server whose pages these are: its address, and the way to it."""

    url: str
    socket: Path
    """The Unix socket that it listens on."""

    def client(self, key: str) -> AsyncClient:
        """A client that shows a key; the caller closes it."""
        return AsyncClient(self.url, timeout=_SECONDS, key=key, socket=self.socket)

    async def admits(self, key: str) -> bool:
        """Whether who shows this key may look at the pages; so it is while nobody answers."""
        async with self.client(key) as client:
            try:
                await client.metrics()
            except AccessError:
                return False
            except SensorStreamError:
                return True
        return True


def key_of(request: Request) -> str:
    """The API key that the browser keeps for these pages; empty: none."""
    found = request.cookies.get(COOKIE, "")
    return found if found.isascii() and found.isprintable() and " " not in found else ""
