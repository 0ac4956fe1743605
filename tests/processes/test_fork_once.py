"""Work in a fork: the same results, and an end in any case."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Lock, Thread

import psutil
import pytest

from sensorstream.errors import Busy, LanguageError, Overrun, Position
from sensorstream.processes import fork_once
from sensorstream.processes.fork_once import ForkTurns, run_apart
from tests.waiting import eventually


def run(work: object, seconds: float = 30.0) -> object:
    assert callable(work)
    return run_apart(work, seconds, what="the work", setting="limits.of_it")


def endless() -> None:
    while True:
        pass


def test_the_result_is_that_of_another_process() -> None:
    assert run(os.getpid) != os.getpid()
    assert run(lambda: "x" * 3_000_000) == "x" * 3_000_000


def test_an_error_is_raised_here_with_its_place() -> None:
    def fail() -> None:
        raise LanguageError("no good", position=Position("f", 3, 4))

    with pytest.raises(LanguageError, match="f:3:4: no good"):
        run(fail)


def test_only_its_own_processor_time_counts_not_what_a_busy_machine_lets_it_wait() -> None:
    assert run(lambda: Event().wait(0.8), 0.05) is False


def test_one_without_end_is_ended() -> None:
    before = set(psutil.Process().children())
    with pytest.raises(Overrun, match=r"the work took longer than 0\.3 s \(limits\.of_it\)"):
        run(endless, 0.3)
    assert set(psutil.Process().children()) <= before


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (lambda: "x" * (fork_once.MEMORY + 1), "more than 1024 MiB of memory"),
        (lambda: b"x" * (fork_once.MOST_OUTPUT + 1), "gave more than 64 MiB"),
        (lambda: os.kill(os.getpid(), 9), r"ended its process \(-9\)"),
        (lambda: os._exit(0), r"ended its process \(0\)"),
    ],
)
def test_one_that_takes_or_gives_too_much_or_dies_is_told(work: object, told: str) -> None:
    with pytest.raises(Overrun, match=f"the work .*{told}"):
        run(work)


def test_one_that_is_killed_while_it_gives_its_result_back_is_told() -> None:
    class Deadly:
        def __reduce__(self) -> tuple[object, ...]:
            # Nobody can read it unless it comes whole.
            return str, ("x" * 3_000_000,)

    def work() -> object:
        def kill() -> None:
            time.sleep(0.3)
            os.kill(os.getpid(), 9)

        Thread(target=kill).start()
        return Deadly()

    reading, before = fork_once._received, set(psutil.Process().children())

    def slow(pipe: Connection, pid: int, look: float) -> bytes:
        (fork,) = set(psutil.Process().children()) - before
        eventually(lambda: fork.status() == psutil.STATUS_ZOMBIE)
        return reading(pipe, pid, look)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_once, "_received", slow)
        with pytest.raises(Overrun, match=r"the work ended its process \(-9\)"):
            run(work, 180)


def test_files_stay_with_the_owner(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        found = run(lambda: Path(f"/proc/self/fd/{file.fileno()}").exists())
    assert found is False


def test_a_fork_that_waits_for_a_lock_of_another_thread_is_tried_once_more() -> None:
    lock, held, release = Lock(), Event(), Event()

    def hold() -> None:
        with lock:
            held.set()
            release.wait(60)

    def work() -> str:
        # Given back only in the process that holds it.
        if not lock.acquire(timeout=60):
            return "never"
        return "done"

    thread = Thread(target=hold)
    thread.start()
    assert held.wait(60)
    begun = time.monotonic()
    with pytest.raises(Overrun):
        run(work, 2.0)
    assert time.monotonic() - begun >= 4.0
    release.set()
    thread.join()
    assert run(work) == "done"


def test_a_process_is_forked_within_a_block_and_works_after_it() -> None:
    lock, inside = Lock(), []

    @contextmanager
    def quiet() -> Iterator[None]:
        with lock:
            yield
            inside.append("forked")

    found = run_apart(lambda: len(inside), 60, what="work", setting="x", quiet=quiet)
    assert (found, inside, lock.locked()) == (0, ["forked"], False)


def test_of_those_who_ask_at_once_the_last_one_is_told_to_come_again() -> None:
    turns = ForkTurns(1, 0.01, "looking")
    with turns.turn(), pytest.raises(Busy, match="looking: too many ask at once"), turns.turn():
        pass
    with turns.turn():
        pass
