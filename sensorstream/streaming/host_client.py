"""A worker's way to the process that holds the engines of its partition."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Final

from sensorstream.errors import SparkError
from sensorstream.streaming.work import Done, Failed, HostTask, Work

_PATIENCE: Final = 120.0
"""Seconds that a host may take to start on a busy machine."""
_AGAIN: Final = 0.02


class HostClient:
    """A connection to the host of one partition; starts the host if there is none.

    Args:
        folder: holds the sockets of the query's hosts on this machine; made if it is not there.
        partition: the number of the partition.
        task: what a new host is told.

    Raises:
        SparkError: a host does not start.
    """

    def __init__(self, folder: Path, partition: int, task: HostTask) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self._address = str(folder / f"{partition}.sock")
        self._task = task
        self._connection = self._connect() or self._start()

    def work(self, work: Work) -> Done | None:
        """See :meth:`.EngineHost.work`; a host that has ended is replaced, once.

        Raises:
            SparkError: it could not be done.
        """
        try:
            answer = self._ask(work)
        except (EOFError, OSError):
            # Nothing was kept of it. The next host has no engines, and asks for their state.
            self.close()
            self._connection = self._connect() or self._start()
            try:
                answer = self._ask(work)
            except (EOFError, OSError) as error:
                raise SparkError(
                    f"the process of the engines ended twice at the key '{work.key}': {error!r}"
                ) from error
        if isinstance(answer, Failed):
            raise SparkError(answer.reason)
        return answer

    def _ask(self, work: Work) -> Done | Failed | None:
        self._connection.send(work)
        answer: Done | Failed | None = self._connection.recv()
        return answer

    def close(self) -> None:
        """Leave the host to the next worker."""
        self._connection.close()

    def _connect(self) -> Connection | None:
        try:
            return Client(self._address, "AF_UNIX", authkey=self._task.secret)
        except (ConnectionError, EOFError, FileNotFoundError):
            return None

    def _start(self) -> Connection:
        Path(self._address).unlink(missing_ok=True)
        # In the process group of Spark's Python processes: it ends with them.
        process = subprocess.Popen(
            [sys.executable, "-m", "sensorstream.streaming.engine_host", self._address],
            stdin=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert process.stdin is not None
        with process.stdin as stdin:
            pickle.dump(self._task, stdin)
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline and process.poll() is None:
            connection = self._connect()
            if connection is not None:
                # It outlives this object, which otherwise warns that the process still runs.
                process.returncode = 0
                return connection
            time.sleep(_AGAIN)
        raise SparkError("a process for the engines does not start: see Spark's log")
