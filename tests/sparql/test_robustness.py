from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import QueryError
from sensorstream.sparql.query_parser import parse_query, parse_update
from sensorstream.sparql.query_printer import query_text
from tests.w3c.checks import printed

_Meaning = TypeVar("_Meaning")

QUERY = """PREFIX ex: <http://example.org/> REGISTER ISTREAM <out> AS
SELECT DISTINCT ?s (COUNT(DISTINCT ?o) AS ?n) FROM <g>
FROM NAMED WINDOW <w> ON <s> [RANGE PT10S STEP 5s STARTING AT 1] REPORT EVERY 3 TRIPLES
WHERE { ?s ex:p/^ex:q* ?o ; a [ ex:r ( 1 -2.5 "x"@en ) ] . OPTIONAL { ?o ?p _:b FILTER(?o > -1) }
  WINDOW <w> { { ?s ?p 1 } SEQ { ?s ?p 2 } } MINUS { VALUES (?s ?o) { (ex:a UNDEF) } }
  WINDOW TYPE SLIDINGTRIPLES 100 { ?s ?p ?x } BIND(IF(?x IN (1, 2), STR(?x), "\\t") AS ?y)
  FILTER NOT EXISTS { GRAPH ?g { ?s ?p ?o } } FILTER(getDURATION() < "P1D") }
GROUP BY ?s HAVING (SUM(?x) > 1) ORDER BY DESC(?n) LIMIT 3 OFFSET 1 VALUES ?z { <a> }"""
UPDATE = """PREFIX ex: <http://example.org/> INSERT DATA { GRAPH <g> { ex:a ex:p "x" } } ;
WITH <g> DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } USING <g> WHERE { ?s ?p ?o } ; CLEAR SILENT ALL ;
LOAD <a> INTO GRAPH <b> ; COPY DEFAULT TO <c> ; DELETE WHERE { ?s ?p ?o }"""


@st.composite
def _broken(draw: st.DrawFn, text: str) -> str:
    words = text.split(" ")
    strange = st.sampled_from([*words, '"', "'", "<", "\\", "_:", "@", "\x00", "é", "\\u00e9", "§"])
    places = draw(st.lists(st.integers(0, len(words) - 1), min_size=1, max_size=3))
    for place in places:
        words[place] = draw(st.one_of(st.just(""), strange))
    end = draw(st.integers(0, len(words))) if draw(st.booleans()) else len(words)
    return " ".join(words[:end])


def _read(parse: Callable[[str], _Meaning], text: str) -> _Meaning | QueryError:
    try:
        return parse(text)
    except QueryError as error:
        return error


@settings(max_examples=100)
@given(_broken(QUERY))
def test_a_broken_query_is_refused_with_a_place_or_means_something(text: str) -> None:
    found = _read(parse_query, text)
    if isinstance(found, QueryError):
        assert found.position is not None
        assert found.position.line <= text.count("\n") + 1
    else:
        assert parse_query(query_text(found)) == found


@settings(max_examples=100)
@given(_broken(UPDATE))
def test_a_broken_update_is_refused_with_a_place_or_means_something(text: str) -> None:
    found = _read(parse_update, text)
    if isinstance(found, QueryError):
        assert found.position is not None
        assert found.position.line <= text.count("\n") + 1
    else:
        assert parse_update(printed(found)) == found


def test_the_unbroken_texts_are_read() -> None:
    assert parse_query(QUERY).registration is not None
    assert len(parse_update(UPDATE).operations) == 6
