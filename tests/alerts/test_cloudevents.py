from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from sensorstream.alerts.alert_formats import (
    CONTENT_TYPE,
    MOST_ROWS,
    cloud_event,
    payload,
    report_json,
)
from sensorstream.alerts.alert_records import Delivery, KeptReport, RaisedAlert
from sensorstream.alerts.outputs import receiver_of
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.timeline import Timeline
from sensorstream.model.webhook_definition import Format
from sensorstream.settings.endpoints import KafkaOutput, OutputSetting
from sensorstream.streams.query_report import Report, RowOperation


def test_an_alert_becomes_an_event_in_structured_mode(
    make_delivery: Callable[..., Delivery],
) -> None:
    raised = make_delivery(42, "http://example.org/").event
    event = json.loads(cloud_event(raised, "https://sensors.example/", Timeline.INTEGER))
    assert event == {
        "specversion": "1.0",
        "id": "m42-1",
        "source": "https://sensors.example/",
        "type": "sensorstream.alert.rule",
        "subject": "kitchen",
        "time": "2026-03-01T12:00:00Z",
        "datacontenttype": "application/json",
        "data": {
            "id": "m42-1",
            "rule": "crowded-room",
            "kind": "rule",
            "severity": "warning",
            "text": "62 people in Küche",
            "key": "kitchen",
            "time": 42,
            "message_id": "m42",
            "raised_at": "2026-03-01T12:00:00Z",
        },
    }


def test_application_time_is_text_on_the_datetime_line(
    make_delivery: Callable[..., Delivery],
) -> None:
    raised = make_delivery(1_000_000, "http://example.org/").event
    event = json.loads(cloud_event(raised, "urn:x", Timeline.DATETIME))
    assert event["data"]["time"] == "1970-01-01T00:00:01Z"


def test_an_alert_without_a_key_has_no_subject(make_delivery: Callable[..., Delivery]) -> None:
    raised = make_delivery(1, "http://example.org/").event
    assert isinstance(raised, RaisedAlert)
    raised = replace(raised, alert=replace(raised.alert, key=""))
    assert "subject" not in json.loads(cloud_event(raised, "urn:x", Timeline.INTEGER))


def test_a_report_becomes_an_event_about_its_query() -> None:
    report = Report("crowd", 120, RowOperation.RESULT, ("people",), [(Literal("4"),)])
    data = report_json(EngineReport("m17", 3, report), Timeline.INTEGER)
    kept = KeptReport("m17-3", "crowd", data, datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    assert json.loads(cloud_event(kept, "https://sensors.example/", Timeline.INTEGER)) == {
        "specversion": "1.0",
        "id": "m17-3",
        "source": "https://sensors.example/",
        "type": "sensorstream.query.report",
        "subject": "crowd",
        "time": "2026-03-01T12:00:00Z",
        "datacontenttype": "application/json",
        "data": {
            "id": "m17-3",
            "query": "crowd",
            "time": 120,
            "op": "=",
            "bindings": [{"people": {"type": "literal", "value": "4"}}],
        },
    }


@pytest.mark.parametrize(
    ("form", "media_type", "start"),
    [
        ("csv", "text/csv", "@time,@op,people,rooms\r\n120,=,4,\r\n"),
        ("ndjson", "application/x-ndjson", '{"id": "m17-3", "query": "crowd", "time": 120'),
        ("trig", "application/json", {"id": "m17-3"}),
    ],
)
def test_the_data_of_a_report_are_in_the_format_of_its_receiver(
    form: str, media_type: str, start: str | dict[str, str]
) -> None:
    report = Report("crowd", 120, RowOperation.RESULT, ("people", "rooms"), [(Literal("4"), None)])
    event = event_of(report, form)
    assert event["datacontenttype"] == media_type
    if isinstance(start, str):
        assert event["data"].startswith(start)
    else:
        assert event["data"].items() >= start.items()
        assert "variables" not in event["data"]


@pytest.mark.parametrize("surplus", [0, 1])
def test_a_graph_is_json_ld_or_trig_for_its_receiver(surplus: int) -> None:
    graph = [(IRI("urn:s"), IRI("urn:p"), Literal(str(n))) for n in range(MOST_ROWS + surplus)]
    report = Report("crowd", 120, RowOperation.ADDED, triples=graph)
    linked, text = event_of(report, "jsonld"), event_of(report, "trig")
    assert linked["datacontenttype"] == "application/ld+json"
    (subject,) = next(each["@graph"] for each in linked["data"] if "@graph" in each)
    assert len(subject["urn:p"]) == MOST_ROWS
    assert text["datacontenttype"] == "application/trig"
    assert "prov:generatedAtTime 120" in text["data"]
    assert ("truncated" in text, "ss:truncated" in text["data"]) == (bool(surplus), bool(surplus))


def event_of(report: Report, form: str) -> dict[str, Any]:
    """The event of a report to an output with a format."""
    moment = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    output = OutputSetting("lake", ("crowd",), KafkaOutput(topic="t"), format=cast(Format, form))
    data = report_json(EngineReport("m17", 3, report), Timeline.INTEGER)
    kept = KeptReport("m17-3", "crowd", data, moment)
    delivery = Delivery(1, kept, receiver_of(output, moment), 0)
    media_type, body = payload(delivery, "urn:x", Timeline.INTEGER)
    assert media_type == CONTENT_TYPE
    found: dict[str, Any] = json.loads(body)
    return found


@pytest.mark.parametrize("surplus", [0, 1])
def test_a_report_with_too_many_rows_is_cut_and_says_so(surplus: int) -> None:
    rows = [(Literal(str(n)),) for n in range(MOST_ROWS + surplus)]
    report = Report("q", 1, RowOperation.ADDED, ("n",), rows)
    data = json.loads(report_json(EngineReport("m1", 1, report), Timeline.INTEGER))
    told = [each["n"]["value"] for each in data["bindings"]]
    assert told == [str(n) for n in range(MOST_ROWS)]
    assert data.get("truncated", False) is bool(surplus)


@pytest.mark.parametrize("surplus", [0, 1])
def test_a_graph_with_too_many_triples_is_cut_and_says_so(surplus: int) -> None:
    graph = [(IRI("urn:s"), IRI("urn:p"), Literal(str(n))) for n in range(MOST_ROWS + surplus)]
    report = Report("q", 1, RowOperation.RESULT, triples=graph)
    data = json.loads(report_json(EngineReport("m1", 1, report), Timeline.INTEGER))
    assert data["graph"].count("\n") == MOST_ROWS
    assert data.get("truncated", False) is bool(surplus)


def test_an_answer_is_told_as_it_is() -> None:
    report = Report("q", 1_000_000, RowOperation.RESULT, answer=False)
    data = json.loads(report_json(EngineReport("m1", 1, report), Timeline.DATETIME))
    assert (data["boolean"], data["time"]) == (False, "1970-01-01T00:00:01Z")


def test_signs_that_utf_8_cannot_hold_do_not_stop_a_report() -> None:
    report = Report("q", 1, RowOperation.ADDED, ("x",), [(Literal("a\ud800\x00b"),)])
    data = json.loads(report_json(EngineReport("m1", 1, report), Timeline.INTEGER))
    assert data["bindings"][0]["x"]["value"] == "a?\x00b"
