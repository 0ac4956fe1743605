"""The input ``mqtt``: a session that the broker keeps, QoS 1, acknowledged after the journal.

After a lost connection the broker sends unacknowledged messages again, with the same packet number
and the flag DUP (MQTT 3.1.1 and 5, section 4.4), by which a repeat is recognised.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final, TypeAlias

import aiomqtt
from paho.mqtt.client import Client as PahoClient
from paho.mqtt.client import ConnectFlags, MQTTMessage
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from sensorstream.errors import SettingsError, Unavailable
from sensorstream.inputs.intake import Intake, Taken, origin_of
from sensorstream.settings.brokers import mqtt_arguments
from sensorstream.settings.endpoints import MqttInput

_LOG = logging.getLogger(__name__)
_WINDOW: Final = 1_000
"""Messages the broker may send before the first of them is acknowledged (MQTT 5)."""
_MOST_WAITING: Final = 1_000
_MOST_BYTES: Final = 64 * 1024 * 1024
"""Messages, and their bytes, that may wait to be handed over; then the socket is not read."""
_REFUSED: Final = 128
_IF_NEW: Final = 1
"""Retained messages come with a new subscription, not with each connection (MQTT 5, 3.8.3.1)."""


_Handed: TypeAlias = "asyncio.Queue[tuple[MQTTMessage, asyncio.Future[Taken]] | None]"
"""Messages that were handed over and are not acknowledged yet; None: no more will come."""


class _Client(aiomqtt.Client):
    """A client whose messages are acknowledged by its caller, with the flag DUP.

    aiomqtt acknowledges a message before its caller has it. The client of paho-mqtt below it can be
    told not to, so this class puts its messages into a queue of its own; that is all it changes.
    """

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._client.manual_ack_set(True)
        # If the loss of the connection is seen elsewhere first, nobody asks for this error.
        self._disconnected.add_done_callback(lambda lost: lost.cancelled() or lost.exception())
        self._waiting: asyncio.Queue[MQTTMessage] = asyncio.Queue()
        self._bytes = 0
        self._paused = False
        self.session_present = False

    async def next(self) -> MQTTMessage:
        """The next message; raises aiomqtt.MqttError if the connection is lost."""
        if self._waiting.empty():
            getting = asyncio.ensure_future(self._waiting.get())
            try:
                ends: set[asyncio.Future[Any]] = {getting, self._disconnected}
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                if not getting.done():
                    self._disconnected.result()
                    raise aiomqtt.MqttError("the connection was closed")
            finally:
                getting.cancel()
            message = getting.result()
        else:
            message = self._waiting.get_nowait()
        self._bytes -= len(message.payload)
        if self._paused and self._waiting.qsize() < _MOST_WAITING // 2:
            self._paused = False
            if (socket := self._client.socket()) is not None:
                self._loop.add_reader(socket, self._read)
        return message

    def acknowledge(self, message: MQTTMessage) -> None:
        """Acknowledge a message that is safe: the broker may forget it."""
        if message.qos:
            self._client.ack(message.mid, message.qos)

    def _read(self) -> None:
        try:
            self._client.loop_read()
        except Exception as error:
            if not self._disconnected.done():
                self._disconnected.set_exception(aiomqtt.MqttError(str(error)))

    def _on_message(self, client: PahoClient, userdata: Any, message: MQTTMessage) -> None:
        self._waiting.put_nowait(message)
        self._bytes += len(message.payload)
        full = self._waiting.qsize() >= _MOST_WAITING or self._bytes >= _MOST_BYTES
        if full and not self._paused and (socket := self._client.socket()) is not None:
            self._paused = True
            self._loop.remove_reader(socket)

    def _on_connect(
        self,
        client: PahoClient,
        userdata: Any,
        flags: ConnectFlags,
        reason_code: ReasonCode,
        properties: Properties | None = None,
    ) -> None:
        self.session_present = flags.session_present
        super()._on_connect(client, userdata, flags, reason_code, properties)


class MqttReader:
    """Subscribes to topics."""

    def __init__(self, name: str, source: str, options: MqttInput) -> None:
        """Check the options; raises SettingsError if a topic or a file cannot be used."""
        self._name = name
        self._source = source
        self._options = options
        self._label = f"inputs.{name}.options"
        self._newest = options.version == "5"
        for topic in options.topics:
            try:
                aiomqtt.Wildcard(topic)
            except ValueError:
                raise SettingsError(
                    f"{self._label}.topics: '{topic}' is not a topic: + and # stand for whole "
                    "levels, and # only at the end"
                ) from None
        arguments = mqtt_arguments(self._label, name, options)
        self._client_id = str(arguments["identifier"])

    async def run(self, intake: Intake) -> None:
        """See :class:`.Reader`."""
        try:
            async with _Client(**self._arguments()) as client:
                await self._subscribe(client)
                intake.connected()
                await self._read(client, intake)
        except aiomqtt.MqttError as error:
            raise Unavailable(f"no connection to {self._options.host}: {error}") from None

    def _arguments(self) -> dict[str, Any]:
        # Read anew for each connection, because passwords and certificates are renewed.
        arguments = mqtt_arguments(self._label, self._name, self._options)
        if not self._newest:
            return {**arguments, "clean_session": False}
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = min(self._options.expiry, 0xFFFFFFFF)
        properties.ReceiveMaximum = _WINDOW
        return {**arguments, "clean_start": False, "properties": properties}

    async def _subscribe(self, client: _Client) -> None:
        for topic in self._options.topics:
            if self._newest:
                options = SubscribeOptions(qos=1, retainHandling=_IF_NEW)
                (code,) = await client.subscribe(topic, options=options)
            else:
                (code,) = await client.subscribe(topic, qos=1)
            if (code.value if isinstance(code, ReasonCode) else code) >= _REFUSED:
                raise Unavailable(f"the broker refuses to send the topic '{topic}'")

    async def _read(self, client: _Client, intake: Intake) -> None:
        taken: _Handed = asyncio.Queue()
        acknowledging = asyncio.ensure_future(self._acknowledge(client, taken))
        reading = asyncio.ensure_future(self._hand_over(client, intake, taken))
        stopping = asyncio.ensure_future(intake.pause())
        try:
            done, _ = await asyncio.wait(
                {reading, acknowledging, stopping}, return_when=asyncio.FIRST_COMPLETED
            )
            reading.cancel()
            for task in done - {stopping}:
                task.result()  # the error that ended it
            await intake.finish()
            taken.put_nowait(None)
            await acknowledging
        finally:
            for task in (reading, acknowledging, stopping):
                task.cancel()

    async def _hand_over(self, client: _Client, intake: Intake, taken: _Handed) -> None:
        while True:
            message = await client.next()
            if message.retain and not message.dup and client.session_present and not self._newest:
                # MQTT 3.1.1 sends it with each connection; it came with the first one.
                client.acknowledge(message)
                continue
            origin, content = "", bytes(message.payload)
            if message.qos:
                told = (message.mid, message.topic, content)
                origin = origin_of("mqtt", self._name, self._client_id, *told)
            source = message.topic if self._options.topic_is_source else self._source
            # MQTT 5 alone has them.
            headers = getattr(message.properties, "UserProperty", ())
            future = await intake.take(
                content, source, origin, repeated=message.dup, headers=headers
            )
            taken.put_nowait((message, future))

    async def _acknowledge(self, client: _Client, taken: _Handed) -> None:
        """Acknowledge in order of arrival (section 4.6)."""
        while (next_one := await taken.get()) is not None:
            message, future = next_one
            result = await future
            client.acknowledge(message)
            if not result.whole:
                _LOG.warning(
                    "input %s: %s %s: %s", self._name, message.topic, result.status, result.fault
                )
