"""Many questions to one history in one Spark, for notebooks and programs."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sensorstream.errors import QueryError
from sensorstream.history.open_history import open_kept
from sensorstream.history.view_definitions import view_definitions
from sensorstream.installation import require
from sensorstream.reasoning.ontology import deployed_ontology
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings
from sensorstream.spark.bulk_sql import (
    answer_over,
    define_views,
    prepare,
    prepare_session,
    spark_errors,
)
from sensorstream.spark.history_snapshot import HistoryPlace, snapshot_of
from sensorstream.spark.launch import spark_session
from sensorstream.sql.postgres.sql_reader import view_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def session(
    settings: Settings | Path | str = "sensorstream.toml",
    *,
    url: str | None = None,
    master: str | None = None,
) -> Session:
    """Start Spark over the history of a deployment; it runs until the session is closed.

    ``settings`` are the deployment's, or the path of its file; ``url`` and ``master`` come before
    those of the settings.

    Raises:
        MissingExtra: the extra "spark" is not installed.
        SettingsError: the settings cannot be read.
        HistoryError: there is no history, or it cannot be reached.
        SparkError: Spark does not start, or this process has a Spark session already.
    """
    require("spark", "a session of Spark")
    with ExitStack() as stack:
        given = settings if isinstance(settings, Settings) else load_settings(Path(settings))
        return Session(given, url, master, stack)


class Session(AbstractContextManager["Session"]):
    """A history in Spark. Use as a context manager, or call :meth:`close`.

    All questions see the history as it was when the session began, or at the last :meth:`refresh`.
    Meanwhile no partition of it can be archived. ``spark`` is the ``pyspark.sql.SparkSession``.
    """

    spark: SparkSession

    def __init__(
        self, settings: Settings, url: str | None, master: str | None, stack: ExitStack
    ) -> None:
        """Use :func:`session`."""
        self._timeout = settings.limits.question_seconds
        url = url or open_kept(settings.history, stack)
        self._place = HistoryPlace(url, settings.archive.folder)
        schema = deployed_ontology(settings.ontology).schema
        self._views = {each.name: each for each in view_definitions(schema, settings.time.timeline)}
        at = replace(settings.spark, master=master or settings.spark.master)
        self.spark = stack.enter_context(spark_session(at))
        prepare_session(self.spark)
        self._state = stack.enter_context(ExitStack())
        self._defined: set[str] = set()
        self.refresh()
        self._stack = stack.pop_all()

    @property
    def views(self) -> tuple[str, ...]:
        """The names of the history's views."""
        return tuple(self._views)

    def sql(self, text: str) -> DataFrame:
        """The answer to PostgreSQL's SQL, the text that ``sensorstream sql`` takes.

        Raises:
            QueryError: PostgreSQL refuses the text, or Spark would answer it otherwise.
            HistoryError: the history cannot be reached.
        """
        prepared = prepare(self._place.url, text, timeout=self._timeout)
        views = tuple(self._views.values())
        with spark_errors():
            answer = answer_over(self.spark, self._snapshot, views, prepared)
            return answer.toDF(*prepared.names)

    def table(self, view: str) -> DataFrame:
        """A view of the history, for Spark's own functions; raises QueryError if there is no such
        view.

        From now on Spark's own SQL knows it too: ``history.human`` as ``history_human``.
        """
        if view not in self._views:
            raise QueryError(f"there is no view '{view}': expected one of {', '.join(self._views)}")
        name = view_name(view)
        if view not in self._defined:
            with spark_errors():
                define_views(self.spark, self._snapshot, [self._views[view]])
            self._defined.add(view)
        return self.spark.table(name)

    def refresh(self) -> None:
        """See the history as it is now; data frames that were made before can be read no more."""
        for name in self._defined:
            self.spark.catalog.dropTempView(view_name(name))
        self._defined.clear()
        self._state.close()
        self._snapshot = self._state.enter_context(snapshot_of(self._place))

    def close(self) -> None:
        """Stop Spark; a second call does nothing."""
        self._stack.close()

    def __exit__(self, *_: object) -> None:
        self.close()
