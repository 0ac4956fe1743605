"""Questions that are answered once: to the cache, history, both, and the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from secrets import token_hex
from threading import Lock
from typing import IO, TYPE_CHECKING, Final

from sensorstream.app.cache.cache import Cache
from sensorstream.app.cache.cache_messages import Answered, CacheQuestion
from sensorstream.app.deployment_handle import Handle
from sensorstream.app.questions.mirrored_window import EngineView
from sensorstream.clock import Clock
from sensorstream.errors import (
    JobCancelled,
    Overrun,
    QueryError,
    SensorStreamError,
    Unavailable,
    UnknownJob,
)
from sensorstream.history.asking.checked_question import (
    CheckedQuestion,
    QuestionPlan,
    question_plan,
)
from sensorstream.history.asking.history_relations import (
    FOREVER,
    LiveStay,
    PresentStatements,
    StandingTriple,
)
from sensorstream.history.asking.query_answer import Answer
from sensorstream.history.asking.query_run import AskingLimits, AskRows, answered, plan_of, snapshot
from sensorstream.history.read_only_sql import SqlResult, SqlStream, names_live, open_sql
from sensorstream.history.view_definitions import view_definitions
from sensorstream.installation import require
from sensorstream.journal.records import number_of_message
from sensorstream.kb.graph_index import Origin
from sensorstream.model.frozen import field, frozen, replace
from sensorstream.processes.stopping import Stop
from sensorstream.sparql.answerable import read_answerable
from sensorstream.sparql.query_printer import query_text
from sensorstream.sparql.text_bounds import MOST_TOKENS

if TYPE_CHECKING:
    from sensorstream.archive.archive_queries import Archive


_PREFIX: Final = "question_"


def is_question(name: str) -> bool:
    """Whether an id is that of a running question, not of a job that is kept."""
    return name.startswith(_PREFIX)


@frozen
class AskedText:
    """A question: ``language`` is sparql or sql, ``on`` what is asked, ``client`` who asks. ``at``
    and ``during`` are its valid time, as it is written; the graphs are those of SPARQL.
    """

    language: str
    text: str
    on: str
    client: str
    at: str | None = None
    during: str | None = None
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()


@frozen
class RunningQuestion:
    """A question that is being answered."""

    id: str
    asked: AskedText
    since: datetime
    stop: Stop = field(default_factory=Stop)


class RunningQuestions:
    """The questions that are being answered. Thread-safe."""

    def __init__(self, clock: Clock, overrun: Callable[[str], None]) -> None:
        """Begin with none; ``overrun`` gets the ``on`` of each question over its limits."""
        self._clock = clock
        self._overrun = overrun
        self._lock = Lock()
        self._runs: dict[str, RunningQuestion] = {}
        self._closed = False

    @contextmanager
    def enter(self, asked: AskedText) -> Iterator[Stop]:
        """A block in which a question is answered.

        Raises:
            Unavailable: the server stops.
        """
        run = RunningQuestion(f"{_PREFIX}{token_hex(8)}", asked, self._clock.now())
        with self._lock:
            if self._closed:
                raise _stops()
            self._runs[run.id] = run
        try:
            yield run.stop
        except Overrun:
            self._overrun(asked.on)
            raise
        finally:
            with self._lock:
                del self._runs[run.id]

    def runs(self) -> Sequence[RunningQuestion]:
        """The running questions, newest first."""
        with self._lock:
            return list(reversed(self._runs.values()))

    def run(self, run_id: str) -> RunningQuestion:
        """A running question by its id.

        Raises:
            UnknownJob: it has ended, or was never there.
        """
        with self._lock:
            found = self._runs.get(run_id)
        if found is None:
            raise UnknownJob(f"there is no question '{run_id}': it has ended, or was never there")
        return found

    def cancel(self, run_id: str) -> None:
        """End a running question: its client gets :class:`.JobCancelled`.

        Raises:
            UnknownJob: it has ended, or was never there.
        """
        self.run(run_id).stop.now(JobCancelled("the question was cancelled"))

    def close(self) -> None:
        """End all running questions; none begins afterwards."""
        with self._lock:
            self._closed = True
            runs = list(self._runs.values())
        for each in runs:
            each.stop.now(_stops())


def _stops() -> SensorStreamError:
    return Unavailable("the server stops")


_OXIGRAPH: Final = (
    "Oxigraph answers this from a copy of the window, and orders the parts itself; expressions are "
    "computed by SensorStream:"
)


class Asking:
    """The answers to questions. Thread-safe.

    Where the engines are not here, the mirror of their windows is asked. Questions to the archive
    raise :class:`.QueryError` if there is none, and :class:`.MissingExtra` if the modules that read
    it are not installed.
    """

    def __init__(self, app: Handle, cache: Cache) -> None:
        self._app = app
        self._cache = cache
        self._limits = AskingLimits(app.seconds, app.settings.limits.question_rows)
        self._asked: Archive | None = None

    def cache(self, question: CacheQuestion, out: IO[bytes], stop: Stop) -> Answered:
        """Ask the cache in SPARQL; see :meth:`.Cache.ask`, ``names_only`` as the profile is."""
        with self._app.looking():
            """On Spark it is up to date now."""
        asked = replace(question, names_only=self._app.deployment.names_only)
        return self._cache.ask(asked, out, stop)

    def cache_plan(
        self, text: str, default_graphs: Sequence[str], named_graphs: Sequence[str]
    ) -> QuestionPlan:
        """Explain how the cache answers SPARQL: Oxigraph has no plan, so its query is shown.

        Raises:
            QueryError: the query cannot be answered.
        """
        query = read_answerable(
            text,
            default_graphs,
            named_graphs,
            names_only=self._app.deployment.names_only,
            most_tokens=MOST_TOKENS,
        )
        return question_plan(query, "", f"{_OXIGRAPH}\n{query_text(query)}")

    def history(
        self, question: CheckedQuestion, *, live: bool, stop: Stop | None = None
    ) -> AbstractContextManager[Answer]:
        """Ask history in SPARQL; with ``live``, also what holds now. See :func:`.answered`."""
        return answered(
            self._app.url, question, self._limits, self._present if live else None, stop
        )

    def snapshot(self, stop: Stop) -> AbstractContextManager[AskRows]:
        """Ask several questions to history and what holds now, at one instant; see
        :func:`.snapshot`.
        """
        return snapshot(self._app.url, self._limits, self._present, stop)

    def history_plan(self, question: CheckedQuestion, live: bool, stop: Stop) -> QuestionPlan:
        """Explain how :meth:`history` answers a question; see :func:`.plan_of`."""
        return plan_of(self._app.url, question, self._limits, self._present if live else None, stop)

    def archive(
        self, question: CheckedQuestion, stop: Stop | None = None
    ) -> AbstractContextManager[Answer]:
        """Ask the archive in SPARQL; see :func:`.archive_answered`."""
        archive = self._archive()
        from sensorstream.archive.archive_queries import archive_answered

        return archive_answered(archive, question, self._limits, stop)

    def archive_plan(self, question: CheckedQuestion, stop: Stop) -> QuestionPlan:
        """Explain how :meth:`archive` answers a question; raises as it does."""
        archive = self._archive()
        from sensorstream.archive.archive_queries import archive_plan

        return archive_plan(archive, question, self._limits, stop)

    def sql(self, text: str, stop: Stop | None = None) -> SqlResult:
        """Run one read-only SQL statement over history.

        Raises:
            QueryError: the text cannot be run.
        """
        with self.sql_stream(text, stop) as stream:
            return stream.result(self._limits.rows)

    def sql_stream(self, text: str, stop: Stop | None = None) -> AbstractContextManager[SqlStream]:
        """Run one read-only SQL statement over history, with all its rows; see :func:`.open_sql`.
        If it names the schema ``live``, that shows the window, at the instant of the history.
        """
        live = self._present if names_live(text) else None
        return open_sql(self._app.url, text, timeout=self._limits.timeout, live=live, stop=stop)

    def sql_archive(self, text: str, stop: Stop | None = None) -> SqlResult:
        """Run one SQL statement over the archive; see :func:`.archive_sql`."""
        archive = self._archive()
        from sensorstream.archive.archive_queries import archive_sql

        deployment = self._app.deployment
        views = view_definitions(deployment.ontology.schema, deployment.timeline)
        return archive_sql(archive, text, views, self._limits, stop)

    def _archive(self) -> Archive:
        require("archive", "the archive")
        told = self._app.settings.archive
        if not told.folder.is_dir():
            raise QueryError(
                "there is no archive: 'sensorstream archive --older-than D' makes it; until then "
                "all is in history (on=history)"
            )
        from sensorstream.archive.archive_queries import Archive

        if self._asked is None:
            memory = self._app.settings.limits.question_memory
            self._asked = Archive(self._app.url, told.folder, memory)
        return replace(self._asked, url=self._app.url)

    def close(self) -> None:
        """End the process that asks the archive."""
        if self._asked is not None:
            self._asked.duckdb.close()

    def _present(self, fix: Callable[[str], None]) -> PresentStatements:
        """The statements that hold now, and the database's snapshot of the same instant."""
        late = "the history is not up to date now: ask again later"
        return self._app.seen(present, self._limits.timeout, late, fix)


def present(engine: EngineView) -> PresentStatements:
    """The statements of the knowledge base; it must not change meanwhile. A statement that
    is in several graphs comes once for each. O(knowledge base).
    """
    stays = [
        LiveStay(each.stay, each.name, each.entered, each.time, _number(each.message))
        for each in engine.window
    ]
    return PresentStatements(list(_standing(engine)), stays)


def _standing(engine: EngineView) -> Iterator[StandingTriple]:
    for one in engine.window:
        for triple, said in one.statements.items():
            yield StandingTriple(
                triple, int(Origin.WINDOW), said.time, one.stay, _number(said.message)
            )
    for triple, begun in engine.inferences.begun().items():
        cause = begun.provenance
        yield StandingTriple(
            triple, int(Origin.INFERRED), cause.time, begun.stay, _number(cause.message)
        )
    for origin in (Origin.STATIC, Origin.STATIC_INFERRED):
        for triple in engine.kb.triples(origin):
            yield StandingTriple(triple, int(origin), FOREVER)


def _number(message: str) -> int:
    return number_of_message(message) if message else 0
