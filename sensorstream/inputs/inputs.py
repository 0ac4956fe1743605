"""Starts the inputs of a deployment, keeps them connected, and stops them; each runs in a thread
and an event loop of its own, so one that hangs delays no other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Final, Protocol

from sensorstream.app.application import Application
from sensorstream.app.life.health import HealthPart
from sensorstream.errors import SensorStreamError, SettingsError
from sensorstream.inputs.intake import InputMetrics, Intake
from sensorstream.installation import require
from sensorstream.settings.endpoints import FolderInput, Input, KafkaInput, MqttInput, TcpInput

_LOG = logging.getLogger(__name__)
_FIRST_WAIT: Final = 1.0
_LONGEST_WAIT: Final = 60.0


class Reader(Protocol):
    """Reads the messages of one input; made from its settings, which it checks."""

    async def run(self, intake: Intake) -> None:
        """Connect, and hand over messages until ``intake.stopping``; acknowledge those taken.

        It may be called again after an error.

        Raises:
            SensorStreamError: the connection is lost or cannot be made; nothing that was not taken
                is acknowledged.
        """


def reader_of(settings: Input, on_spark: Callable[[], str] | None = None) -> Reader:
    """The reader of an input; nothing is connected. ``on_spark`` gives the address of the history
    whose journal is processed on Spark, so that messages may stay in their topics.

    Raises:
        SettingsError: an option cannot be used.
        MissingExtra: a package is not installed.
        AddressUnavailable: it cannot listen on its address.
    """
    # A package that no input needs is not imported, so that it need not be installed.
    who = f"inputs.{settings.name}"
    match settings.options:
        case FolderInput():
            from sensorstream.inputs.folder_input import FolderReader

            return FolderReader(settings.name, settings.source, settings.options)
        case TcpInput():
            from sensorstream.inputs.tcp_input import TcpReader

            return TcpReader(settings.name, settings.source, settings.options)
        case MqttInput():
            require("mqtt", f"{who}: the type 'mqtt'")
            from sensorstream.inputs.mqtt_input import MqttReader

            return MqttReader(settings.name, settings.source, settings.options)
        case KafkaInput():
            require("kafka", f"{who}: the type 'kafka'")
            if not settings.options.copy:
                if on_spark is None:
                    told = 'expected true, or pipeline.runner = "spark"'
                    raise SettingsError(f"{who}.options.copy: {told}, whose engines read topics")
                from sensorstream.inputs.topic_watch import TopicWatch

                return TopicWatch(settings.name, settings.options, on_spark)
            from sensorstream.inputs.kafka_input import KafkaReader

            return KafkaReader(settings.name, settings.source, settings.options)


class Inputs:
    """The inputs of a deployment; a context manager: they run inside its block."""

    def __init__(self, application: Application) -> None:
        """Check the settings of all inputs; raises as :func:`reader_of`."""
        metrics = InputMetrics(application.metrics)
        limit = application.settings.server.max_message_bytes
        self._running = [
            RunningInput(
                each.name,
                reader_of(each, None if application.here else lambda: application.url),
                lambda name: Intake(name, application.pipeline, limit, metrics),
            )
            for each in application.settings.inputs
        ]
        application.health.watch(self.parts)

    def __enter__(self) -> Inputs:
        for each in self._running:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._running:
            each.stop()
        for each in self._running:
            each.join()

    def parts(self) -> Sequence[HealthPart]:
        """The state of each input. An input that is not connected counts as ready, because it does
        not keep others from sending; its detail says what is wrong. One stopped by a fault of the
        program does not.
        """
        return [
            HealthPart(f"input {each.name}", ready=not each.faulty, detail=each.state)
            for each in self._running
        ]


class RunningInput:
    """An input in its thread."""

    def __init__(self, name: str, reader: Reader, make_intake: Callable[[str], Intake]) -> None:
        self.name = name
        self.reader = reader
        self._make_intake = make_intake
        self._intake: Intake | None = None
        self._started = Event()
        self._thread = Thread(target=self._run, name=f"input {name}", daemon=True)

    @property
    def state(self) -> str:
        if self._intake is None or not self._thread.is_alive():
            return "not running"
        return self._intake.fault or self._intake.state

    @property
    def faulty(self) -> bool:
        """Whether a fault of the program keeps it from reading."""
        if self._intake is None:
            return self._started.is_set()
        ended = not self._thread.is_alive() and not self._intake.stopping
        return ended or bool(self._intake.fault)

    def start(self) -> None:
        self._thread.start()
        self._started.wait()

    def stop(self) -> None:
        if self._intake is not None:
            self._intake.stop()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._keep_reading())
        except BaseException:
            _LOG.exception("internal error: input %s has ended", self.name)
        finally:
            self._started.set()

    async def _keep_reading(self) -> None:
        intake = self._intake = self._make_intake(self.name)
        self._started.set()
        wait = _FIRST_WAIT
        while not intake.stopping:
            fault = ""
            working = asyncio.get_running_loop().call_later(_LONGEST_WAIT, intake.works)
            try:
                await self.reader.run(intake)
            except SensorStreamError as error:
                reason = error.message
            except Exception as error:
                _LOG.exception("internal error: input %s begins anew", self.name)
                reason = fault = f"a fault: {type(error).__name__}: {error}"
            else:
                continue
            finally:
                working.cancel()
            # After a connection that worked, the next attempt comes soon.
            worked = not (intake.state or intake.fault)
            wait = _FIRST_WAIT if worked else min(2 * wait, _LONGEST_WAIT)
            intake.lost(reason)
            intake.fault = fault or intake.fault
            await intake.pause(wait)
        await intake.finish()
