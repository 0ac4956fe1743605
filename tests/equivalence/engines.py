"""Statements where each engine finds them, and the engines that answer questions to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Final

from sensorstream.app.cache.cache import Cache
from sensorstream.app.cache.cache_messages import CacheQuestion, Formats
from sensorstream.archive.archive_moves import archive
from sensorstream.archive.archive_queries import Archive, DuckDB, archive_answered
from sensorstream.history.asking.checked_question import CheckedQuestion, read_question
from sensorstream.history.asking.query_run import AskingLimits, answered
from sensorstream.history.database import engine
from sensorstream.history.store import PostgresStore
from sensorstream.history.views import install_views
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Ended, Message, Provenance, Status
from sensorstream.model.schema import Schema
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Timeline
from sensorstream.processes.forks import QuestionLimits
from sensorstream.processes.stopping import Stop
from sensorstream.spark.history_snapshot import HistoryPlace
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.query_printer import query_text
from tests.equivalence.canonical import answer_text, result_text
from tests.equivalence.items import Item, Tools
from tests.history.test_one_meaning import _read
from tests.w3c.entailment import answer_of

LINE: Final = Timeline.INTEGER
LIMITS: Final = AskingLimits(600.0, 100_000)
_JSON: Final = "application/sparql-results+json"
_MEMORY: Final = 512
_STEP: Final = 10

Ask = Callable[[CheckedQuestion], str]
"""Asks a question; gives the answer in canonical form."""
_START: Final = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Past:
    """A history, and the same history in its archive."""

    tools: Tools
    url: str
    moved: str
    folder: Path
    duckdb: DuckDB = field(default_factory=DuckDB)

    def engines(self, *, spark: bool) -> Mapping[str, Ask]:
        """What answers questions to it."""
        if spark:
            return {"spark": self._of_spark}
        return {"postgresql": self._of_postgresql, "duckdb": self._of_archive}

    def _of_postgresql(self, question: CheckedQuestion) -> str:
        with answered(self.url, question, LIMITS) as answer:
            return answer_text(answer, query_text(question.query))

    def _of_archive(self, question: CheckedQuestion) -> str:
        place = Archive(self.moved, self.folder, _MEMORY, self.duckdb)
        with archive_answered(place, question, LIMITS) as answer:
            return answer_text(answer, query_text(question.query))

    def _of_spark(self, question: CheckedQuestion) -> str:
        from sensorstream.spark.sparql.spark_query import ask

        place = HistoryPlace(self.url, self.folder / "none")
        answer = ask(self.tools.spark, place, question, row_limit=LIMITS.rows)
        return answer_text(answer, query_text(question.query))


def past(tools: Tools, slices: Sequence[Sequence[Triple]]) -> Past:
    """A history in which sets of statements were true one after the other; see :func:`at`."""
    folder = tools.new_folder()
    urls = []
    for _ in range(2):
        url = tools.new_database()
        urls.append(url)
        with PostgresStore.open(url, LINE) as store:
            store.append([Record(1, Message("m1", b"", 1, "rest"), _START)])
            status = MessageStatus(1, Status.ACCEPTED, None)
            store.commit(Effects(1, (), tuple(_ended(slices)), (), (status,), _START))
        database = engine(url)
        install_views(database, Schema(), LINE)
        with database.begin() as connection:
            connection.exec_driver_sql("analyze")
        database.dispose()
    archive(urls[1], folder / "archive", 10**9, LINE)
    return Past(tools, urls[0], urls[1], folder / "archive")


def _ended(slices: Sequence[Sequence[Triple]]) -> Iterator[Ended]:
    number = 0
    for place, triples in enumerate(slices):
        begin = place * _STEP
        for subject, predicate, value in dict.fromkeys(triples):
            number += 1
            said = Provenance("m1", begin)
            yield Ended(number, subject, (subject, predicate, value), said, begin + _STEP)


def at(place: int) -> str:
    """When the statements of a slice held."""
    return str(place * _STEP + 1)


def question_items(
    name: str, text: str, engines: Mapping[str, Ask], *, time: str | None = None
) -> Iterator[Item]:
    """A question to each of some engines."""

    def answer(ask: Ask) -> str:
        return ask(read_question(text, LINE, at=time))

    return (Item(f"{each}/{name}", partial(answer, ask)) for each, ask in engines.items())


def now(tools: Tools, triples: Sequence[Triple]) -> Callable[[str, str], Iterator[Item]]:
    """A knowledge base whose window has some statements: asks its network and its cache."""
    kb = KnowledgeBase()
    kb.add(Origin.WINDOW, triples)
    cache = Cache(kb, Lock(), QuestionLimits(LIMITS.timeout, _MEMORY, LIMITS.rows))
    tools.stack.enter_context(closing(cache))

    def of_network(text: str) -> str:
        return result_text(answer_of(parse_query(text), kb), text)

    def of_cache(text: str) -> str:
        out = BytesIO()
        formats = Formats(_JSON, _JSON, "application/n-triples")
        cache.ask(CacheQuestion(text, formats), out, Stop())
        return answer_text(_read(out.getvalue()), text)

    def items(name: str, text: str) -> Iterator[Item]:
        yield Item(f"network/{name}", partial(of_network, text))
        yield Item(f"cache/{name}", partial(of_cache, text))

    return items
