"""The rounds: under load something befalls the server, and then, or meanwhile, it is killed."""

from __future__ import annotations

import itertools
import math
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from enum import Enum
from pathlib import Path
from threading import Thread
from typing import Final

from tests.integration.endurance.clients import Clients, prepare, settle
from tests.integration.endurance.comparison import Present, compare
from tests.integration.endurance.faults import (
    FAULTS,
    Fault,
    Stage,
    end_server,
    fill_disk,
    kill_server,
)
from tests.integration.endurance.receiver import receiving
from tests.integration.endurance.witness import Witness
from tests.integration.endurance.workspace import PATIENCE, Workspace

_STARTS: Final = 5
"""A start may fail while the fault of its round lasts."""


class Course(Enum):
    """What happens in a round."""

    KILLED = "the server is killed"
    FAULT_FIRST = "a fault, and when all is well again the server is killed"
    MEANWHILE = "the server is killed, and starts, while a fault lasts"


def endure(
    folder: Path,
    rounds: int,
    seed: int,
    *,
    faults: Sequence[Fault] = FAULTS,
    courses: Sequence[Course] = tuple(Course),
    minutes: float = math.inf,
    say: Callable[[str], object] = lambda _: None,
) -> Mapping[str, int]:
    """Send under faults, compare, and count.

    Args:
        folder: an empty folder, which PostgreSQL's user must be able to reach.
        rounds: each with one kill of the server, at the least.
        seed: decides which faults come, and when.
        faults: to draw from.
        courses: to draw from.
        minutes: after these no other round begins.
        say: is told how it goes on.

    Raises:
        AssertionError: something was lost, stands twice, or does not come back.
    """
    dice = random.Random(seed)
    witness, done = Witness(), Counter[str]()
    with (
        receiving(witness, random.Random(seed)) as receiver,
        closing(Workspace(folder)) as workspace,
    ):
        stage = Stage(workspace, receiver, dice)
        if not workspace.mounted:
            say("no disk can be mounted here: it is never full")
            faults = [each for each in faults if each is not fill_disk]
        workspace.start()
        assert workspace.ready(), "the server does not start"
        prepare(workspace.url, receiver.url)
        clients = Clients(workspace.url, witness, itertools.count(1), seed)
        clients.start()
        end = time.monotonic() + 60 * minutes
        for number in range(1, rounds + 1):
            begun = time.monotonic()
            if begun > end:
                say(f"the time is over: {number - 1} of {rounds} rounds were done")
                break
            time.sleep(dice.uniform(0.2, 3))
            course, fault = dice.choice(courses), dice.choice(faults)
            name = "" if course is Course.KILLED else fault.__name__
            try:
                _round(stage, course, fault)
            except BaseException:
                say(f"{number:3} {course.name:12}{name:16} failed")
                raise
            done.update(filter(None, (kill_server.__name__, name)))
            took = time.monotonic() - begun
            say(f"{number:3} {course.name:12}{name:16}{witness.acknowledged:7}{took:6.1f} s")
            assert not witness.faults, witness.faults[:5]
        time.sleep(1)
        clients.stop()
        settle(workspace.url, PATIENCE)
        present = Present(workspace.url)
        assert workspace.end(signal.SIGTERM) == 0
        say("comparing with an undisturbed run")
        counted = compare(workspace, witness, present)
    return {**counted, "starts of the server": workspace.starts, **done}


def _round(stage: Stage, course: Course, fault: Fault) -> None:
    workspace = stage.workspace
    if course is Course.MEANWHILE:
        thread = Thread(target=fault, args=(stage,), daemon=True)
        thread.start()
        time.sleep(stage.dice.uniform(0, 3))
        kill_server(stage)
        workspace.start()
        thread.join()
    else:
        if course is Course.FAULT_FIRST:
            fault(stage)
            assert fault is end_server or workspace.runs, "the server has ended by itself"
            _bring_back(workspace)
            time.sleep(stage.dice.uniform(0, 1))
        kill_server(stage)
    _bring_back(workspace)


def _bring_back(workspace: Workspace) -> None:
    for _ in range(_STARTS):
        if not workspace.runs:
            workspace.start()
        if workspace.ready():
            return
    raise AssertionError("the server does not start any more")
