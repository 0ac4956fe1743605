"""Questions of clients over HTTP: their turns, their list, and their end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from sensorstream.errors import JobCancelled, QueryError
from sensorstream.processes.stopping import Stop
from tests.server.memory import MemoryApplication
from tests.waiting import eventually

ENDLESS = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?a = ?none) }"
ASK = {"query": "ASK { }"}


def running(client: httpx.Client) -> list[dict[str, Any]]:
    return [each for each in client.get("/jobs").json()["jobs"] if each["client"]]


def leave_half_way(request: httpx.Request) -> socket.socket:
    """Ask without waiting for the answer; closing the socket is to leave."""
    line = socket.create_connection((request.url.host, request.url.port or 80))
    head = [f"{request.method} {request.url.raw_path.decode()} HTTP/1.1"]
    head += [f"{name}: {value}" for name, value in request.headers.items()]
    line.sendall("\r\n".join([*head, "\r\n"]).encode() + request.read())
    return line


def endless_question(url: str) -> httpx.Request:
    return httpx.Request("GET", f"{url}/sparql", params={"query": ENDLESS})


def test_a_question_that_runs_is_listed_and_ended_and_the_next_has_its_turn(
    small: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensorstream.server.client_questions._PATIENCE", 0.1)
    with ThreadPoolExecutor() as pool:
        endless = pool.submit(
            httpx.get, f"{small.url}/sparql", params={"query": ENDLESS}, timeout=60
        )
        eventually(lambda: running(small.client))
        (told,) = running(small.client)
        assert (told["language"], told["on"], told["state"]) == ("sparql", "cache", "running")
        assert (told["text"], told["client"]) == (ENDLESS, "127.0.0.1")
        assert small.client.get(f"/jobs/{told['id']}").json() == told
        assert small.client.get(f"/jobs/{told['id']}/result").status_code == 409
        busy = small.client.get("/sparql", params=ASK)
        assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")
        assert busy.json()["type"] == "urn:sensorstream:error:busy"
        assert small.client.post("/messages", content=b"<Message/>").status_code in (200, 415)
        assert small.client.post("/sql", json={"query": "select 1"}).status_code == 200
        assert small.client.delete(f"/jobs/{told['id']}").status_code == 204
        assert endless.result().status_code == 409
        assert endless.result().json()["type"] == "urn:sensorstream:error:job-cancelled"
    assert running(small.client) == []
    assert small.client.get(f"/jobs/{told['id']}").status_code == 404
    assert small.client.delete(f"/jobs/{told['id']}").status_code == 404
    monkeypatch.undo()
    assert small.client.get("/sparql", params=ASK).status_code == 200


def test_a_question_ends_when_its_client_leaves(small: Any) -> None:
    with leave_half_way(endless_question(small.url)):
        eventually(lambda: running(small.client))
    assert small.client.get("/sparql", params=ASK).status_code == 200
    assert running(small.client) == []


def test_sql_ends_when_its_client_leaves(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def slow(_text: str, stop: Any = None) -> Any:
        with stop.by(ended.set):
            begun.set()
            ended.wait(60)
            raise RuntimeError("it was ended")

    monkeypatch.setattr(small.application.asking, "sql", slow)
    sql = httpx.Request("POST", f"{small.url}/sql", json={"query": "select 1"})
    with leave_half_way(sql):
        assert begun.wait(60)
    eventually(ended.is_set)
    eventually(lambda: running(small.client) == [])


def test_questions_that_never_end_are_told_by_readiness(
    small: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (probe,) = small.application.health.probes
    assert [each.ready for each in probe()] == [True]
    monkeypatch.setattr("sensorstream.server.client_questions._GRACE", -1000.0)
    with leave_half_way(endless_question(small.url)):
        eventually(lambda: running(small.client))
        (part,) = probe()
        assert (part.name, part.ready) == ("questions", False)
        assert "1 questions to the cache do not end" in part.detail
    monkeypatch.undo()
    eventually(lambda: probe()[0].ready)
    small.application.cache.trouble = "no process"
    assert probe()[0].detail == "no process"


def test_no_question_begins_after_the_end_and_all_are_ended(small: Any) -> None:
    with ThreadPoolExecutor() as pool:
        endless = pool.submit(
            httpx.get, f"{small.url}/sparql", params={"query": ENDLESS}, timeout=60
        )
        eventually(lambda: running(small.client))
        small.application.running.close()
        assert endless.result().status_code == 503
    assert small.client.get("/sparql", params=ASK).status_code == 503


def test_the_first_reason_for_an_end_counts() -> None:
    stop = Stop()
    stop.now(JobCancelled("first"))
    stop.now(JobCancelled("second"))
    with pytest.raises(JobCancelled, match="first"):
        stop.check()


def test_a_client_that_asks_without_end_leaves_a_turn_to_others(
    listen: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    application = MemoryApplication()
    go_on = threading.Event()
    begun = threading.Semaphore(0)

    def slow(_text: str, stop: Any = None) -> Any:
        begun.release()
        go_on.wait(60)
        raise QueryError("it was ended")

    application.asking.sql = slow  # type: ignore[method-assign,assignment]
    monkeypatch.setattr("sensorstream.server.client_questions._PATIENCE", 1.0)
    served: Iterator[str] = listen(application)
    url = next(served)
    with ThreadPoolExecutor(6) as pool:

        def ask(address: str) -> int:
            transport = httpx.HTTPTransport(local_address=address)
            with httpx.Client(base_url=url, transport=transport, timeout=60) as client:
                return client.post("/sql", json={"query": "select 1"}).status_code

        greedy = [pool.submit(ask, "127.0.0.1") for _ in range(4)]
        assert all(begun.acquire(timeout=300) for _ in range(2))
        other = pool.submit(ask, "127.0.0.2")
        assert begun.acquire(timeout=300)
        # Those that wait are told so in the end.
        eventually(lambda: [each.done() for each in greedy].count(True) == 2)
        go_on.set()
        assert sorted(each.result() for each in greedy) == [400, 400, 503, 503]
        assert other.result() == 400
    assert next(served, None) is None
