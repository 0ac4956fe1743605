"""The handle of a running deployment: what all its parts share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from sqlalchemy import Engine as Database

from sensorstream.app.control.rule_exchange import Exchange
from sensorstream.app.control.wiring import Deployment
from sensorstream.app.life.metrics import Metrics
from sensorstream.app.life.pipeline import Pipeline
from sensorstream.app.questions.mirrored_window import EngineView, WindowMirror
from sensorstream.clock import Clock
from sensorstream.engine.engine import Engine
from sensorstream.errors import QueryError, Unavailable
from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Timeline
from sensorstream.processes.fork_once import run_apart
from sensorstream.settings.settings import Settings

if TYPE_CHECKING:  # its packages need not be installed; it needs this module
    from sensorstream.app.life.traces import Traces
    from sensorstream.app.questions.engine_questions import EngineQuestions
    from sensorstream.history.postgres_reader import PostgresReader

_Seen = TypeVar("_Seen")
_SECONDS: Final = 5.0
"""Seconds of work for an answer of an engine on Spark, whose messages wait."""


@frozen
class Asked:
    """An engine that is asked; ``alone``: no other one is."""

    engine: Engine
    deployment: Deployment
    alone: bool

    def apart(self, work: Callable[[], _Seen], what: str) -> _Seen:
        """The result of ``work`` in a fork of this process, which leaves the engine as it is.

        Raises:
            Overrun: it takes too long.
        """
        seconds = min(_SECONDS, self.deployment.settings.limits.question_seconds)
        return run_apart(work, seconds, what=what, setting="the messages of its key wait for it")


Question: TypeAlias = Callable[[Asked, Mapping[str, Any]], _Seen]
"""A question to an engine; the arguments are those of JSON."""


class Handle:
    """The state that the parts of a running deployment share; made by :meth:`.Application.open`.

    ``database`` has a few connections for all parts; the pipeline's writer has its own. ``url`` is
    that of the database now: it may be another one after the history was lost and opened again.
    """

    settings: Settings
    clock: Clock
    meters: Metrics
    url: str
    database: Database
    reader: PostgresReader
    engine: Engine
    exchange: Exchange
    pipeline: Pipeline
    asks: EngineQuestions
    traces: Traces | None = None
    mirror: WindowMirror | None = None
    """Shows what the engines hold, where they are not here."""

    @property
    def deployment(self) -> Deployment:
        """The deployment in force: that of the settings, or with an ontology put since."""
        return self.exchange.deployment

    @property
    def here(self) -> bool:
        """Whether the engine is in this process; else there is one for each key, on Spark."""
        return self.settings.pipeline.runner != "spark"

    @property
    def timeline(self) -> Timeline:
        return self.settings.time.timeline

    @property
    def seconds(self) -> float:
        """The seconds that a question may take."""
        return self.settings.limits.question_seconds

    @contextmanager
    def looking(self) -> Iterator[EngineView]:
        """A block that sees what holds now, and in which it does not change; be brief.

        Raises:
            HistoryError: the engines are not here, and what they hold cannot be read.
        """
        if self.mirror is None:
            with self.pipeline.lock:
                yield self.engine
        else:
            with self.mirror.looking() as seen:
                yield seen

    def seen(
        self,
        read: Callable[[EngineView], _Seen],
        seconds: float,
        late: str,
        fix: Callable[[str], None] = lambda _: None,
    ) -> _Seen:
        """Call ``read`` for what holds now, when all effects of that are stored.

        ``fix`` is called before: it fixes a snapshot of the database, of the same instant; it gets
        the name of one, or ``""`` for that of now.

        Raises:
            Unavailable: not within so many seconds; ``late`` is the message.
            HistoryError: see :meth:`looking`.
        """
        if self.mirror is not None:
            with self.mirror.looking(fix) as seen:
                return read(seen)

        def fixed() -> _Seen:
            fix("")
            return read(self.engine)

        try:
            return self.pipeline.settled(fixed).result(seconds)
        except TimeoutError:
            raise Unavailable(late) from None

    def asked(
        self,
        question: Question[_Seen],
        arguments: Mapping[str, Any],
        key: str | None,
        here: Callable[[], _Seen] | None = None,
        *,
        one: bool = False,
    ) -> Mapping[str, _Seen]:
        """The answers of engines by their keys: "" for the one of this process, which ``here``, if
        given, asks in its own way; else see :meth:`.EngineQuestions.ask`.

        Raises:
            QueryError: a key is given, but the engine of this process has all.
        """
        if not self.here:
            return self.asks.ask(question, arguments, key, one=one)
        if key is not None:
            raise QueryError("key: the engine of the server has the messages of all keys: omit it")
        if here is not None:
            return {"": here()}
        with self.pipeline.lock:
            return {"": question(Asked(self.engine, self.deployment, alone=True), arguments)}
