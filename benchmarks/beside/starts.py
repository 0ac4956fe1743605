"""What commands cost before they do anything, beside Python with the libraries that they need."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.beside.turns import Pair

_EVENT: Final = '{"time": 1, "graph": "<http://example.org/a> <http://example.org/p> 1 ."}\n'
_QUERY: Final = "SELECT ?s { ?s <http://example.org/p> ?o }"


def _spent(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=dict(os.environ))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _python(*modules: str) -> Callable[[], float]:
    return lambda: _spent([sys.executable, "-c", f"import {', '.join(modules)}"])


@contextmanager
def told(size: int) -> Iterator[Pair]:
    """``--help``."""
    ours = [sys.executable, "-m", "sensorstream", "--help"]
    yield Pair(lambda: _spent(ours), _python("click"))


@contextmanager
def one_event(size: int) -> Iterator[Pair]:
    """``run`` of a query on a file with one event."""
    with tempfile.TemporaryDirectory() as folder:
        query, events = Path(folder) / "query.rq", Path(folder) / "events.jsonl"
        query.write_text(_QUERY)
        events.write_text(_EVENT * max(1, size))
        ours = [sys.executable, "-m", "sensorstream", "run", "--query", str(query)]
        ours += ["--events", str(events)]
        yield Pair(lambda: _spent(ours), _python("click", "lxml.etree", "lark", "pyoxigraph"))
