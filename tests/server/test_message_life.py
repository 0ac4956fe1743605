"""What becomes of a message, over HTTP with PostgreSQL behind, a restart included."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import threading
import tracemalloc
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape

import httpx
import pytest
from lxml import etree

from sensorstream.app.application import Application
from sensorstream.endpoints import FolderInput, Input
from sensorstream.inputs.inputs import Inputs
from sensorstream.resources import bundled
from sensorstream.settings import (
    HistorySettings,
    OntologySettings,
    RuleSettings,
    Settings,
    WebhookSettings,
    WindowSettings,
)
from sensorstream.simulation.tracker import tracker_messages

XML = {"content-type": "application/xml"}
SPARQL = {"content-type": "application/sparql-query"}
NOBODY_MAPS = b"<Other>%d</Other>"
START = itertools.count(1000, 100)


class Deployment:
    """The tracking deployment over a window of five, which can be started again."""

    def __init__(self, folder: Path, url: str, listen: Callable[..., Iterator[str]]) -> None:
        self.drop = folder / "drop"
        self.drop.mkdir()
        self._settings = Settings(
            path=folder / "sensorstream.toml",
            ontology=OntologySettings((bundled("ontologies") / "tracking.ttl",)),
            rules=RuleSettings((bundled("mapping_rules") / "tracking.rules",)),
            window=WindowSettings(size="5"),
            history=HistorySettings(url=url),
            webhooks=WebhookSettings(allow=(IPv4Network("127.0.0.0/8"),)),
            inputs=(Input("drop", "drop", FolderInput(self.drop, settle=0.01, poll=0.05)),),
        )
        self._listen = listen
        self._run: Iterator[httpx.Client] | None = None
        self.web: httpx.Client

    def start(self) -> httpx.Client:
        self.stop()
        self._run = self._running()
        self.web = next(self._run)
        return self.web

    def stop(self) -> None:
        if self._run is not None:
            next(self._run, None)
            self._run = None

    def _running(self) -> Iterator[httpx.Client]:
        with Application.open(self._settings) as application:
            listening = contextmanager(self._listen)
            with (
                Inputs(application),
                listening(application) as url,
                httpx.Client(base_url=url, timeout=30) as web,
            ):
                yield web


@pytest.fixture(scope="module")
def deployment(
    tmp_path_factory: pytest.TempPathFactory,
    new_database: Callable[[], str],
    listen: Callable[[Application], Iterator[str]],
) -> Iterator[Deployment]:
    found = Deployment(tmp_path_factory.mktemp("deployment"), new_database(), listen)
    found.start()
    yield found
    found.stop()


def one(certainty: int = 47) -> bytes:
    """A message that no other test sends; below 50 it raises an alert."""
    content = next(tracker_messages(1, start=next(START)))
    return re.sub(rb"certainty='\d+'", b"certainty='%d'" % certainty, content)


def bare(content: bytes) -> bytes:
    """A message without its XML declaration, which may stand at the start of a document only."""
    return content.partition(b"?>")[2]


def by_soap(
    web: httpx.Client, content: bytes, key: str = "", **headers: str
) -> tuple[httpx.Response, str]:
    """A message sent by SOAP 1.1, with a key in its header; the answer, and what it tells."""
    told = f"<s:idempotencyKey e:mustUnderstand='1'>{key}</s:idempotencyKey>" if key else ""
    envelope = (
        "<e:Envelope xmlns:e='http://schemas.xmlsoap.org/soap/envelope/' "
        f"xmlns:s='http://sensorstream.example/soap'><e:Header>{told}</e:Header><e:Body>"
        f"<s:postMessage><s:message>{escape(content.decode())}</s:message></s:postMessage>"
        "</e:Body></e:Envelope>"
    )
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = web.post("/soap", content=envelope, headers={"content-type": "text/xml", **given})
    found: Any = etree.fromstring(answer.content).xpath(
        "string(//s:message_id | //s:problem/s:type)",
        namespaces={"s": "http://sensorstream.example/soap"},
    )
    return answer, str(found)


def post(web: httpx.Client, content: bytes, **headers: str) -> httpx.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.post("/messages", content=content, headers={**XML, **given})


def entries(web: httpx.Client) -> int:
    """How many messages the journal has."""
    sql = "select count(*) from history.messages"
    return int(web.post("/sql", json={"query": sql}).json()["rows"][0][0])


def test_a_message_with_its_key_is_taken_once_and_answered_the_same(
    deployment: Deployment,
) -> None:
    key, content = str(uuid.uuid4()), one()
    first = post(deployment.web, content, idempotency_key=key)
    taken = entries(deployment.web)
    again = post(deployment.web, content, idempotency_key=key)
    after_restart = post(deployment.start(), content, idempotency_key=key)
    assert (first.status_code, "idempotency-replayed" in first.headers) == (200, False)
    for each in (again, after_restart):
        assert (each.status_code, each.content) == (200, first.content)
        assert each.headers["idempotency-replayed"] == "true"
    assert entries(deployment.web) == taken
    other = post(deployment.web, content, idempotency_key=str(uuid.uuid4()))
    assert other.json()["message_id"] != first.json()["message_id"]


def test_a_key_that_came_with_another_message_is_refused(deployment: Deployment) -> None:
    key, content = str(uuid.uuid4()), one()
    post(deployment.web, content, idempotency_key=key)
    refused = [
        post(deployment.web, one(), idempotency_key=key),
        deployment.web.post(
            "/messages?source=other", content=content, headers={**XML, "idempotency-key": key}
        ),
    ]
    for each in refused:
        assert each.status_code == 422
        assert each.json()["type"] == "urn:sensorstream:error:reused-key"
    for bad in ("", "x" * 256):
        assert post(deployment.web, content, idempotency_key=bad).status_code == 400


def test_a_message_by_soap_with_its_key_is_taken_once(deployment: Deployment) -> None:
    key, content = str(uuid.uuid4()), one()
    first, name = by_soap(deployment.web, content, key)
    taken = entries(deployment.web)
    again = by_soap(deployment.web, content, key)
    in_both = by_soap(deployment.web, content, key, idempotency_key=key)
    in_http = by_soap(deployment.start(), content, idempotency_key=key)
    for answer, told in (again, in_both, in_http):
        assert (answer.status_code, answer.content, told) == (200, first.content, name)
        assert answer.headers["idempotency-replayed"] == "true"
    assert entries(deployment.web) == taken
    other, reused = by_soap(deployment.web, one(), key)
    assert (other.status_code, reused) == (500, "urn:sensorstream:error:reused-key")
    for wrong in ({"key": "x" * 256}, {"key": "é"}, {"key": key, "idempotency_key": "another"}):
        answer, _ = by_soap(deployment.web, content, **wrong)
        assert (answer.status_code, "expected one Idempotency-Key" in answer.text) == (500, True)


def test_many_with_one_key_at_once_are_one_message(deployment: Deployment) -> None:
    key, content, taken = str(uuid.uuid4()), one(), entries(deployment.web)
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda _: post(deployment.web, content, idempotency_key=key), range(16))
        )
    assert {(each.status_code, each.content) for each in answers} == {(200, answers[0].content)}
    assert entries(deployment.web) == taken + 1


def test_what_was_rejected_is_rejected_in_the_same_words(deployment: Deployment) -> None:
    content = one().replace(b"certainty='", b"certainty='high \\u0000 ")
    key, told = str(uuid.uuid4()), []
    for _ in range(2):
        answer = post(deployment.web, content, idempotency_key=key)
        assert answer.status_code == 422
        told.append(answer.json())
    assert told[0] == told[1]
    assert told[0]["message_id"]


def test_a_batch_with_a_key_goes_on_where_it_was_left(deployment: Deployment) -> None:
    texts = [one().decode() for _ in range(5)]
    headers, taken = {"idempotency-key": str(uuid.uuid4())}, entries(deployment.web)
    part = deployment.web.post("/messages/batch", json=texts[:3], headers=headers).json()
    whole = deployment.web.post("/messages/batch", json=texts, headers=headers).json()
    assert whole["results"][:3] == part["results"]
    assert (whole["accepted"], entries(deployment.web)) == (5, taken + 5)
    other = deployment.web.post("/messages/batch", json=texts[::-1], headers=headers).json()
    codes = [each.get("problem", {}).get("type") for each in other["results"]]
    assert codes == ["urn:sensorstream:error:reused-key"] * 2 + [None] + codes[:2]


def test_a_body_may_come_in_gzip(deployment: Deployment) -> None:
    content = one()
    halves = gzip.compress(content[:50]) + gzip.compress(content[50:])
    for packed in (gzip.compress(content), halves):
        assert post(deployment.web, packed, content_encoding="gzip").json()["matched"]
    batch = gzip.compress(json.dumps([one().decode(), one().decode()]).encode())
    headers = {"content-encoding": "gzip", "content-type": "application/json"}
    told = deployment.web.post("/messages/batch", content=batch, headers=headers).json()
    assert (told["accepted"], told["failed"]) == (2, 0)
    batch = gzip.compress(b"<Messages>" + bare(one()) + NOBODY_MAPS + b"</Messages>")
    headers = {"content-encoding": "gzip", "content-type": "application/xml"}
    told = deployment.web.post("/messages/batch", content=batch, headers=headers).json()
    assert [each["outcome"]["status"] for each in told["results"]] == ["accepted", "unmatched"]


def test_a_body_that_grows_too_large_is_refused_while_it_grows(deployment: Deployment) -> None:
    limit, taken = Settings(Path("sensorstream.toml")).server.max_message_bytes, 0
    bomb = gzip.compress(b"<a>" + b" " * 100 * limit + b"</a>", mtime=0)
    tracemalloc.start()
    try:
        answer = post(deployment.web, bomb, content_encoding="gzip")
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.status_code == 413
    assert taken < 10 * limit
    assert post(deployment.web, one()).status_code == 200


def test_a_line_without_end_is_refused_while_it_grows(deployment: Deployment) -> None:
    limit, taken = 16 * Settings(Path("sensorstream.toml")).server.max_message_bytes, 0
    endless = gzip.compress(b'"' + b"x" * 4 * limit, 1, mtime=0)
    headers = {"content-encoding": "gzip", "content-type": "application/x-ndjson"}
    tracemalloc.start()
    try:
        answer = deployment.web.post("/messages/batch", content=endless, headers=headers)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.status_code == 413
    assert taken < 3 * limit
    half = gzip.compress(b'"<a/>"\n"' + b"x" * limit, 1, mtime=0)[:-9]
    answer = deployment.web.post("/messages/batch", content=half, headers=headers)
    assert (answer.status_code, "breaks off" in answer.text) == (400, True)
    del headers["content-encoding"]
    for line in (b'"<a/>"\n"' + b"x" * 1_000_000, b"x" * 1_000_000):
        answer = deployment.web.post("/messages/batch", content=line, headers=headers)
        assert answer.status_code == 400


@pytest.mark.parametrize(
    ("coding", "content", "status", "told"),
    [
        ("zstd", b"<a/>", 415, "expected gzip"),
        ("gzip, gzip", b"<a/>", 415, "expected gzip"),
        ("gzip", b"<a/>", 400, "not gzip"),
        ("gzip", gzip.compress(b"<a/>", mtime=0)[:-3], 400, "breaks off"),
        ("gzip", gzip.compress(b"", mtime=0) * 100, 400, "over 64"),
        ("gzip", b"", 400, "is empty"),
    ],
)
def test_a_body_in_another_coding_is_refused(
    deployment: Deployment, coding: str, content: bytes, status: int, told: str
) -> None:
    answer = post(deployment.web, content, content_encoding=coding)
    assert answer.status_code == status
    assert told in answer.json()["detail"]
    assert answer.headers.get("accept-encoding") == ("gzip" if status == 415 else None)


def test_a_client_that_does_not_wait_is_answered_when_the_message_is_durable(
    deployment: Deployment,
) -> None:
    key, content = str(uuid.uuid4()), one()
    for again in (False, True):
        answer = post(deployment.web, content, prefer="wait=5, Respond-Async", idempotency_key=key)
        name = answer.json()["message_id"]
        assert (answer.status_code, answer.json()["status"]) == (202, "journalled")
        assert answer.headers["preference-applied"] == "respond-async"
        assert answer.headers["location"] == f"/messages/{name}"
        assert ("idempotency-replayed" in answer.headers) is again
    # An entry has its effects before those after it are answered.
    post(deployment.web, one())
    sql = f"select status from history.messages where id = '{name}'"
    assert deployment.web.post("/sql", json={"query": sql}).json()["rows"] == [["accepted"]]


def life(deployment: Deployment, name: str) -> dict[str, Any]:
    answer = deployment.web.get(f"/messages/{name}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_the_life_of_a_message_is_told_in_the_window_and_in_history(
    deployment: Deployment,
) -> None:
    content = one().replace(b"certainty='47'", b"certainty='12'")
    answer = post(deployment.web, content).json()
    found = life(deployment, answer["message_id"])
    for name in ("message_id", "status", "matched", "individuals", "replies", "warnings"):
        assert found[name] == answer[name]
    (alert,) = found["alerts"]
    assert alert.items() >= answer["alerts"][0].items()
    assert (found["source"], found["bytes"], found["error"]) == ("rest", len(content), None)
    iri = answer["individuals"][0]
    said = deployment.web.get(f"/individuals/{quote(iri, safe='')}").json()
    assert found["in_window"]["asserted"] > 2
    assert found["in_window"]["inferred"] > 0
    assert iri in said["iri"]
    assert found["in_history"] == {"asserted": 0, "inferred": 0}
    assert found["left_at"] is None
    for content_after in tracker_messages(8, start=next(START)):
        post(deployment.web, content_after)
    later = life(deployment, answer["message_id"])
    assert later["in_history"] == found["in_window"]
    assert later["in_window"] == found["in_history"]
    assert later["left_at"] is not None
    told = deployment.web.get(f"/messages/{answer['message_id']}/content")
    assert (told.content, told.headers["content-disposition"]) == (content, "attachment")
    assert life(deployment, answer["message_id"]) == later


def test_the_life_of_a_rejected_message_has_the_reason(deployment: Deployment) -> None:
    content = one().replace(b"certainty='", b"certainty='high ")
    problem = post(deployment.web, content).json()
    found = life(deployment, problem["message_id"])
    assert (found["status"], found["individuals"]) == ("rejected", [])
    assert found["error"]["message"] == problem["detail"]
    assert problem["type"].endswith(found["error"]["code"])
    assert found["reason"]


@pytest.mark.parametrize("name", ["m999999", "42", "m-1", "mx", "m" + "9" * 30, "m٣"])
def test_an_unknown_message_is_told_so(deployment: Deployment, name: str) -> None:
    for path in (f"/messages/{name}", f"/messages/{name}/content"):
        answer = deployment.web.get(path)
        assert (answer.status_code, answer.json()["type"]) == (
            404,
            "urn:sensorstream:error:unknown-message",
        )


def test_messages_are_listed_page_by_page(deployment: Deployment) -> None:
    names = []
    for content in (one(), NOBODY_MAPS, one(), one()):
        answer = deployment.web.post("/messages?source=a%26b", content=content, headers=XML)
        names.append(answer.json()["message_id"])
    path, seen = "/messages?source=a%26b&since=2026-01-01T00:00:00Z&limit=2", []
    while path is not None:
        page = deployment.web.get(path).json()
        seen += [each["message_id"] for each in page["messages"]]
        path = page["next"]
    assert seen == names[::-1]
    asked = {"source": "a&b", "status": "unmatched"}
    (found,) = deployment.web.get("/messages", params=asked).json()["messages"]
    assert (found["message_id"], found["bytes"]) == (names[1], len(NOBODY_MAPS))
    assert deployment.web.get("/messages?since=2999-01-01T00:00:00Z").json()["messages"] == []
    for bad in ("status=lost", "since=2026-01-01", "limit=0"):
        assert deployment.web.get(f"/messages?{bad}").status_code == 422


def quarantined(deployment: Deployment) -> list[str]:
    found = deployment.web.get("/quarantine?limit=1000").json()["messages"]
    return [each["message_id"] for each in found]


def test_a_message_in_quarantine_is_replayed_once_maybe_corrected(deployment: Deployment) -> None:
    right = one()
    wrong = right.replace(b"certainty='", b"certainty='high ")
    old = post(deployment.web, wrong).json()["message_id"]
    assert old in quarantined(deployment)
    path = f"/quarantine/{old}/replay"
    assert deployment.web.post(path, content=b"<open>", headers=XML).status_code == 400
    failed = deployment.web.post(path)
    new = failed.json()["message_id"]
    assert (failed.status_code, new == old) == (422, False)
    again = deployment.web.post(path)
    assert (again.status_code, again.json()["type"]) == (
        409,
        "urn:sensorstream:error:repeated-message",
    )
    assert [old in quarantined(deployment), new in quarantined(deployment)] == [False, True]
    whole = deployment.web.post(f"/quarantine/{new}/replay", content=right, headers=XML)
    assert (whole.status_code, whole.json()["status"]) == (200, "accepted")
    assert new not in quarantined(deployment)
    for name in (whole.json()["message_id"], "m99999"):
        assert deployment.web.post(f"/quarantine/{name}/replay").status_code == 404
    told = {each: life(deployment, each) for each in (old, new, whole.json()["message_id"])}
    assert [(each["replay_of"], each["replay"]) for each in told.values()] == [
        (None, new),
        (old, whole.json()["message_id"]),
        (new, None),
    ]


STRANGER = """
prefix : <http://sensorstream.example/tracking#>
mapping stranger on message {/Stranger} then update individual :human-{@id} a :Human at {@t} .
"""


def stranger(web: httpx.Client, source: str, number: int) -> str:
    """A message that no rule maps."""
    content = f"<Stranger id='{source}-{number}' t='{next(START)}'/>"
    answer = web.post(f"/messages?source={source}", content=content, headers=XML)
    return str(answer.json()["message_id"])


def test_what_is_chosen_in_quarantine_is_replayed_step_by_step(deployment: Deployment) -> None:
    web = deployment.web
    old = [stranger(web, "bulk", number) for number in range(5)]
    other = stranger(web, "else", 1)
    first = web.post("/quarantine/replay?source=bulk&limit=2").json()
    assert [first[name] for name in ("replayed", "failed", "left")] == [0, 2, 3]
    assert [each["outcome"]["status"] for each in first["results"]] == ["unmatched"] * 2
    assert web.put("/rules/stranger.rules", content=STRANGER).status_code == 200
    path, results = first["next"], []
    while path is not None:
        told = web.post(path).json()
        results += told["results"]
        path = told["next"]
    # Those of the first step that are in quarantine anew were not chosen again.
    assert [each["replay_of"] for each in results] == old[2:]
    assert {each["outcome"]["status"] for each in results} == {"accepted"}
    rest = [each["outcome"]["message_id"] for each in first["results"]]
    found = web.get("/quarantine?source=bulk&limit=1").json()
    assert [each["message_id"] for each in found["messages"]] == [rest[1]]
    assert [each["message_id"] for each in web.get(found["next"]).json()["messages"]] == [rest[0]]
    again = web.post("/quarantine/replay?source=bulk&status=unmatched&until=2999-01-01T00:00:00Z")
    assert [again.json()[name] for name in ("replayed", "failed", "left", "next")] == [
        2,
        0,
        0,
        None,
    ]
    assert [each["replay_of"] for each in again.json()["results"]] == rest
    assert web.post("/quarantine/replay?source=bulk").json()["results"] == []
    web.delete("/rules/stranger.rules")
    assert other in quarantined(deployment)


def test_what_is_chosen_by_the_code_of_its_error_is_replayed(deployment: Deployment) -> None:
    web = deployment.web
    wrong = one().replace(b"certainty='", b"certainty='high ")
    problem = web.post("/messages?source=codes", content=wrong, headers=XML).json()
    unmatched, code = stranger(web, "codes", 1), problem["type"].rpartition(":")[2]
    (kept,) = web.get(f"/quarantine?source=codes&code={code}").json()["messages"]
    assert (kept["message_id"], kept["code"]) == (problem["message_id"], code)
    told = web.post(f"/quarantine/replay?source=codes&code={code}").json()
    assert (told["failed"], told["results"][0]["problem"]["type"]) == (1, problem["type"])
    assert unmatched in quarantined(deployment)
    assert web.post("/quarantine/replay?code=nothing-such").json()["results"] == []
    assert web.post("/quarantine/replay?since=2026-01-01").status_code == 422


def test_what_wrong_rules_refused_is_taken_in_after_the_version_before_is_restored(
    deployment: Deployment,
) -> None:
    web, path = deployment.web, "/rules/tracking.rules"
    assert post(web, one()).status_code == 200
    wrong = web.get(path).text.replace("{$person/@certainty}", "{@type}")
    trial = web.put(f"{path}?dry-run", content=wrong).json()
    assert trial["faults"] == []
    assert trial["lost_after"] > trial["lost_before"]
    put = web.put(path, content=wrong).json()["change"]
    sent = [one() for _ in range(4)]
    for each in sent:
        refused = web.post("/messages?source=careful", content=each, headers=XML)
        assert (refused.status_code, refused.json()["type"]) == (
            422,
            "urn:sensorstream:error:mapping",
        )
    before, last = web.get(f"{path}/versions").json()["versions"][-2:]
    assert last["change"] == put
    old = web.get(f"{path}/versions/{before['change']}")
    headers = {"content-type": old.headers["content-type"], "if-match": f'"{last["digest"]}"'}
    assert web.put(path, content=old.content, headers=headers).status_code == 200
    told = web.post("/quarantine/replay?source=careful").json()
    assert [told[name] for name in ("replayed", "failed", "left")] == [4, 0, 0]
    for each in sent:
        (name,) = re.findall(rb"<person id='(\w+)'", each)
        person = f"http://sensorstream.example/tracking#human-{name.decode()}"
        known = web.get(f"/individuals/{quote(person, safe='')}")
        assert known.status_code == 200, name
        assert "hasCertainty" in known.text
    assert web.get("/quarantine?source=careful").json()["messages"] == []


def test_what_is_dismissed_leaves_the_quarantine_and_stays_in_the_journal(
    deployment: Deployment,
) -> None:
    web = deployment.web
    names = [stranger(web, "gone", number) for number in range(3)]
    assert web.delete(f"/quarantine/{names[0]}").status_code == 204
    for path in (f"/quarantine/{names[0]}", "/quarantine/m999999", "/quarantine/replay"):
        assert web.delete(path).status_code == 404
    assert web.post(f"/quarantine/{names[0]}/replay").status_code == 404
    told = life(deployment, names[0])
    assert (told["status"], told["dismissed_at"] is None) == ("unmatched", False)
    assert web.delete("/quarantine?source=gone").json() == {"dismissed": 2, "left": 0}
    assert web.delete("/quarantine?source=gone").json() == {"dismissed": 0, "left": 0}
    deployment.start()
    assert not set(names) & set(quarantined(deployment))
    assert deployment.web.get(f"/messages/{names[1]}/content").content.startswith(b"<Stranger")


@pytest.fixture
def receiver() -> Iterator[str]:
    """The address of a receiver of webhooks that takes everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/alerts"
        server.shutdown()
        thread.join()


def test_the_whole_life_is_told_however_a_message_came_and_after_a_restart(
    deployment: Deployment, receiver: str, eventually: Callable[..., None]
) -> None:
    web = deployment.web
    hook = web.post("/webhooks", json={"url": receiver}).json()["id"]
    wrong = one().replace(b"certainty='", b"certainty='high ")
    names = {
        "plain": post(web, one(certainty=90)).json()["message_id"],
        "alerted": post(web, one(certainty=12)).json()["message_id"],
        "early": post(web, one(certainty=90), prefer="respond-async").json()["message_id"],
        "soap": by_soap(web, one(certainty=90))[1],
        "wrong": post(web, wrong).json()["message_id"],
    }
    path = f"/quarantine/{names['wrong']}/replay"
    corrected = web.post(path, content=one(certainty=90), headers=XML)
    names["corrected"] = corrected.json()["message_id"]
    batch = b"<Messages>" + bare(one(certainty=90)) + b"</Messages>"
    told = web.post("/messages/batch", content=batch, headers=XML).json()
    names["batch"] = told["results"][0]["outcome"]["message_id"]
    (deployment.drop / "one.xml").write_bytes(one(certainty=90))
    eventually(lambda: web.get("/messages?source=drop&status=accepted").json()["messages"])
    (dropped,) = web.get("/messages?source=drop").json()["messages"]
    names["dropped"] = dropped["message_id"]

    def delivered() -> bool:
        states = [each["state"] for each in life(deployment, names["alerted"])["deliveries"]]
        return states == ["delivered"]

    eventually(delivered)
    lives = {kind: life(deployment, name) for kind, name in names.items()}
    taken = {kind: told for kind, told in lives.items() if kind != "wrong"}
    for kind, told in taken.items():
        assert (told["status"], told["matched"]) == ("accepted", ["face-tracker"]), kind
        assert len(told["individuals"]) == 1
        assert (told["error"], told["reason"], told["received_at"] != "") == (None, "", True)
        parts = (told["in_window"], told["in_history"])
        assert sum(each["asserted"] for each in parts) > 2
        assert sum(each["inferred"] for each in parts) > 0
        assert len(told["alerts"]) == len(told["deliveries"]) == (kind == "alerted")
    # The window holds five.
    assert lives["plain"]["left_at"] is not None
    assert lives["plain"]["in_window"] == {"asserted": 0, "inferred": 0}
    assert lives["dropped"]["left_at"] is None
    assert lives["dropped"]["in_history"] == {"asserted": 0, "inferred": 0}
    (delivery,) = lives["alerted"]["deliveries"]
    assert (delivery["webhook_id"], delivery["status"]) == (hook, 204)
    assert delivery["event_id"] == lives["alerted"]["alerts"][0]["id"]
    assert (lives["wrong"]["status"], lives["wrong"]["individuals"]) == ("rejected", [])
    assert lives["wrong"]["error"]["code"] == "mapping"
    assert lives["wrong"]["replay"] == names["corrected"]
    assert lives["corrected"]["replay_of"] == names["wrong"]
    assert [lives[kind]["source"] for kind in ("plain", "soap", "dropped")] == [
        "rest",
        "soap",
        "drop",
    ]
    deployment.start()
    assert {kind: life(deployment, name) for kind, name in names.items()} == lives
    deployment.web.delete(f"/webhooks/{hook}")


def test_what_a_query_finds_raises_an_alert_that_webhooks_are_told_of(
    deployment: Deployment, receiver: str, eventually: Callable[..., None]
) -> None:
    web = deployment.web
    hook = web.post("/webhooks", json={"url": receiver}).json()["id"]
    text = """PREFIX : <http://sensorstream.example/tracking#>
        SELECT ?who REPORT ON CHANGE ALERT critical "{?who} was seen" WHERE { ?who a :Human }"""
    made = web.post("/queries?name=seen", content=text, headers=SPARQL)
    assert made.status_code == 201
    name = post(web, one(certainty=90)).json()["message_id"]
    told = life(deployment, name)["alerts"]
    (alert,) = [each for each in told if each["rule"] == "seen"]
    assert (alert["kind"], alert["severity"]) == ("query", "critical")
    assert alert["text"].endswith(" was seen")

    def delivered() -> bool:
        found = life(deployment, name)["deliveries"]
        states = {each["event_id"]: each["state"] for each in found}
        return states.get(alert["id"]) == "delivered"

    eventually(delivered)
    why = web.get(f"/alerts/{alert['id']}/why")
    (note,) = why.json()["notes"]
    assert note == "a solution of the query 'seen' raised this alert: its text says which"
    refused = web.post("/sparql", content=text, headers=SPARQL)
    assert refused.status_code == 400
    assert web.delete(f"/webhooks/{hook}").status_code == 204
    assert web.delete("/queries/seen").status_code == 204
