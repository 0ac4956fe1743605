"""One query over what holds now and what has left the window."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest

from sensorstream.app.application import Application
from sensorstream.app.questions.one_time_questions import present
from sensorstream.history.asking.checked_question import read_question
from sensorstream.history.asking.query_answer import GraphAnswer, Solutions
from sensorstream.kb.graph_index import Origin
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import (
    GRAPH_INFERRED,
    GRAPH_PERSISTENT,
    GRAPH_STATIC,
    GRAPH_WINDOW,
)
from sensorstream.sparql.place_functions import GEOF
from tests.databases import Databases
from tests.history import house

EX = "PREFIX : <http://example.org/house#> "


@pytest.fixture
def application(tmp_path: Path, new_database: Databases) -> Iterator[Application]:
    url = new_database()
    with Application.open(house.settings(tmp_path, url)) as opened:
        yield opened
    new_database.over.append(url)


def rows(application: Application, text: str, **given: Any) -> Counter[tuple[object, ...]]:
    question = read_question(EX + text, Timeline.INTEGER, **given)
    with application.asking.history(question, live=True) as answer:
        assert isinstance(answer, Solutions)
        return Counter(answer.rows)


def triples(application: Application, graph: IRI | None = None) -> set[Triple]:
    where = "?s ?p ?o" if graph is None else f"GRAPH {graph.n3} {{ ?s ?p ?o }}"
    question = read_question(f"CONSTRUCT {{ ?s ?p ?o }} {{ {where} }}", Timeline.INTEGER)
    with application.asking.history(question, live=True) as answer:
        assert isinstance(answer, GraphAnswer)
        return set(answer.triples)


def number(row: tuple[object, ...]) -> int:
    (term,) = row
    assert isinstance(term, Literal)
    return int(term.lexical)


def send(application: Application, content: bytes) -> None:
    assert application.submit(content, "house").result(60).status.value == "accepted"


@pytest.mark.parametrize("seed", range(3))
def test_all_is_every_statement_that_was_ever_asserted(application: Application, seed: int) -> None:
    contents = list(house.messages())
    places, readings = contents[:6], contents[6:]
    random.Random(seed).shuffle(readings)
    ever: set[Triple] = set()
    for sent, content in enumerate([*places, *readings]):
        send(application, content)
        ever.update(application.engine.kb.triples(Origin.WINDOW))
        if sent % 15 == 14:
            asked = triples(application, GRAPH_WINDOW) | triples(application, GRAPH_PERSISTENT)
            assert ever <= asked
            assert asked <= triples(application)
    graphs = (GRAPH_WINDOW, GRAPH_STATIC, GRAPH_INFERRED)
    is_place = f'<{GEOF}dimension>(STRDT(CONCAT("POINT(", STR(?c), " 1)"), <{xsd.GEO_WKT}>)) = 0'
    counts = rows(application, "SELECT ?s { ?s :count ?c }")
    assert rows(application, f"SELECT ?s {{ ?s :count ?c FILTER({is_place}) }}") == counts
    now: dict[IRI, set[Triple]] = {graph: set() for graph in graphs}
    for each in present(application.engine).statements:
        if each.marks == Origin.WINDOW:
            now[GRAPH_WINDOW].add(each.triple)
        elif each.marks == Origin.STATIC:
            now[GRAPH_STATIC].add(each.triple)
        else:
            now[GRAPH_INFERRED].add(each.triple)
    archived = {triple for triple, _ in house.stored(application.url)}
    assert triples(application, GRAPH_WINDOW) == now[GRAPH_WINDOW]
    assert triples(application, GRAPH_STATIC) == now[GRAPH_STATIC]
    assert now[GRAPH_INFERRED] <= triples(application, GRAPH_INFERRED)
    assert not triples(application) ^ archived.union(*now.values())


def test_each_statement_is_in_one_of_the_two_while_messages_keep_coming(
    application: Application,
) -> None:
    """Each reading has a number of its own, and no reading is lost or seen twice."""
    contents = list(house.messages())
    for content in contents[:6]:
        send(application, content)
    futures = []
    for n in range(400):
        content = (
            f'<reading id="{n % 23}" kind="Thermometer" time="{10 + n}" count="{n}"/>'.encode()
        )
        futures.append(application.submit(content, "house"))
        if n % 40 == 20:
            acknowledged = {k for k, future in enumerate(futures) if future.done()}
            seen = rows(application, "SELECT ?n { ?s :count ?n }")
            numbers = set(map(number, seen))
            assert max(seen.values(), default=1) == 1
            # A prefix of the stream: what is missing comes after all that is seen.
            assert numbers == set(range(len(numbers)))
            assert acknowledged <= numbers
    for future in futures:
        future.result(60)
    assert len(rows(application, "SELECT ?n { ?s :count ?n }")) == 400


def test_window_and_history_join_beneath_a_pattern(application: Application) -> None:
    for content in house.messages():
        send(application, content)
    # The rooms have left the window long ago; the newest readings are in it.
    newest = rows(
        application,
        f"SELECT ?s ?r ?floor {{ GRAPH {GRAPH_WINDOW.n3} {{ ?s :in ?r }} ?r :partOf ?floor }}",
    )
    assert len(newest) == 6
    alone = rows(
        application, f"SELECT ?s {{ GRAPH {GRAPH_WINDOW.n3} {{ ?s :in ?r . ?r :partOf ?floor }} }}"
    )
    assert not alone


def test_the_ontology_is_asked_too(application: Application) -> None:
    for content in house.messages():
        send(application, content)
    found = rows(
        application,
        "SELECT DISTINCT ?s { ?s a/<http://www.w3.org/2000/01/rdf-schema#subClassOf>* :Place }",
    )
    assert {row[0] for row in found} >= {
        IRI(f"http://example.org/house#{name}") for name in (*house.ROOMS, "ground", "first")
    }


def test_a_statement_of_the_window_holds_from_its_message_on(application: Application) -> None:
    send(application, b'<reading id="1" kind="Thermometer" time="100" count="1"/>')
    send(application, b'<reading id="1" kind="Thermometer" time="200" count="2"/>')
    ask = "SELECT ?n { :sensor-1 :count ?n }"

    def at(time: str) -> list[int]:
        return list(map(number, rows(application, ask, at=time)))

    assert [at(time) for time in ("99", "100", "199", "200", "999")] == [[], [1], [1], [2], [2]]
    during = rows(application, ask, during="150/200")
    assert len(during) == 1
    assert len(rows(application, ask, during="150/201")) == 2
    assert len(rows(application, ask)) == 2


@pytest.mark.parametrize(
    "title", ["", "a\tb\\n", "'; drop table store.terms; --", "%s {x}", "ü😀", "x" * 5000]
)
def test_a_term_that_history_does_not_know_is_found_in_the_window(
    application: Application, title: str
) -> None:
    send(application, f"<place id='p' kind='Room' time='1' title={quoteattr(title)}/>".encode())
    found = rows(application, "SELECT ?t { :p :title ?t }")
    assert len(found) == (1 if title else 0)
    assert not rows(application, 'SELECT ?t { :p :title ?t, "nothing of the kind" }')
