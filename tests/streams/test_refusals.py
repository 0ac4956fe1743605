"""What no stream can answer is refused at its line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from sensorstream.app.control.deployment_folder import check_query_files
from sensorstream.app.control.file_texts import based, placed
from sensorstream.errors import Position, QueryError, UnsupportedQuery
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.schema import Schema
from sensorstream.network.plan.nodes import Anew
from sensorstream.sparql.dotr.dotr_reader import read_program
from sensorstream.sparql.functions import UNREPEATABLE
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamProcessor

PREFIX = "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
SEQ = "{ ?x :p ?y } SEQ { ?x :q ?z }"
# The mark stands where the fault is to be told.
REFUSED = [
    ("SELECT ?x {\n ?x :p ?y .\n ¦SERVICE <http://s> { ?x :q ?z } }", "SERVICE"),
    ("SELECT ?x { ?x :p ?y OPTIONAL {\n ¦GRAPH :g { ?x :q ?z } } }", "GRAPH"),
    ("¦DESCRIBE ?x { ?x :p ?y }", "DESCRIBE"),
    ("SELECT ?x FROM ¦:g { ?x :p ?y }", "FROM"),
    ("SELECT ?x ¦AT 5 { ?x :p ?y }", 'AT "5"'),
    ("SELECT ?x { ?x :p ?y\n BIND(¦:f(?y) AS ?z) }", "no such function"),
    ("SELECT ?x { ?x :p ?y FILTER(?y > 1 && ¦xsd:integer(?y, 2) = 3) }", "one argument"),
    ("SELECT ?x { ?x :p ?y FILTER(?y > 1)\n FILTER(¦REGEX(?y, '[')) }", "regular expression"),
    (
        "SELECT ?x FROM NAMED WINDOW :v [TRIPLES 1]\n"
        "FROM NAMED WINDOW ¦:w ON :s [RANGE PT0.5S] { WINDOW :w { ?x :p ?y } }",
        "whole seconds",
    ),
    ("SELECT ?x ¦REPORT EVERY PT0.5S { ?x :p ?y }", "whole seconds"),
    ("SELECT ?x { ?x :p ?y\n ¦WINDOW ?w { ?x :q ?y } }", "the query has no window: define"),
    (f"¦ASK {{ {SEQ} }}", "write SELECT"),
    ("SELECT ?x { { ?x :p ?y } SEQ { ?x :q ?z }\n ¦SEQ { ?x :r* ?v } }", "holds always"),
    ("SELECT ?x { { ?x :p ?y } ¦EQUALS { VALUES ?x { 1 } } }", "holds always"),
    ("SELECT ?x { { ?x :r* ?y } ¦OPTIONALSEQ { ?x :q ?z } }", "holds always"),
    (f"SELECT ?x {{ {SEQ} FILTER(1 < 2 && getDURATION() ¦< 5) }}", "durations only"),
    (f"SELECT ?x {{ {SEQ}\n FILTER(getDURATION() ¦< 'P1M'^^xsd:duration) }}", "no months"),
    (f"SELECT ?x {{ {SEQ} FILTER('P1Y'^^xsd:duration > ¦getDURATION()) }}", "no months"),
    (f"SELECT ?x {{ {SEQ} FILTER(?y > ¦RAND()) }}", "another value each time"),
    (
        f"SELECT ?x {{ {SEQ} OPTIONAL {{ ?x :r ?z FILTER ¦EXISTS {{ ?x :s ?x }} }} }}",
        "EXISTS within a pattern in time stands in FILTER",
    ),
    (
        f"SELECT ?x {{ {SEQ}\n FILTER(?y = 1 || ¦EXISTS {{ ?x :r ?v {{ ?q :o ?v FILTER(?z = 1) }}"
        " }) }",
        "used deep within",
    ),
    (f"SELECT ?x {{ {SEQ} }} ORDER BY ?z ¦?x LIMIT 3".replace("?z ¦", "¦"), "ORDER BY with LIMIT"),
    (
        f"SELECT ?x {{ {SEQ} FILTER ¦NOT EXISTS {{ {{ ?x :q ?v }} OPTIONALSEQ {{ ?y :p ?v }} }} }}",
        "those that the part before it binds",
    ),
    (f"SELECT ?x {{ {SEQ} ¦GRAPH :g {{ ?x :q ?z }} }}", "GRAPH"),
    (f"SELECT ?x {{ {SEQ} ¦SERVICE :g {{ ?x :q ?z }} }}", "SERVICE"),
    (f"SELECT ?x FROM NAMED ¦:g {{ {SEQ} }}", "FROM"),
    (f"SELECT ?x ¦REPORT ON WINDOW CLOSE {{ {SEQ} }}", "leave the clause out"),
    (f"¦REGISTER RSTREAM :a AS SELECT ?x {{ {SEQ} }}", "REGISTER RSTREAM"),
    (
        "SELECT ?x { { ?x :p ?y } SEQ { ?x ¦(:a|:b)/(:a|:b)/(:a|:b)/(:a|:b)/(:a|:b)/(:a|:b)/(:a|:b)"
        " ?z } }",
        "alternatives of the paths",
    ),
    (
        "¦CONSTRUCT { ?x :p ?y }\n { { ?x :q ?y } EQUALS { ?x :q ?y } FILTER NOT EXISTS"
        " { ?x :p ?y } }",
        "asks whether something is absent",
    ),
]
ANEW = [
    *(
        (f"SELECT ?x {{ ?x :p ?y FILTER(?y > 1 && ¦{name}() != ?y) }}", f"{name}()")
        for name in sorted(UNREPEATABLE)
    ),
    ("SELECT ?x { ?x :p ?y OPTIONAL { ?x :q ?z FILTER ¦NOT EXISTS { ?x :r ?z } } }", "OPTIONAL"),
    ("SELECT (COUNT(¦EXISTS { ?x :q ?y }) AS ?n) { ?x :p ?y }", "aggregate"),
    ("SELECT ?x { ?x :p ?y } ORDER BY (¦EXISTS { ?x :q ?y }) LIMIT 1", "ORDER BY"),
    ("SELECT DISTINCT ?x { ?x :p ?y } ORDER BY ¦DESC(?y) LIMIT 1", "DISTINCT"),
    (
        "SELECT ?x { ?x :p ?y FILTER ¦EXISTS { ?x :q ?v OPTIONAL { ?v :r ?w FILTER(?y = 1) } } }",
        "deep",
    ),
]
RULES = [
    ("Q(SELECT ?y WHERE { ?y :q ?z FILTER(?z > 1 && ¦RAND() < ?z) })", "kept in step: RAND()"),
    ("Q(SELECT ?y WHERE { ?y :q ?z .\n ¦SERVICE :s { ?y :q ?z } })", "SERVICE"),
    ("Q(SELECT ?y WHERE { ?y :q ?z FILTER(?z > 60 && ¦:f(?z) = 1) })", "no such function"),
]


def processor() -> StreamProcessor:
    return StreamProcessor(TripleIndex(), instant=lambda text: int(text.lexical), second=1)


def marked(text: str) -> tuple[str, int, int]:
    """The text without its mark, and the mark's line and column."""
    before = text[: text.index("¦")]
    return text.replace("¦", ""), before.count("\n") + 1, len(before) - before.rfind("\n")


def place_of(error: QueryError) -> tuple[int, int]:
    assert error.position is not None
    return error.position.line, error.position.column


@pytest.mark.parametrize(("written", "told"), REFUSED)
def test_a_query_is_refused_at_its_place(written: str, told: str) -> None:
    text, line, column = marked(PREFIX + written)
    with pytest.raises(UnsupportedQuery) as caught:
        processor().check("q", parse_query(text))
    assert told in caught.value.message
    assert place_of(caught.value) == (line, column)


@pytest.mark.parametrize(("written", "told"), ANEW)
def test_what_cannot_be_kept_in_step_is_known_by_its_place(written: str, told: str) -> None:
    text, line, column = marked(PREFIX + written)
    query = parse_query(text)
    plan = processor().check("q", query).plan
    assert isinstance(plan, Anew)
    assert told in plan.reason
    assert query.places is not None
    place = query.places.of(plan.part)
    assert (place.line, place.column) == (line, column)


@pytest.mark.parametrize(("written", "told"), RULES)
def test_a_selector_of_a_rule_is_refused_at_its_place(written: str, told: str) -> None:
    text, line, column = marked(f"{PREFIX}define {{ :a :b :c }}\nfrom {written}")
    program = read_program(text, name="r", start=Position("r.dotr", 1, 1))
    with pytest.raises(UnsupportedQuery) as caught:
        processor().check("r", program)
    assert told in caught.value.message
    assert place_of(caught.value) == (line, column)


def test_of_rules_that_differ_in_constants_each_is_refused_at_its_own_place() -> None:
    first = "define { :a :b :c } from P(SELECT ?y WHERE { ?y :q 1 })\n"
    second = "define { :a :b :d }\nfrom Q(SELECT ?y WHERE { ?y :q 22 . ¦SERVICE :s { ?y :q ?z } })"
    text, line, column = marked(PREFIX + first + second)
    program = read_program(text, name="r", start=Position("r.dotr", 1, 1))
    with pytest.raises(UnsupportedQuery) as caught:
        processor().check("r", program)
    assert place_of(caught.value) == (line, column)


def test_the_length_of_a_scope_is_refused_at_its_selector() -> None:
    text, line, column = marked(
        PREFIX + "define { :a :b :c } from Q(SELECT ?y WHERE { ?y :q ?z })\n"
        "and last ¦P(SELECT ?x WHERE { ?x :p ?z }) within 500 ms from Q"
    )
    program = read_program(text, name="r", start=Position("r.dotr", 1, 1))
    with pytest.raises(UnsupportedQuery, match="whole seconds") as caught:
        processor().check("r", program)
    assert place_of(caught.value) == (line, column)


@pytest.mark.parametrize(
    "written",
    [
        f"PREFIX : <p#> ¦REGISTER RSTREAM :a AS SELECT ?x {{ {SEQ} }}",
        f"PREFIX : <p#> SELECT ?x {{ {SEQ}\n ¦SERVICE :s {{ ?x :q ?y }} }}",
        "PREFIX : <p#>\nREGISTER QUERY :a AS SELECT ?x {\n ?x :p ?y . ¦SERVICE :s { ?x :q ?y } }",
    ],
)
def test_a_file_is_checked_at_its_own_lines_and_columns(tmp_path: Path, written: str) -> None:
    text, line, column = marked(written)
    path = tmp_path / "q.rq"
    path.write_text(text)
    (fault,) = check_query_files([path], Schema(), "integer").faults
    assert isinstance(fault, QueryError)
    assert fault.position == Position(str(path), line, column)


def test_a_text_inside_another_file_is_refused_at_the_place_there(tmp_path: Path) -> None:
    for written, place in (
        ("SELECT ?x FROM <g> { ?x ?p ?y }", (7, 20)),
        ("\nASK FROM <g> {}", (8, 10)),
    ):
        with pytest.raises(QueryError) as caught, placed(Position("story.md", 7, 5)):
            processor().check("q", parse_query(based(written, tmp_path / "q.rq")))
        assert caught.value.position == Position("story.md", *place)
