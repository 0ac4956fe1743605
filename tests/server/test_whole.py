"""The server over a real application: HTTP in front, PostgreSQL behind."""

from __future__ import annotations

import itertools
import json
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx
import pytest
import zeep
from SPARQLWrapper import JSON, SPARQLWrapper
from standardwebhooks import Webhook as Verifier

from sensorstream.app.application import Application
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.settings.settings import HistorySettings, WebhookSettings, WindowSettings
from tests.tracking_settings import tracking
from tests.waiting import eventually

XML = {"content-type": "application/xml"}
TRACKING = "http://sensorstream.example/tracking#"
UNSURE = b"""<Message><Event><Tracker type='FaceTracker'><TimeStamp value='%d'/>
<person id='%d' certainty='42'><location2d x='1' y='2'/></person></Tracker></Event></Message>"""


@pytest.fixture(scope="module")
def url(
    tmp_path_factory: pytest.TempPathFactory,
    new_database: Callable[[], str],
    listen: Callable[[Application], Iterator[str]],
) -> Iterator[str]:
    """The tracking deployment over a window of ten, listening."""
    folder: Path = tmp_path_factory.mktemp("deployment")
    settings = tracking(
        folder,
        window=WindowSettings(size="10"),
        history=HistorySettings(url=new_database()),
        webhooks=WebhookSettings(allow=(ip_network("127.0.0.1/32"),)),
    )
    with Application.open(settings) as application:
        yield from listen(application)


@pytest.fixture(scope="module")
def web(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=300) as client:
        yield client


def post(web: httpx.Client, content: bytes) -> dict[str, Any]:
    answer = web.post("/messages", content=content, headers=XML)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_messages_fill_the_window_then_history(web: httpx.Client, url: str) -> None:
    answers = [post(web, content) for content in tracker_messages(20, start=100)]
    assert answers[0]["matched"] == ["face-tracker"]
    assert answers[0]["individuals"] == [f"{TRACKING}human-100"]
    assert all(seconds >= 0 for seconds in answers[0]["timings"].values())

    window = web.get("/window").json()
    assert window["total"] == len(window["individuals"]) == 10
    expired = sum(each["expired"] for each in answers)
    assert expired > 0

    wanted = f"class = '{TRACKING}Human'"
    sql = f"select distinct iri, message_id from history.individuals where {wanted}"
    table = web.post("/sql", json={"query": sql}).json()
    assert table["columns"] == ["iri", "message_id"]
    kept = {row[0] for row in table["rows"]}
    present = {each["iri"] for each in window["individuals"]}
    assert {f"{TRACKING}human-{n}" for n in range(100, 120)} <= kept | present
    assert not kept & present


def test_sparql_sees_the_window_by_an_ordinary_client(web: httpx.Client, url: str) -> None:
    (human,) = post(web, next(tracker_messages(1, start=200)))["individuals"]
    endpoint = SPARQLWrapper(f"{url}/sparql")
    endpoint.setReturnFormat(JSON)
    endpoint.setQuery(f"select ?name {{ <{human}> <{TRACKING}hasName> ?name }}")
    found: Any = endpoint.queryAndConvert()
    assert [each["name"]["value"] for each in found["results"]["bindings"]] == ["200"]


def test_sparql_reaches_no_other_endpoint(web: httpx.Client) -> None:
    query = "select * { service <http://127.0.0.1:9/> { ?s ?p ?o } }"
    answer = web.get("/sparql", params={"query": query})
    assert answer.status_code == 400
    assert "SERVICE" in answer.json()["detail"]


def test_sql_cannot_write(web: httpx.Client) -> None:
    answer = web.post("/sql", json={"query": "delete from store.messages"})
    assert answer.status_code == 400
    assert answer.json()["type"] == "urn:sensorstream:error:query"


def test_zeep_gets_the_same_facts(url: str) -> None:
    with zeep.Client(f"{url}/soap?wsdl") as client:
        result = client.service.postMessage(next(tracker_messages(1, start=300)).decode())
    assert result.matched == ["face-tracker"]
    assert result.individuals == [f"{TRACKING}human-300"]
    assert result.timings.t_w >= 0


def test_a_batch_is_taken_in_order(web: httpx.Client) -> None:
    texts = [content.decode() for content in tracker_messages(30, start=400)]
    told = web.post("/messages/batch", json=[*texts, "<open>"]).json()
    assert (told["accepted"], told["failed"]) == (30, 1)
    named = [each["outcome"]["individuals"] for each in told["results"][:-1]]
    assert named == [[f"{TRACKING}human-{n}"] for n in range(400, 430)]


@contextmanager
def listening() -> Iterator[tuple[str, queue.Queue[tuple[dict[str, str], bytes]]]]:
    """A receiver of webhooks: its URL, and headers and body of what arrives."""
    arrived: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(204)
            self.end_headers()
            arrived.put(({k.lower(): v for k, v in self.headers.items()}, body))

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as receiver:
        thread = threading.Thread(target=receiver.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{receiver.server_port}/hook", arrived
        finally:
            receiver.shutdown()
            thread.join()


def test_an_alert_is_listed_streamed_and_delivered(web: httpx.Client) -> None:
    with listening() as (place, arrived):
        webhook = web.post("/webhooks", json={"url": place}).json()
        with web.stream("GET", "/alerts/stream") as stream:
            lines = stream.iter_lines()
            assert next(lines) == ": listening"
            (alert,) = post(web, UNSURE % (500, 500))["alerts"]
            streamed = next(json.loads(each[6:]) for each in lines if each.startswith("data: "))
        headers, body = arrived.get(timeout=120)
        assert web.delete(f"/webhooks/{webhook['id']}").status_code == 204

    assert alert["text"] == "face 500 was seen with a certainty of 42 only"
    assert streamed.items() >= alert.items()
    assert web.get("/alerts?limit=1").json()["alerts"] == [streamed]
    assert arrived.empty()
    event = Verifier(webhook["secret"]).verify(body, headers)
    assert event["id"] == alert["id"]
    assert event["data"].items() >= alert.items()


def test_reports_of_a_query_are_delivered_as_they_are_streamed(web: httpx.Client) -> None:
    query = f"ASK {{ <{TRACKING}human-700> a <{TRACKING}Human> }}"
    with listening() as (place, arrived):
        body = {"url": place, "queries": ["seen"]}
        webhook = web.post("/webhooks", json=body).json()
        assert web.post("/queries?name=seen", content=query).status_code == 201
        assert web.post("/queries?name=unseen", content=query).status_code == 201
        (human,) = post(web, next(tracker_messages(1, start=700)))["individuals"]
        assert human == f"{TRACKING}human-700"
        events = [_verified(webhook["secret"], arrived.get(timeout=120))]
        while events[-1]["data"].get("boolean") is not True:
            events.append(_verified(webhook["secret"], arrived.get(timeout=120)))
        streamed = []
        resume = {"accept": "text/event-stream", "last-event-id": "none-0"}
        with web.stream("GET", "/queries/seen/results", headers=resume) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    streamed.append(json.loads(line[6:]))
                if streamed and streamed[-1]["boolean"]:
                    break
        assert web.delete(f"/webhooks/{webhook['id']}").status_code == 204
        for name in ("seen", "unseen"):
            assert web.delete(f"/queries/{name}").status_code == 204

    # A webhook gets all alerts as well.
    reports = [each for each in events if each["type"] == "sensorstream.query.report"]
    assert [each["data"] for each in reports] == streamed
    assert [each["id"] for each in reports] == [each["id"] for each in streamed]
    assert {each["subject"] for each in reports} == {"seen"}


def _verified(secret: str, arrived: tuple[dict[str, str], bytes]) -> dict[str, Any]:
    headers, body = arrived
    event: dict[str, Any] = Verifier(secret).verify(body, headers)
    return event


def test_a_message_without_a_rule_is_kept_and_loud(web: httpx.Client) -> None:
    told = post(web, b"<Mesage/>")
    assert told["matched"] == []
    assert told["warnings"]
    (kept,) = web.get("/quarantine?limit=1").json()["messages"]
    assert (kept["message_id"], kept["status"]) == (told["message_id"], "unmatched")
    assert kept["content"] == "<Mesage/>"


def test_a_message_that_cannot_be_taken_in_is_kept_with_its_reason(web: httpx.Client) -> None:
    content = (UNSURE % (600, 600)).replace(b"x='1'", b"x='left'")
    answer = web.post("/messages", content=content, headers=XML)
    assert answer.status_code == 422
    assert "left" in answer.json()["detail"]
    (kept,) = web.get("/quarantine?limit=1").json()["messages"]
    assert kept["status"] == "rejected"
    assert "left" in kept["reason"]


def test_every_part_is_ready_and_the_phases_are_counted(web: httpx.Client) -> None:
    assert web.get("/healthz").status_code == 200
    eventually(lambda: web.get("/readyz").json()["parts"]["history"]["ready"])
    metrics = web.get("/metrics").text
    for phase in ("t_i", "t_w", "t_m", "t_s"):
        assert f'sensorstream_phase_seconds_count{{phase="{phase}"}}' in metrics


def test_who_sends_one_message_does_not_wait_for_those_who_send_a_thousand(
    web: httpx.Client,
) -> None:
    """All have one address, and name no source of their own."""
    messages = (each.decode() for each in tracker_messages(start=1_000_000))
    batches = [[next(messages) for _ in range(400)] for _ in range(3)]
    number = itertools.count(2_000_000)

    def seq() -> int:
        moment = next(number)
        answer = web.post("/messages", content=UNSURE % (moment, moment), headers=XML)
        return int(answer.json()["message_id"].removeprefix("m"))

    first = seq()
    with ThreadPoolExecutor(3) as pool:
        sent = [pool.submit(web.post, "/messages/batch", json=each) for each in batches]
        between = 0
        while not all(each.done() for each in sent):
            between += first < seq() < first + 1000
        assert [each.result().json()["failed"] for each in sent] == [0, 0, 0]
    assert between > 1
