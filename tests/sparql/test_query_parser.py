from __future__ import annotations

from collections.abc import Callable

import pytest

from sensorstream.errors import Position, QueryError
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.sparql.algebra import (
    BGP,
    And,
    Arithmetic,
    Comparison,
    Construct,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Project,
    Query,
    Select,
    TriplePattern,
    Variable,
)
from sensorstream.sparql.query_lexer import DEEPEST
from sensorstream.sparql.query_parser import parse_query, parse_update, read_query
from sensorstream.sparql.query_printer import query_text
from sensorstream.sparql.walk import nodes

S, P, OBJECT, X = map(Variable, "spox")
SPO = TriplePattern(S, P, OBJECT)
ONE = Literal("1", xsd.INTEGER)


def select(text: str) -> object:
    """The pattern of a SELECT, below its projection."""
    form = parse_query(text).form
    assert isinstance(form, Select)
    assert isinstance(form.pattern, Project)
    return form.pattern.pattern


def first_triple(text: str, base: str | None = None) -> TriplePattern:
    form = parse_query(f"CONSTRUCT {{}} WHERE {{ {text} }}", base=base).form
    assert isinstance(form, Construct)
    assert isinstance(form.pattern, BGP)
    return form.pattern.patterns[0]


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


def test_a_star_is_the_list_of_visible_variables() -> None:
    form = parse_query(
        "SELECT * { ?s ?p ?o MINUS { ?a ?b ?c } FILTER EXISTS { ?d ?e ?f } BIND(1 AS ?x) }"
    ).form
    assert isinstance(form, Select)
    assert isinstance(form.pattern, Project)
    assert form.pattern.variables == (S, P, OBJECT, X)


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


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("'''a\\n'b'''", Literal("a\n'b")),
        (r'"\u00e9 \\u00e9"', Literal("é \\u00e9")),
        ('"x"@EN-gb', Literal("x", language="en-gb")),
        ("4.0e1", Literal("4.0e1", "http://www.w3.org/2001/XMLSchema#double")),
        ("-.5", Literal("-.5", "http://www.w3.org/2001/XMLSchema#decimal")),
        ("TRUE", Literal("true", "http://www.w3.org/2001/XMLSchema#boolean")),
    ],
)
def test_literals_mean_what_they_say(written: str, meant: Literal) -> None:
    assert first_triple(f"?s ?p {written}").object == meant


@pytest.mark.parametrize(
    ("reference", "resolved"),
    [
        ("", "http://a/b/c/d;p?q"),
        ("g", "http://a/b/c/g"),
        ("./g/.", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("#", "http://a/b/c/d;p?q#"),
        ("../../../g", "http://a/g"),
        ("urn:x", "urn:x"),
        ("g;x=1/../y", "http://a/b/c/y"),
        (".", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../..", "http://a/"),
    ],
)
def test_relative_iris_are_resolved_as_in_rfc_3986(reference: str, resolved: str) -> None:
    assert first_triple(f"<{reference}> ?p ?o", base="http://a/b/c/d;p?q").subject == resolved


def test_a_relative_iri_without_a_base_stays_as_it_is() -> None:
    assert first_triple("<w> ?p ?o").subject == IRI("w")


def test_blank_nodes_in_brackets_get_labels_that_the_text_does_not_use() -> None:
    triple = first_triple("[] ?p _:b0")
    assert triple.object == BlankNode("_:b0")
    assert triple.subject == BlankNode("_:b1")


def test_keywords_are_read_in_any_case_and_take_no_names_away() -> None:
    text = """prefix seq: <http://s/> prefix window: <http://w/>
        SELECT ?range ?seq where { ?range seq:equals window:on . ?seq window:step "x"@on }"""
    assert parse_query(text).form == parse_query(text.replace("prefix", "PREFIX")).form


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("SELECT * { ?s ?p }", "1:18", ("unexpected '}'", "expected a term")),
        ("SELECT * {\n ?s ?p ?o .\n FILTER }", "3:9", ("unexpected '}'", "a function", "'('")),
        ("SELECT * { ?s ?p ?o", "1:20", ("the text ends here", "'}'")),
        ("SELECT * { ?s ex:p ?o }", "1:15", ("prefix of 'ex:p' is not declared",)),
        ("SELECT ?x { ?s ?p ?o } GROUP BY ?s", "1:8", ("?x is neither grouped by nor aggre",)),
        ("SELECT (?o + COUNT(?s) AS ?n) { ?s ?p ?o } GROUP BY ?s", "1:8", ("?o is neither",)),
        ("SELECT * { ?s ?p ?o } GROUP BY ?s", "1:1", ("SELECT * cannot be grouped",)),
        ("SELECT (1 AS ?s) { ?s ?p ?o }", "1:8", ("?s has a value already",)),
        ("SELECT * { ?s ?p ?o BIND(1 AS ?o) }", "1:31", ("?o has a value already",)),
        ("SELECT * { _:a ?p ?o OPTIONAL { _:a ?q ?r } }", "1:33", ("_:a stands in another",)),
        ("SELECT * { ?s ?p ?o FILTER(COUNT(?s) > 1) }", "1:28", ("COUNT cannot stand in FILTER",)),
        ("SELECT (SUM(MAX(?s)) AS ?x) { ?s ?p ?o }", "1:9", ("SUM cannot be taken of another",)),
        ("SELECT * { VALUES (?a ?b) { (1 2) (1) } }", "1:35", ("has 1 values: expected 2",)),
        ("SELECT * { ?s ?p ?o FILTER(STR(?s, ?p)) }", "1:28", ("STR takes 1 argument, but has 2",)),
        ("SELECT * { ?s ?p ?o FILTER(BOUND(1)) }", "1:28", ("BOUND takes a variable",)),
        ("CONSTRUCT { ?s <p>* ?o } WHERE { ?s ?p ?o }", "1:16", ("a path cannot stand in",)),
        ("SELECT * { ?s ?p 'x }", "1:18", ("has no end",)),
        ("SELECT * { ?s ?p § }", "1:18", ("'§' cannot start a token here",)),
        ("SELECT * { ?s ?p '\\uD800' }", "1:19", ("'\\\\uD800' is not a character",)),
        ("# \\u00e9\nSELECT * { ?s ?p '\\u00e9' ?x }", "2:27", ("unexpected '?x'",)),
        ("SELECT * { WINDOW <w> { ?s ?p ?o } }", "1:19", ("the window <w> is not defined",)),
        (
            "SELECT * FROM NAMED WINDOW <w> [TRIPLES 0] { }",
            "1:33",
            ("the window's range must be greater than zero",),
        ),
        (
            "SELECT * FROM NAMED WINDOW <w> [TRIPLES 9 STEP PT1S] { }",
            "1:43",
            ("expected a STEP that is a whole number",),
        ),
        (
            'SELECT * FROM NAMED WINDOW <w> [RANGE "-PT1S"] { }',
            "1:33",
            ("the window's range must be greater than zero",),
        ),
        (
            "SELECT * FROM NAMED WINDOW <w> [RANGE 9s TUMBLING STEP 3s] { }",
            "1:51",
            ("a tumbling window steps by its range",),
        ),
        (
            "SELECT * FROM NAMED WINDOW <w> [RANGE 9s STEP 3s STEP 2s] { }",
            "1:50",
            ("STEP is given twice",),
        ),
        (
            "SELECT * FROM NAMED WINDOW <w> [RANGE P1Y] { }",
            "1:39",
            ("'P1Y' is not a duration of days to seconds",),
        ),
        (
            "SELECT * FROM NAMED WINDOW <w> [RANGE 1s] FROM NAMED WINDOW <w> [RANGE 1s] { }",
            "1:61",
            ("the window <w> is defined twice",),
        ),
        (
            "SELECT * REPORT ON CHANGE STREAM INTERMEDIATERESULT TRIPLES 1 { }",
            "1:10",
            ("a query reports in one way",),
        ),
    ],
)
def test_an_error_says_where_what_and_what_was_expected(
    text: str, place: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text, file="q.rq")
    assert str(caught.value.position) == f"q.rq:{place}"
    for word in words:
        assert word.replace("\\\\", "\\") in caught.value.message


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("INSERT DATA { ?s <p> <o> }", "1:15", "?s cannot stand in INSERT DATA"),
        ("DELETE WHERE { [] <p> <o> }", "1:16", "a blank node cannot stand in DELETE WHERE"),
        ("DELETE { _:x <p> <o> } WHERE { }", "1:10", "a blank node cannot stand in DELETE"),
        ("CLEAR ALL CLEAR ALL", "1:11", "expected ';' or the end of the text"),
        (
            "INSERT DATA { _:a <p> <o> } ;\nINSERT DATA { _:a <p> <o> }",
            "2:15",
            "_:a stands already in another operation",
        ),
    ],
)
def test_an_error_of_an_update_says_the_same(text: str, place: str, words: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_update(text)
    assert str(caught.value.position) == f"update:{place}"
    assert words in caught.value.message


@pytest.mark.parametrize("count", [250, 3000])
@pytest.mark.parametrize(
    ("before", "opening", "inner", "closing", "after"),
    [
        ("", "{ ", "", "} ", ""),
        ("{ ?s ?p ?o FILTER(1 ", "|| 1 ", "", "", ") }"),
        ("{ ?s ?p ?o FILTER(", "!(", "1", ")", ") }"),
        ("{ ?s ?p [ ", "?p [ ", "?p 1 ", "] ", "] }"),
        ("{ {} ", "UNION {} ", "", "", "}"),
    ],
)
def test_a_text_that_is_nested_too_deeply_is_refused(
    before: str, opening: str, inner: str, closing: str, after: str, count: int
) -> None:
    text = f"SELECT * {before}{opening * count}{inner}{closing * count}{after}"
    with pytest.raises(QueryError, match="nested too deeply"):
        parse_query(text)


def test_a_query_is_a_value() -> None:
    one, other = (parse_query("SELECT ?s { ?s ?p ?o }") for _ in range(2))
    assert isinstance(one, Query)
    assert (one, hash(one)) == (other, hash(other))


def test_places_in_a_file_are_told_of_a_text_that_stands_inside_it() -> None:
    text = "SELECT ?x\n{ ?x e:p ?y FILTER(?y > 1) GRAPH <urn:g> { ?y ?p 1 } }"
    parsed = read_query(
        text, start=Position("a.rules", 7, 11), prefixes={"e": "http://example.org/"}
    )

    def place(part: object) -> str:
        return str(parsed.position(part))

    (condition,) = (each.condition for each in nodes(parsed.meaning) if isinstance(each, Filter))
    (graph,) = (each for each in nodes(parsed.meaning) if isinstance(each, Graph))
    assert place(Variable("x")) == "a.rules:7:18"
    assert place(Variable("y")) == "a.rules:8:10"
    assert place(IRI("http://example.org/p")) == "a.rules:8:6"
    assert place(condition) == "a.rules:8:13"
    assert place(graph) == "a.rules:8:28"
    assert place(Variable("never")) == "a.rules:7:11"
    with pytest.raises(QueryError) as caught:
        read_query("SELECT ?x { ?x f:p 1 }", start=Position("a.rules", 7, 11))
    assert str(caught.value.position) == "a.rules:7:26"


@pytest.mark.parametrize("number", [1, 100, DEEPEST, DEEPEST + 1, 4000])
@pytest.mark.parametrize(
    "text",
    [
        lambda n: f"ASK {'{' * n}{'}' * n}",
        lambda n: f"ASK {'{ ?s ?p ?o OPTIONAL ' * (n - 1)}{{ ?s ?p ?o {'}' * n}",
        lambda n: f"ASK {{ FILTER({'(' * n}1{')' * n}) }}",
        lambda n: f"ASK {{ FILTER(1{' || 1' * n}) }}",
        lambda n: f"ASK {{ FILTER(1{' + 1' * n}) }}",
        lambda n: f"ASK {{ FILTER({'STR(' * n}1{')' * n}) }}",
        lambda n: f"ASK {{ {'FILTER EXISTS { ' * n}{'} ' * n} }}",
        lambda n: f"ASK {{ {{ }} {'UNION { } ' * n} }}",
        lambda n: f"ASK {{ ?s {'(' * n}<p>{')*' * n} ?o }}",
        lambda n: f"ASK {{ ?s ?p {'[ ?p ' * n}1{' ]' * n} }}",
        lambda n: f"ASK {'{ SELECT * ' * n}{{ }}{'}' * n}",
    ],
)
def test_a_text_is_read_and_printed_or_refused_however_deep(
    text: Callable[[int], str], number: int
) -> None:
    # Nothing else may happen: neither RecursionError nor the end of the process.
    try:
        query, said = parse_query(text(number)), ""
    except QueryError as error:
        query, said = None, error.message
    if query is None:
        assert "nested too deeply" in said or "patterns: expected at most 100" in said
        assert number > 60
    else:
        assert number <= DEEPEST
        assert parse_query(query_text(query)) == query
