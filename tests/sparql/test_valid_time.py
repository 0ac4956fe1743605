"""AT and DURING: the valid time of a query over history."""

from __future__ import annotations

import pytest

from sensorstream.errors import QueryError, UnsupportedQuery
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.sparql.algebra import ValidTime, Variable
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.query_printer import query_text
from sensorstream.streams.event_lines import SECOND, instant_of
from sensorstream.streams.processor import StreamProcessor

MOMENT = "2014-08-01T00:00:00Z"


@pytest.mark.parametrize(
    ("clause", "time"),
    [
        (f'AT "{MOMENT}"', ValidTime(MOMENT)),
        (f'at "{MOMENT}"^^<http://www.w3.org/2001/XMLSchema#dateTime>', ValidTime(MOMENT)),
        ("AT 50", ValidTime("50")),
        ("AT -50", ValidTime("-50")),
        ("AT '''5\\t0'''", ValidTime("5\t0")),
        ('DURING "2014-08-01"/"2014-08-02"', ValidTime("2014-08-01", "2014-08-02")),
        ("DURING 0/100", ValidTime("0", "100")),
        ("During -9 / -1", ValidTime("-9", "-1")),
        ("DURING 5/5", ValidTime("5", "5")),
        ("AT ?now", ValidTime(Variable("now"))),
        ("DURING ?last/7", ValidTime(Variable("last"), "7")),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        "SELECT ?s {} WHERE {{ ?s ?p ?o }} GROUP BY ?s",
        "SELECT * FROM <urn:g> {} FROM NAMED <urn:h> {{ ?s ?p ?o }}",
        "CONSTRUCT {{ ?s ?p ?o }} {} WHERE {{ ?s ?p ?o }}",
        "CONSTRUCT {} WHERE {{ ?s ?p ?o }}",
        "DESCRIBE <urn:a> ?b {}",
        "DESCRIBE * {} {{ ?b ?p ?o }} LIMIT 1",
        "ASK {} {{ ?s ?p ?o }}",
    ],
)
def test_a_query_of_any_form_may_say_its_valid_time(
    form: str, clause: str, time: ValidTime
) -> None:
    query = parse_query(form.format(clause))
    assert query.valid_time == time
    assert parse_query(query_text(query)) == query


def test_the_words_of_valid_time_are_still_names_with_a_mark() -> None:
    text = "PREFIX at: <urn:at:> PREFIX during: <urn:d:> SELECT ?at { ?at at:at during:during }"
    assert parse_query(text).valid_time is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ASK AT 5 AT 6 {}", "query:1:10: a query has one valid time: expected one AT or DURING"),
        ("ASK AT 5 DURING 1/2 {}", "query:1:10: a query has one valid time"),
        ("ASK AT {}", "query:1:8: unexpected '{': expected a text, a number, a ?variable or"),
        ("ASK DURING 5 {}", "query:1:14: unexpected '{': expected '/'"),
        ('ASK DURING "a" "b" {}', "query:1:16: unexpected '\"b\"': expected"),
        ("ASK {} AT 5", "query:1:8: unexpected 'AT': expected"),
        ("ASK { { SELECT ?s AT 5 { ?s ?p ?o } } }", "query:1:19: unexpected 'AT': expected"),
        ('ASK AT "5"@en {}', 'query:1:5: "5"@en is not a time: leave the language out'),
    ],
)
def test_a_wrong_valid_time_is_an_error_with_its_place(text: str, said: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert str(caught.value).startswith(said)


def test_a_continuous_query_follows_the_present() -> None:
    processor = StreamProcessor(TripleIndex(), instant=instant_of, second=SECOND)
    query = parse_query("SELECT * DURING 1/2 { ?s ?p ?o }")
    with pytest.raises(
        UnsupportedQuery, match=r'^query:1:10: DURING "1"/"2": a continuous query follows the'
    ):
        processor.check("q", query)
