"""Messages to and from Spark's worker.

The caller sends a :class:`Task` first, then :class:`.Ask` with a :class:`JobQuestion`, one at a
time. ``Begun`` tells that Spark has started, ``Over`` has the number of the answer's rows.
"""

from __future__ import annotations

from pathlib import Path

from sensorstream.model.frozen import frozen
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.history_snapshot import HistoryPlace

SQL = "sql"
SPARQL = "sparql"


@frozen
class Task:
    """The history that a worker is for; ``timeout`` is PostgreSQL's in seconds."""

    place: HistoryPlace
    timeline: Timeline
    at: SparkSettings
    timeout: float


@frozen
class JobText:
    """A question as it was asked: ``sql``, or ``sparql`` perhaps with a valid time; with ``plan``
    Spark only plans the answer. ``output`` is where Spark's executors write it.
    """

    language: str
    text: str
    at: str | None = None
    during: str | None = None
    plan: bool = False
    output: str | None = None

    @property
    def has_terms(self) -> bool:
        """Whether the answer is of terms; else it is a table with types of SQL."""
        return self.language == SPARQL and not self.plan


@frozen
class JobQuestion:
    """A question to be answered in at most ``most_bytes``; ``schema`` is that of the ontology."""

    text: JobText
    schema: Schema
    folder: Path
    most_bytes: int


@frozen
class SparkProgress:
    """The number of tasks and stages that are done, of those that Spark knows of by now."""

    tasks_done: int = 0
    tasks: int = 0
    stages_done: int = 0
    stages: int = 0
