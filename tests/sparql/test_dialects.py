"""Texts of C-SPARQL, CQELS-QL and RSP-QL."""

from __future__ import annotations

import re

import pytest

from sensorstream.errors import QueryError
from sensorstream.sparql.algebra import Query, Relation, ReportKind
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.query_printer import query_text

W = "<urn:sensorstream:window:1>"
F = "PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#> "


def read(text: str) -> Query:
    query = parse_query(text)
    assert parse_query(query_text(query)) == query
    return query


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("RANGE 3000ms STEP 1s", "RANGE PT3S STEP PT1S"),
        ("RANGE 5m TUMBLING", "RANGE PT5M TUMBLING"),
        ("RANGE TRIPLES 10", "TRIPLES 10"),
        ("RANGE 3s SLIDE 1s", "RANGE PT3S STEP PT1S"),
        ("TRIPLES 100", "TRIPLES 100"),
        ("ALL", "LANDMARK"),
        ("now", "NOW"),
        ("RANGE 1h 30m SLIDE 15m", "RANGE PT90M STEP PT15M"),
        ("RANGE 1h, SLIDE 15m", "RANGE PT1H STEP PT15M"),
        ("RANGE 3000000000ns", "RANGE PT3S"),
        ("RANGE 5 MINUTES SLIDE 1 M", "RANGE PT5M STEP PT1M"),
        ("RANGE 30 MIN STEP 5 min", "RANGE PT30M STEP PT5M"),
        ("FROM NOW-30 MIN TO NOW -10 MIN", "FROM NOW-PT30M TO NOW-PT10M"),
        ("FROM NOW-2h TO NOW-1h", "FROM NOW-PT2H TO NOW-PT1H"),
        ("FROM NOW - 2 HOURS TO NOW - 90 SECONDS STEP 1 MINUTE", "FROM NOW-7200 TO NOW-90 STEP 60"),
        ("FROM NOW-10.5m TO NOW", "RANGE PT630S"),
    ],
)
def test_a_window_has_the_same_meaning(theirs: str, ours: str) -> None:
    named = (
        f"SELECT * FROM NAMED WINDOW {W} ON <s> [{ours}] {{ ?a <p> ?b WINDOW {W} {{ ?b ?c ?d }} }}"
    )
    assert read(f"SELECT * {{ ?a <p> ?b STREAM <s> [{theirs}] {{ ?b ?c ?d }} }}") == read(named)
    merged = f"SELECT * FROM WINDOW {W} ON <s> [{ours}] REPORT ON WINDOW CLOSE {{ ?a ?b ?c }}"
    if "STEP" not in ours and "TUMBLING" not in ours:
        merged = merged.replace("REPORT ON WINDOW CLOSE ", "")
    assert read(f"SELECT * FROM STREAM <s> [{theirs}] {{ ?a ?b ?c }}") == read(merged)


def test_each_stream_of_c_sparql_has_its_window_and_equal_ones_share_it() -> None:
    clauses = "FROM STREAM <s> [RANGE 1s STEP 1s] FROM STREAM <t> [RANGE 1s STEP 1s]"
    query = read(f"SELECT * FROM <kb> {clauses} FROM STREAM <s> [RANGE 1s STEP 1s] {{ ?a ?b ?c }}")
    assert [each.stream for each in query.dataset.windows] == ["s", "t"]
    assert query.dataset.default == ("kb",)


@pytest.mark.parametrize(
    ("clause", "relation", "kind"),
    [
        ("REGISTER QUERY q AS", Relation.RSTREAM, ReportKind.WINDOW_CLOSE),
        ("REGISTER STREAM q AS", Relation.RSTREAM, ReportKind.WINDOW_CLOSE),
        ("REGISTER STREAM <q> COMPUTED EVERY 5m AS", Relation.RSTREAM, ReportKind.PERIOD),
        ("REGISTER ISTREAM stream AS", Relation.ISTREAM, ReportKind.WINDOW_CLOSE),
    ],
)
def test_a_c_sparql_query_gives_its_whole_result_when_a_window_closes(
    clause: str, relation: Relation, kind: ReportKind
) -> None:
    query = read(f"{clause} PREFIX : <x> SELECT * FROM STREAM :s [RANGE 9s STEP 3s] {{ ?a ?b ?c }}")
    assert query.registration is not None
    assert query.report is not None
    assert (query.registration.relation, query.report.kind) == (relation, kind)


def test_rsp_ql_may_write_graph_in_from_named() -> None:
    assert read("SELECT * FROM NAMED GRAPH <g> { ?a ?b ?c }") == read(
        "SELECT * FROM NAMED <g> { ?a ?b ?c }"
    )


def test_the_aggregate_of_c_sparql_is_answered_with_what_to_write() -> None:
    where = "{ ?x <p> ?y }"
    with pytest.raises(QueryError) as caught:
        read(f"SELECT ?x ?n {where} AGGREGATE {{ (?n, COUNT, {{ ?x }}) FILTER (?n > 1) }}")
    found = re.search(r"write in WHERE (\{ SELECT .*\) \}),", caught.value.message)
    assert found is not None
    instead = found.group(1).replace("{ … }", where)
    read(f"SELECT ?x ?n {{ {where} {instead} }}")


def test_rsp_ql_may_name_the_stream_behind_the_window() -> None:
    group = "{ WINDOW <w> { ?a ?b ?c } }"
    theirs = f"SELECT * FROM NAMED WINDOW <w> [RANGE 1h, SLIDE 15m] ON STREAM <s> {group}"
    ours = f"SELECT * FROM NAMED WINDOW <w> ON <s> [RANGE 1h STEP 15m] {group}"
    assert read(theirs) == read(ours)


@pytest.mark.parametrize("form", ["CONSTRUCT ISTREAM { ?a ?b ?c }", "SELECT ISTREAM DISTINCT ?a"])
def test_rsp_ql_says_behind_the_form_what_is_reported(form: str) -> None:
    text = f"REGISTER STREAM <q> AS {form} FROM NAMED WINDOW <w> ON STREAM <s> [RANGE 10 STEP 2]"
    query = read(f"{text} {{ WINDOW <w> {{ ?a ?b ?c }} }}")
    assert query == read(
        f"{text} {{ WINDOW <w> {{ ?a ?b ?c }} }}".replace("ISTREAM ", "")
        .replace("REGISTER STREAM", "REGISTER ISTREAM")
        .replace("ON STREAM", "ON")
    )


@pytest.mark.parametrize(
    ("theirs", "instead"),
    [
        (
            f"{F}SELECT * FROM STREAM <s> [RANGE 1s STEP 1s] "
            "{ ?a <p> ?b FILTER(f:timestamp(?a, <p>, ?b) > 3) }",
            "SELECT * (.*) without a window",
        ),
        (
            "SELECT * FROM NAMED STREAM <s> [RANGE 3s STEP 1s] { GRAPH <s> { ?a ?b ?c } }",
            r"SELECT * (FROM NAMED WINDOW .*), and (WINDOW <s> \{).*instead",
        ),
        (
            "SELECT * { STREAM ?s [RANGE 3s] { ?a ?b ?c } }",
            r"SELECT * (FROM NAMED WINDOW .*) before WHERE, and (WINDOW <w> \{)",
        ),
        ("SELECT ISTREAM * { ?a ?b ?c }", r"(REGISTER ISTREAM name AS) first"),
    ],
)
def test_what_has_no_such_form_is_answered_with_what_to_write(theirs: str, instead: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(theirs)
    start, pattern = instead.split("(", 1)
    found = re.search(f"write ({pattern}", str(caught.value))
    assert found, str(caught.value)
    parts = " { ".join(found.groups())
    match parts.count("{") - parts.count("}"):
        case 0 if parts.startswith("REGISTER"):
            read(f"{parts} SELECT * {{ ?a ?b ?c }}")
        case 0:
            read(f"{start} {parts}")
        case opened:
            read(f"{start} {parts} ?a ?b ?c {'}' * opened}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * { STREAM <s> [NOW STEP 1s] { ?a ?b ?c } }", "NOW is one instant"),
        (
            "REGISTER STREAM <q> UNDER ENTAILMENT REGIME <x> AS SELECT * { ?a ?b ?c }",
            "leave the clause out",
        ),
        (
            "REGISTER STREAM q COMPUTED EVERY 1s AS SELECT * REPORT ON CHANGE { ?a ?b ?c }",
            "leave COMPUTED EVERY or REPORT out",
        ),
        (
            "REGISTER STREAM q COMPUTED EVERY 1s COMPUTED EVERY 1s AS SELECT * { ?a ?b ?c }",
            "expected one COMPUTED EVERY",
        ),
        ("SELECT * { { SELECT RSTREAM * { ?a ?b ?c } } }", "not of a sub-select"),
        ("SELECT * FROM STREAM <s> { ?a ?b ?c }", "expected '['"),
        (
            "SELECT * FROM STREAM <s> [RANGE ELEMENTS 10] { ?a ?b ?c }",
            "write TRIPLES 10, or INDIVIDUALS 10",
        ),
        ("SELECT * { STREAM <s> [RANGE 2 SUM] { ?a ?b ?c } }", "expected ms, s, m, h or d"),
        ("SELECT * { STREAM <s> [RANGE 2 MOONS] { ?a ?b ?c } }", "expected ms, s, m, h or d"),
        ("SELECT * { STREAM <s> [RANGE 1500ns] { ?a ?b ?c } }", "expected whole microseconds"),
        ("SELECT * { STREAM <s> [FROM NOW-1h TO NOW-1h] { ?a ?b ?c } }", "before it begins"),
        ("SELECT * { STREAM <s> [FROM NOW-1h TO NOW+5] { ?a ?b ?c } }", "write NOW-, not NOW+"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, said: str) -> None:
    with pytest.raises(QueryError, match=re.escape(said)):
        parse_query(text)
