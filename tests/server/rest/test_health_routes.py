from __future__ import annotations

import socket
import threading
from dataclasses import replace
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.waiting import eventually


def test_a_running_pipeline_is_alive(client: httpx.Client, application: Any) -> None:
    assert client.get("/healthz").json() == {"status": "alive", "held": 2}
    application.health.alive = False
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json()["detail"] == "the pipeline has stopped"


def test_readiness_names_every_part(client: httpx.Client, application: Any) -> None:
    assert client.get("/readyz").json() == {
        "status": "ready",
        "parts": {
            "pipeline": {"ready": True, "detail": "", "age": 0.0},
            "history": {"ready": True, "detail": "", "age": 0.3},
        },
    }


def test_one_part_that_is_not_ready_makes_the_whole_unready(
    client: httpx.Client, application: Any
) -> None:
    pipeline, history = application.health.found
    application.health.found = (pipeline, replace(history, ready=False, detail="refused"))
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == "not ready: history"
    assert answer.json()["parts"]["history"] == {"ready": False, "detail": "refused", "age": 0.3}


def test_metrics_can_be_scraped(client: httpx.Client) -> None:
    client.post("/messages", content=b"<A/>", headers={"content-type": "text/xml"})
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    families = {each.name: each for each in text_string_to_metric_families(answer.text)}
    assert families["sensorstream_messages"].samples[0].value >= 1


def test_metrics_come_as_openmetrics_when_asked(client: httpx.Client) -> None:
    accept = {"accept": "application/openmetrics-text; version=1.0.0"}
    answer = client.get("/metrics", headers=accept)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")


def test_health_is_told_while_a_client_asks_more_than_it_has_turns(
    client: httpx.Client, application: Any, served: Any
) -> None:
    application.asking.ended = threading.Event()
    url = httpx.URL(served.url)
    assert url.port is not None
    body = b'{"query": "endless"}'
    head = b"POST /sql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    asking = [socket.create_connection((url.host, url.port)) for _ in range(60)]
    try:
        for each in asking:
            each.sendall(head + b"content-length: %d\r\n\r\n%b" % (len(body), body))
        turns = application.settings.limits.questions // 2
        eventually(lambda: application.asking.endless == turns)
        for path in ("/healthz", "/readyz", "/metrics", "/rules"):
            assert client.get(path).status_code == 200
        application.asking.ended.set()
        eventually(lambda: application.asking.endless == len(asking))
    finally:
        application.asking.ended.set()
        for each in asking:
            each.close()
