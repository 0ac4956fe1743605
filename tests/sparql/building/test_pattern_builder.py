from __future__ import annotations

import pytest

from sensorstream.errors import QueryError
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal
from sensorstream.sparql.algebra import (
    BGP,
    And,
    Arithmetic,
    Comparison,
    Construct,
    Consumption,
    Equals,
    EqualsOptional,
    Extend,
    Filter,
    Join,
    LeftJoin,
    OptionalSeq,
    Pattern,
    Project,
    Query,
    Select,
    Seq,
    TriplePattern,
    Variable,
)
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.query_printer import query_text

S, P, OBJECT, X = map(Variable, "spox")


SPO = TriplePattern(S, P, OBJECT)


ONE = Literal("1", xsd.INTEGER)


def select(text: str) -> object:
    """The pattern of a SELECT, below its projection."""
    form = parse_query(text).form
    assert isinstance(form, Select)
    assert isinstance(form.pattern, Project)
    return form.pattern.pattern


def test_a_filter_does_not_end_a_block_of_triples() -> None:
    x_p_1 = TriplePattern(X, P, ONE)
    assert select("SELECT * { ?s ?p ?o FILTER(?o) ?x ?p 1 }") == Filter(OBJECT, BGP((SPO, x_p_1)))


def test_filters_of_one_group_are_one_condition() -> None:
    assert select("SELECT * { ?s ?p ?o FILTER(?o) FILTER(?x) }") == Filter(
        And(OBJECT, X), BGP((SPO,))
    )


def test_the_filter_of_an_optional_group_belongs_to_the_left_join() -> None:
    right = BGP((TriplePattern(OBJECT, P, X),))
    inside = select("SELECT * { ?s ?p ?o OPTIONAL { ?o ?p ?x FILTER(?s) } }")
    assert inside == LeftJoin(BGP((SPO,)), right, S)
    deeper = select("SELECT * { ?s ?p ?o OPTIONAL { { ?o ?p ?x FILTER(?s) } } }")
    assert deeper == LeftJoin(BGP((SPO,)), Filter(S, right), None)


def test_groups_in_groups_are_joined_not_melted() -> None:
    assert select("SELECT * { { ?s ?p ?o } { ?s ?p ?o } }") == Join(BGP((SPO,)), BGP((SPO,)))


@pytest.mark.parametrize(
    ("text", "operator", "right"),
    [
        ("?x -1", "-", ONE),
        ("?x - 1", "-", ONE),
        ("?x+1", "+", ONE),
        ("?x -1*2", "-", Arithmetic("*", ONE, Literal("2", xsd.INTEGER))),
    ],
)
def test_a_sign_after_an_operand_is_an_operator(text: str, operator: str, right: object) -> None:
    found = select(f"SELECT * {{ ?s ?p ?x BIND({text} AS ?y) }}")
    assert isinstance(found, Extend)
    assert isinstance(found.expression, Arithmetic)
    assert (found.expression.operator, found.expression.left, found.expression.right) == (
        operator,
        X,
        right,
    )


def test_products_bind_closer_than_sums_and_sums_than_comparisons() -> None:
    found = select("SELECT * { ?s ?p ?x FILTER(?x + ?s * 1 < ?p || ?o) }")
    assert isinstance(found, Filter)
    product = Arithmetic("*", S, ONE)
    assert found.condition.left == Comparison("<", Arithmetic("+", X, product), P)  # type: ignore[union-attr]


A, B, C = (BGP((TriplePattern(Variable(name), IRI("p"), Variable("o")),)) for name in "abc")


def patterns(text: str) -> Pattern:
    form = parse_query(f"CONSTRUCT {{ }} WHERE {{ {text} }}").form
    assert isinstance(form, Construct)
    return form.pattern


def test_temporal_operators_combine_groups_from_the_left() -> None:
    a, b, c = (f"{{ ?{name} <p> ?o }}" for name in "abc")
    assert patterns(f"{a} SEQ {b} SEQ {c}") == Seq(Seq(A, B), C)
    assert patterns(f"{a} SEQ {{ {b} EQUALS {c} }}") == Seq(A, Equals(B, C))
    assert patterns(f"{a} seq recent {b} SEQ UNRESTRICTED {c}") == Seq(
        Seq(A, B, Consumption.RECENT), C
    )
    assert patterns(f"{a} OPTIONALSEQ {b} EQUALSOPTIONAL {c}") == EqualsOptional(
        OptionalSeq(A, B), C
    )


def test_the_filter_of_the_optional_side_belongs_to_the_operator() -> None:
    o = Variable("o")
    left = patterns("{ ?a <p> ?o FILTER(?o) } OPTIONALSEQ { ?b <p> ?o FILTER(?o) }")
    assert left == OptionalSeq(A, Filter(o, B), o)
    right = patterns("{ ?a <p> ?o FILTER(?o) } EQUALSOPTIONAL { ?b <p> ?o FILTER(?o) }")
    assert right == EqualsOptional(Filter(o, A), B, o)


# The queries of the EP-SPARQL paper, with the braces and prefixes that its print leaves out.
EP_SPARQL = {
    1: """SELECT ?company WHERE {
        { ?company :hasStockPrice ?price1 } SEQ { ?company :hasStockPrice ?price2 }
        SEQ { ?company :hasStockPrice ?price3 }
        FILTER ( ?price2 < ?price1 * 0.7 && ?price3 > ?price1 * 1.05
        && getDURATION() < "P30D"^^xsd:duration) }""",
    2: """SELECT ?company ?ratingagency WHERE {
        { ?company :downratedby ?ratingagency} OPTIONALSEQ
        { { ?company :hasStockPrice ?price1 } SEQ { ?company :hasStockPrice ?price2 }}
        FILTER (?price2 < ?price1 * 0.5) }""",
    3: """SELECT ?company WHERE { { ?company :hasStockprice ?price1 }
        SEQ { { ?company :hasAcquired ?othercompany } OPTIONALSEQ
        { ?company :hasStockPrice ?price2 } }
        FILTER ( ?price2 < ?price1 * 1.5 && !BOUND(?othercompany) &&
        getDURATION() < "P15D"^^xsd:duration ) }""",
    4: """CONSTRUCT { ?company :downratedby ?ratingagency } WHERE {
        { ?rating1 :rater ?ratingagency ; :rated ?company ; :score ?score1 }
        SEQ { ?rating2 :rater ?ratingagency ; :rated ?company ; :score ?score2 }
        FILTER ( ?score2 < ?score1 ) }""",
    5: """CONSTRUCT { _:aaa :hasCount ?count . _:aaa :hasSum ?sum } WHERE {
        SELECT (?prevcount + 1 AS ?count) (?prevsum + ?price AS ?sum) WHERE {
        {{ ?point :hasCount ?prevcount . ?point :hasSum ?prevsum . }
        SEQ { :ACME :hasStockPrice ?price . }} EQUALSOPTIONAL
        {{ ?point :hasCount ?prevcount . ?point :hasSum ?prevsum . }
        SEQ { :ACME :hasStockPrice ?inbetween . } SEQ { :ACME :hasStockPrice ?price . }}
        FILTER ( !BOUND(?inbetween) && getDURATION() < "P10D"^^xsd:duration )} }""",
    6: """SELECT (?sum / ?count AS ?average) WHERE {
        {{ :ACME :hasStockPrice ?price . }
        SEQ { ?point :hasCount ?prevcount . ?point :hasSum ?prevsum . }} EQUALSOPTIONAL
        {{ :ACME :hasStockPrice ?price . } SEQ { :ACME :hasStockPrice ?inbetween . }
        SEQ { ?point :hasCount ?prevcount . ?point :hasSum ?prevsum . }}
        FILTER ( !BOUND(?inbetween) && getDURATION() > "P10D"^^xsd:duration ) }""",
}


@pytest.mark.parametrize("number", EP_SPARQL)
def test_the_queries_of_the_ep_sparql_paper_are_read(number: int) -> None:
    query = parse_query(
        "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
        + EP_SPARQL[number]
    )
    assert isinstance(query, Query)
    assert parse_query(query_text(query)) == query


def test_temporal_operators_need_no_braces_around_where() -> None:
    names = "PREFIX : <http://e/> "
    printed = "WHERE { ?a :p ?b } SEQ { ?a :p ?c } FILTER(?b < ?c) FILTER(?b > 1)"
    braced = printed.replace("WHERE", "WHERE {") + "}"
    for form in (f"SELECT ?a {printed} LIMIT 3", f"SELECT * {{ SELECT ?a {printed} ORDER BY ?a }}"):
        assert parse_query(names + form) == parse_query(names + form.replace(printed, braced))


@pytest.mark.parametrize("text", ["{ ?a ?b ?c } UNION { ?c ?b ?a }", "{ ?a ?b ?c } FILTER(?a)"])
def test_without_temporal_operators_the_braces_are_needed(text: str) -> None:
    with pytest.raises(QueryError, match="unexpected"):
        parse_query(f"SELECT * WHERE {text}")


def test_the_first_query_of_the_ep_sparql_paper_is_two_sequences_and_a_filter() -> None:
    query = parse_query(
        "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n" + EP_SPARQL[1]
    )
    assert isinstance(query.form, Select)
    project = query.form.pattern
    assert isinstance(project, Project)
    assert isinstance(project.pattern, Filter)
    assert isinstance(project.pattern.pattern, Seq)
    assert isinstance(project.pattern.pattern.left, Seq)
    last = project.pattern.condition.right  # type: ignore[union-attr]
    assert isinstance(last, Comparison)
    assert last.left.name == "GETDURATION"  # type: ignore[union-attr]
