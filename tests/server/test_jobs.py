"""Jobs on a real server with a real Spark: all tests of this file share both."""

from __future__ import annotations

import csv
import io
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pyarrow.ipc
import pyarrow.parquet
import pytest

from sensorstream.cli.demo.server_process import ServerProcess
from sensorstream.cli.init_command import TEMPLATES, make_workspace
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.client.clients import Client
from tests.waiting import command_of

DEADLINE = 240.0
MESSAGES = 30
ROWS = "select seq, id, received_at, content, null as nothing from messages order by seq desc"
# A product of two series of a million numbers: hours of work.
ENDLESS = (
    "select count(*) from generate_series(1, 1000000) a(n), generate_series(1, 1000000) b(m) "
    "where a.n * b.m % 7 = 3"
)
HUGE = "select a.n, md5(a.n::text) as text from generate_series(1, 100000000) a(n)"
ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"


@dataclass(frozen=True)
class Deployment:
    client: httpx.Client
    config: Path

    def start(self, text: str, language: str = "sql", **more: str | bool) -> str:
        answer = self.client.post("/jobs", json={"language": language, "text": text, **more})
        assert answer.status_code == 202, answer.text
        job: str = answer.json()["id"]
        assert answer.headers["location"] == f"/jobs/{job}"
        return job

    def job(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get(f"/jobs/{job}").json()
        return found

    def until(self, job: str, condition: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        deadline = time.monotonic() + DEADLINE
        while not condition(found := self.job(job)):
            assert time.monotonic() < deadline, found
            time.sleep(0.1)
        return found

    def ended(self, job: str) -> dict[str, Any]:
        return self.until(job, lambda found: found["ended_at"])

    def result(self, job: str, accept: str) -> httpx.Response:
        return self.client.get(f"/jobs/{job}/result", headers={"Accept": accept})


def computes(found: dict[str, Any]) -> bool:
    """Between two stages all tasks of a job that runs are done for a moment."""
    progress = found["progress"]
    return progress is not None and progress["tasks_done"] < progress["tasks"]


def workers(server: psutil.Process) -> list[psutil.Process]:
    worker = "sensorstream.spark.jobs.spark_worker"
    return [each for each in server.children() if worker in command_of(each)]


def gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=60)
    # One whose parent does not wait for it stays as a zombie in a container without an init.
    assert [each for each in alive if each.status() != psutil.STATUS_ZOMBIE] == []


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory, new_database: Callable[[], str]) -> Path:
    config = make_workspace(
        tmp_path_factory.mktemp("jobs"),
        TEMPLATES["tracking"],
        {
            "reasoning": {"profile": "none"},
            "window": {"size": "10"},
            "history": {"url": new_database()},
            "spark": {"master": "local[2]"},
        },
    )
    text = config.read_text()
    config.write_text(text.replace("[spark]\n", '[spark]\nresults = ["results"]\n'))
    return config


@pytest.fixture(scope="module")
def server(config: Path) -> Iterator[psutil.Process]:
    with ServerProcess(config) as process:
        process.url()
        yield psutil.Process(process._process.pid)


@pytest.fixture(scope="module")
def served(config: Path, server: psutil.Process) -> Iterator[Deployment]:
    (port,) = {each.laddr.port for each in server.net_connections() if each.status == "LISTEN"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        for message in tracker_messages(MESSAGES):
            client.post("/messages", content=message, headers={"Content-Type": "application/xml"})
        yield Deployment(client, config)


@pytest.fixture(scope="module")
def done(served: Deployment) -> str:
    """A job that has answered ``ROWS``."""
    job = served.start(ROWS)
    answer = served.result(job, PARQUET)
    assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (409, "unfinished-job")
    found = served.ended(job)
    assert (found["state"], found["error"], found["rows"]) == ("done", None, MESSAGES)
    assert found["submitted_at"] <= found["started_at"] <= found["ended_at"]
    assert found["progress"]["tasks_done"] <= found["progress"]["tasks"]
    return job


def test_a_result_comes_in_each_format_with_the_rows_in_order(
    served: Deployment, done: str
) -> None:
    expected = served.client.post("/sql", json={"query": ROWS}).json()
    assert served.result(done, "application/json").json() == expected
    ids = [row[1] for row in expected["rows"]]
    read = list(csv.DictReader(io.StringIO(served.result(done, "text/csv").text)))
    assert [row["id"] for row in read] == ids
    parquet = pyarrow.parquet.read_table(io.BytesIO(served.result(done, PARQUET).content))
    arrow = pyarrow.ipc.open_stream(served.result(done, ARROW).content).read_all()
    assert arrow == parquet
    assert parquet["id"].to_pylist() == ids
    assert str(parquet.schema.field("received_at").type) == "timestamp[us, tz=UTC]"
    answer = served.result(done, "image/png")
    assert answer.status_code == 406


TRACKING = "PREFIX : <http://sensorstream.example/tracking#> "
SOLUTIONS = (
    f"{TRACKING} SELECT ?human ?x ?nothing {{ ?human a :Human ; :hasTime ?x "
    "OPTIONAL { ?human :nothing ?nothing } } ORDER BY DESC(?x) LIMIT 7"
)


@pytest.mark.usefixtures("done")
def test_sparql_is_answered_in_its_own_formats(served: Deployment) -> None:
    asked = {
        SOLUTIONS: ("application/sparql-results+json", "text/csv", "text/tab-separated-values"),
        f"{TRACKING} ASK {{ ?s a :Human }}": ("application/sparql-results+xml",),
        f"{TRACKING} CONSTRUCT {{ ?s a :Seen }} {{ ?s :hasTime 3 }}": ("application/n-triples",),
    }
    for text, formats in asked.items():
        job = served.start(text, "sparql")
        found = served.ended(job)
        assert (found["state"], found["error"]) == ("done", None)
        for accept in formats:
            expected = served.client.get(
                "/sparql", params={"query": text, "on": "history"}, headers={"Accept": accept}
            )
            assert expected.text
            assert served.result(job, accept).text == expected.text
        if " ASK " in text:
            with Client(str(served.client.base_url)) as client:
                assert list(client.job_results(job)) == [{"boolean": True}]


@pytest.mark.usefixtures("done")
def test_a_job_may_ask_for_the_plan_instead_of_the_answer(served: Deployment) -> None:
    for text, language, parts in (
        (ROWS, "sql", ["sql", "plan"]),
        (SOLUTIONS, "sparql", ["algebra", "sql", "plan"]),
    ):
        job = served.start(text, language, plan=True)
        found = served.ended(job)
        assert (found["plan"], found["error"], found["rows"]) == (True, None, len(parts))
        with Client(str(served.client.base_url)) as client:
            told = {each["part"]: each["text"] for each in client.job_results(job)}
        assert list(told) == parts
        assert "order by" in told["sql"].lower()
        assert "== Physical Plan ==" in told["plan"]
    answer = served.client.post("/jobs", json={"language": "sql", "text": "select x", "plan": True})
    assert answer.status_code == 400


@pytest.mark.usefixtures("done")
def test_spark_writes_an_answer_below_a_folder_of_the_settings(served: Deployment) -> None:
    folder = served.config.parent / "results" / "rows.parquet"
    found = served.ended(served.start(ROWS, output="rows.parquet"))
    assert (found["output"], found["error"], found["bytes"]) == (str(folder), None, None)
    written = pyarrow.parquet.read_table(folder)
    assert found["rows"] == written.num_rows == MESSAGES
    assert written["seq"].to_pylist() == sorted(written["seq"].to_pylist(), reverse=True)
    answer = served.result(found["id"], PARQUET)
    assert answer.status_code == 404
    assert f"Spark wrote the answer to {folder}" in answer.json()["detail"]
    for output, reason in (
        ("rows.parquet", "is there already"),
        (f"{served.config.parent}/rows.csv", "expected a name below"),
    ):
        answer = served.client.post(
            "/jobs", json={"language": "sql", "text": ROWS, "output": output}
        )
        assert answer.status_code == 400
        assert reason in answer.json()["detail"]


def test_what_is_wrong_with_a_text_is_said_before_it_waits(served: Deployment) -> None:
    before = served.client.get("/jobs").json()
    for text, place in (
        ("select 1,\n  nothing(2) from human", 2),
        ("select stddev(seq) s from messages", 1),
    ):
        answer = served.client.post("/jobs", json={"language": "sql", "text": text})
        assert (answer.status_code, answer.json()["position"]["line"]) == (400, place)
    for language, text, more in (
        ("sparql", "SELECT ?s { ?s ?p", {}),
        ("sparql", "SELECT ?s { ?s ?p ?o }", {"at": "soon"}),
        ("sparql", "SELECT ?s { GRAPH <urn:sensorstream:window> { ?s ?p ?o } }", {}),
        ("sql", "select 1 as n", {"at": "3"}),
    ):
        body = {"language": language, "text": text, **more}
        answer = served.client.post("/jobs", json=body)
        assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (400, "query")
    answer = served.client.post("/jobs", json={"language": "cypher", "text": "x"})
    assert answer.status_code == 422
    assert served.client.get("/jobs").json() == before


@pytest.mark.usefixtures("done")
def test_a_job_that_fails_says_why(served: Deployment) -> None:
    job = served.start("select 1 / (seq - 1) as n from messages")
    found = served.ended(job)
    assert (found["state"], found["error"]["type"].rpartition(":")[2]) == ("failed", "query")
    assert "DIVIDE_BY_ZERO" in found["error"]["detail"]
    answer = served.result(job, "text/csv")
    assert (answer.status_code, answer.json()) == (
        400,
        {k: v for k, v in found["error"].items() if v},
    )


@pytest.mark.usefixtures("done")
def test_a_job_that_runs_can_be_cancelled_and_the_next_one_runs_in_the_same_spark(
    served: Deployment, server: psutil.Process
) -> None:
    (worker,) = workers(server)
    job = served.start(ENDLESS)
    waits = served.start("select count(*) as n from messages")
    served.until(job, computes)
    assert served.job(waits)["state"] == "queued"
    listed = served.client.get("/jobs").json()["jobs"]
    assert [each["id"] for each in listed][:2] == [waits, job]
    assert served.client.delete(f"/jobs/{job}").status_code == 204
    assert served.client.delete(f"/jobs/{job}").status_code == 404
    assert served.ended(waits)["error"] is None
    assert served.result(waits, "application/json").json()["rows"] == [[MESSAGES]]
    assert workers(server) == [worker]


@pytest.mark.usefixtures("done")
def test_a_worker_that_is_killed_fails_its_job_and_the_next_one_gets_another(
    served: Deployment, server: psutil.Process
) -> None:
    (worker,) = workers(server)
    below = worker.children(recursive=True)
    assert any("java" in each.name() for each in below)
    job = served.start(ENDLESS)
    served.until(job, lambda found: found["progress"])
    worker.kill()
    assert served.ended(job)["error"]["type"].rpartition(":")[2] == "lost-job"
    gone(below)
    assert served.ended(served.start("select count(*) as n from alerts"))["error"] is None


def test_no_process_is_left_when_the_server_is_killed_and_what_ran_is_lost(
    served: Deployment, server: psutil.Process, done: str
) -> None:
    job = served.start(ENDLESS)
    served.until(job, lambda found: found["progress"])
    below = server.children(recursive=True)
    assert len(below) >= 2
    os.kill(server.pid, signal.SIGKILL)
    gone(below)
    with (
        ServerProcess(served.config) as process,
        httpx.Client(base_url=process.url(), timeout=60) as client,
    ):
        listed = {each["id"]: each for each in client.get("/jobs").json()["jobs"]}
        assert listed[job]["error"]["type"].rpartition(":")[2] == "lost-job"
        assert listed[done]["rows"] == MESSAGES
        answer = client.get(f"/jobs/{done}/result", headers={"Accept": "text/csv"})
        assert len(answer.text.splitlines()) > MESSAGES
        assert client.delete(f"/jobs/{done}").status_code == 204
    folder = served.config.parent / "data" / "jobs"
    assert sorted(each.name for each in folder.iterdir()) == sorted(listed.keys() - {done})
