"""What the caller and the worker say to each other, over a pipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sensorstream.errors import SensorStreamError
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.spark.snapshot import Place

SQL = "sql"
SPARQL = "sparql"


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is for: a history; ``timeout`` is PostgreSQL's in seconds."""

    place: Place
    timeline: Timeline
    master: str
    timeout: float


@dataclass(frozen=True, slots=True)
class JobText:
    """A question as it was asked: ``sql``, or ``sparql`` perhaps with a valid time.

    ``plan``: not the answer is wanted, but how Spark would find it.
    """

    language: str
    text: str
    at: str | None = None
    during: str | None = None
    plan: bool = False

    @property
    def has_terms(self) -> bool:
        """Whether the answer is of terms; else it is a table with types of SQL."""
        return self.language == SPARQL and not self.plan


@dataclass(frozen=True, slots=True)
class Ask:
    """Answer a question into a folder; ``number`` tells the questions of a worker apart.

    ``schema`` is that of the ontology; ``most_bytes`` is how large the answer may be.
    """

    number: int
    question: JobText
    schema: Schema
    folder: Path
    most_bytes: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """End a question."""

    number: int


@dataclass(frozen=True, slots=True)
class Ready:
    """Spark has started."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many of the tasks and stages that Spark knows of by now are done."""

    tasks_done: int = 0
    tasks: int = 0
    stages_done: int = 0
    stages: int = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer is in the folder."""

    number: int
    rows: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The question has no answer; ``broken``: Spark cannot be used, and the worker ends."""

    number: int
    error: SensorStreamError
    broken: bool = False


Command = Ask | Cancel
Event = Ready | Progress | Answered | Failed
