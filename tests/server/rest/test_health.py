from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families


def test_a_running_pipeline_is_alive(client: httpx.Client, application: Any) -> None:
    assert client.get("/healthz").json() == {"status": "alive", "held": 2}
    application.alive = False
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json()["detail"] == "the pipeline has stopped"


def test_readiness_names_every_part(client: httpx.Client, application: Any) -> None:
    assert client.get("/readyz").json() == {
        "status": "ready",
        "parts": {
            "pipeline": {"ready": True, "detail": ""},
            "history": {"ready": True, "detail": ""},
        },
    }


def test_one_part_that_is_not_ready_makes_the_whole_unready(
    client: httpx.Client, application: Any
) -> None:
    pipeline, history = application.parts
    application.parts = (pipeline, replace(history, ready=False, detail="refused"))
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == "not ready: history"
    assert answer.json()["parts"]["history"] == {"ready": False, "detail": "refused"}


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
