"""What commands cost before they do anything, beside Python with the libraries that they need."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.beside.turns import Pair

_OURS: Final = (sys.executable, "-m", "sensorstream")
_EVENT: Final = '{"time": 1, "graph": "<http://example.org/a> <http://example.org/p> 1 ."}\n'
_QUERY: Final = "SELECT ?s { ?s <http://example.org/p> ?o }"


def _spent(command: Sequence[str], *, lasts: bool = False) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        if lasts and process.stdout and process.stdout.readline():
            process.terminate()
        process.communicate()
    if process.returncode > 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _python(*modules: str) -> Callable[[], float]:
    return lambda: _spent([sys.executable, "-c", f"import {', '.join(modules)}"])


@contextmanager
def told(size: int) -> Iterator[Pair]:
    """``--help``."""
    yield Pair(lambda: _spent([*_OURS, "--help"]), _python("click"))


@contextmanager
def one_event(size: int) -> Iterator[Pair]:
    """``run`` of a query on a file with one event."""
    with tempfile.TemporaryDirectory() as folder:
        query, events = Path(folder) / "query.rq", Path(folder) / "events.jsonl"
        query.write_text(_QUERY)
        events.write_text(_EVENT * max(1, size))
        ours = [*_OURS, "run", "--query", str(query), "--events", str(events)]
        yield Pair(lambda: _spent(ours), _python("click", "lxml.etree", "lark", "pyoxigraph"))


@contextmanager
def served(size: int) -> Iterator[Pair]:
    """``serve``, ready and stopped, without PostgreSQL; the history was made by a start before."""
    with tempfile.TemporaryDirectory() as folder:
        _spent([*_OURS, "init", f"{folder}/served"])
        settings = Path(folder, "served", "sensorstream.toml")
        settings.write_text(settings.read_text().replace('profile = "hermit"', 'profile = "plain"'))
        start = partial(_spent, [*_OURS, "serve", "--port", "0", "-c", str(settings)], lasts=True)
        start()
        yield Pair(start, _python("fastapi", "uvicorn", "sqlalchemy"))
