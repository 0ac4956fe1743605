"""Commands whose processes begin as forks of one that has imported what a server needs.

The imports take most of the time of a start, and the tests start hundreds of servers. A fork has
its own signals, files and environment, and is waited for and killed as any other process. What is
about the start itself has :func:`own_interpreters`.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import io
import os
import pickle
import random
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

_COMMANDS: Final = ("sensorstream", "sensorstream.cli.demo.demo_server")
_IMPORTED: Final = (
    *(
        "sensorstream.app.application",
        "sensorstream.app.life.in_work",
        "sensorstream.cli.serve_command",
    ),
    *(
        "sensorstream.inputs.inputs",
        "sensorstream.server.listening",
        "sensorstream.server.web_application",
    ),
    *("uvicorn.protocols.http.httptools_impl", "uvicorn.loops.uvloop", "sqlglot.generators"),
    "sqlglot.dialects.postgres",
)
_PR_SET_CHILD_SUBREAPER: Final = 36
_Popen: Final = subprocess.Popen
_MOST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A process to begin: as in :class:`subprocess.Popen`; its module is the first argument."""

    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    session: bool


class _Origin:
    """The process that others are forks of; it begins when the first is wanted, and ends with the
    process that runs the tests.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._libc = ctypes.CDLL(None)

    def fork(self, wanted: _Wanted, files: Sequence[int]) -> int:
        """The id of a new process, which is a child of this one."""
        with self._lock:
            if self._process is None:
                self._process = self._start()
            # The fork of a fork that ends goes to the next process above that takes orphans.
            self._libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._ours, [pickle.dumps(wanted)], files)
                return int(self._ours.recv(_MOST))
            finally:
                self._libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

    def _start(self) -> subprocess.Popen[bytes]:
        with self._theirs as theirs:
            return _Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                cwd=Path(__file__).parents[1],
                pass_fds=[theirs.fileno()],
            )


class _Process(_Popen):  # type: ignore[valid-type, misc]
    """A process of one of the modules above is a fork; all others are as usual."""

    origin: Final = _Origin()

    def _execute_child(self, args: Any, executable: Any, *rest: Any) -> None:
        preexec, close, passed, folder, environment, _, _, shell = rest[:8]
        pipes, (_, gid, gids, uid, umask, session, group) = rest[8:14], rest[14:]
        environment = dict(os.environ if environment is None else environment)
        if (
            isinstance(args, str | bytes | os.PathLike)
            or [str(each) for each in args[:2]] != [sys.executable, "-m"]
            or args[2] not in _COMMANDS
            or (preexec, close, tuple(passed), shell) != (None, True, (), False)
            or (gid, gids, uid, umask, group) != (None, None, None, -1, -1)
            or _of_python(environment) != _of_python(os.environ)
            or self.origin.owner != os.getpid()
        ):
            super()._execute_child(args, executable, *rest)
            return
        wanted = _Wanted(
            [os.fspath(each) for each in args[2:]],
            str(Path.cwd()) if folder is None else os.fspath(folder),
            environment,
            session,
        )
        # Those of the process: to read, to write, to write.
        files = (pipes[0], pipes[3], pipes[5])
        ours = [number if each == -1 else each for number, each in enumerate(files)]
        self.pid = self.origin.fork(wanted, ours)
        self._child_created = True
        self._close_pipe_fds(*pipes)


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    """What an interpreter heeds when it starts."""
    return {name: value for name, value in environment.items() if name.startswith("PYTHON")}


@contextmanager
def starting() -> Iterator[None]:
    """In the block each process starts as it does for users."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", _Popen)
        yield


@pytest.fixture(scope="package", autouse=True)
def commands_are_forks() -> Iterator[None]:
    """In the package commands are forks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", _Process)
        yield


@pytest.fixture
def own_interpreters() -> Iterator[None]:
    """See :func:`starting`."""
    with starting():
        yield


def _begun(wanted: _Wanted, files: Sequence[int]) -> None:
    """Make this fork the process that is wanted."""
    if wanted.session:
        os.setsid()
    for number, each in enumerate(files):
        os.dup2(each, number)
    os.closerange(3, max(files) + 1)
    os.chdir(wanted.folder)
    os.environ.clear()
    os.environ.update(wanted.environment)
    time.tzset()
    tempfile.tempdir = None
    random.seed()
    sys.path[0] = wanted.folder
    sys.argv = ["-m", *wanted.arguments[1:]]
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = _writer(1, "strict"), _writer(2, "backslashreplace")


def _writer(number: int, errors: str) -> io.TextIOWrapper:
    """A standard stream of this number, as Python makes it."""
    raw = io.FileIO(number, "w", closefd=False)
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    lines = number == 2 or raw.isatty()
    return io.TextIOWrapper(
        io.BufferedWriter(raw), errors=errors, line_buffering=lines, write_through=at_once
    )


def _serve(asked: socket.socket) -> str:
    """Fork what is asked for, until nobody is there to ask; in such a fork, its module."""
    while True:
        said, files, _, _ = socket.recv_fds(asked, _MOST, 3)
        if not said:
            return ""
        reader, writer = os.pipe()
        middle = os.fork()
        if middle == 0:
            os.close(reader)
            pid = os.fork()
            if pid:
                os.write(writer, str(pid).encode())
                os._exit(0)
            os.close(writer)
            # Numbers that are in no one's way.
            kept = [os.dup2(each, 1000 + n) for n, each in enumerate(files)]
            asked.close()
            wanted = pickle.loads(said)
            _begun(wanted, kept)
            return str(wanted.arguments[0])
        os.close(writer)
        for each in files:
            os.close(each)
        pid_of_fork = os.read(reader, 100)
        os.close(reader)
        os.waitpid(middle, 0)
        asked.send(pid_of_fork)


def main() -> None:
    """Import, then fork."""
    gc.disable()
    for each in _IMPORTED:
        importlib.import_module(each)
    gc.freeze()
    gc.enable()
    module = ""
    with socket.socket(fileno=int(sys.argv[1])) as asked, suppress(KeyboardInterrupt):
        module = _serve(asked)
    if module:
        runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
