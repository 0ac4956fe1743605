"""What befalls a server. Each fault is over when its function returns."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

import psutil

from tests.integration.endurance.receiver import Receiver
from tests.integration.endurance.workspace import Workspace, signal_all

_REASONER: Final = "sensorstream.reasoning.dl.reasoner_worker"
_CACHE: Final = "sensorstream.app.cache.cache_process"
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Stage:
    """What a fault may act upon."""

    workspace: Workspace
    receiver: Receiver
    dice: random.Random

    def a_while(self) -> float:
        """A number of seconds."""
        return self.dice.uniform(0.5, 4)


Fault: TypeAlias = Callable[[Stage], None]


def kill_server(stage: Stage) -> None:
    """The server is killed, and in one of four times once more while it starts."""
    stage.workspace.end(signal.SIGKILL)
    if stage.dice.random() < 0.25:
        stage.workspace.start()
        time.sleep(stage.dice.uniform(0.2, 4))
        stage.workspace.end(signal.SIGKILL)


def end_server(stage: Stage) -> None:
    """The server is asked to end, as by systemd."""
    code = stage.workspace.end(signal.SIGTERM)
    assert code in (0, -signal.SIGKILL), f"the server ended with {code}"


def stop_server(stage: Stage) -> None:
    """The server stands still for a while."""
    workspace = stage.workspace
    _pause([psutil.Process(workspace.process.pid)] if workspace.process else [], stage)


def kill_postgres(stage: Stage) -> None:
    """All of PostgreSQL is killed; the server starts it again."""
    signal_all(stage.workspace.postgres(), signal.SIGKILL)


def stop_postgres(stage: Stage) -> None:
    """PostgreSQL stands still for a while."""
    _pause(stage.workspace.postgres(), stage)


def kill_reasoner(stage: Stage) -> None:
    """The reasoner is killed; the server starts it again."""
    signal_all(stage.workspace.below(_REASONER), signal.SIGKILL)


def stop_reasoner(stage: Stage) -> None:
    """The reasoner stands still for a while."""
    _pause(stage.workspace.below(_REASONER), stage)


def kill_cache(stage: Stage) -> None:
    """The process that answers questions is killed."""
    signal_all(stage.workspace.below(_CACHE), signal.SIGKILL)


def fill_disk(stage: Stage) -> None:
    """No byte is left on the disk for a while."""
    workspace = stage.workspace
    assert workspace.mounted, "there is no disk that may be filled"
    ballast = workspace.disk / "ballast"
    try:
        with ballast.open("ab", buffering=0) as file:
            deadline = time.monotonic() + stage.a_while()
            while time.monotonic() < deadline:
                for size in (64 * _MIB, _MIB, 4096):
                    with suppress(OSError):
                        while True:
                            end = os.fstat(file.fileno()).st_size
                            os.posix_fallocate(file.fileno(), end, size)
                time.sleep(0.1)
    finally:
        ballast.unlink()


def hang_receiver(stage: Stage) -> None:
    """The receiver takes connections and answers nobody for a while."""
    stage.receiver.hanging.set()
    time.sleep(stage.a_while() + 3)
    stage.receiver.hanging.clear()


def _pause(processes: Sequence[psutil.Process], stage: Stage) -> None:
    signal_all(processes, signal.SIGSTOP)
    try:
        time.sleep(stage.a_while())
    finally:
        signal_all(processes, signal.SIGCONT)


FAULTS: Final[Sequence[Fault]] = (
    end_server,
    stop_server,
    kill_postgres,
    stop_postgres,
    kill_reasoner,
    stop_reasoner,
    kill_cache,
    fill_disk,
    hang_receiver,
)
"""All but the killing of the server, which ends each round."""
