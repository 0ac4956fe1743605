"""Maps documents, in this process or in several others."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from sensorstream.app.wiring import read_deployment
from sensorstream.backfill.documents import Document, Refused
from sensorstream.engine.arrival import Mapper, Unmapped
from sensorstream.model.events import Event, Message
from sensorstream.settings import Settings, load_settings

_BATCH: Final = 100
_BATCH_BYTES: Final = 4 * 2**20
# Another process takes seconds to start: fewer documents are mapped sooner without.
_WORTH_A_PROCESS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Mapped:
    """A document's events; its ``digest`` is the SHA-256 of its content."""

    name: str
    digest: bytes
    events: tuple[Event, ...]


class DocumentMapper:
    """The mapping rules of a deployment; each process has its own."""

    def __init__(self, settings: Settings, source: str) -> None:
        deployment = read_deployment(settings)
        limits = settings.server
        self._mapper = Mapper(
            deployment.mapping, limits.max_depth, max_bytes=limits.max_message_bytes
        )
        self._timeline = deployment.timeline
        self._source = source

    def map(self, document: Document) -> Mapped | Refused:
        """The events of a document; where it says no time, they happen when it was written."""
        digest = sha256(document.content).digest()
        # Labels of blank nodes begin with the message's id: they differ between documents.
        message = Message(
            f"f{digest.hex()}",
            document.content,
            self._timeline.of(document.modified),
            self._source,
        )
        found = self._mapper.map(message)
        if isinstance(found, Unmapped):
            told = found.hint if found.error is None else str(found.error)
            return Refused(document.name, told if found.error else f"no rule matches: {told}")
        return Mapped(document.name, digest, found.mapped.events)


def batches(found: Iterable[Document]) -> Iterator[list[Document]]:
    """The documents in groups of bounded size."""
    batch: list[Document] = []
    size = 0
    for each in found:
        batch.append(each)
        size += len(each.content)
        if len(batch) == _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def map_all(
    settings: Settings, source: str, found: Iterator[Sequence[Document]], processes: int | None
) -> Iterator[Sequence[Mapped | Refused]]:
    """The results of groups of documents, in order.

    Args:
        settings: those of the deployment.
        source: the source of the documents.
        found: the groups.
        processes: how many map; None: as many as there are processors, and none but this one if
            the documents are few.
    """
    first = list(islice(found, _WORTH_A_PROCESS // _BATCH))
    if processes is None:
        few = len(first) < _WORTH_A_PROCESS // _BATCH
        processes = 1 if few else len(os.sched_getaffinity(0))
    every = chain(first, found)
    if processes == 1:
        mapper = DocumentMapper(settings, source)
        for group in every:
            yield [mapper.map(each) for each in group]
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        waiting: deque[Future[list[Mapped | Refused]]] = deque()
        for group in every:
            waiting.append(pool.submit(_map, settings.path, source, list(group)))
            if len(waiting) > 2 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@cache
def _mapper(path: Path, source: str) -> DocumentMapper:
    """Of a process that maps: made once."""
    return DocumentMapper(load_settings(path), source)


def _map(path: Path, source: str, group: Sequence[Document]) -> list[Mapped | Refused]:
    mapper = _mapper(path, source)
    return [mapper.map(each) for each in group]
