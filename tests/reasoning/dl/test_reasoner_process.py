from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from sensorstream.clock import SystemClock
from sensorstream.errors import OntologyError, ReasonerError
from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.reasoning.dl.reasoner_messages import IslandFacts
from sensorstream.reasoning.dl.reasoner_process import JavaProcess, Worker
from sensorstream.reasoning.ontology import Ontology
from sensorstream.reasoning.profiles import make_reasoner
from tests.waiting import eventually

AXIOMS = b"""
<urn:x:A> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2002/07/owl#Class> .
<urn:x:B> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2002/07/owl#Class> .
<urn:x:A> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:x:B> .
"""
IMPOSSIBLE = (
    AXIOMS
    + b"""
<http://www.w3.org/2002/07/owl#Thing> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:x:A> .
<urn:x:A> <http://www.w3.org/2002/07/owl#disjointWith> <urn:x:B> .
"""
)


def an_a(count: int = 1) -> IslandFacts:
    return IslandFacts([None] * count, [(n, "urn:x:A") for n in range(count)], [], [], [], [])


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    # A zombie has ended; nobody has asked for its exit code yet.
    return state != "Z"


def test_a_killed_process_is_an_error_once_and_replaced_at_the_next_question() -> None:
    worker = Worker("hermit", AXIOMS)
    try:
        assert worker.start()
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(ReasonerError, match="the process of HermiT ended"):
            worker.ask([an_a()])
        [[types]] = [each or [] for each in worker.ask([an_a()])]
        assert set(types) == {"urn:x:A", "urn:x:B"}
        # More individuals than there were slots before.
        [many] = worker.ask([an_a(20)])
        assert many is not None
        assert [set(each) for each in many] == [{"urn:x:A", "urn:x:B"}] * 20
    finally:
        worker.close()


def test_a_process_that_hangs_is_given_up_after_the_time_limit() -> None:
    worker = Worker("hermit", AXIOMS, timeout=0.3)
    try:
        assert worker.start()
        pid = worker.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        # The signal alone may come after the next answer.
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
        with pytest.raises(ReasonerError, match=r"HermiT gave no answer within 0\.3 s"):
            worker.ask([an_a()])
        eventually(lambda: not runs(pid))
    finally:
        worker.close()


def test_what_java_prints_does_not_disturb_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    # The JVM writes this log to standard output, from its start on.
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xlog:class+load=info:stdout")
    worker = Worker("hermit", AXIOMS)
    try:
        [answer] = worker.ask([an_a()])
        assert answer is not None
        assert set(answer[0]) == {"urn:x:A", "urn:x:B"}
    finally:
        worker.close()


def test_axioms_without_a_model_are_told() -> None:
    worker = Worker("hermit", IMPOSSIBLE)
    try:
        assert not worker.start()
    finally:
        worker.close()


def test_axioms_that_cannot_be_read_are_an_error_and_leave_no_process() -> None:
    worker = Worker("pellet", b"<urn:x:A> <broken")
    with pytest.raises(ReasonerError, match="Pellet: "):
        worker.start()
    assert worker.pid is None


def test_a_folder_without_java_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReasonerError, match="no Java runtime"):
        Worker("hermit", AXIOMS, java=str(tmp_path)).start()


def test_an_ontology_that_is_not_classified_is_refused_within_a_minute(
    monkeypatch: pytest.MonkeyPatch, shipped: Ontology
) -> None:
    given = []

    def exchange(
        process: JavaProcess, question: object, seconds: float, limit: float | None
    ) -> object:
        given.append(seconds)
        raise ReasonerError(f"HermiT gave no answer within {seconds:g} s")

    monkeypatch.setattr(JavaProcess, "exchange", exchange)
    reasoner = make_reasoner("hermit", shipped)
    kb = KnowledgeBase()
    try:
        with pytest.raises(OntologyError, match=r"no answer.*a longer reasoning\.timeout"):
            reasoner.start(kb)
    finally:
        reasoner.close()
    assert sum(given) <= 60


def test_all_parts_of_a_question_share_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Watch(SystemClock):
        seconds = 0.0

        def counter(self) -> float:
            return self.seconds

    clock, given = Watch(), []

    def exchange(
        process: JavaProcess, question: object, seconds: float, limit: float | None
    ) -> object:
        given.append(seconds)
        clock.seconds += 4
        return []

    monkeypatch.setattr(JavaProcess, "pid", 1)
    monkeypatch.setattr(JavaProcess, "exchange", exchange)
    worker = Worker("hermit", b"", timeout=10, clock=clock)
    with worker.one_question():
        for _ in range(3):
            worker.ask([])
    worker.ask([])
    assert given == [10, 6, 2, 10]


def test_the_process_ends_when_its_owner_is_killed() -> None:
    owner = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(f"""
                import time
                from sensorstream.reasoning.dl.reasoner_process import Worker
                worker = Worker("hermit", {AXIOMS!r})
                worker.start()
                print(worker.pid, flush=True)
                time.sleep(600)
            """),
        ],
        stdout=subprocess.PIPE,
    )
    with owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert runs(pid)
        owner.kill()
        eventually(lambda: not runs(pid))
