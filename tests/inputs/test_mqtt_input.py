"""The input for MQTT against amqtt (3.1.1), and against mosquitto (3.1.1 and 5) if it is there."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from sensorstream.errors import MissingExtra, SettingsError
from sensorstream.inputs import mqtt_input
from sensorstream.inputs.inputs import RunningInput, reader_of
from tests.inputs.conftest import Bench
from tests.inputs.mqtt_brokers import (
    MOSQUITTO,
    NO_MOSQUITTO,
    PASSWORD,
    USER,
    AmqttBroker,
    amqtt_broker,
    free_port,
    mosquitto_broker,
    publish,
    publish_with,
)
from tests.server.certificates import write_certificate
from tests.waiting import eventually


@dataclass
class Broker:
    port: int
    version: str
    amqtt: AmqttBroker | None = None

    @property
    def options(self) -> str:
        return (
            f'host = "127.0.0.1"\nport = {self.port}\nversion = "{self.version}"\n'
            f'user = "{USER}"\npassword_file = "password"\n'
        )


@pytest.fixture(params=["amqtt 3.1.1", "mosquitto 3.1.1", "mosquitto 5"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    kind, version = request.param.split()
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    if kind == "amqtt":
        with amqtt_broker(tmp_path) as running:
            yield Broker(running.port, version, running)
    elif MOSQUITTO is None:
        pytest.skip(NO_MOSQUITTO)
    else:
        with mosquitto_broker(tmp_path) as port:
            yield Broker(port, version)


@contextmanager
def reading(
    bench: Bench, broker: Broker, options: str = 'topics = ["bus/#"]'
) -> Iterator[RunningInput]:
    with bench.running(broker.options + options, "mqtt", 'source = "buses"') as running:
        eventually(lambda: running.state == "")
        yield running
    if (amqtt := broker.amqtt) is not None:
        # What it sends to one of whom it has not noticed that it is gone, it forgets.
        eventually(lambda: not amqtt.connected)


def cut() -> None:
    """The network fails: the connection ends without a word."""
    client = mqtt_input._Client.newest  # type: ignore[attr-defined]
    client._client.socket().shutdown(socket.SHUT_RDWR)


@pytest.fixture(autouse=True)
def remembers_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    original = mqtt_input._Client.__init__

    def init(self: mqtt_input._Client, **arguments: object) -> None:
        original(self, **arguments)
        mqtt_input._Client.newest = self  # type: ignore[attr-defined]

    monkeypatch.setattr(mqtt_input._Client, "__init__", init)


def test_messages_are_taken_in_order_and_acknowledged(bench: Bench, broker: Broker) -> None:
    with reading(bench, broker):
        publish(broker.port, [("bus/a/b", f"<m>{n}</m>") for n in range(30)])
        publish(broker.port, [("train/1", "<no/>")])
        eventually(lambda: bench.value("messages_total", status="accepted") == 30)
    assert bench.journal.contents == [b"<m>%d</m>" % n for n in range(30)]
    assert set(bench.journal.sources) == {"buses"}
    with reading(bench, broker):  # nothing is left to be delivered again
        header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        if broker.version == "5":
            publish_with(broker.port, "bus/1", "<last/>", {"traceparent": header})
        else:
            publish(broker.port, [("bus/1", "<last/>")])
        eventually(lambda: len(bench.journal.contents) == 31)
    trace = header.split("-")[1] if broker.version == "5" else ""
    assert bench.journal.traces[-2:] == ["", trace]
    assert bench.journal.repeats == 0


def test_the_topic_may_be_the_source(bench: Bench, broker: Broker) -> None:
    options = 'topics = ["bus/+/position", "train"]\ntopic_is_source = true'
    with reading(bench, broker, options):
        publish(
            broker.port, [("bus/7/position", "<a/>"), ("bus/7/door", "<b/>"), ("train", "<c/>")]
        )
        eventually(lambda: len(bench.journal.contents) == 2)
    assert bench.journal.sources == ["bus/7/position", "train"]


def test_what_comes_while_no_one_is_connected_is_delivered_later(
    bench: Bench, broker: Broker
) -> None:
    with reading(bench, broker):
        pass
    publish(broker.port, [("bus/1", f"<m>{n}</m>") for n in range(10)])
    with reading(bench, broker):
        eventually(lambda: len(bench.journal.contents) == 10)
    assert bench.journal.contents == [b"<m>%d</m>" % n for n in range(10)]


def test_what_was_not_acknowledged_comes_again_and_is_recognised(
    bench: Bench, broker: Broker
) -> None:
    messages = [("bus/1", "<same/>")] * 5 + [("bus/1", f"<m>{n}</m>") for n in range(5)]
    with reading(bench, broker):
        bench.journal.held = []
        publish(broker.port, messages)
        eventually(lambda: len(bench.journal.contents) == 10)
        cut()
        eventually(lambda: bench.journal.repeats == 10)
        bench.journal.release()
        publish(broker.port, [("bus/1", "<same/>")])
        eventually(lambda: len(bench.journal.contents) == 11)
        eventually(lambda: bench.value("waiting_messages") == 0)
    assert bench.journal.contents == [payload.encode() for _, payload in messages] + [b"<same/>"]


def test_a_bad_message_is_acknowledged_too(bench: Bench, broker: Broker) -> None:
    with reading(bench, broker):
        publish(broker.port, [("bus/1", "<bad"), ("bus/1", b"\0\xff"), ("bus/1", "<c/>")])
        eventually(lambda: len(bench.journal.contents) == 3)
        eventually(lambda: bench.value("messages_total", status="rejected") == 1)
    with reading(bench, broker):
        publish(broker.port, [("bus/1", "<d/>")])
        eventually(lambda: len(bench.journal.contents) == 4)
    assert bench.journal.repeats == 0


def test_retained_messages_come_once(bench: Bench, broker: Broker) -> None:
    publish(broker.port, [("bus/1", "<kept/>")], retain=True)
    for number in (1, 2):
        with reading(bench, broker):
            eventually(lambda: bench.journal.contents[:1] == [b"<kept/>"])
            publish(broker.port, [("bus/2", f"<end n='{number}'/>")])
            eventually(lambda n=number: len(bench.journal.contents) == 1 + n)  # type: ignore[misc]
    assert bench.journal.contents == [b"<kept/>", b"<end n='1'/>", b"<end n='2'/>"]


def test_the_socket_is_not_read_while_too_much_waits(
    bench: Bench, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt_input, "_MOST_WAITING", 10)
    bench.journal.full = True
    with reading(bench, broker):
        publish(broker.port, [("bus/1", f"<m>{n}</m>") for n in range(40)])
        client = mqtt_input._Client.newest  # type: ignore[attr-defined]
        eventually(lambda: client._paused)
        assert client._waiting.qsize() <= 12
        bench.journal.full = False
        eventually(lambda: len(set(bench.journal.contents)) == 40)
    assert bench.journal.contents == [b"<m>%d</m>" % n for n in range(40)]


def test_a_broker_that_is_away_is_said_and_waited_for(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(PASSWORD)
    with amqtt_broker(tmp_path) as running:
        broker = Broker(running.port, "3.1.1", running)
        with reading(bench, broker) as input_:
            running.stop()
            eventually(lambda: "no connection to 127.0.0.1" in input_.state)
            assert bench.value("connected") == 0
            running.start()
            eventually(lambda: input_.state == "")
            publish(broker.port, [("bus/1", "<a/>")])
            eventually(lambda: bench.journal.contents)


def test_a_wrong_password_is_said(bench: Bench, tmp_path: Path) -> None:
    with amqtt_broker(tmp_path) as broker:
        options = f'host = "127.0.0.1"\nport = {broker.port}\nversion = "3.1.1"\ntopics = ["bus"]'
        head = f'{options}\nuser = "{USER}"\npassword = "wrong"'
        with bench.running(head, "mqtt") as running:
            eventually(lambda: "no connection to 127.0.0.1: [code:" in running.state)
            assert "wrong" not in running.state


# paho leaves the socket of a refused certificate to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_connection_may_be_encrypted(bench: Bench, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    write_certificate(certificate, key, "broker")
    (tmp_path / "password").write_text(PASSWORD)
    with amqtt_broker(tmp_path, tls=(certificate, key)) as running:
        broker = Broker(running.port, "3.1.1", running)
        options = 'topics = ["bus/#"]\ntls = true\nca_file = "cert.pem"'
        with reading(bench, broker, options):
            assert mqtt_input._Client.newest._client.socket().cipher()  # type: ignore[attr-defined]
        # A certificate that nobody vouches for is refused.
        with bench.running(broker.options + 'topics = ["bus/#"]\ntls = true', "mqtt") as refused:
            eventually(lambda: "CERTIFICATE_VERIFY_FAILED" in refused.state)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ('topics = ["a/#/b"]', "'a/#/b' is not a topic"),
        ('topics = ["a"]\nca_file = "x"', "ca_file: allowed only together with tls = true"),
        ('topics = ["a"]\npassword_file = "none"', "password_file: cannot read it"),
        ('topics = ["a"]\ntls = true\nca_file = "sensorstream.toml"', "ca_file: cannot use it"),
        ('topics = ["a"]\ntls = true\nkey_file = "k"', "key_file: allowed only together with cert"),
    ],
)
def test_options_that_cannot_be_used_are_refused_at_the_start(
    bench: Bench, options: str, expected: str
) -> None:
    with pytest.raises(SettingsError, match=expected) as caught:
        reader_of(bench.settings(f'host = "h"\n{options}', "mqtt"))
    assert str(caught.value).startswith("inputs.in.options.")


def test_a_missing_package_is_named_with_what_to_install(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package, kind, options in [
        ("aiomqtt", "mqtt", 'host = "h"\ntopics = ["a"]'),
        ("aiokafka", "kafka", 'brokers = ["h"]\ntopics = ["a"]'),
    ]:
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.delitem(sys.modules, f"sensorstream.inputs.{kind}_input", raising=False)
        with pytest.raises(MissingExtra, match=rf"'{kind}' needs .* 'sensorstream\[{kind}\]'"):
            reader_of(bench.settings(options, kind))


def test_a_port_where_no_one_listens_is_said(bench: Bench) -> None:
    options = f'host = "127.0.0.1"\nport = {free_port()}\ntopics = ["a"]'
    with bench.running(options, "mqtt") as running:
        eventually(lambda: running.state != "not connected yet")
        assert "Connection refused" in running.state
