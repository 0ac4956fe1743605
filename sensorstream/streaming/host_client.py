"""The connection of a worker to the process that holds the engines of its partition."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from sensorstream.app.life.in_work import TOO_OFTEN
from sensorstream.errors import SparkError
from sensorstream.processes.own_folders import locked_file
from sensorstream.processes.question_messages import Failed
from sensorstream.streaming.deadly_entries import skipped_bytes
from sensorstream.streaming.worker_messages import Done, HostTask, Work, connected, listening_at

_PARENT: Final = "hosts.sock"
"""The socket of the process that the hosts are forks of."""
_LOCK: Final = "lock"


class HostClient:
    """A connection to the host of one partition; starts the host with its task if there is none,
    and makes the folder of the sockets if need be. Raises SparkError if a host does not start.
    """

    def __init__(self, folder: Path, partition: int, task: HostTask) -> None:
        if not folder.parent.is_dir():
            # Another machine keeps temporary files elsewhere.
            folder = Path(tempfile.gettempdir()) / folder.name
        folder.mkdir(mode=0o700, exist_ok=True)
        self._folder, self._partition, self._task = folder, partition, task
        self._connection = self._reach()

    def work(self, work: Work) -> Done | None:
        """See :meth:`.EngineHost.work`; a host that has ended is replaced. An entry at which hosts
        end is skipped the third time.

        Raises:
            SparkError: the work failed, or hosts end at it that do not come to an entry.
        """
        deaths, skipped = 0, skipped_bytes(self._folder, self._partition)
        while True:
            try:
                self._connection.send(work)
                answer: Done | Failed | None = self._connection.recv()
                break
            except (EOFError, OSError) as error:
                # Nothing was kept of it. The next host has no engines, and asks for their state.
                self.close()
                self._connection = self._reach()
                before, skipped = skipped, skipped_bytes(self._folder, self._partition)
                deaths = deaths + 1 if skipped == before else 0
                if deaths == TOO_OFTEN:
                    raise SparkError(
                        f"the process of the engines ended twice at the key '{work.key}': {error!r}"
                    ) from error
        if isinstance(answer, Failed):
            raise answer.error
        return answer

    def _reach(self) -> Connection:
        address, secret = self._folder / f"{self._partition}.sock", self._task.secret
        connection = connected(address, secret)
        if connection is None:
            _ask_for_host(self._folder, self._partition, self._task)
            connection = connected(address, secret)
        if connection is None:
            raise SparkError("the process of the engines has ended as soon as it was there")
        return connection

    def close(self) -> None:
        """Leave the host to the next worker."""
        self._connection.close()


def start_hosts(folder: Path, task: HostTask, leader: int) -> None:
    """Start the process that the hosts of a machine are forks of, with the sockets in ``folder``;
    returns before it has started. The end of the process ``leader`` ends it.
    """
    # It waits here for those that want a host already.
    with listening_at(folder / _PARENT) as listening:
        number = listening.fileno()
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "sensorstream.streaming.engine_host"),
                *(str(folder), str(number), str(leader)),
            ],
            stdin=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            pass_fds=[number],
        )
    assert process.stdin is not None
    with process.stdin as stdin:
        pickle.dump(task, stdin)
    # It outlives this object, which otherwise warns that the process still runs.
    process.returncode = 0


def _ask_for_host(folder: Path, partition: int, task: HostTask) -> None:
    with locked_file(folder / _LOCK):
        connection = connected(folder / _PARENT, task.secret)
        if connection is None:
            # Spark's Python processes are a group, and end with its first.
            start_hosts(folder, task, os.getpgrp())
            connection = connected(folder / _PARENT, task.secret)
        reason = "see what is on stderr"
        if connection is not None:
            try:
                with connection:
                    connection.send(partition)
                    refused: Failed | None = connection.recv()
                if refused is None:
                    return
                reason = refused.error.message
            except (EOFError, OSError) as error:
                reason = f"it has ended: {error!r}"
    raise SparkError(f"the process of the engines does not start: {reason}")
