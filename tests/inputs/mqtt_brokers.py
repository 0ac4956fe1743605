"""Real brokers of MQTT for tests: amqtt inside the process, and mosquitto where it is installed."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final

import amqtt.broker
import paho.mqtt.client
import paho.mqtt.publish
from amqtt.broker import Broker
from amqtt.mqtt.protocol.broker_handler import BrokerProtocolHandler
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from pwdlib import PasswordHash

USER: Final = "sensors"
PASSWORD: Final = "not a secret"

_PLACES: Final = os.pathsep.join(["/usr/sbin", "/usr/local/sbin", os.environ.get("PATH", "")])
MOSQUITTO: Final = shutil.which("mosquitto", path=_PLACES)
NO_MOSQUITTO: Final = (
    "mosquitto is not installed (Debian's package of that name): the same is tested with amqtt, "
    "which knows MQTT 3.1.1 only"
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


class _Handler(BrokerProtocolHandler):  # type: ignore[misc]
    """amqtt forgets a message when the connection is lost before its acknowledgement came.

    The standard says that it is sent again (4.4.0-1): this handler keeps it for that.
    """

    async def _handle_qos1_message_flow(self, app_message: Any) -> None:
        session: Any = self.session
        try:
            await super()._handle_qos1_message_flow(app_message)
        except (Exception, asyncio.CancelledError):
            if session is None or app_message.puback_packet is not None:
                return
            session.inflight_out[app_message.packet_id] = app_message
            newer = session.newest
            if newer is not self:  # it came too late for its retries
                newer._retrying = asyncio.ensure_future(newer._handle_message_flow(app_message))

    async def _retry_deliveries(self) -> None:
        session: Any = self.session
        session.newest = self
        # In the background: amqtt waits here for acknowledgements before it reads the first one.
        self._retrying = asyncio.ensure_future(super()._retry_deliveries())


class _Broker(Broker):  # type: ignore[misc]
    """amqtt marks what it has kept for a session as retained, and reads nothing of the session
    before that is acknowledged.

    The standard says that the mark is for new subscriptions only (3.3.1-9).
    """

    async def _publish_session_retained_messages(self, session: Any) -> None:
        handler: Any = self._get_handler(session)
        self._sending = []
        while not session.retained_messages.empty():
            kept = await session.retained_messages.get()
            sent = handler.mqtt_publish(kept.topic, kept.data, kept.qos, retain=False)
            self._sending.append(asyncio.ensure_future(sent))


class AmqttBroker:
    """amqtt in a thread, for :data:`USER` alone: it keeps no session of one without a name.

    ``tls`` are files with a certificate and its key.
    """

    def __init__(self, folder: Path, tls: tuple[Path, Path] | None = None) -> None:
        self.port = free_port()
        listener: dict[str, Any] = {"type": "tcp", "bind": f"127.0.0.1:{self.port}"}
        if tls is not None:
            listener |= {"ssl": True, "certfile": str(tls[0]), "keyfile": str(tls[1])}
        users = folder / "users"
        users.write_text(f"{USER}:{PasswordHash.recommended().hash(PASSWORD)}\n")
        plugins = {"amqtt.plugins.authentication.FileAuthPlugin": {"password_file": str(users)}}
        self._config = {"listeners": {"default": listener}, "plugins": plugins}
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        started: Future[None] = Future()

        async def run() -> None:
            self._loop = asyncio.get_running_loop()
            self._end = asyncio.Event()
            try:
                self._broker = _Broker(self._config)
                await self._broker.start()
            except BaseException as error:
                started.set_exception(error)
                raise
            started.set_result(None)
            await self._end.wait()
            with suppress(Exception):
                await self._broker.shutdown()

        self._thread = Thread(target=lambda: asyncio.run(run()), daemon=True)
        self._thread.start()
        started.result(300)

    @property
    def connected(self) -> bool:
        """Whether it takes anybody for connected."""
        sessions = [session for session, _ in self._broker._sessions.values()]
        return any(each.transitions.state == "connected" for each in sessions)

    def stop(self) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(300)


@contextmanager
def amqtt_broker(folder: Path, tls: tuple[Path, Path] | None = None) -> Iterator[AmqttBroker]:
    """A broker that has been started."""
    original = amqtt.broker.BrokerProtocolHandler
    amqtt.broker.BrokerProtocolHandler = _Handler
    broker = AmqttBroker(folder, tls)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()
        amqtt.broker.BrokerProtocolHandler = original


def publish_with(port: int, topic: str, payload: str, headers: dict[str, str]) -> None:
    """Publish with user properties, which MQTT 5 has."""
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    properties.UserProperty = list(headers.items())
    client = paho.mqtt.client.Client(CallbackAPIVersion.VERSION2, protocol=paho.mqtt.client.MQTTv5)
    client.username_pw_set(USER, PASSWORD)
    client.connect("127.0.0.1", port)
    client.loop_start()
    client.publish(topic, payload, 1, properties=properties).wait_for_publish(60)
    client.disconnect()
    client.loop_stop()


def publish(
    port: int, messages: Sequence[tuple[str, str | bytes]], *, retain: bool = False
) -> None:
    """Publish with QoS 1; returns when the broker has all of them."""
    told = [(topic, payload, 1, retain) for topic, payload in messages]
    auth = {"username": USER, "password": PASSWORD}
    paho.mqtt.publish.multiple(told, "127.0.0.1", port, auth=auth)  # type: ignore[arg-type]


class Subscriber:
    """Reads a topic of MQTT."""

    def __init__(self, port: int, version: str, topic: str) -> None:
        protocol = paho.mqtt.client.MQTTv5 if version == "5" else paho.mqtt.client.MQTTv311
        self.received: list[paho.mqtt.client.MQTTMessage] = []
        self.ready = False
        self._client = paho.mqtt.client.Client(CallbackAPIVersion.VERSION2, protocol=protocol)
        self._client.username_pw_set(USER, PASSWORD)
        self._client.on_message = lambda _client, _data, message: self.received.append(message)
        self._client.on_subscribe = lambda *_: setattr(self, "ready", True)
        self._client.connect("127.0.0.1", port)
        self._client.subscribe(topic, 1)
        self._client.loop_start()

    def stop(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@contextmanager
def mosquitto_broker(folder: Path) -> Iterator[int]:
    """mosquitto, with sessions that survive; gives its port."""
    assert MOSQUITTO is not None
    port = free_port()
    config = folder / "mosquitto.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n"
        f"max_inflight_messages 50\nuser root\n"
    )
    with subprocess.Popen([MOSQUITTO, "-c", str(config)]) as process:
        deadline = time.monotonic() + 30
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert time.monotonic() < deadline, "mosquitto does not start"
            time.sleep(0.05)
        try:
            yield port
        finally:
            process.terminate()
            process.wait(300)
