from __future__ import annotations

import re
from datetime import timedelta

import pytest

from sensorstream.errors import QueryError
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal
from sensorstream.sparql.algebra import (
    BGP,
    AlertClause,
    Comparison,
    Construct,
    Consumption,
    Distinct,
    Equals,
    EqualsOptional,
    Extend,
    Filter,
    Group,
    Join,
    OptionalSeq,
    Pattern,
    Project,
    Query,
    Registration,
    Relation,
    ReportClause,
    ReportKind,
    Select,
    Seq,
    TriplePattern,
    Variable,
    Window,
    WindowDefinition,
    WindowKind,
    WindowUnit,
)
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.query_printer import query_text

W, STREAM = IRI("w"), IRI("s")


def window(extent: str) -> WindowDefinition:
    query = parse_query(f"SELECT * FROM NAMED WINDOW <w> ON <s> [{extent}] {{ }}")
    assert parse_query(query_text(query)) == query
    (definition,) = query.dataset.windows
    assert (definition.name, definition.stream) == (W, STREAM)
    return definition


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


@pytest.mark.parametrize(
    ("extent", "meant"),
    [
        ("RANGE PT10S STEP PT5S", {"range": seconds(10), "step": seconds(5)}),
        ("RANGE 10m STEP 1s", {"range": seconds(600), "step": seconds(1)}),
        ("RANGE 3", {"range": seconds(3)}),
        ("range 0.5 step 250ms", {"range": seconds(0.5), "step": seconds(0.25)}),
        ('RANGE "P1DT1H"^^<http://www.w3.org/2001/XMLSchema#duration>', {"range": seconds(90000)}),
        (
            "RANGE PT10S TUMBLING",
            {"kind": WindowKind.TUMBLING, "range": seconds(10), "step": seconds(10)},
        ),
        ("TRIPLES 100 STEP 10", {"range": 100, "step": 10}),
        ("INDIVIDUALS 9", {"range": 9, "unit": WindowUnit.INDIVIDUALS}),
        (
            "INDIVIDUALS 9 OF <C> STEP 3",
            {"range": 9, "unit": WindowUnit.INDIVIDUALS, "instances_of": IRI("C"), "step": 3},
        ),
        ("RANGE 1h OF INDIVIDUALS", {"range": seconds(3600), "unit": WindowUnit.INDIVIDUALS}),
        (
            "RANGE 1h OF <C>",
            {
                "range": seconds(3600),
                "unit": WindowUnit.INDIVIDUALS,
                "instances_of": IRI("C"),
            },
        ),
        ("LANDMARK STEP 1d", {"kind": WindowKind.LANDMARK, "step": seconds(86400)}),
        ("LANDMARK TRIPLES STEP 5", {"kind": WindowKind.LANDMARK, "step": 5}),
        ("LANDMARK OF INDIVIDUALS", {"kind": WindowKind.LANDMARK, "unit": WindowUnit.INDIVIDUALS}),
        (
            "RANGE 2s STEP 2s STARTING AT 1 START 5 END "
            '"2014-08-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>',
            {
                "range": seconds(2),
                "step": seconds(2),
                "origin": Literal("1", xsd.INTEGER),
                "start": Literal("5", xsd.INTEGER),
                "end": Literal("2014-08-01T00:00:00Z", xsd.DATE_TIME),
            },
        ),
    ],
)
def test_a_window_is_what_its_brackets_say(extent: str, meant: dict[str, object]) -> None:
    assert window(extent) == WindowDefinition(W, STREAM, **meant)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("clause", "meant"),
    [
        ("STREAM INTERMEDIATERESULT DURATION 1000", ReportClause(ReportKind.PERIOD, seconds(1))),
        ("STREAM INTERMEDIATERESULT DURATION PT2S", ReportClause(ReportKind.PERIOD, seconds(2))),
        ("STREAM INTERMEDIATERESULT TRIPLES 10", ReportClause(ReportKind.TRIPLES, 10)),
        ("REPORT EVERY 10 TRIPLES", ReportClause(ReportKind.TRIPLES, 10)),
        ("REPORT EVERY 10", ReportClause(ReportKind.PERIOD, seconds(10))),
        ("REPORT EVERY INSTANT", ReportClause(ReportKind.INSTANT)),
        ("REPORT ON CHANGE", ReportClause(ReportKind.CHANGE)),
        ("REPORT ON WINDOW CLOSE", ReportClause(ReportKind.WINDOW_CLOSE)),
    ],
)
@pytest.mark.parametrize("after_from", [False, True])
def test_a_report_stands_before_or_after_the_dataset(
    clause: str, meant: ReportClause, after_from: bool
) -> None:
    clauses = f"FROM <g> {clause}" if after_from else f"{clause} FROM <g>"
    query = parse_query(f"SELECT * {clauses} {{ ?s ?p ?o }}")
    assert query.report == meant
    assert parse_query(query_text(query)) == query


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("RSTREAM <out>", Registration(IRI("out"), Relation.RSTREAM)),
        ("istream averages", Registration("averages", Relation.ISTREAM)),
        ("DSTREAM window", Registration("window", Relation.DSTREAM)),
        ("QUERY averages", Registration("averages")),
    ],
)
def test_a_registration_names_a_stream_or_a_query(words: str, meant: Registration) -> None:
    query = parse_query(f"REGISTER {words} AS ASK {{ }}")
    assert query.registration == meant
    assert parse_query(query_text(query)) == query


def patterns(text: str) -> Pattern:
    form = parse_query(f"CONSTRUCT {{ }} WHERE {{ {text} }}").form
    assert isinstance(form, Construct)
    return form.pattern


A, B, C = (BGP((TriplePattern(Variable(name), IRI("p"), Variable("o")),)) for name in "abc")


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


def test_windows_without_a_name_get_one_and_equal_ones_share_it() -> None:
    query = parse_query(
        """SELECT * {
            WINDOW TYPE SLIDINGTRIPLES 100 { ?a <p> ?o }
            WINDOW TYPE SLIDINGDURATION 5000 { ?b <p> ?o }
            WINDOW TYPE SLIDINGTRIPLES 100 { ?c <p> ?o }
            WINDOW START 5 TYPE INSTANCE <C> SLIDINGINSTANCES 3 END 9 { ?c <p> ?o } }"""
    )
    one, two, three = (IRI(f"urn:sensorstream:window:{number}") for number in (1, 2, 3))
    assert query.dataset.windows == (
        WindowDefinition(one, range=100),
        WindowDefinition(two, range=seconds(5)),
        WindowDefinition(
            three,
            unit=WindowUnit.INDIVIDUALS,
            range=3,
            instances_of=IRI("C"),
            start=Literal("5", xsd.INTEGER),
            end=Literal("9", xsd.INTEGER),
        ),
    )
    assert isinstance(query.form, Select)
    assert isinstance(query.form.pattern, Project)
    joins = Join(Join(Join(Window(one, A), Window(two, B)), Window(one, C)), Window(three, C))
    assert query.form.pattern.pattern == joins
    assert parse_query(query_text(query)) == query


FIGURE_6 = """
PREFIX ebay:<http://developer.ebay.com/DevZone/finding/CallRef/findItemsByKeywords.html#>
PREFIX lupos: <http://www.luposdate.org/>
SELECT DISTINCT ?id ?title ?bid lupos:average(?bid) AS ?avg
lupos:min(?bid) AS ?min lupos:max(?bid) AS ?max lupos:sum(?bid)AS?sum
STREAM INTERMEDIATERESULT DURATION 1000
WHERE {
WINDOW TYPE SLIDINGTRIPLES 100 {
?id ebay:Response.searchResult.item.sellingStatus.currentPrice ?bid.
?id ebay:Response.searchResult.item.title ?title. }}
"""


def test_the_auction_query_is_read_as_the_paper_prints_it() -> None:
    query = parse_query(FIGURE_6)
    assert query.report == ReportClause(ReportKind.PERIOD, seconds(1))
    assert [each.range for each in query.dataset.windows] == [100]
    assert isinstance(query.form, Select)
    assert isinstance(query.form.pattern, Distinct)
    project = query.form.pattern.pattern
    assert isinstance(project, Project)
    names = [variable.name for variable in project.variables]
    assert names == ["id", "title", "bid", "avg", "min", "max", "sum"]
    join = project.pattern
    assert isinstance(join, Join)
    below = join.right
    while isinstance(below, Project | Extend):
        below = below.pattern
    assert isinstance(below, Group)
    assert [key.variable.name for key in below.keys if key.variable] == ["id", "title"]
    assert below.pattern == join.left
    assert parse_query(query_text(query)) == query


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('SELECT ?a ALERT grave "x" { ?a ?b ?c }', "unknown severity 'grave': expected info"),
        ('SELECT ?a ALERT info "{?b}" { ?a ?b ?c }', "?b is not selected"),
        ('SELECT ?a ALERT info "x" KEY "{a}" { ?a ?b ?c }', "expected {?name}"),
        ('ASK ALERT info "x" { ?a ?b ?c }', "expected SELECT"),
        ('SELECT ?a ALERT info "x" ALERT info "y" { ?a ?b ?c }', "expected one ALERT"),
    ],
)
def test_an_alert_that_cannot_be_raised_is_refused(text: str, said: str) -> None:
    with pytest.raises(QueryError, match=re.escape(said)):
        parse_query(text)


def test_an_alert_is_read_and_printed() -> None:
    query = parse_query('SELECT ?a ALERT info "{?a} is \\"hot\\"" KEY "{?a}" { ?a ?b ?c }')
    assert query.alert == AlertClause("info", '{?a} is "hot"', "{?a}")
    assert parse_query(query_text(query)) == query
