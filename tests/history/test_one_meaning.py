"""One question has one answer: of the cache, of history, of both, of the archive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any

import pyoxigraph as ox
import pytest

from sensorstream.app.cache.cache import Cache
from sensorstream.app.cache.cache_messages import CacheQuestion, Formats
from sensorstream.archive.archive_moves import archive
from sensorstream.archive.archive_queries import Archive, archive_answered
from sensorstream.errors import QueryError, UnsupportedQuery
from sensorstream.history.asking.checked_question import read_question
from sensorstream.history.asking.history_relations import FOREVER, PresentStatements, StandingTriple
from sensorstream.history.asking.query_answer import Answer, GraphAnswer, Solutions
from sensorstream.history.asking.query_run import AskingLimits, answered
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.model import xsd
from sensorstream.model.events import Ended, Message, Provenance, Status
from sensorstream.model.schema import Schema
from sensorstream.model.terms import Literal, Term
from sensorstream.model.timeline import Timeline
from sensorstream.processes.forks import QuestionLimits
from sensorstream.processes.stopping import Stop
from tests.databases import make_views
from tests.history import oddities

LINE = Timeline.INTEGER
LIMITS = AskingLimits(60.0, 100_000)
_START = datetime(2026, 1, 1, tzinfo=UTC)
_JSON = "application/sparql-results+json"
Ask = Callable[[str], AbstractContextManager[Answer]]
REFUSED = "refused"


class Deployed:
    """The statements where each engine finds them."""

    def __init__(self, new_database: Callable[[], str], folder: Path) -> None:
        self.history = new_database()
        self.empty = new_database()
        self.moved = new_database()
        self.triples = oddities.triples()
        PostgresStore.open(self.empty, LINE).close()
        for url in (self.history, self.moved):
            with PostgresStore.open(url, LINE) as store:
                ended = tuple(
                    Ended(n, s, (s, p, o), Provenance("m1", 1), 5)
                    for n, (s, p, o) in enumerate(self.triples, 1)
                )
                store.append([Record(1, Message("m1", b"", 1, "rest"), _START)])
                status = MessageStatus(1, Status.ACCEPTED, None)
                store.commit(Effects(1, (), ended, (), (status,), _START))
        for url in (self.history, self.empty, self.moved):
            make_views(url, Schema(), LINE)
        assert archive(self.moved, folder, 10**9, LINE)
        self.archive = Archive(self.moved, folder, 512)
        kb = KnowledgeBase()
        kb.add(Origin.WINDOW, self.triples)
        self.cache = Cache(kb, Lock(), QuestionLimits(60, 512, LIMITS.rows))

    def of_history(self, text: str) -> AbstractContextManager[Answer]:
        return answered(self.history, read_question(text, LINE), LIMITS)

    def of_all(self, text: str) -> AbstractContextManager[Answer]:
        def live(fix: Callable[[str], None]) -> PresentStatements:
            fix("")
            return PresentStatements(
                [StandingTriple(each, int(Origin.WINDOW), FOREVER) for each in self.triples], []
            )

        return answered(self.empty, read_question(text, LINE), LIMITS, live)

    def of_archive(self, text: str) -> AbstractContextManager[Answer]:
        return archive_answered(self.archive, read_question(text, LINE), LIMITS)

    def of_cache(self, text: str) -> AbstractContextManager[Answer]:
        out = BytesIO()
        asked = CacheQuestion(text, Formats(_JSON, _JSON, "application/n-triples"))
        self.cache.ask(asked, out, Stop())
        return nullcontext(_read(out.getvalue()))


def _read(written: bytes) -> Answer:
    if not written.startswith(b"{"):
        parsed = ox.parse(written, ox.RdfFormat.N_TRIPLES, lenient=True)
        triples: Any = [
            tuple(map(from_oxigraph, (each.subject, each.predicate, each.object)))
            for each in parsed
        ]
        return GraphAnswer(iter(triples))
    found: Any = ox.parse_query_results(written, ox.QueryResultsFormat.JSON)
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    rows = [tuple(None if each is None else from_oxigraph(each) for each in row) for row in found]
    return Solutions(tuple(each.value for each in found.variables), iter(rows))


@pytest.fixture(scope="module")
def deployed(
    new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployed]:
    made = Deployed(new_database, tmp_path_factory.mktemp("archive"))
    yield made
    made.cache.close()


@pytest.fixture(scope="module")
def answers(deployed: Deployed) -> Mapping[str, Any]:
    """What PostgreSQL answers to each question."""
    return answered_by(deployed.of_history)


def answered_by(ask: Ask) -> Mapping[str, Any]:
    """What an engine answers to each question."""
    return {text: comparable(ask, text) for text in oddities.questions()}


def comparable(ask: Ask, text: str) -> Any:
    """An answer as plain data, or the refusal of the question."""
    try:
        with ask(text) as answer:
            if isinstance(answer, GraphAnswer):
                return frozenset(answer.triples)
            if not isinstance(answer, Solutions):
                return answer
            rows = [tuple(map(_alike, row)) for row in answer.rows]
            ordered = "ORDER BY" in text.rpartition("}")[2]
            return answer.variables, rows if ordered else Counter(rows)
    except QueryError as error:
        # The archive finds some numbers too large as it computes.
        if isinstance(error, UnsupportedQuery) or "--on history" in error.message:
            return REFUSED
        raise


def _alike(term: Term | None) -> object:
    """The term; of a double or float in the form that is computed, the number that it is.

    Where two decimals are as short and read back as the same number, engines write either.
    """
    if not isinstance(term, Literal) or term.datatype not in (xsd.DOUBLE, xsd.FLOAT):
        return term
    return (term.datatype, term.value) if "E" in term.lexical else term


def differences(found: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    """The questions with another answer, with both; a refusal is no answer."""
    return {
        text: (found[text], expected)
        for text, expected in answers.items()
        if REFUSED not in (found[text], expected) and found[text] != expected
    }


def test_history_answers_nearly_all(answers: Mapping[str, Any]) -> None:
    refused = [text for text, answer in answers.items() if answer == REFUSED]
    assert len(answers) > 120
    assert refused == []


def test_history_with_the_window_means_the_same(
    deployed: Deployed, answers: Mapping[str, Any]
) -> None:
    assert differences(answered_by(deployed.of_all), answers) == {}


def test_the_archive_means_the_same(deployed: Deployed, answers: Mapping[str, Any]) -> None:
    assert differences(answered_by(deployed.of_archive), answers) == {}


def test_the_cache_means_the_same_or_refuses(
    deployed: Deployed, answers: Mapping[str, Any]
) -> None:
    found = answered_by(deployed.of_cache)
    assert differences(found, answers) == {}
    refused = {text for text, answer in found.items() if answer == REFUSED}
    assert refused == {oddities.PREFIXES + each for each in oddities.OF_OUTSIDE}
