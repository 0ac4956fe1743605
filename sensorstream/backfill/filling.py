"""Fills history from a folder: finds documents, maps them, stores them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sensorstream.backfill.documents import Document, Refused, documents
from sensorstream.backfill.executors import map_on_spark
from sensorstream.backfill.mapping import Mapped, batches
from sensorstream.backfill.processes import map_in_processes
from sensorstream.backfill.storing import Filler, filler
from sensorstream.settings import Settings


@dataclass(slots=True)
class Filled:
    """What became of the documents; ``known`` were in history before, or came twice."""

    stored: int = 0
    known: int = 0
    refused: int = 0


def backfill(
    url: str,
    folder: Path,
    settings: Settings,
    source: str,
    *,
    tell: Callable[[Refused], None],
    advance: Callable[[int], None] = lambda _: None,
    processes: int | None = None,
    on_spark: bool = False,
) -> Filled:
    """Map all documents of a folder and store what they say in history; safe beside a server.

    Each content is stored once, however often and in whatever file it comes. What is broken off
    goes on at the next call.

    Args:
        url: the history's URL, of its writer.
        folder: the documents, see :func:`.documents`.
        settings: those of the deployment.
        source: the source of the documents.
        tell: gets each document that is not taken.
        advance: gets the number of documents done since the last call.
        processes: how many map, without Spark; see :func:`.map_in_processes`.
        on_spark: map in Spark's executors instead; see :func:`.map_on_spark`.

    Raises:
        ArchiveError: there is no such folder.
        HistoryError: the database failed.
        MissingExtra, SparkError: Spark is asked for and is not installed, or failed.
    """
    filled = Filled()

    def refuse(each: Refused) -> None:
        filled.refused += 1
        tell(each)
        advance(1)

    def taken() -> Iterator[Document]:
        for each in documents(folder, settings.server.max_message_bytes):
            if isinstance(each, Document):
                yield each
            else:
                refuse(each)

    def fresh(store: Filler) -> Iterator[Sequence[Document]]:
        for group in batches(taken()):
            digests = [sha256(each.content).digest() for each in group]
            unknown = store.unknown(digests)
            new = [each for each, digest in zip(group, digests, strict=True) if digest in unknown]
            filled.known += len(group) - len(new)
            advance(len(group) - len(new))
            if new:
                yield new

    with filler(url, settings.time.timeline) as store:
        groups = fresh(store)
        for results in (
            map_on_spark(settings, source, groups)
            if on_spark
            else map_in_processes(settings, source, groups, processes)
        ):
            mapped = [each for each in results if isinstance(each, Mapped)]
            stored = store.store(mapped) if mapped else 0
            filled.stored += stored
            filled.known += len(mapped) - stored
            advance(len(mapped))
            for each in results:
                if isinstance(each, Refused):
                    refuse(each)
        store.analyze()
    return filled
