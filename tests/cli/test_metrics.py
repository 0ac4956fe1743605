"""The metrics of a running server, against the table of docs/operate/metrics.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from sensorstream.simulation.tracker_messages import PAPER_MESSAGE

_ROW = re.compile(r"^\| `([a-z_]+)(?:\{[^}]*\})?` \| (\w+) \|", re.MULTILINE)
_ON_SPARK = "sensorstream_pipeline_"


def documented() -> dict[str, str]:
    text = (Path(__file__).parents[2] / "docs" / "operate" / "metrics.md").read_text(
        encoding="utf-8"
    )
    return dict(_ROW.findall(text))


def shown(url: str) -> dict[str, Metric]:
    text = httpx.get(f"{url}/metrics", trust_env=False).text
    return {
        f"{each.name}_total" if each.type == "counter" else each.name: each
        for each in text_string_to_metric_families(text)
        # When each series was made.
        if not each.name.endswith("_created")
    }


def test_each_metric_is_in_the_document_with_its_kind(served: Any) -> None:
    here = {name: kind for name, kind in documented().items() if not name.startswith(_ON_SPARK)}
    assert {name: each.type for name, each in shown(served.url).items()} == here


def test_metrics_follow_what_happens(served: Any) -> None:
    headers = {"Content-Type": "application/xml"}
    httpx.post(f"{served.url}/messages", content=PAPER_MESSAGE, headers=headers, trust_env=False)
    httpx.get(f"{served.url}/queries/none", trust_env=False)
    httpx.get(f"{served.url}/no/such/path", trust_env=False)
    metrics = shown(served.url)
    counted = {
        (each.labels["method"], each.labels["path"], each.labels["status"]): each.value
        for each in metrics["sensorstream_http_request_seconds"].samples
        if each.name.endswith("_count")
    }
    assert counted["POST", "/messages", "200"] == 1
    assert counted["GET", "/queries/{name}", "404"] == 1
    assert counted["GET", "other", "404"] == 1

    def value(name: str) -> float:
        return float(metrics[name].samples[0].value)

    assert value("sensorstream_journal_entry") == value("sensorstream_stored_entry") == 1
    assert value("sensorstream_watermark") > 0
    assert value("sensorstream_http_requests_running") == 1
    assert value("sensorstream_http_connections") >= 1
    assert value("process_resident_memory_bytes") > 1 << 20
    [queued] = [
        each.value
        for each in metrics["sensorstream_queue_seconds"].samples
        if each.name.endswith("_count")
    ]
    assert queued == 1
