"""What becomes of alerts, told by a whole application to outputs over real brokers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sensorstream.alerts import dispatcher
from sensorstream.app.application import Application
from sensorstream.settings.endpoints import KafkaOutput, MqttOutput, OutputOptions, OutputSetting
from sensorstream.settings.settings import AlertSettings, Settings
from tests.app.conftest import Open
from tests.inputs.kafka_broker import KafkaBroker
from tests.inputs.mqtt_brokers import (
    MOSQUITTO,
    NO_MOSQUITTO,
    PASSWORD,
    USER,
    Subscriber,
    amqtt_broker,
    mosquitto_broker,
)
from tests.waiting import eventually

Read = Callable[[str, int], Sequence[bytes]]
"""The payloads in a topic, once there are so many."""
TOPICS = ("changes", "alerts")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "_HOUSEKEEPING", 0.05)


def mqtt(port: int, version: str, topic: str) -> MqttOutput:
    return MqttOutput(
        host="127.0.0.1", port=port, version=version, user=USER, password=PASSWORD, topic=topic
    )


@contextmanager
def reading_mqtt(port: int, version: str) -> Iterator[Read]:
    subscribers = {topic: Subscriber(port, version, topic) for topic in TOPICS}
    try:
        eventually(lambda: all(each.ready for each in subscribers.values()))

        def read(topic: str, count: int) -> Sequence[bytes]:
            found = subscribers[topic].received
            eventually(lambda: len(found) >= count, 60)
            return [bytes(each.payload) for each in found]

        yield read
    finally:
        for each in subscribers.values():
            each.stop()


@contextmanager
def kafka() -> Iterator[tuple[Callable[[str], OutputOptions], Read]]:
    broker = KafkaBroker()
    for topic in TOPICS:
        broker.produce(topic, [])
    yield (
        lambda topic: KafkaOutput(brokers=(broker.address,), topic=topic),
        lambda topic, count: [each.value() for each in broker.consume(topic, count)],
    )


@pytest.fixture(params=["amqtt 3.1.1", "mosquitto 5", "kafka"])
def broker(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[Callable[[str], OutputOptions], Read]]:
    """The options of an output to a topic, and what reads topics."""
    kind, _, version = request.param.partition(" ")
    if kind == "kafka":
        with kafka() as running:
            yield running
    elif kind == "amqtt":
        with amqtt_broker(tmp_path) as amqtt, reading_mqtt(amqtt.port, version) as read:
            yield lambda topic: mqtt(amqtt.port, version, topic), read
    elif MOSQUITTO is None:
        pytest.skip(NO_MOSQUITTO)
    else:
        with mosquitto_broker(tmp_path) as port, reading_mqtt(port, version) as read:
            yield lambda topic: mqtt(port, version, topic), read


def outputs(options: Callable[[str], OutputOptions]) -> tuple[OutputSetting, ...]:
    """One that is told of changes, and one that is not."""
    return tuple(OutputSetting(topic, (), options(topic), topic == "changes") for topic in TOPICS)


def history(application: Application) -> list[tuple[str, str, str]]:
    """Id, change and text of all that has become of alerts, as the events of it are to say."""
    found = []
    for each in application.incidents.changes_after(0, 1000):
        name = each.incident if each.change == "raised" else f"{each.incident}.{each.seq}"
        found.append((name, each.change, each.text))
    return found


def told(payloads: Sequence[bytes]) -> list[tuple[str, str, str]]:
    """The same of events."""
    found = []
    for event in map(json.loads, payloads):
        data: dict[str, Any] = event["data"]
        raised = "change" not in data
        assert event["type"].rpartition(".")[2] == data["kind" if raised else "change"]
        found.append((event["id"], "raised" if raised else data["change"], data["text"]))
    return found


def by_alert(found: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """In the order of the alerts, and of each as it is."""
    return sorted(found, key=lambda each: each[0].partition(".")[0])


def test_an_output_is_told_of_all_changes_in_their_order_if_it_asks_for_them(
    settings: Settings, open_application: Open, broker: tuple[Callable[[str], OutputOptions], Read]
) -> None:
    options, read = broker
    # A twentieth of a second: it is reminded of until somebody sees to it.
    alerts = AlertSettings(escalate_after=1 / 1200, remind_every=1 / 1200)
    application = open_application(replace(settings, alerts=alerts, outputs=outputs(options)))
    application.submit(b"<Stranger/>", "test").result(60)
    (alert,) = application.reader.alerts_before(9)
    incidents = application.incidents
    eventually(lambda: {"escalated", "reminded"} <= {what for _, what, _ in history(application)})
    now = application.clock.now
    incidents.assign(alert.id, "ann", "bob", now())
    incidents.comment(alert.id, "bob", "a guest", now())
    incidents.acknowledge(alert.id, "bob", "on my way", now())
    incidents.clear(alert.id, "bob", "", now())
    application.announce()
    application.submit(b"<Other/>", "test").result(60)
    (other, _) = application.reader.alerts_before(9)
    incidents.acknowledge(other.id, "bob", "", now())
    application.announce()

    expected = history(application)
    assert {what for _, what, _ in expected} == {
        *("raised", "escalated", "reminded", "assigned", "commented", "acknowledged", "cleared")
    }
    whole = isinstance(options(""), MqttOutput)  # in Kafka, what is of one alert has an order
    for topic, wanted in (("changes", expected), ("alerts", [expected[0], expected[-2]])):
        found = told(read(topic, len(wanted)))
        assert by_alert(found) == by_alert(wanted)
        assert found == wanted or not whole


def test_changes_wait_for_a_broker_that_is_away_also_over_a_restart(
    settings: Settings, open_application: Open, tmp_path: Path
) -> None:
    with amqtt_broker(tmp_path) as broker:
        broker.stop()
        settings = replace(
            settings, outputs=outputs(lambda topic: mqtt(broker.port, "3.1.1", topic))
        )
        application = open_application(settings)
        application.submit(b"<Stranger/>", "test").result(60)
        (alert,) = application.reader.alerts_before(9)
        application.incidents.comment(alert.id, "ann", "a guest", application.clock.now())
        application.incidents.clear(alert.id, "ann", "gone", application.clock.now())
        application.announce()
        away = "no connection to 127.0.0.1"
        eventually(lambda: sum(away in part.detail for part in application.health.parts()) == 2, 60)
        application.close()
        broker.start()
        with reading_mqtt(broker.port, "3.1.1") as read:
            again = open_application(settings)
            assert told(read("changes", 3)) == history(again)
            assert [what for _, what, _ in history(again)] == ["raised", "commented", "cleared"]
            assert told(read("alerts", 1)) == history(again)[:1]
