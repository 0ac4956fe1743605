"""Fills history from a folder: finds documents, maps them, stores them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from sensorstream.app.backfill.backfill_store import Filler, filler
from sensorstream.app.backfill.document_mapping import (
    BATCH,
    DocumentMapper,
    Group,
    MappedDocument,
    Results,
    batches,
    map_group,
)
from sensorstream.app.backfill.xml_documents import Document, Refused, documents
from sensorstream.app.control.wiring import read_deployment, shipped
from sensorstream.installation import require
from sensorstream.settings.settings import Settings
from sensorstream.spark.launch import spark_session
from sensorstream.spark.spark_failures import told_as

# Another process takes seconds to start; fewer documents are stored sooner without it.
_WORTH_A_PROCESS: Final = 10_000


def map_in_processes(
    settings: Settings, source: str, groups: Iterator[Group], processes: int | None = None
) -> Iterator[Results]:
    """The results of groups of documents, in no certain order, mapped by some ``processes``, this
    one included; None: as many as there are processors, but this one alone if the documents are
    few.

    This process maps as well as long as the others have nothing ready, such as while they start: so
    it is not slower than without them.
    """
    deployment = read_deployment(settings)
    mapper = DocumentMapper(deployment, source)
    first = list(islice(groups, _WORTH_A_PROCESS // BATCH))
    if processes is None:
        few = len(first) < _WORTH_A_PROCESS // BATCH
        processes = 1 if few else len(os.sched_getaffinity(0))
    every = chain(first, groups)
    if processes == 1:
        for group in every:
            yield [mapper.map(each) for each in group]
        return
    others, content = processes - 1, shipped(deployment)
    with ProcessPoolExecutor(others, get_context("spawn")) as pool:
        waiting: set[Future[Results]] = set()
        for group in every:
            if len(waiting) < 2 * others:
                waiting.add(pool.submit(map_group, content, source, group))
                continue
            yield [mapper.map(each) for each in group]
            done, waiting = wait(waiting, timeout=0)
            for each in done:
                yield each.result()
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()


_GROUPS_A_CORE: Final = 4
"""Groups of one job for each core: a job takes a tenth of a second to start."""


def map_on_spark(settings: Settings, source: str, groups: Iterator[Group]) -> Iterator[Results]:
    """The results of groups of documents, in order; Spark runs at ``spark.master``.

    Documents and the deployment's files are read here and sent to the executors. While a job runs,
    the caller has the last one's results.

    Raises:
        MissingExtra: the extra "spark" is not installed.
        SparkError: Spark does not start, or a job failed.
    """
    require("spark", "backfill on Spark")
    content = shipped(read_deployment(settings))
    with spark_session(settings.spark) as spark, ThreadPoolExecutor(1) as jobs:
        context = spark.sparkContext
        mapped = partial(map_group, content, source)

        def run(part: list[Group]) -> list[Results]:
            with told_as("the documents cannot be mapped on Spark"):
                found: list[Results] = context.parallelize(part, len(part)).map(mapped).collect()
            return found

        most = _GROUPS_A_CORE * context.defaultParallelism
        running = None
        while part := list(islice(groups, most)):
            before, running = running, jobs.submit(run, part)
            if before is not None:
                yield from before.result()
        if running is not None:
            yield from running.result()


@dataclass(slots=True)
class Filled:
    """The outcomes of documents by number; ``known`` were in history before, or came twice."""

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

    Each content is stored once, however often and in whatever file it comes. A call that is broken
    off goes on at the next one. The ``url`` is that of the history's writer. ``tell`` gets each
    document that is not taken, ``advance`` the number of documents done since the last call.
    ``processes`` map, see :func:`.map_in_processes`, or Spark's executors, see
    :func:`.map_on_spark`.

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
            mapped = [each for each in results if isinstance(each, MappedDocument)]
            stored = store.store(mapped) if mapped else 0
            filled.stored += stored
            filled.known += len(mapped) - stored
            advance(len(mapped))
            for each in results:
                if isinstance(each, Refused):
                    refuse(each)
        store.analyze()
    return filled
