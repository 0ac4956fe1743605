"""Open pages and their readers: the key that the browser keeps, the server, its figures."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeAlias

from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request

from sensorstream.client.clients import AsyncClient
from sensorstream.console.page_addresses import ListedPage
from sensorstream.errors import AccessError, SensorStreamError
from sensorstream.model.frozen import frozen

COOKIE: Final = "sensorstream-key"
ZONE: Final = "sensorstream-zone"
"""The cookie in which the browser says its time zone."""
_SECONDS: Final = 30.0


@frozen
class Upstream:
    """The server whose pages these are: its address, and the way to it."""

    url: str
    socket: Path
    """The Unix socket that it listens on."""
    tiles: str = ""
    """The address of pictures of the ground for maps; "": none."""
    credit: str = ""

    def client(self, key: str) -> AsyncClient:
        """A client that shows a key; the caller closes it."""
        return AsyncClient(self.url, timeout=_SECONDS, key=key, socket=self.socket)

    async def admits(self, key: str) -> bool:
        """Whether the holder of this key may look at the pages; true while there is no answer."""
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


_LOG: Final = logging.getLogger(__name__)
_PAUSE: Final = 1.0
"""Seconds between two readings."""
_KEPT: Final = 300
"""Readings: five minutes."""
_LABELS_LAST: Final = 300.0
# An English label, and one without a language, comes after others, and so in their place.
_LABELS: Final = """PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
SELECT ?iri ?label { ?iri rdfs:label ?label FILTER isIRI(?iri) }
ORDER BY (LANG(?label) IN ("en", "")) LIMIT 5000"""


class Watch:
    """Reads the figures while somebody looks, and keeps the latest readings."""

    def __init__(self, upstream: Upstream, key: str) -> None:
        self.readings: deque[Figures] = deque(maxlen=_KEPT)
        self.fault: SensorStreamError | None = None
        """Why there is no newer reading."""
        self.asked: dict[str, float] = {}
        """Figures that are none of ``GET /metrics``, as a page asked for them last."""
        self.watchers = 0
        self._upstream = upstream
        self._key = key
        self._task: asyncio.Task[None] | None = None
        self._labels: Mapping[str, str] = {}
        self._labels_end = 0.0

    async def read_labels(self) -> Mapping[str, str]:
        """The labels that the ontology gives to its terms, read anew after some minutes."""
        if time.monotonic() > self._labels_end:
            with suppress(SensorStreamError):
                async with self._upstream.client(self._key) as client:
                    rows = (await client.query(_LABELS)).rows
                self._labels = {str(iri): str(label) for iri, label in rows}
                self._labels_end = time.monotonic() + _LABELS_LAST
        return self._labels

    @property
    def now(self) -> Figures | None:
        """The latest reading."""
        return self.readings[-1] if self.readings else None

    def rate(self, name: str) -> float | None:
        """The growth of a counter a second now; None if it is not known yet."""
        return rate(self.readings[-2], self.readings[-1], name) if len(self.readings) > 1 else None

    def rates(self, name: str) -> list[tuple[float, float | None]]:
        """The growth a second at each reading, by seconds before now; None where nobody looked."""
        if not self.readings:
            return []
        last = self.readings[-1].at
        return [
            (round(each.at - last, 1), rate(before, each, name))
            for before, each in pairwise(self.readings)
            if last - each.at <= _KEPT * _PAUSE
        ]

    def mean(self, histogram: str, **labels: str) -> float | None:
        """The mean over the readings kept."""
        return mean(self.readings[0], self.readings[-1], histogram, **labels) if self.now else None

    def enter(self) -> None:
        """Note that somebody begins to look."""
        self.watchers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def leave(self) -> None:
        """Note that somebody looks no more."""
        self.watchers -= 1

    async def _run(self) -> None:
        async with self._upstream.client(self._key) as client:
            while self.watchers > 0:
                try:
                    text = await client.metrics()
                except SensorStreamError as error:
                    self.fault = error
                else:
                    self.readings.append(read(text, time.monotonic()))
                    self.fault = None
                await asyncio.sleep(_PAUSE)
        self._task = None


_Labels: TypeAlias = tuple[tuple[str, str], ...]
TOGETHER: Final = 5.0
"""Seconds between two readings that say a rate."""
_SHORT: Final = "sensorstream_"


@frozen
class Figures:
    """The figures of one reading; ``at`` is in seconds of any clock that does not go back."""

    at: float
    samples: Mapping[tuple[str, _Labels], float]

    def value(self, name: str, **labels: str) -> float | None:
        """The value of a sample, by its name without ``sensorstream_``; None if there is none."""
        key = tuple(sorted(labels.items()))
        samples = self.samples
        found = samples.get((_SHORT + name, key))
        return samples.get((name, key)) if found is None else found

    def total(self, name: str) -> float:
        """The sum of a metric over all labels."""
        return sum(value for (each, _), value in self.samples.items() if each == _SHORT + name)

    def by(self, name: str, label: str) -> dict[str, float]:
        """The samples of a metric by one label."""
        found: dict[str, float] = {}
        for (each, labels), value in self.samples.items():
            if each == _SHORT + name:
                of = dict(labels).get(label, "")
                found[of] = found.get(of, 0.0) + value
        return found


def read(text: str, at: float) -> Figures:
    """The figures of a text in Prometheus' form."""
    samples: dict[tuple[str, _Labels], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if not sample.name.endswith(("_bucket", "_created")):
                samples[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return Figures(at, samples)


def rate(before: Figures | None, now: Figures, name: str) -> float | None:
    """The growth of a counter a second, rounded; None if the readings do not say.

    So it is without an earlier reading, if the server's process, and with it the counter, began
    anew between them, and if they are over :data:`TOGETHER` seconds apart: when it grew is not
    known.
    """
    if before is None or not 0 < now.at - before.at <= TOGETHER:
        return None
    grown = now.total(name) - before.total(name)
    return round(grown / (now.at - before.at), 2) if grown >= 0 else None


def mean(before: Figures | None, now: Figures, histogram: str, **labels: str) -> float | None:
    """The mean of what a histogram took in between two readings; None if that is nothing."""
    number = _growth(before, now, f"{histogram}_count", labels)
    return _growth(before, now, f"{histogram}_sum", labels) / number if number > 0 else None


def _growth(before: Figures | None, now: Figures, name: str, labels: Mapping[str, str]) -> float:
    after = now.value(name, **labels) or 0.0
    return after - (0.0 if before is None else before.value(name, **labels) or 0.0)


@frozen
class Visit:
    """An open page: the client that asks the server, and the parts of its address."""

    client: AsyncClient
    """It shows the reader's key, and is closed when the page is left."""
    watch: Watch
    asked: Mapping[str, str]
    """The parts of the address in braces, and its query parameters."""


@frozen
class Page:
    """A page: its path, which may have parts in braces, and ``build``, which is called when the
    browser shows the page; an error of the server that it raises is shown there.
    """

    path: str
    place: ListedPage
    """The page's place in the list of pages."""
    title: Callable[[Mapping[str, str]], str]
    """The title, from the parts of the address."""
    build: Callable[[Visit], Awaitable[None]]


def page_of(place: ListedPage, build: Callable[[Visit], Awaitable[None]]) -> Page:
    """The page that stands in the list of pages itself."""
    return Page(place.path, place, lambda asked: place.name, build)
