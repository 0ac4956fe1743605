"""Outputs against real brokers: amqtt, mosquitto where it is installed, librdkafka's cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from sensorstream.alerts.alert_records import Delivery
from sensorstream.alerts.dispatcher import DeliveryPlan, DeliveryTrace, WebhookDispatcher
from sensorstream.alerts.outputs import receiver_of, senders_of
from sensorstream.clock import SystemClock
from sensorstream.errors import SettingsError
from sensorstream.model.timeline import Timeline
from sensorstream.settings.endpoints import KafkaOutput, MqttOutput, OutputSetting
from sensorstream.settings.settings import WebhookSettings
from tests.inputs.kafka_broker import KafkaBroker
from tests.inputs.mqtt_brokers import (
    MOSQUITTO,
    NO_MOSQUITTO,
    PASSWORD,
    USER,
    Subscriber,
    amqtt_broker,
    free_port,
    mosquitto_broker,
)
from tests.waiting import eventually

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Bench:
    """Runs dispatchers over one outbox, with one output."""

    def __init__(self, outbox: Any, make_delivery: Callable[..., Delivery]) -> None:
        self.outbox = outbox
        self.metrics = CollectorRegistry()
        self._make = make_delivery
        self._running: list[WebhookDispatcher] = []

    def add(self, output: OutputSetting, numbers: range) -> None:
        for number in numbers:
            delivery = self._make(number, "")
            self.outbox.add(replace(delivery, webhook=receiver_of(output, NOW)), NOW)

    def start(self, output: OutputSetting) -> WebhookDispatcher:
        dispatcher = WebhookDispatcher(
            self.outbox,
            WebhookSettings(max_attempts=1),
            SystemClock(),
            DeliveryPlan(
                "urn:test:deployment",
                Timeline.INTEGER,
                senders_of([output], 5.0),
                schedule=lambda *_: timedelta(milliseconds=50),
                poll=0.02,
                trace=lambda _: DeliveryTrace({"traceparent": "00-1"}),
            ),
            metrics=self.metrics,
            disabling=lambda *_: Future(),
        )
        self._running.append(dispatcher)
        dispatcher.start()
        return dispatcher

    def stop(self) -> None:
        for each in self._running:
            each.stop()


@pytest.fixture
def bench(outbox: Any, make_delivery: Callable[..., Delivery]) -> Iterator[Bench]:
    made = Bench(outbox, make_delivery)
    yield made
    made.stop()


@pytest.fixture(params=["amqtt 3.1.1", "mosquitto 5"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[int, str]]:
    kind, version = request.param.split()
    if kind == "amqtt":
        with amqtt_broker(tmp_path) as running:
            yield running.port, version
    elif MOSQUITTO is None:
        pytest.skip(NO_MOSQUITTO)
    else:
        with mosquitto_broker(tmp_path) as port:
            yield port, version


def mqtt_output(port: int, version: str, topic: str = "alerts") -> OutputSetting:
    options = MqttOutput(
        host="127.0.0.1", port=port, version=version, user=USER, password=PASSWORD, topic=topic
    )
    return OutputSetting("control", (), options)


def test_alerts_arrive_in_order_as_cloud_events(bench: Bench, broker: tuple[int, str]) -> None:
    port, version = broker
    subscriber = Subscriber(port, version, "alerts")
    eventually(lambda: subscriber.ready)
    output = mqtt_output(port, version)
    bench.add(output, range(1, 6))
    bench.start(output)
    eventually(lambda: len(bench.outbox.done) == 5)
    eventually(lambda: len(subscriber.received) == 5)
    subscriber.stop()
    events = [json.loads(each.payload) for each in subscriber.received]
    assert [each["id"] for each in events] == [f"m{n}-1" for n in range(1, 6)]
    assert events[0]["source"] == "urn:test:deployment"
    assert events[0]["data"]["text"] == "21 people in Küche"
    if version == "5":
        properties = subscriber.received[0].properties
        assert properties is not None
        assert properties.ContentType == "application/cloudevents+json"  # type: ignore[attr-defined]
        assert properties.UserProperty == [("traceparent", "00-1")]  # type: ignore[attr-defined]
    name = "sensorstream_output_attempts_total"
    told = {"output": "control", "result": "delivered"}
    eventually(lambda: bench.metrics.get_sample_value(name, told) == 5)


def test_while_a_broker_is_away_its_events_wait_in_order_and_none_is_given_up(
    bench: Bench, tmp_path: Path
) -> None:
    with amqtt_broker(tmp_path) as broker:
        broker.stop()
        output = mqtt_output(broker.port, "3.1.1")
        bench.add(output, range(1, 4))
        dispatcher = bench.start(output)  # one failed attempt of a webhook would be its last
        eventually(lambda: "no connection to 127.0.0.1" in dispatcher.trouble("out_control"))
        name = "sensorstream_output_attempts_total"
        told = {"output": "control", "result": "away"}
        eventually(lambda: (bench.metrics.get_sample_value(name, told) or 0) >= 3)
        assert (bench.outbox.dead, bench.outbox.failures) == ([], [])
        broker.start()
        eventually(lambda: len(bench.outbox.done) == 3)
        assert [each.id for each in bench.outbox.done] == [1, 2, 3]
        assert dispatcher.trouble("out_control") == ""
        # And when it goes while it is connected.
        broker.stop()
        bench.add(output, range(4, 6))
        dispatcher.wake()
        eventually(lambda: dispatcher.trouble("out_control"))
        broker.start()
        eventually(lambda: len(bench.outbox.done) == 5)


def test_alerts_arrive_in_kafka(bench: Bench) -> None:
    broker = KafkaBroker()
    broker.produce("alerts", [])
    output = OutputSetting("lake", (), KafkaOutput(brokers=(broker.address,), topic="alerts"))
    bench.add(output, range(1, 6))
    bench.start(output)
    eventually(lambda: len(bench.outbox.done) == 5, 60)
    records = broker.consume("alerts", 5)
    events = [json.loads(record.value()) for record in records]
    assert [each["id"] for each in events] == [f"m{n}-1" for n in range(1, 6)]
    assert {record.key() for record in records} == {b"kitchen"}
    kind = ("content-type", b"application/cloudevents+json")
    assert records[0].headers() == [kind, ("traceparent", b"00-1")]


def test_a_broker_of_kafka_that_is_away_is_said(bench: Bench) -> None:
    options = KafkaOutput(brokers=(f"127.0.0.1:{free_port()}",), topic="alerts")
    output = OutputSetting("lake", (), options)
    bench.add(output, range(1, 2))
    dispatcher = bench.start(output)
    eventually(lambda: "no connection to 127.0.0.1" in dispatcher.trouble("out_lake"))
    assert bench.outbox.dead == []


def test_options_that_cannot_be_used_are_refused_at_the_start() -> None:
    with pytest.raises(SettingsError, match=r"outputs.control.options.topic: "):
        senders_of([mqtt_output(1, "5", "a/#")], 1)
