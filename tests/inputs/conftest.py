"""An application in place of the real one, whose journal is a list, and inputs running over it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from sensorstream.app.life.entry_queue import HERE, MessageSender
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import MalformedMessage, RepeatedMessage, Unavailable
from sensorstream.inputs.inputs import RunningInput, reader_of
from sensorstream.inputs.intake import InputMetrics, Intake
from sensorstream.journal.entry import Entry
from sensorstream.logs import concerned
from sensorstream.model.events import Message, Status
from sensorstream.settings.endpoints import Input
from sensorstream.settings.settings_file import load_settings

LIMIT = 10_000


@dataclass
class Journal:
    """Takes messages as the pipeline does; those that begin with ``<bad`` are rejected.

    ``held`` keeps messages from being processed, ``full`` from being accepted.
    """

    contents: list[bytes] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)
    repeats: int = 0
    full: bool = False
    origins: set[str] = field(default_factory=set)
    held: list[Callable[[], None]] | None = None
    entries: list[Entry] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def change(self, entry: Entry) -> Future[Outcome]:
        self.entries.append(entry)
        done: Future[Outcome] = Future()
        done.set_result(Outcome(Message("m1", b"", 1, ""), Status.JOURNALLED))
        return done

    def take(
        self,
        content: bytes,
        source: str,
        origin: str = "",
        *,
        repeated: bool = True,
        sender: MessageSender = HERE,
    ) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        with self.lock:
            if self.full:
                future.set_exception(Unavailable("full"))
                return future
            if repeated and origin and origin in self.origins:
                self.repeats += 1
                future.set_exception(RepeatedMessage("again"))
                return future
            self.origins.add(origin)
            self.contents.append(content)
            self.sources.append(source)
            self.traces.append(concerned().get("trace_id", ""))
            name = f"m{len(self.contents)}"

            def settle() -> None:
                if content.startswith(b"<bad"):
                    error = MalformedMessage("it is bad")
                    error.message_id = name
                    future.set_exception(error)
                else:
                    future.set_result(Outcome(Message(name, content, 0, source), Status.ACCEPTED))

            if self.held is None:
                settle()
            else:
                self.held.append(settle)
        return future

    def release(self) -> None:
        """Process what is held, and hold nothing any more."""
        with self.lock:
            held, self.held = self.held or [], None
        for settle in held:
            settle()


@dataclass
class Bench:
    """Runs inputs over one journal."""

    folder: Path
    journal: Journal = field(default_factory=Journal)
    metrics: CollectorRegistry = field(default_factory=CollectorRegistry)

    def settings(self, options: str, kind: str, head: str = "") -> Input:
        file = self.folder / "sensorstream.toml"
        told = f'[[inputs]]\nname = "in"\ntype = "{kind}"\n{head}\n[inputs.options]\n{options}\n'
        file.write_text(told)
        return load_settings(file, {}).inputs[0]

    @contextmanager
    def running(self, options: str, kind: str, head: str = "") -> Iterator[RunningInput]:
        self.metrics = CollectorRegistry()
        metrics = InputMetrics(self.metrics)
        reader = reader_of(self.settings(options, kind, head))
        running = RunningInput("in", reader, lambda n: Intake(n, self.journal, LIMIT, metrics))
        running.start()
        try:
            yield running
        finally:
            running.stop()
            running.join()

    @staticmethod
    def deadline(seconds: float = 30.0) -> Callable[[], None]:
        """Waits a moment at each call, and fails when they take too long in all."""
        end = time.monotonic() + seconds

        def wait() -> None:
            assert time.monotonic() < end, "did not happen in time"
            time.sleep(0.01)

        return wait

    def value(self, name: str, **labels: str) -> float:
        found = self.metrics.get_sample_value(
            f"sensorstream_input_{name}", {"input": "in"} | labels
        )
        return found or 0.0


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
