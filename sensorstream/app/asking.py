"""Questions that are answered once: to the cache, history, both, and the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Final

from sensorstream.app.pipeline import Pipeline
from sensorstream.app.standing import present
from sensorstream.app.wiring import Deployment
from sensorstream.cache.cache import Cache
from sensorstream.cache.protocol import Answered, CacheQuestion
from sensorstream.engine.engine import Engine
from sensorstream.errors import QueryError, Unavailable
from sensorstream.extras import require
from sensorstream.history.asking.answer import Answer
from sensorstream.history.asking.question import Question, QuestionPlan, question_plan
from sensorstream.history.asking.relations import Present
from sensorstream.history.asking.run import Limits, answered, plan_of
from sensorstream.history.asking.stopping import Stop
from sensorstream.history.read_only_sql import SqlResult, SqlStream, names_live, open_sql
from sensorstream.kb.snapshot import read_answerable
from sensorstream.settings import ArchiveSettings, Settings
from sensorstream.sparql.bounds import MOST_TOKENS
from sensorstream.sparql.printing import query_text

if TYPE_CHECKING:
    from sensorstream.archive.sparql.asking import Archive

_OXIGRAPH: Final = (
    "Oxigraph answers this from a copy of the window, and orders the parts itself; expressions are "
    "computed by SensorStream:"
)


class Asking:
    """Answers questions. Thread-safe.

    ``url`` gives the address of the history, ``deployment`` the one in force; ``check_here`` raises
    RunsOnSpark if the engines are not in this process.
    """

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        pipeline: Pipeline,
        cache: Cache,
        url: Callable[[], str],
        deployment: Callable[[], Deployment],
        check_here: Callable[..., None],
    ) -> None:
        self._archive_settings = settings.archive
        self._memory = settings.limits.question_memory
        self._limits = Limits(settings.limits.question_seconds, settings.limits.question_rows)
        self._engine = engine
        self._pipeline = pipeline
        self._cache = cache
        self._url = url
        self._deployment = deployment
        self._check_here = check_here

    def cache(self, question: CacheQuestion, out: IO[bytes], stop: Stop) -> Answered:
        """SPARQL over the cache; see :meth:`.Cache.ask`. It must not describe classes where these
        are known by their names only.

        Raises:
            RunsOnSpark: the engines are not here.
        """
        self._check_here("the cache")
        asked = replace(question, names_only=self._deployment().names_only)
        return self._cache.ask(asked, out, stop)

    def cache_plan(
        self, text: str, default_graphs: Sequence[str], named_graphs: Sequence[str]
    ) -> QuestionPlan:
        """How SPARQL over the cache is answered: Oxigraph tells no plan, but what it is asked.

        Raises:
            RunsOnSpark: the engines are not here.
            QueryError: the query cannot be answered.
        """
        self._check_here("the cache")
        query = read_answerable(
            text,
            default_graphs,
            named_graphs,
            names_only=self._deployment().names_only,
            most_tokens=MOST_TOKENS,
        )
        return question_plan(query, "", f"{_OXIGRAPH}\n{query_text(query)}")

    def history(
        self, question: Question, *, live: bool, stop: Stop | None = None
    ) -> AbstractContextManager[Answer]:
        """SPARQL over history; with ``live``, over what holds now too. See :func:`.answered`.

        Raises:
            RunsOnSpark: what holds now is not here.
        """
        if live:
            self._check_here("what holds now", "ask on=history")
        return answered(self._url(), question, self._limits, self._present if live else None, stop)

    def history_plan(self, question: Question, live: bool, stop: Stop) -> QuestionPlan:
        """How :meth:`history` answers a question; see :func:`.plan_of`."""
        if live:
            self._check_here("what holds now", "ask on=history")
        return plan_of(self._url(), question, self._limits, self._present if live else None, stop)

    @contextmanager
    def archive(self, question: Question, stop: Stop | None = None) -> Iterator[Answer]:
        """SPARQL over the archive; see :func:`.archive_answered`.

        Raises:
            QueryError: there is no archive.
            MissingExtra: the modules that read the archive are not installed.
        """
        archive = self._archive()
        from sensorstream.archive.sparql.asking import archive_answered

        with archive_answered(archive, question, self._limits, stop) as answer:
            yield answer

    def archive_plan(self, question: Question, stop: Stop) -> QuestionPlan:
        """How :meth:`archive` answers a question; raises as it does."""
        archive = self._archive()
        from sensorstream.archive.sparql.asking import archive_plan

        return archive_plan(archive, question, self._limits, stop)

    def sql(self, text: str, stop: Stop | None = None) -> SqlResult:
        """One read-only SQL statement over history.

        Raises:
            QueryError: the text cannot be run.
        """
        with self.sql_stream(text, stop) as stream:
            return stream.result(self._limits.rows)

    def sql_stream(self, text: str, stop: Stop | None = None) -> AbstractContextManager[SqlStream]:
        """One read-only SQL statement over history, with all its rows; see :func:`.open_sql`.

        If it names the schema ``live``, that shows the window, at the instant of the history.

        Raises:
            RunsOnSpark: it does, and the engines are not here.
        """
        live = None
        if names_live(text):
            self._check_here("live")
            live = self._present
        return open_sql(self._url(), text, timeout=self._limits.timeout, live=live, stop=stop)

    def sql_archive(self, text: str, stop: Stop | None = None) -> SqlResult:
        """One SQL statement over the archive; see :func:`.run_archive_sql`.

        Raises:
            QueryError: there is no archive.
            MissingExtra: the modules that read the archive are not installed.
        """
        told = self._archived()
        from sensorstream.archive.asking import run_archive_sql

        deployment = self._deployment()
        return run_archive_sql(
            self._url(),
            told.folder,
            text,
            schema=deployment.ontology.schema,
            timeline=deployment.timeline,
            memory=self._memory,
            timeout=self._limits.timeout,
            row_limit=self._limits.rows,
            stop=stop,
        )

    def _archive(self) -> Archive:
        told = self._archived()
        from sensorstream.archive.sparql.asking import Archive

        return Archive(self._url(), told.folder, self._memory)

    def _archived(self) -> ArchiveSettings:
        require("archive", "the archive")
        told = self._archive_settings
        if not told.folder.is_dir():
            raise QueryError(
                "there is no archive: 'sensorstream archive --older-than D' makes it; until then "
                "all is in history (on=history)"
            )
        return told

    def _present(self, fix: Callable[[], None]) -> Present:
        """What holds now, and the database's snapshot of the same instant."""

        def read() -> Present:
            fix()
            return present(self._engine)

        try:
            return self._pipeline.settled(read).result(self._limits.timeout)
        except TimeoutError:
            raise Unavailable("the history is not up to date now: ask again later") from None
