"""A query is checked, costed and refused before anything of it is made."""

from __future__ import annotations

import pytest

from sensorstream.errors import UnsupportedQuery
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamProcessor

WINDOW = "FROM NAMED WINDOW <urn:w> [RANGE PT10S]"


def processor() -> StreamProcessor:
    return StreamProcessor(TripleIndex(), instant=lambda text: int(text.lexical), second=1)


def ignore(_: object) -> None:
    """Hear nothing."""


def test_a_check_makes_no_operator_and_no_window() -> None:
    machine = processor()
    text = f"SELECT ?x {WINDOW} WHERE {{ WINDOW <urn:w> {{ ?x ?p ?y FILTER(?y > 3) }} }}"
    machine.check("q", parse_query(text))
    assert len(machine.network) == 0
    assert not machine._windows
    assert not machine.queries


def test_names_of_windows_and_where_the_filter_stands_make_no_difference() -> None:
    machine = processor()
    texts = (
        f"SELECT ?x {WINDOW} WHERE {{ WINDOW <urn:w> {{ ?x ?p ?y FILTER(?y > 3) }} }}",
        f"SELECT ?x {WINDOW} WHERE {{ WINDOW <urn:w> {{ ?x ?p ?y }} FILTER(3 < ?y) }}".replace(
            "urn:w", "urn:v"
        ),
    )
    one, other = (machine.check("q", parse_query(text)).plan for text in texts)
    assert one == other
    machine.register("one", texts[0], parse_query(texts[0]), ignore)
    before = len(machine.network)
    machine.register("other", texts[1], parse_query(texts[1]), ignore)
    assert len(machine.network) == before


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("?x ?p ?y FILTER(<urn:f>(?y))", "<urn:f>(): there is no such function"),
        ("?x ?p ?y BIND(<urn:f>(?y) AS ?z)", "<urn:f>()"),
        ("?x ?p ?y FILTER(RAND() > 0.5 && <urn:f>(?y))", "<urn:f>()"),
        ("?x ?p ?y FILTER(<http://www.w3.org/2001/XMLSchema#integer>(?y, 2))", "one argument"),
        ("?x ?p ?y FILTER REGEX(?y, '[')", "'[' is not a valid regular expression"),
        ("?x ?p ?y FILTER REGEX(?y, 'a', 'z')", "the flags 'z'"),
        ("?x ?p ?y BIND(REPLACE(?y, '(', 'a') AS ?z)", "'('"),
        ("SERVICE <urn:s> { ?x ?p ?y }", "SERVICE"),
        ("GRAPH <urn:g> { ?x ?p ?y }", "GRAPH"),
        ("GRAPH ?g { ?x ?p ?y }", "GRAPH"),
    ],
)
def test_what_cannot_work_is_refused_with_what_is_wrong(body: str, told: str) -> None:
    machine = processor()
    with pytest.raises(UnsupportedQuery) as error:
        machine.register("q", "", parse_query(f"SELECT ?x WHERE {{ {body} }}"), ignore)
    assert told in error.value.message
    assert len(machine.network) == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("DESCRIBE ?x WHERE { ?x ?p ?y }", "write CONSTRUCT"),
        ("SELECT ?x FROM <urn:g> WHERE { ?x ?p ?y }", "FROM <urn:g>"),
        ("SELECT ?x FROM NAMED <urn:g> WHERE { ?x ?p ?y }", "FROM <urn:g>"),
    ],
)
def test_what_cannot_be_kept_in_step_is_refused_by_its_form(text: str, told: str) -> None:
    with pytest.raises(UnsupportedQuery) as error:
        processor().check("q", parse_query(text))
    assert told in error.value.message


def test_a_name_that_is_taken_is_refused_by_the_check_too() -> None:
    machine, query = processor(), parse_query("ASK { ?x ?p ?y }")
    machine.register("q", "", query, ignore)
    with pytest.raises(UnsupportedQuery, match="runs already"):
        machine.check("q", query)
