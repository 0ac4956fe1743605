"""What comes out of compiled queries, with values that are hard to quote, compare and order."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from sensorstream.errors import QueryError, UnsupportedQuery
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.xsd import XSD
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sql.dialect_writer import text_of
from sensorstream.sql.sparql.query_forms import constants
from tests.history.sparql.world import World

P, Q = IRI("http://example.org/p"), IRI("http://example.org/q")
A, B, C = (IRI(f"http://example.org/{name}") for name in "abc")
Graphs = Mapping[IRI | None, list[Triple]]


def ask(world: World, text: str, data: Graphs) -> list[tuple[Term | None, ...]]:
    return world.answer(compiled(world, text, data))


def compiled(world: World, text: str, data: Graphs) -> Any:
    query = parse_query(f"PREFIX : <http://example.org/> PREFIX xsd: <{XSD}> {text}")
    return world.compiled(query, world.load(data))


def value(world: World, expression: str) -> Term | None:
    """The value of an expression without variables."""
    ((found,),) = ask(world, f"SELECT ({expression} AS ?v) {{}}", {None: []})
    return found


HARD = ("'", "''; drop table store.terms; --", '"', "\\", "\\'", "%s %(a)s %%", "{} {0}", "$1 $$",
        ":a", "a\nb\rc\td", "\u00e9\U0001f600", "", "E'\\x'",
        "/* */ -- ", "\x01\x7f", "]]>", "@en")  # fmt: skip


@pytest.mark.parametrize("text", HARD)
def test_any_text_is_a_constant_and_nothing_else(world: World, text: str) -> None:
    literal = Literal(text)
    data: Graphs = {None: [(A, P, literal), (B, P, Literal("other"))]}
    written = literal.n3
    assert ask(world, f"SELECT ?s {{ ?s :p {written} }}", data) == [(A,)]
    assert ask(world, f"SELECT ?s {{ ?s :p ?o FILTER(?o = {written}) }}", data) == [(A,)]
    assert ask(world, f"SELECT ?o {{ VALUES ?o {{ {written} }} }}", data) == [(literal,)]
    assert ask(
        world, f"SELECT (CONCAT({written}, ?o) AS ?x) {{ ?s :p ?o FILTER(?s = :b) }}", data
    ) == [(Literal(f"{text}other"),)]


def test_a_text_that_postgresql_cannot_hold_matches_nothing_and_is_refused_as_a_value(
    world: World,
) -> None:
    data: Graphs = {None: [(A, P, Literal("a\ufffdb"))]}
    assert ask(world, 'SELECT ?s { ?s :p "a\\u0000b" }', data) == []
    assert constants(parse_query('SELECT ?s { ?s ?p "a\\u0000b" }')) == frozenset()
    with pytest.raises(UnsupportedQuery, match="NUL"):
        compiled(world, 'SELECT (CONCAT("\\u0000", "b") AS ?x) {}', data)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("1 / 3", Literal("0.3333333333333333333333333333", xsd.DECIMAL)),
        ("9007199254740993 + 0", Literal("9007199254740993", xsd.INTEGER)),
        ("0.1 + 0.2", Literal("0.3", xsd.DECIMAL)),
        ("0.1e0 + 0.2e0", Literal("3.0000000000000004E-1", xsd.DOUBLE)),
        ("1e308 * 10", Literal("INF", xsd.DOUBLE)),
        ("-1e308 * 10", Literal("-INF", xsd.DOUBLE)),
        ("1e-300 * 1e-300", Literal("0.0E0", xsd.DOUBLE)),
        ("1e0 / 0", Literal("INF", xsd.DOUBLE)),
        ("0e0 / 0", Literal("NaN", xsd.DOUBLE)),
        ("1 / 0", None),
        ('"NaN"^^xsd:double = "NaN"^^xsd:double', Literal("false", xsd.BOOLEAN)),
        ("1e999 > 1e308", Literal("true", xsd.BOOLEAN)),
        ("1.5e300 * 1", Literal("1.5E300", xsd.DOUBLE)),
        ("ROUND(-2.5)", Literal("-2", xsd.DECIMAL)),
        ("ROUND(2.5e0)", Literal("3.0E0", xsd.DOUBLE)),
        ('xsd:integer("12abc")', None),
        ('xsd:double("1e5000")', None),
        ("xsd:string(1e7)", Literal("1.0E7")),
        ("xsd:string(1e3)", Literal("1000")),
        ('SUBSTR("motor car", 1.5, 2.6)', Literal("oto")),
        ('SUBSTR("12345", 0, 3)', Literal("12")),
        ('SUBSTR("12345", 0e0 / 0, 3)', Literal("")),
        ('SUBSTR("12345", -42, 1e0 / 0)', Literal("12345")),
        ('SUBSTR("12345", 99999999999999999999)', Literal("")),
        ('UCASE("stra\u00dfe"@de)', Literal("STRASSE", language="de")),
        ('ENCODE_FOR_URI("a b/\u00e9~")', Literal("a%20b%2F%C3%A9~")),
        ('STRBEFORE("abc"@en, "z")', Literal("")),
        ('REGEX("a.b", "A\\\\.B", "i")', Literal("true", xsd.BOOLEAN)),
        ('REGEX("x\\ny", "x.y")', Literal("false", xsd.BOOLEAN)),
        ('REGEX("x\\ny", "x.y", "s")', Literal("true", xsd.BOOLEAN)),
        ('REGEX("x\\ny", "^y$")', Literal("false", xsd.BOOLEAN)),
        ('REGEX("x\\ny", "^y$", "m")', Literal("true", xsd.BOOLEAN)),
        ('REGEX("a+b", "a+b", "q")', Literal("true", xsd.BOOLEAN)),
        ('REPLACE("abcd", "b(c)", "[$1$0\\\\$]")', Literal("a[cbc$]d")),
        ('REPLACE("abracadabra", "a+", "%s")', Literal("%sbr%sc%sd%sbr%s")),
        ('REPLACE("abc", "x*", "-")', None),
        ('"2014-01-01T00:00:00Z"^^xsd:dateTime = "2014-01-01T01:00:00+01:00"^^xsd:dateTime',
         Literal("true", xsd.BOOLEAN)),
        ('"2014-01-01T00:00:00Z"^^xsd:dateTime < "2014-01-01T05:00:00"^^xsd:dateTime', None),
        ('"2014-01-01T00:00:00Z"^^xsd:dateTime < "2014-01-03T05:00:00"^^xsd:dateTime',
         Literal("true", xsd.BOOLEAN)),
        ('"2014-02-30T00:00:00Z"^^xsd:dateTime = "2014-02-28T00:00:00Z"^^xsd:dateTime', None),
        ('xsd:date("2014-02-29")', None),
        ('xsd:date("2014-02-28T23:00:00-05:00"^^xsd:dateTime)',
         Literal("2014-02-28-05:00", xsd.DATE)),
        ('xsd:dateTime("2014-02-28T24:00:00Z")', Literal("2014-03-01T00:00:00Z", xsd.DATE_TIME)),
        ('1 = "1"', Literal("false", xsd.BOOLEAN)),
        ('1 = "x"^^:unknown', None),
        ('"x"^^:unknown = "x"^^:unknown', Literal("true", xsd.BOOLEAN)),
        ('1 = "x"^^xsd:integer', None),
        ("2 IN (1, 1/0, 2)", Literal("true", xsd.BOOLEAN)),
        ("2 IN (1, 1/0)", None),
        ("2 NOT IN ()", Literal("true", xsd.BOOLEAN)),
        ("COALESCE(1/0, 5)", Literal("5", xsd.INTEGER)),
        ("IF(1/0, 1, 2)", None),
        ("IF(false || 1/0, 1, 2)", None),
        ("true || 1/0", Literal("true", xsd.BOOLEAN)),
        ('MD5("abc")', Literal("900150983cd24fb0d6963f7d28e17f72")),
        ('IRI("not absolute")', None),
        ('STRLANG("a", "EN")', Literal("a", language="en")),
        ("DATATYPE(1 + 1.0)", IRI(xsd.DECIMAL)),
    ],
)  # fmt: skip
def test_an_expression_has_the_value_of_sparql(
    world: World, expression: str, wanted: Term | None
) -> None:
    assert value(world, expression) == wanted


@pytest.mark.parametrize(
    "expression",
    ['SHA1("a")', 'BNODE("a")', 'REGEX("a", ?p)', 'REGEX("a", "(?=a)")', 'REGEX("a", "a*?")',
     'REGEX("a", "(a)\\\\1")', 'REGEX("a", "\\\\w")',
     'REPLACE("a", "a|b", "c")', 'REPLACE("aaa", "a*b*c", "")',
     '<urn:sensorstream:function:local>(?t, "UTC")',
     "<http://www.opengis.net/def/function/geosparql/isEmpty>(?t)",
     ":f(1)", "xsd:integer(1, 2)", 'REGEX("a", "[a-z&&[^b]]")', 'REGEX("a", "a{300}")'],
)  # fmt: skip
def test_what_sql_cannot_say_is_refused_by_name(world: World, expression: str) -> None:
    with pytest.raises(UnsupportedQuery, match=r"\(\)"):
        value(world, expression)


@pytest.mark.parametrize("depth", [30, 3000])
def test_a_long_condition_is_answered_or_refused(world: World, depth: int) -> None:
    condition = " || ".join(f"?v = {n}" for n in range(depth))
    data: Graphs = {None: [(A, P, Literal("7", xsd.INTEGER)), (B, P, Literal("-7", xsd.INTEGER))]}
    query = f"SELECT ?s {{ ?s :p ?v FILTER({condition}) }}"
    if depth == 30:
        assert ask(world, query, data) == [(A,)]
    else:
        with pytest.raises(QueryError, match="nest"):
            ask(world, query, data)


def test_order_is_unbound_blank_iri_numbers_times_texts(world: World) -> None:
    day = Literal("2014-01-01", xsd.DATE)
    terms: list[Term] = [
        BlankNode("_:b"), A, B, Literal("-1", xsd.INTEGER), Literal("1.5", xsd.DECIMAL),
        Literal("2E0", xsd.DOUBLE), Literal("10", xsd.INTEGER), day, Literal("B"), Literal("a"),
        Literal("\u00e9"),
    ]  # fmt: skip
    data: Graphs = {None: [(C, Q, C), *((C, P, each) for each in reversed(terms))]}
    text = "{ ?s :q ?s OPTIONAL { ?s :p ?o } }"
    found = [row[0] for row in ask(world, f"SELECT ?o {text} ORDER BY ?o", data)]
    assert found == terms
    found = [row[0] for row in ask(world, f"SELECT ?o {text} ORDER BY DESC(?o) LIMIT 3", data)]
    assert found == terms[:-4:-1]
    union = "{ ?s :p ?o } UNION { ?s :q ?x }"
    found = [row[0] for row in ask(world, f"SELECT ?o {{ {union} }} ORDER BY ?o LIMIT 2", data)]
    assert found == [None, terms[0]]


def test_a_triple_counts_once_however_many_rows_say_it(world: World) -> None:
    data: Graphs = {None: [(s, P, o) for s in (A, B, C) for o in (A, B, C)]}
    (row,) = ask(world, "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT ?s) AS ?m) { ?s :p ?o }", data)
    assert row == (Literal("9", xsd.INTEGER), Literal("3", xsd.INTEGER))
    assert len(ask(world, "SELECT ?s { ?s :p ?o }", data)) == 9
    assert len(ask(world, "SELECT ?s { ?s :p ?o . ?o :p [] }", data)) == 27
    assert len(ask(world, "SELECT ?s { ?s :p ?o OPTIONAL { ?o :p ?x } }", data)) == 27
    assert len(ask(world, "SELECT DISTINCT ?s { ?s :p ?o }", data)) == 3
    assert len(ask(world, "SELECT * { { ?s :p ?o } UNION { ?s :p ?o } }", data)) == 18


def test_construct_leaves_out_what_is_no_triple(world: World) -> None:
    data: Graphs = {None: [(A, P, Literal("x")), (B, P, C)]}
    text = "CONSTRUCT { ?o :q ?s . ?s :q [ :p ?none ] . ?s :q :new } { ?s :p ?o }"
    found = ask(world, text, data)
    assert (C, Q, B) in found
    assert {row for row in found if row[2] == IRI("http://example.org/new")} == {
        (s, Q, IRI("http://example.org/new")) for s in (A, B)
    }
    blank = [row[2] for row in found if isinstance(row[2], BlankNode)]
    assert len(blank) == len(set(blank)) == 2
    assert len(found) == 5


def test_describe_follows_blank_nodes(world: World) -> None:
    one, other = BlankNode("_:one"), BlankNode("_:other")
    data: Graphs = {None: [(A, P, one), (one, P, other), (other, Q, B), (B, P, C)]}
    assert set(ask(world, "DESCRIBE :a", data)) == set(data[None][:3])
    assert set(ask(world, "DESCRIBE ?s { ?s :p :c }", data)) == set(data[None][3:])
    assert ask(world, "DESCRIBE :nobody", data) == []


def test_ask_is_one_truth_value(world: World) -> None:
    data: Graphs = {None: [(A, P, B)]}
    assert world.rows(compiled(world, "ASK { :a :p ?x }", data)) == [(True,)]
    assert world.rows(compiled(world, "ASK { :b :p ?x }", data)) == [(False,)]


def test_graphs_have_names(world: World) -> None:
    data: Graphs = {None: [(A, P, A)], B: [(B, P, B)], C: [(C, P, C)]}
    assert ask(world, "SELECT ?s { ?s :p ?s }", data) == [(A,)]
    assert ask(world, "SELECT ?s { GRAPH :b { ?s :p ?s } }", data) == [(B,)]
    assert sorted(ask(world, "SELECT ?g ?s { GRAPH ?g { ?s :p ?s } }", data)) == [(B, B), (C, C)]
    assert ask(world, "SELECT ?s { GRAPH :none { ?s :p ?s } }", data) == []
    assert sorted(ask(world, "SELECT ?s FROM :b FROM :c { ?s :p ?s }", data)) == [(B,), (C,)]


def test_a_computed_value_joins_with_stored_terms(world: World) -> None:
    data: Graphs = {None: [(A, P, Literal("2", xsd.INTEGER)), (B, P, Literal("1", xsd.INTEGER))]}
    text = "SELECT ?s ?t { ?s :p ?x BIND(?x + 1 AS ?y) ?t :p ?y }"
    assert ask(world, text, data) == [(B, A)]
    text = "SELECT ?s { { SELECT (MAX(?x) AS ?m) { ?t :p ?x } } ?s :p ?m }"
    assert ask(world, text, data) == [(A,)]
    text = "SELECT ?s { ?s :p ?x FILTER NOT EXISTS { ?t :p ?z FILTER(?z > ?x) } }"
    assert ask(world, text, data) == [(A,)]


def test_a_filter_on_a_name_is_a_condition_on_ids(world: World) -> None:
    data: Graphs = {None: [(A, P, Literal("x")), (B, P, Literal("x", language="en")), (C, P, A)]}
    text = "SELECT ?s { ?s :p ?o FILTER(?o = %s) }"
    assert ask(world, text % '"x"', data) == [(A,)]
    assert ask(world, text % '"x"@EN', data) == [(B,)]
    assert ask(world, text % ":a", data) == [(C,)]
    assert ask(world, text % '"nobody says this"', data) == []
    query = compiled(world, 'SELECT ?s { ?s ?p ?o FILTER(?o IN (:a, "x")) }', data)
    assert sorted(world.answer(query)) == [(A,), (C,)]
    assert ".object IN (" in text_of(query.tree, "postgres")


def test_a_number_and_a_subject_are_found_by_index(world: World) -> None:
    data: Graphs = {
        None: [
            (IRI(f"http://example.org/s{n}"), P, Literal(str(n), xsd.INTEGER)) for n in range(3000)
        ]
    }
    query = compiled(world, "SELECT ?s { ?s :p ?v FILTER(?v > 2990) OPTIONAL { ?s :q ?w } }", data)
    assert len(world.rows(query)) == 9
    assert "number >= '2990'::double precision" in world.plan(query)


def test_a_limit_goes_through_the_numbers_and_counts_as_before(world: World) -> None:
    data: Graphs = {
        None: [(IRI(f"http://example.org/s{n % 7}"), P, Literal(str(n), xsd.INTEGER))
               for n in range(60)]
    }  # fmt: skip
    found = "{ ?s :p ?v FILTER(?v > 9.5) }"
    query = compiled(world, f"SELECT ?s {found} LIMIT 8", data)
    assert "ORDER BY" in text_of(query.tree.copy(), "postgres")
    for form, rows in (
        (f"SELECT ?s ?v {found} LIMIT 100", 50),
        (f"SELECT ?s {found} LIMIT 100", 50),
        (f"SELECT ?s {found} LIMIT 8", 8),
        (f"SELECT DISTINCT ?s {found} LIMIT 100", 7),
        (f"SELECT DISTINCT ?s ?v {found} LIMIT 9 OFFSET 45", 5),
        (f"SELECT DISTINCT ?s {{ SELECT ?s ?v {found} LIMIT 100 }}", 7),
        (f"SELECT DISTINCT ?s {{ {{ SELECT ?s {found} LIMIT 40 }} }} LIMIT 20", 7),
        (f"SELECT (COUNT(?s) AS ?n) {{ SELECT DISTINCT ?s {found} LIMIT 20 }}", 1),
        ("SELECT ?s { ?s :p ?v, ?w FILTER(?v > 56) FILTER(?w < 3) } LIMIT 5", 2),
    ):
        assert len(ask(world, form, data)) == rows, form


@pytest.mark.parametrize("seed", range(12))
def test_the_first_of_an_order_are_those_of_the_whole(world: World, seed: int) -> None:
    chance = random.Random(seed)
    pool: list[Term] = [
        *(Literal(str(n), kind) for n in range(5) for kind in (xsd.INTEGER, xsd.DECIMAL)),
        *(Literal(f"2014-01-0{n}", xsd.DATE) for n in range(1, 4)),
        *map(Literal, ("a", "B", "")), A, B, BlankNode("_:n"), Literal("x", xsd.INTEGER),
    ]  # fmt: skip
    values = chance.sample(pool, chance.randint(1, len(pool)))
    subjects = [IRI(f"http://example.org/s{n}") for n in range(6)]
    data: Graphs = {
        None: [
            *{(chance.choice(subjects), P, chance.choice(values)) for _ in range(30)},
            (A, Q, Literal("9", xsd.INTEGER)),
        ]
    }

    def equal(term: Term | None) -> object:
        """What is the same in an order: numbers by their value."""
        is_number = isinstance(term, Literal) and term.lexical.isdecimal()
        return int(term.lexical) if is_number and isinstance(term, Literal) else term

    for order in ("?v", "DESC(?v)"):
        text = f"SELECT ?s ?v {{ ?s :p ?v }} ORDER BY {order}"
        whole = ask(world, text, data)
        start, length = chance.randint(0, 4), chance.randint(1, 9)
        first = ask(world, f"{text} LIMIT {length} OFFSET {start}", data)
        expected = [equal(term) for _, term in whole[start : start + length]]
        assert [equal(term) for _, term in first] == expected
        assert len(set(first)) == len(first)
        assert set(first) <= set(whole)


@pytest.mark.parametrize("shown", ["?s ?v", "?s"])
def test_the_first_of_an_order_need_no_other_solutions(world: World, shown: str) -> None:
    data: Graphs = {
        None: [
            (IRI(f"http://example.org/s{n}"), P, Literal(str(n % 50), xsd.INTEGER))
            for n in range(20_000)
        ]
    }
    world.forget()
    query = compiled(world, f"SELECT {shown} {{ ?s :p ?v }} ORDER BY DESC(?v) LIMIT 10", data)
    assert len(world.answer(query)) == 10
    sorted_ = [each for each in world.ran(query) if "Sort" in each["Node Type"]]
    assert sorted_
    # 50 values, and the 400 solutions of the first of them, each as often as it was said.
    assert max(each["Plans"][0]["Actual Rows"] for each in sorted_) < 1_000


@pytest.mark.parametrize(
    ("aggregate", "found"),
    [("MAX(?v)", 49), ("MIN(?v)", 0), ("COUNT(DISTINCT ?v)", 50), ("SUM(DISTINCT ?v)", 1225)],
)
def test_aggregates_of_what_differs_look_at_each_value_once(
    world: World, aggregate: str, found: int
) -> None:
    data: Graphs = {
        None: [
            (IRI(f"http://example.org/s{n}"), P, Literal(str(n % 50), xsd.INTEGER))
            for n in range(5000)
        ]
    }
    query = compiled(world, f"SELECT ({aggregate} AS ?x) {{ ?s :p ?v }}", data)
    assert world.answer(query) == [(Literal(str(found), xsd.INTEGER),)]
    rows = [
        (each["Actual Rows"], each["Node Type"])
        for each in world.ran(query)
        if not each["Node Type"].endswith("Scan")
    ]
    # Of 5,000 solutions.
    assert max(rows) <= (51, ""), rows


def test_what_a_group_leaves_out_makes_no_solution_come_twice(world: World) -> None:
    one, two = Literal("1", xsd.INTEGER), Literal("2", xsd.INTEGER)
    data: Graphs = {None: [(A, P, one), (B, P, one), (A, P, two), (A, Q, B)]}
    for text, expected in (
        ("SELECT (SUM(?v) AS ?x) (MAX(?v) AS ?y) { ?s :p ?v }", ["4", "2"]),
        ("SELECT (COUNT(?v) AS ?x) (COUNT(DISTINCT ?v) AS ?y) { ?s :p ?v }", ["3", "2"]),
        ("SELECT (COUNT(DISTINCT *) AS ?x) { ?s :p ?v }", ["3"]),
        ("SELECT (COUNT(DISTINCT EXISTS { ?s :q ?o }) AS ?x) { ?s :p ?v }", ["2"]),
        (
            "SELECT (MAX(?v) AS ?x) (SAMPLE(7) AS ?y) { { ?s :p ?v } UNION { ?v :p ?s } }",
            ["2", "7"],
        ),
        ("SELECT (COUNT(DISTINCT RAND()) AS ?x) { ?s :p ?v }", ["3"]),
        ("SELECT (MAX(?n) AS ?x) { SELECT ?v (COUNT(*) AS ?n) { ?s :p ?v } GROUP BY ?v }", ["2"]),
    ):
        (row,) = ask(world, text, data)
        assert [getattr(each, "lexical", None) for each in row] == expected, text
    assert len(ask(world, "SELECT ?s { ?s :p ?v } GROUP BY ?s HAVING (MAX(?v) > 1)", data)) == 1
    assert ask(world, "SELECT (SAMPLE(7) AS ?x) { ?s :r ?v }", data) == [(None,)]


@pytest.mark.parametrize("function", ["STRUUID()", "UUID()", "RAND()", "BNODE()"])
def test_what_chance_gives_belongs_to_the_row(world: World, function: str) -> None:
    """PostgreSQL may join what refers to no row first, and once for all rows."""
    data: Graphs = {None: [(A, P, B), (B, P, C), (C, P, A)]}
    query = compiled(world, f"SELECT ?s ?u {{ ?s :p ?o BIND({function} AS ?u) }}", data)
    assert "AS row_" in text_of(query.tree, "postgres").replace('"', "")
    assert len({row[1] for row in world.answer(query)}) == 3
