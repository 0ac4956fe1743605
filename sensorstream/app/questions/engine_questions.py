"""Questions to the engines on Spark, from the server that asks to the engine that answers.

A question is an entry of the journal. The engine of its key, or all, answer it between two messages
and stay as they are; the answers are stored with their batch, and the server reads them there. They
are pickles; only classes of this package come out of one.
"""

from __future__ import annotations

import io
import logging
import pickle
from collections.abc import Mapping
from contextlib import closing
from time import monotonic, sleep
from typing import Any, Final

from psycopg2 import extensions

from sensorstream.app.control import query_control
from sensorstream.app.control.wiring import Deployment
from sensorstream.app.deployment_handle import Asked, Handle, Question
from sensorstream.app.why import present_state
from sensorstream.engine.engine import Engine
from sensorstream.errors import (
    InternalFault,
    Overrun,
    RunsOnSpark,
    SensorStreamError,
    Unavailable,
    UnknownQuery,
    UnknownRules,
)
from sensorstream.history.database import OwnConnection
from sensorstream.history.effects_store import watermark
from sensorstream.history.effects_writer import is_written, keys_of_engines, take_answers
from sensorstream.journal.key_routing import key_named, name_of, stage_name
from sensorstream.journal.message import AskEngines
from sensorstream.journal.records import EngineAnswer, Record, number_of_message
from sensorstream.model.events import Status
from sensorstream.processes.fork_once import ForkTurns

_LOG = logging.getLogger(__name__)
_MOST_ALONE: Final = 16 << 20
_MOST_OF_MANY: Final = 256 << 10
"""Bytes of an answer where one engine is asked, and of each where all are."""
MOST_ENGINES: Final = 1_000
"""The most engines that are asked at once."""
_AT_ONCE: Final = 8
_NAMED: Final = 10
_NAP: Final = 0.05
_DOING: Final = "cannot ask the engines"

QUESTIONS: Final[Mapping[str, Question[Any]]] = {
    "results": query_control.results_of,
    "graph": query_control.graph_of,
    "steps": query_control.steps_of,
    "end-steps": query_control.end_steps,
    "why": present_state.seen_by,
    "rules": present_state.rules_known_by,
    "why-not": present_state.unmet_in,
}
"""The questions that can be asked, by their names in the journal."""
_NAMES: Final = {each: name for name, each in QUESTIONS.items()}


def answer_of(engine: Engine, deployment: Deployment, question: Record, key: str) -> EngineAnswer:
    """The answer of the engine of a key, which may be an error."""
    entry = AskEngines.decode(question.message.content, question.message.source)
    asked = Asked(engine, deployment, alone=bool(entry.key))
    try:
        if question.status is Status.SKIPPED:
            raise Unavailable("the process of the engine ended twice while it answered")
        stage = entry.arguments.get("stage")
        if stage not in (None, stage_name(key)):
            raise UnknownQuery(f"key: expected that of an engine of the stage '{stage}'")
        content = pickle.dumps((True, QUESTIONS[entry.question](asked, entry.arguments)))
    except (UnknownQuery, UnknownRules) as error:
        # Engines of stages have queries and rules of their own.
        content = pickle.dumps((False if asked.alone else None, error))
    except SensorStreamError as error:
        content = pickle.dumps((False, error))
    except Exception as error:
        _LOG.exception("internal error: the question %s is not answered", question.seq)
        fault = InternalFault(f"a fault of the engine: {type(error).__name__}: {error}")
        content = pickle.dumps((False, fault))
    most = _MOST_ALONE if asked.alone else _MOST_OF_MANY
    if len(content) > most:
        way_out = "ask for less" if asked.alone else "ask the engine of one key"
        overrun = Overrun(f"the answer has more than {most >> 10} KiB: {way_out}")
        content = pickle.dumps((False, overrun))
    return EngineAnswer(question.seq, key, content)


class EngineQuestions:
    """The questions of a server to engines on Spark. Thread-safe."""

    def __init__(self, app: Handle) -> None:
        self._app = app
        self._turns = ForkTurns(_AT_ONCE, app.seconds, "asking the engines on Spark")

    def ask(
        self, question: Question[Any], arguments: Mapping[str, Any], key: str | None, *, one: bool
    ) -> dict[str, Any]:
        """The answers by the names of their keys to one of :data:`QUESTIONS`: that of ``key``, or
        of all that hold something; with ``one`` only one engine can be asked. ``arguments`` are
        ready for JSON.

        Raises:
            RunsOnSpark: there is no such engine, or it has to be named.
            Unavailable: they do not answer in time.
            Busy: too many ask at once.
            SensorStreamError: the first error among the answers.
        """
        connection = OwnConnection(lambda: self._app.url, "sensorstream question")
        with self._turns.turn(), closing(connection), connection.cursor(_DOING) as cursor:
            if not is_written(cursor):
                raise Unavailable("no pipeline runs that could answer: start 'sensorstream stream'")
            if key is None:
                asked = _needed(cursor, arguments.get("stage"), one=one)
            else:
                asked = key_named(key, {each.head.name for each in self._app.settings.stages})
            entry = AskEngines(_NAMES[question], arguments, asked)
            asked_at = number_of_message(self._app.pipeline.change(entry).result().message.id)
            end = monotonic() + self._app.seconds
            while watermark(cursor) < asked_at:
                if monotonic() > end:
                    raise Unavailable(
                        f"the engines have not answered within {self._app.seconds:g} s "
                        "(limits.question_seconds): ask again when fewer entries wait (/readyz)"
                    )
                sleep(_NAP)
            stored = take_answers(cursor, asked_at)
        if not stored and (asked or one):
            told = f"no message of the key '{name_of(asked):.60}' has come" if asked else "none yet"
            raise RunsOnSpark(f"key: {told}")
        found: dict[str, Any] = {}
        unknown: SensorStreamError | None = None
        for name in sorted(stored):
            succeeded, value = _Plain(io.BytesIO(stored[name])).load()
            if succeeded is None:
                unknown = value
            elif not succeeded:
                raise value
            else:
                found[name_of(name)] = value
        if unknown is not None and not found:
            raise unknown
        return found


def _needed(cursor: extensions.cursor, stage: str | None, *, one: bool) -> str:
    """The key that need not be named: of the only engine (of a stage); or "" for all."""
    most = 1 if one else MOST_ENGINES
    keys = keys_of_engines(cursor, max(most, _NAMED) + 1, stage)
    if len(keys) > most:
        shown = ", ".join(f"'{name_of(each):.60}'" for each in keys[:_NAMED])
        why = "one engine answers" if one else f"there are more than {most} engines"
        raise RunsOnSpark(f"key: {why}: expected the key of one, such as {shown}")
    return keys[0] if one and keys else ""


class _Plain(pickle.Unpickler):
    """A reader of answers, which calls nothing but classes of this package."""

    def find_class(self, module: str, name: str, /) -> Any:
        found = super().find_class(module, name)
        ours = isinstance(found, type) and found.__module__.startswith("sensorstream.")
        if not ours and (module, name) not in (("builtins", "iter"), ("functools", "partial")):
            raise pickle.UnpicklingError(f"an answer has {module}.{name}")
        return found
