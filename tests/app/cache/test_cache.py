"""Questions to the cache, in real processes."""

from __future__ import annotations

import io
import os
import signal
import time
from collections.abc import Callable, Iterator
from threading import Lock, Timer

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.app.cache.cache import Cache
from sensorstream.app.cache.cache_messages import Answered, CacheQuestion, Formats
from sensorstream.errors import JobCancelled, Overrun, QueryError, Unavailable
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.processes.forks import QuestionLimits
from sensorstream.processes.stopping import Stop

JSON = "application/sparql-results+json"
FORMATS = Formats(JSON, JSON, "application/n-triples")
P = IRI("urn:p")
ENDLESS = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?a = ?none) }"
ALL = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"


class Asked:
    """A knowledge base of 300 triples, or one that is given, and its cache."""

    def __init__(self, limits: QuestionLimits, kb: KnowledgeBase | None = None) -> None:
        self.kb = kb or KnowledgeBase()
        if kb is None:
            self.kb.add(Origin.WINDOW, [(IRI(f"urn:s{n}"), P, Literal(f"{n}")) for n in range(300)])
        self.lock = Lock()
        self.cache = Cache(self.kb, self.lock, limits)

    def __call__(
        self, text: str, formats: Formats = FORMATS, stop: Stop | None = None
    ) -> tuple[Answered, bytes]:
        out = io.BytesIO()
        return self.cache.ask(CacheQuestion(text, formats), out, stop or Stop()), out.getvalue()

    def rows(self, text: str) -> set[str]:
        _, answer = self(text)
        found = ox.parse_query_results(answer, ox.QueryResultsFormat.JSON)
        assert isinstance(found, ox.QuerySolutions)
        return {str(row) for row in found}


@pytest.fixture(scope="module")
def asked() -> Iterator[Asked]:
    # On a busy machine a question may take seconds to get beyond another limit.
    asked = Asked(QuestionLimits(6, 512, 1000))
    yield asked
    asked.cache.close()


subjects: st.SearchStrategy[Subject] = st.sampled_from([IRI("urn:a"), BlankNode("_:m1b1")])
values: st.SearchStrategy[Term] = st.one_of(
    subjects,
    st.sampled_from(
        [
            *(Literal(n, "http://www.w3.org/2001/XMLSchema#integer") for n in ("1", "01", "2")),
            Literal("a\nb\"c\\d\te'", language="en"),
        ]
    ),
)
triples: st.SearchStrategy[Triple] = st.tuples(subjects, st.just(P), values)
changes = st.tuples(
    st.sampled_from(list(Origin)),
    st.lists(triples, max_size=4, unique=True),
    st.lists(triples, max_size=4, unique=True),
)


@given(st.lists(st.lists(changes, max_size=3), max_size=3))
@settings(max_examples=15)
def test_it_answers_what_a_copy_made_anew_answers(
    asked: Asked, steps: list[list[tuple[Origin, list[Triple], list[Triple]]]]
) -> None:
    for step in steps:
        for origin, added, removed in step:
            gone = tuple(each for each in removed if each not in added)
            asked.kb.apply(origin, Delta(0, added=tuple(added), removed=gone))
        anew = Asked(QuestionLimits(6, 512, 1000), asked.kb)
        assert asked.rows(ALL) == anew.rows(ALL)
        anew.cache.close()
        kept = {triple for origin in Origin for triple in asked.kb.triples(origin)}
        assert len(asked.rows("SELECT * { ?s ?p ?o }")) == len(kept)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ENDLESS, r"longer than 6 seconds: .* \(limits\.question_seconds\)"),
        (
            "SELECT (GROUP_CONCAT(STR(?b); SEPARATOR='" + "-" * 60_000 + "') AS ?x) "
            "{ ?a ?b ?c . ?d ?e ?f }",
            r"more than 512 MiB of memory: .* \(limits\.question_memory\)",
        ),
        ("SELECT * { ?a ?b ?c . ?d ?e ?f }", r"more than 1000 rows: .* \(limits\.question_rows\)"),
        ("CONSTRUCT { ?a ?b ?f } { ?a ?b ?c . ?d ?e ?f }", r"more than 1000 rows"),
    ],
)
def test_a_question_beyond_a_limit_ends_alone(asked: Asked, text: str, said: str) -> None:
    with pytest.raises(Overrun, match=said):
        asked(text)
    answered, told = asked("ASK { }")
    assert (answered.media_type, told) == (JSON, b'{"head": {}, "boolean": true}')


def test_a_text_with_too_many_patterns_is_refused_before_it_is_answered(asked: Asked) -> None:
    with pytest.raises(QueryError, match="1,000 patterns: expected at most 100"):
        asked("ASK { " + "?s ?p ?o . " * 1000 + "}")


def test_a_wrong_query_is_told_with_its_place(asked: Asked) -> None:
    with pytest.raises(QueryError) as caught:
        asked("SELECT ?s {\n  ?s ?p }")
    assert str(caught.value.position) == "query:2:9"


def test_a_format_that_nobody_wants_is_not_written(asked: Asked) -> None:
    answered, told = asked("ASK { }", Formats(JSON, None, None))
    assert (answered.media_type, JSON in answered.offered, told) == (None, True, b"")


@pytest.mark.parametrize("form", ["vnd.apache.arrow.stream", "vnd.apache.parquet"])
def test_answers_come_as_tables_too(asked: Asked, form: str) -> None:
    _, told = asked("SELECT * { ?s ?p ?o }", Formats(f"application/{form}", None, None))
    assert len(told) > 1000


def test_a_question_is_stopped_from_another_thread(asked: Asked) -> None:
    stop = Stop()
    thread = Timer(0.2, stop.now, [JobCancelled("enough")])
    thread.start()
    with pytest.raises(JobCancelled, match="enough"):
        asked(ENDLESS, stop=stop)
    thread.join()
    with pytest.raises(JobCancelled, match="enough"):
        asked("ASK { }", stop=stop)


def test_a_copy_that_was_killed_is_made_anew(asked: Asked) -> None:
    asked("ASK { }")
    assert asked.cache._forks is not None
    process = asked.cache._forks._process
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert len(asked.rows("SELECT DISTINCT ?s { ?s <urn:p> ?o } LIMIT 7")) == 7


def test_an_engine_that_is_busy_for_long_is_not_waited_for(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensorstream.app.cache.cache._SETTLING", 0.1)
    with asked.lock, pytest.raises(Unavailable, match="a message takes long"):
        asked("ASK { }")
    assert asked.cache.trouble
    asked("ASK { }")
    assert not asked.cache.trouble


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_copy_without_questions_is_dropped_with_its_notes() -> None:
    asked = Asked(QuestionLimits(0.01, 64, 10))
    asked.cache._idle = 0.01
    try:
        asked.kb.apply(Origin.WINDOW, Delta(0, added=((IRI("urn:x"), P, Literal("x")),)))
        asked.cache._limits = QuestionLimits(5, 64, 10)
        asked("ASK { }")
        asked.cache._limits = QuestionLimits(0.01, 64, 10)
        asked.cache._rest(0.02)
        wait_until(lambda: asked.cache._forks is None)
        wait_until(lambda: not asked.kb._listeners)
    finally:
        asked.cache.close()
    with pytest.raises(Unavailable, match="the server stops"):
        asked("ASK { }")
