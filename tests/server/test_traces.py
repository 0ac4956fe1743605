"""Traces of messages, as a collector gets them by OTLP over HTTP, and receivers by traceparent."""

from __future__ import annotations

import io
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from sensorstream.app.application import Application
from sensorstream.errors import MissingExtra, SettingsError
from sensorstream.logs import JsonFormatter
from sensorstream.settings.settings import TimeSettings, TraceSettings
from tests.alerts.conftest import Receiver, receiving
from tests.alerts.conftest import receiver as receiver
from tests.server.tracking import NOBODY_MAPS, SPARQL, Deployment, one, post
from tests.waiting import eventually

CAME = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
Listen = Callable[[Application], Iterator[str]]


def collected(collector: Receiver) -> list[Any]:
    """The spans that a collector has got."""
    found = []
    for each in collector.received:
        assert each.path == "/v1/traces"
        assert each.headers["content-type"] == "application/x-protobuf"
        for resource in ExportTraceServiceRequest.FromString(each.body).resource_spans:
            names = {a.key: a.value.string_value for a in resource.resource.attributes}
            assert names["service.name"] == "sensorstream"
            found += [span for scope in resource.scope_spans for span in scope.spans]
    return found


def spans_of(collector: Receiver, trace: str) -> dict[str, Any]:
    """The spans of one trace, by name."""
    found = [each for each in collected(collector) if each.trace_id.hex() == trace]
    assert len(found) == len({each.span_id for each in found})
    return {each.name: each for each in found}


def told(span: Any) -> dict[str, Any]:
    """The attributes of a span."""
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


def delivered(receiver: Receiver) -> list[str]:
    """The traceparents of what a webhook got."""
    return [each.headers["traceparent"] for each in receiver.received]


@pytest.fixture
def collector() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def traced(
    tmp_path: Path, database: str, listen: Listen, collector: Receiver, monkeypatch: Any
) -> Iterator[Deployment]:
    """The tracking deployment, not started yet, with a collector."""
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    deployment = Deployment(tmp_path, database, listen)
    endpoint = collector.url.partition("/hook")[0]
    deployment._settings = replace(deployment._settings, traces=TraceSettings(endpoint))
    yield deployment
    deployment.stop()


def test_a_message_is_one_trace_from_its_arrival_to_the_webhook(
    traced: Deployment, collector: Receiver, receiver: Receiver
) -> None:
    web = traced.start()
    hook = web.post("/webhooks", json={"url": receiver.url}).json()["id"]
    name = post(web, one(certainty=12)).json()["message_id"]
    # A question begins forks: they send no spans again.
    assert web.post("/sparql", content="ASK { ?s ?p ?o }", headers=SPARQL).json()["boolean"]
    eventually(lambda: delivered(receiver))
    metrics = web.get("/metrics", headers={"accept": OPEN_METRICS})
    traced.stop()

    (parent,) = delivered(receiver)
    _, trace, deliver, flags = parent.split("-")
    spans = spans_of(collector, trace)
    assert (spans["deliver"].span_id.hex(), flags) == (deliver, "01")
    root = spans["message"]
    assert root.parent_span_id == b""
    assert told(root)["sensorstream.id"] == name
    assert told(root)["sensorstream.status"] == "accepted"
    assert told(root)["sensorstream.alerts"] == 1
    of_root = ("reading", "queue", "journal", "engine", "storing", "deliver")
    assert {spans[each].parent_span_id for each in of_root} == {root.span_id}
    phases = ("mapping", "window", "reasoning", "rules")
    assert {spans[each].parent_span_id for each in phases} == {spans["engine"].span_id}
    assert spans.keys() == {"message", *of_root, *phases}
    # One after the other.
    times = [t for each in of_root for t in (spans[each].start_time_unix_nano,)]
    assert times == sorted(times)
    assert spans["deliver"].kind == Span.SPAN_KIND_CLIENT
    assert told(spans["deliver"])["sensorstream.receiver"] == hook
    assert told(spans["deliver"])["http.response.status_code"] == 204
    now = time.time_ns()
    assert all(now - 120e9 < each.start_time_unix_nano < now for each in spans.values())
    inside = [spans[each] for each in ("queue", "journal", "engine", "storing", "mapping", "rules")]
    for each in inside:
        assert root.start_time_unix_nano <= each.start_time_unix_nano <= each.end_time_unix_nano
        assert each.end_time_unix_nano <= root.end_time_unix_nano

    assert metrics.headers["content-type"].startswith("application/openmetrics-text")
    families = {each.name: each for each in text_string_to_metric_families(metrics.text)}  # type: ignore[no-untyped-call]
    for family in ("sensorstream_phase_seconds", "sensorstream_queue_seconds"):
        found = [each.exemplar for each in families[family].samples if each.exemplar]
        assert found
        assert {each.labels["trace_id"] for each in found} == {trace}
        assert {each.labels["span_id"] for each in found} == {root.span_id.hex()}


def test_a_trace_that_came_goes_on_also_after_a_restart(
    traced: Deployment, collector: Receiver, receiver: Receiver
) -> None:
    web = traced.start()
    web.post("/webhooks", json={"url": receiver.url})
    receiver.script = [503]
    post(web, one(certainty=12))
    eventually(lambda: delivered(receiver))
    post(web, one(certainty=12), traceparent=CAME)
    traced.stop()
    traced.start()
    eventually(lambda: len(delivered(receiver)) == 3, 60)
    traced.stop()
    first, again, other = delivered(receiver)
    _, trace, span, flags = CAME.split("-")
    spans = spans_of(collector, trace)
    assert spans["message"].parent_span_id.hex() == span
    assert spans["deliver"].parent_span_id == spans["message"].span_id
    assert other == f"00-{trace}-{spans['deliver'].span_id.hex()}-{flags}"
    # Nothing came with the other message: its trace is found again, too.
    assert first.split("-")[1] == again.split("-")[1]
    own = first.split("-")[1]
    found = [each for each in collected(collector) if each.trace_id.hex() == own]
    failed, done = (each for each in found if each.name == "deliver")
    assert {failed.parent_span_id, done.parent_span_id} == {
        spans_of(collector, own)["message"].span_id
    }
    assert failed.status.code == Status.STATUS_CODE_ERROR
    assert (told(failed)["http.response.status_code"], done.status.code) == (503, 0)


def test_the_share_decides_and_what_came_before_it(
    traced: Deployment, collector: Receiver, receiver: Receiver
) -> None:
    settings = replace(traced._settings.traces, share=0.0)
    traced._settings = replace(traced._settings, traces=settings)
    web = traced.start()
    query = "SELECT ?s { ?s a ?c }"
    assert web.put("/queries/all", content=query, headers=SPARQL).is_success
    web.post("/webhooks", json={"url": receiver.url, "queries": ["all"]})
    post(web, one(certainty=12))
    post(web, one(certainty=12), traceparent=f"{CAME[:-1]}0")
    post(web, one(certainty=12), traceparent=CAME)
    post(web, one(certainty=12), traceparent=CAME.replace("00-0af", "00-xyz"))
    eventually(lambda: len(delivered(receiver)) == 8)
    traced.stop()
    flags = {"sensorstream.alert.rule": "", "sensorstream.query.report": ""}
    for each in receiver.received:
        flags[json.loads(each.body)["type"]] += each.headers["traceparent"][-2:]
    # A query reports of an instant when the next message ends it.
    assert flags == {"sensorstream.alert.rule": "00000100", "sensorstream.query.report": "00010000"}
    assert {each.trace_id.hex() for each in collected(collector)} == {CAME.split("-")[1]}


def test_spans_tell_no_secret_and_are_short(traced: Deployment, collector: Receiver) -> None:
    with Application.open(replace(traced._settings, inputs=())) as application:
        for source in ("x" * 100_000, "postgresql://me:hush@host/"):
            application.submit(one(certainty=90), source).exception(60)
        application.submit(one(certainty=90), "other").result(60)
    sources = [told(each).get("sensorstream.source") for each in collected(collector)]
    assert "other" in sources
    assert "postgresql://me:***@host/" in sources
    assert max(len(each or "") for each in sources) <= 10_000


def test_log_lines_name_the_trace(traced: Deployment, collector: Receiver) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonFormatter())
    log = logging.getLogger("sensorstream.app.pipeline")
    log.addHandler(handler)
    try:
        web = traced.start()
        post(web, NOBODY_MAPS % 1, traceparent=CAME)
        post(web, NOBODY_MAPS % 2)
        traced.stop()
    finally:
        log.removeHandler(handler)
    came, own = map(json.loads, written.getvalue().splitlines())
    spans = [each for each in collected(collector) if each.name == "message"]
    assert [came["trace_id"], own["trace_id"]] == [each.trace_id.hex() for each in spans]
    assert [came["span_id"], own["span_id"]] == [each.span_id.hex() for each in spans]
    assert came["trace_id"] == CAME.split("-")[1]


def test_a_message_that_waited_has_its_turn_in_its_own_trace(
    traced: Deployment, collector: Receiver, receiver: Receiver
) -> None:
    waits = TimeSettings(lateness="1", idle=0.2)
    traced._settings = replace(traced._settings, time=waits, inputs=())
    web = traced.start()
    web.post("/webhooks", json={"url": receiver.url})
    held = post(web, one(certainty=12), traceparent=CAME).json()
    assert held["status"] == "held"
    eventually(lambda: delivered(receiver))
    traced.stop()
    trace = CAME.split("-")[1]
    found = [each for each in collected(collector) if each.trace_id.hex() == trace]
    (root,) = (each for each in found if each.name == "message")
    assert told(root)["sensorstream.status"] == "held"
    # It was mapped when it came, and taken in when its turn had come.
    arrived, released = (each for each in found if each.name == "engine")
    assert {arrived.parent_span_id, released.parent_span_id} == {root.span_id}
    assert released.start_time_unix_nano > root.end_time_unix_nano
    (rules,) = (each for each in found if each.name == "rules")
    assert rules.parent_span_id == released.span_id
    (deliver,) = (each for each in found if each.name == "deliver")
    assert deliver.parent_span_id == root.span_id


def test_a_collector_that_is_away_costs_nobody_anything(
    traced: Deployment, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    settings = replace(traced._settings.traces, endpoint="http://127.0.0.1:9")
    traced._settings = replace(traced._settings, traces=settings)
    web = traced.start()
    assert post(web, one(certainty=90)).json()["status"] == "accepted"
    begun = time.monotonic()
    traced.stop()
    assert time.monotonic() - begun < 30
    assert "Failed to export spans" in caplog.text


def test_without_its_packages_the_start_says_what_to_install(
    traced: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)
    with pytest.raises(MissingExtra, match=r"opentelemetry.sdk, .*'sensorstream\[traces\]'"):
        traced.start()


@pytest.mark.parametrize(
    ("endpoint", "share", "expected"),
    [
        ("collector:4318", 1.0, "traces.endpoint: expected e.g. http"),
        ("http://[::1", 1.0, "traces.endpoint: expected e.g. http"),
        ("http://127.0.0.1:4318", 1.5, "traces.share: expected 0 to 1, not 1.5"),
    ],
)
def test_what_cannot_be_used_is_refused(endpoint: str, share: float, expected: str) -> None:
    from sensorstream.app.life.traces import Traces

    with pytest.raises(SettingsError, match=expected):
        Traces(TraceSettings(endpoint, share), "urn:x", None)  # type: ignore[arg-type]
