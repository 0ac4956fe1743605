"""A client that blocks until the answer arrives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx

from sensorstream.client import calls
from sensorstream.client.calls import Call
from sensorstream.client.operations import Operations
from sensorstream.client.reports import EventReader, QueryReport, ReportReader, SentEvent

Answer = TypeVar("Answer")


class Client(Operations):
    """One server; keeps its connections open. Use as a context manager.

    Every method raises :class:`.ServerUnreachable` if no SensorStream server answers, and the error
    class of :mod:`sensorstream.errors` that the server names in its answer; ``error.problem`` is
    then the problem document (RFC 9457).
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = calls.TIMEOUT,
        key: str = "",
        ca: str | Path | None = None,
    ) -> None:
        """``timeout`` is in seconds and applies to each request; ``key`` is an API key or a token.

        ``ca`` is a file (PEM) with the certificates to trust instead of those of the system.

        Raises:
            SettingsError: ``ca`` cannot be read, or the key is not one line of plain characters.
        """
        self.url = url.rstrip("/")
        # trust_env off: a proxy of the environment must not be used for localhost.
        self._http = httpx.Client(
            base_url=self.url, timeout=timeout, trust_env=False, **calls.credentials(key, ca)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def follow(self, name: str, after: str | None = None) -> Iterator[QueryReport]:
        """The reports of a continuous query as they arrive, until it is removed.

        ``after`` is the id of the last known report; "" starts with the oldest kept report, None
        with the next report. Ends with the connection: continue with the last id.
        """
        reader = ReportReader(self.query_state(name)["variables"])
        for event in self._events(calls.reports_path(name), after):
            report = reader.report(event)
            if report is not None:
                yield report
            if reader.ended:
                return

    def follow_alerts(
        self, after: str | None = None, changes: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Alerts as they arrive; ``after`` as for :meth:`follow`, with the ``seq`` of an alert.

        With ``changes`` not each alert, but what becomes of open ones, each with its ``seq``.
        """
        for event in self._events(calls.alerts_path(changes), after):
            yield event.data

    def _do(self, call: Call[Answer]) -> Answer:
        return call.read(calls.check(self._request(call.method, call.path, **call.options)))

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            return self._http.request(method, path, **options)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise calls.unreachable(self.url, error) from None

    def _events(self, path: str, after: str | None) -> Iterator[SentEvent]:
        reader = EventReader()
        try:
            with self._http.stream(**calls.events(path, after)) as response:
                if not response.is_success:
                    response.read()
                calls.check(response)
                for line in response.iter_lines():
                    event = reader.line(line)
                    if event is not None:
                        yield event
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise calls.unreachable(self.url, error) from None
