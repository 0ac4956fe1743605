"""A child process: asked, given up, ended, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from threading import Timer

import psutil
import pytest

from sensorstream.errors import JobCancelled, Overrun, QueryError
from sensorstream.processes.child_process import Child
from sensorstream.processes.forks import Forks, QuestionLimits
from sensorstream.processes.stopping import Stop
from tests.waiting import eventually

MODULE = "tests.processes.echo"
LIMITS = QuestionLimits(5.0, 64, 10)


@pytest.fixture
def child() -> Iterator[Child]:
    with closing(Child(MODULE, "!")) as found:
        yield found


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with closing(Forks(MODULE, "the tests")) as found:
        yield found


def answer(forks: Forks, question: str, limits: QuestionLimits = LIMITS) -> list[object]:
    with closing(forks.begin(question, limits).pieces(Stop())) as pieces:
        return list(pieces)


def test_a_child_answers_however_long_a_message_is(child: Child) -> None:
    for said in (b"", b"x" * 3_000_000):
        child.send(said)
        assert child.receive(60) == said + b"!"


def test_one_that_reads_nothing_or_says_nothing_is_not_waited_for(child: Child) -> None:
    child.send(b"")
    child.receive(60)
    os.kill(child.pid, signal.SIGSTOP)
    with pytest.raises(TimeoutError):
        child.receive(0.1, works=True)
    with pytest.raises(TimeoutError):
        child.send(b"x" * 50_000_000, 0.1)


def test_one_that_works_is_waited_for_and_its_end_is_told(child: Child) -> None:
    child.send(b"work")
    with pytest.raises(TimeoutError):
        child.receive(0.2)
    Timer(0.5, child.kill).start()
    with pytest.raises(EOFError):
        child.receive(0.1, works=True)
    assert (child.code(), child.alive) == (-signal.SIGKILL, False)


def test_a_child_ends_with_an_owner_that_is_killed() -> None:
    text = f"from sensorstream.processes.child_process import Child; c = Child({MODULE!r}, '!'); "
    with subprocess.Popen(
        [sys.executable, "-c", text + "print(c.pid, flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        owner.kill()
    eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie")


def test_a_fork_knows_what_was_told_before_and_the_next_one_is_another(forks: Forks) -> None:
    for number in (7, 8):
        forks.tell(number)
        assert answer(forks, "told") == [number]


@pytest.mark.parametrize(
    ("question", "error", "told"),
    [
        ("large", Overrun, r"more than 64 MiB of memory: .* \(limits\.question_memory\)"),
        ("killed", Overrun, "too large to be answered: .* -11"),
        ("wrong", QueryError, "the query cannot be answered: wrong"),
    ],
)
def test_what_is_beyond_a_limit_costs_one_question(
    forks: Forks, question: str, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        answer(forks, question)
    assert forks.alive


def test_a_question_ends_with_its_reader_or_when_it_is_stopped(forks: Forks) -> None:
    with closing(forks.begin("endless", LIMITS).pieces(Stop())) as pieces:
        first = next(pieces)
    eventually(lambda: not psutil.pid_exists(first))
    stop = Stop()
    with closing(forks.begin("endless", LIMITS).pieces(stop)) as pieces:
        next(pieces)
        stop.now(JobCancelled("enough"))
        with pytest.raises(JobCancelled, match="enough"):
            list(pieces)
