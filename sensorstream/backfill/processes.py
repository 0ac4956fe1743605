"""Maps groups of documents in this process, and in others beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import chain, islice
from multiprocessing import get_context
from typing import Final

from sensorstream.backfill.mapping import BATCH, DocumentMapper, Group, Results, map_group
from sensorstream.settings import Settings

# Another process takes seconds to start: fewer documents are mapped and stored sooner without.
_WORTH_A_PROCESS: Final = 10_000


def map_in_processes(
    settings: Settings, source: str, groups: Iterator[Group], processes: int | None = None
) -> Iterator[Results]:
    """The results of groups of documents, in no certain order.

    This process maps as well as long as the others have nothing ready, such as while they start: so
    it is not slower than without them.

    Args:
        settings: those of the deployment.
        source: the source of the documents.
        groups: what to map.
        processes: how many map, this one included; None: as many as there are processors, and
            none but this one if the documents are few.
    """
    mapper = DocumentMapper(settings, source)
    first = list(islice(groups, _WORTH_A_PROCESS // BATCH))
    if processes is None:
        few = len(first) < _WORTH_A_PROCESS // BATCH
        processes = 1 if few else len(os.sched_getaffinity(0))
    every = chain(first, groups)
    if processes == 1:
        for group in every:
            yield [mapper.map(each) for each in group]
        return
    others = processes - 1
    with ProcessPoolExecutor(others, get_context("spawn")) as pool:
        waiting: set[Future[Results]] = set()
        for group in every:
            if len(waiting) < 2 * others:
                waiting.add(pool.submit(map_group, settings.path, source, group))
                continue
            yield [mapper.map(each) for each in group]
            done, waiting = wait(waiting, timeout=0)
            for each in done:
                yield each.result()
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()
