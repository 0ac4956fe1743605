"""The metrics of a running server."""

from __future__ import annotations

from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE


def test_metrics_follow_what_happens(served: Any) -> None:
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        client.post("/messages", content=PAPER_MESSAGE, headers={"Content-Type": "application/xml"})
        client.get("/queries/none")
        client.get("/no/such/path")
        text = client.get("/metrics").text
    metrics = {each.name: each for each in text_string_to_metric_families(text)}

    def counted(name: str) -> dict[tuple[str, ...], float]:
        samples = [each for each in metrics[name].samples if each.name.endswith("_count")]
        return {tuple(each.labels.values()): each.value for each in samples}

    requests = counted("sensorstream_http_request_seconds")
    assert requests["POST", "/messages", "200"] == 1
    assert requests["GET", "/queries/{name}", "404"] == 1
    assert requests["GET", "other", "404"] == 1

    value = {name: each.samples[0].value for name, each in metrics.items() if each.samples}
    assert value["sensorstream_journal_entry"] == value["sensorstream_stored_entry"] == 1
    assert value["sensorstream_watermark"] > 0
    assert value["sensorstream_http_requests_running"] == 1
    assert value["sensorstream_http_connections"] >= 1
    assert value["process_resident_memory_bytes"] > 1 << 20
    assert list(counted("sensorstream_queue_seconds").values()) == [1]
