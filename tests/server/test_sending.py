"""How a message may be sent: with a key, in gzip, of what size, and without waiting."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sensorstream.settings.settings import Settings
from tests.server.tracking import NOBODY_MAPS, XML, Deployment, bare, by_soap, entries, one, post


def test_a_message_with_its_key_is_taken_once_and_answered_the_same(deployment: Deployment) -> None:
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
