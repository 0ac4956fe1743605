"""A client for programs with asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx

from sensorstream.client import calls
from sensorstream.client.calls import Call
from sensorstream.client.operations import Operations
from sensorstream.client.reports import EventReader, QueryReport, ReportReader, SentEvent

Answer = TypeVar("Answer")


def local(socket: Path) -> httpx.AsyncHTTPTransport:
    """The way to a server on this machine: without TLS, whose certificates are a megabyte each."""
    return httpx.AsyncHTTPTransport(uds=str(socket), verify=False)


class AsyncClient(Operations):
    """One server; keeps its connections open. Use as an asynchronous context manager.

    The methods, and what they raise, are those of :class:`.Client`.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = calls.TIMEOUT,
        key: str = "",
        ca: str | Path | None = None,
        socket: Path | None = None,
    ) -> None:
        """``timeout`` is in seconds and applies to each request; ``key`` is an API key or a token.

        ``ca`` is a file (PEM) with the certificates to trust instead of those of the system,
        ``socket`` a Unix socket to connect to instead of the URL's host and port.

        Raises:
            SettingsError: ``ca`` cannot be read, or the key is not one line of plain characters.
        """
        self.url = url.rstrip("/")
        # trust_env off: a proxy of the environment must not be used for localhost.
        self._http = httpx.AsyncClient(
            base_url=self.url,
            timeout=timeout,
            trust_env=False,
            transport=None if socket is None else local(socket),
            **calls.credentials(key, ca),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def follow(self, name: str, after: str | None = None) -> AsyncIterator[QueryReport]:
        """The reports of a continuous query as they arrive, until it is removed.

        ``after`` is the id of the last known report; "" starts with the oldest kept report, None
        with the next report. Ends with the connection: continue with the last id.
        """
        reader = ReportReader((await self.query_state(name))["variables"])
        async for event in self._events(calls.reports_path(name), after):
            report = reader.report(event)
            if report is not None:
                yield report
            if reader.ended:
                return

    async def follow_alerts(
        self, after: str | None = None, changes: bool = False
    ) -> AsyncIterator[dict[str, Any]]:
        """Alerts as they arrive; ``after`` as for :meth:`follow`, with the ``seq`` of an alert.

        With ``changes`` not each alert, but what becomes of open ones, each with its ``seq``.
        """
        async for event in self._events(calls.alerts_path(changes), after):
            yield event.data

    async def _do(self, call: Call[Answer]) -> Answer:
        return call.read(calls.check(await self._request(call.method, call.path, **call.options)))

    async def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            return await self._http.request(method, path, **options)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise calls.unreachable(self.url, error) from None

    async def _events(self, path: str, after: str | None) -> AsyncIterator[SentEvent]:
        reader = EventReader()
        try:
            async with self._http.stream(**calls.events(path, after)) as response:
                if not response.is_success:
                    await response.aread()
                calls.check(response)
                async for line in response.aiter_lines():
                    event = reader.line(line)
                    if event is not None:
                        yield event
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise calls.unreachable(self.url, error) from None
