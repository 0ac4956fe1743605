"""The two clients: one blocks until an answer arrives, the other is for programs with asyncio."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from urllib.parse import quote

from sensorstream.client.operation import Awaiting, Blocking, PreparedRequest, check, reaching
from sensorstream.client.operations import Operations
from sensorstream.client.results import EventReader, QueryReport, ReportReader, SentEvent
from sensorstream.errors import SettingsError

if TYPE_CHECKING:
    import httpx

Answer = TypeVar("Answer")
TIMEOUT: Final = 60.0


class Client(Blocking, Operations):
    """A client of one server that keeps its connections open. Use it as a context manager.

    Every method raises :class:`.ServerUnreachable` if no SensorStream server answers, and the error
    class of :mod:`sensorstream.errors` that the server names in its answer; ``error.problem`` is
    then the problem document (RFC 9457).
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = TIMEOUT,
        key: str = "",
        ca: str | Path | None = None,
    ) -> None:
        """``timeout`` is in seconds and applies to each request; ``key`` is an API key or a token.

        ``ca`` is a file (PEM) with the certificates to trust instead of those of the system.

        Raises:
            SettingsError: ``ca`` cannot be read, or the key is not one line of plain characters.
        """
        import httpx  # here, for a command that only tells its help

        self.url = url.rstrip("/")
        self._http = httpx.Client(**_connection(self.url, timeout, key, ca))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def follow(self, name: str, after: str | None = None) -> Iterator[QueryReport]:
        """The reports of a continuous query as they arrive, until it is removed. ``after`` is the
        id of the last known report; "" starts with the oldest kept report, None with the next
        report. It ends with the connection: continue with the last id.
        """
        reader = ReportReader(self.query_state(name)["variables"])
        for event in self._events(_reports_path(name), after):
            report = reader.report(event)
            if report is not None:
                yield report
            if reader.ended:
                return

    def follow_alerts(
        self, after: str | None = None, changes: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Alerts as they arrive; ``after`` as for :meth:`follow`, with the ``seq`` of an alert.
        With ``changes``, the changes of open alerts instead, each with its ``seq``.
        """
        for event in self._events(_alerts_path(changes), after):
            yield event.data

    def _do(self, call: PreparedRequest[Answer]) -> Answer:
        return call.read(check(self._request(call.method, call.path, **call.options)))

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        with reaching(self.url):
            return self._http.request(method, path, **options)

    def _events(self, path: str, after: str | None) -> Iterator[SentEvent]:
        reader = EventReader()
        with reaching(self.url), self._http.stream(**_events(path, after)) as response:
            if not response.is_success:
                response.read()
            check(response)
            for line in response.iter_lines():
                event = reader.line(line)
                if event is not None:
                    yield event


class AsyncClient(Awaiting, Operations):
    """A client of one server that keeps its connections open; use it as an asynchronous context
    manager. The methods, and what they raise, are those of :class:`.Client`.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = TIMEOUT,
        key: str = "",
        ca: str | Path | None = None,
        socket: Path | None = None,
    ) -> None:
        """See :class:`.Client`; ``socket`` is a Unix socket instead of the URL's host and port."""
        import httpx

        self.url = url.rstrip("/")
        self._http = httpx.AsyncClient(
            transport=None if socket is None else local(socket),
            **_connection(self.url, timeout, key, ca),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def follow(self, name: str, after: str | None = None) -> AsyncIterator[QueryReport]:
        """See :meth:`.Client.follow`."""
        reader = ReportReader((await self.query_state(name))["variables"])
        async for event in self._events(_reports_path(name), after):
            report = reader.report(event)
            if report is not None:
                yield report
            if reader.ended:
                return

    async def follow_alerts(
        self, after: str | None = None, changes: bool = False
    ) -> AsyncIterator[dict[str, Any]]:
        """See :meth:`.Client.follow_alerts`."""
        async for event in self._events(_alerts_path(changes), after):
            yield event.data

    async def _do(self, call: PreparedRequest[Answer]) -> Answer:
        return call.read(check(await self._request(call.method, call.path, **call.options)))

    async def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        with reaching(self.url):
            return await self._http.request(method, path, **options)

    async def _events(self, path: str, after: str | None) -> AsyncIterator[SentEvent]:
        reader = EventReader()
        with reaching(self.url):
            async with self._http.stream(**_events(path, after)) as response:
                if not response.is_success:
                    await response.aread()
                check(response)
                async for line in response.aiter_lines():
                    event = reader.line(line)
                    if event is not None:
                        yield event


def local(socket: Path) -> httpx.AsyncHTTPTransport:
    """The transport to a server on this machine: without TLS, whose certificates take a megabyte"""
    import httpx

    return httpx.AsyncHTTPTransport(uds=str(socket), verify=False)


def _connection(url: str, timeout: float, key: str, ca: str | Path | None) -> dict[str, Any]:
    """The arguments of an HTTP client."""
    # trust_env off: a proxy of the environment must not be used for localhost.
    found: dict[str, Any] = {"base_url": url, "timeout": timeout, "trust_env": False}
    if key:
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise SettingsError("the key is not one line of plain characters: expected ssk_…")
        found["headers"] = {"Authorization": f"Bearer {key}"}
    if ca is not None:
        try:
            found["verify"] = ssl.create_default_context(cafile=ca)
        except OSError as error:  # of which ssl.SSLError is one
            raise SettingsError(f"cannot read certificates from {ca}: {error}") from None
    return found


def _events(path: str, after: str | None) -> dict[str, Any]:
    """The arguments of a request that follows server-sent events."""
    headers = {"Accept": "text/event-stream"}
    if after is not None:
        headers["Last-Event-ID"] = after or "0"
    return {"method": "GET", "url": path, "headers": headers, "timeout": None}


def _alerts_path(changes: bool) -> str:
    """The path of the event stream of alerts, or of their changes."""
    return "/alerts/stream?changes=true" if changes else "/alerts/stream"


def _reports_path(name: str) -> str:
    """The path of the event stream of a query's reports."""
    return f"/queries/{quote(name, safe='')}/results"
