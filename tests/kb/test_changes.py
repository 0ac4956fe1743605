from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import QueryError, TermError
from sensorstream.kb.graph_changes import KnowledgeChanges
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.kb.oxigraph_terms import from_oxigraph, stored, term_of, to_oxigraph
from sensorstream.model import xsd
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import GRAPH_INFERRED, GRAPH_STATIC, GRAPH_WINDOW
from sensorstream.model.xsd import XSD
from sensorstream.network.exact_values import Results
from sensorstream.sparql.answerable import read_answerable
from tests.oxigraph import Copy

A, B, P, Q = (IRI(f"http://example.org/{name}") for name in "abpq")
GRAPHS = {
    None: Origin.STATIC | Origin.WINDOW | Origin.INFERRED | Origin.STATIC_INFERRED,
    GRAPH_STATIC: Origin.STATIC,
    GRAPH_WINDOW: Origin.WINDOW,
    GRAPH_INFERRED: Origin.INFERRED | Origin.STATIC_INFERRED,
}


def integer(text: str) -> Literal:
    return Literal(text, xsd.INTEGER)


def rows(results: Results) -> list[list[str]]:
    assert isinstance(results, ox.QuerySolutions)
    return sorted([term_of(value).n3 for value in row if value] for row in results)


def expected_quads(kb: KnowledgeBase) -> set[tuple[Triple, IRI | None]]:
    found: set[tuple[Triple, IRI | None]] = set()
    for triple in kb.match(None, None, None):
        for graph, origins in GRAPHS.items():
            if kb.origins(triple) & origins:
                found.add((triple, graph))
    return found


subjects: st.SearchStrategy[Subject] = st.sampled_from([A, B, BlankNode("_:m1b1")])
values: st.SearchStrategy[Term] = st.one_of(
    subjects,
    st.sampled_from(
        [
            integer("1"),
            integer("01"),
            Literal("1", f"{XSD}int"),
            Literal("1.0", f"{XSD}decimal"),
            Literal("1.00", f"{XSD}decimal"),
            Literal("a\nb\"c\\d\te'"),
            Literal("tag", language="en-GB"),
            Literal("2014-08-01T10:00:00+02:00", f"{XSD}dateTime"),
        ]
    ),
)
triples: st.SearchStrategy[Triple] = st.tuples(subjects, st.sampled_from([P, Q]), values)
changes = st.lists(
    st.tuples(
        st.sampled_from(list(Origin)),
        st.lists(triples, max_size=6, unique=True),
        st.lists(triples, max_size=6, unique=True),
        st.booleans(),
    ),
    max_size=12,
)


@given(first=st.lists(triples, max_size=5), steps=changes)
@settings(max_examples=60)
def test_the_store_holds_what_the_knowledge_base_holds(
    first: list[Triple], steps: list[tuple[Origin, list[Triple], list[Triple], bool]]
) -> None:
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, first)
    copy = Copy(kb)
    for origin, added, removed, look in steps:
        removed = [t for t in removed if t not in added]
        kb.apply(origin, Delta(0, added=tuple(added), removed=tuple(removed)))
        if look:
            assert copy.quads() == expected_quads(kb)
    assert copy.quads() == expected_quads(kb)


def test_only_what_changed_since_the_last_reading_is_brought_over() -> None:
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, [(IRI(f"http://example.org/{n}"), P, A) for n in range(100)])
    changes = KnowledgeChanges(kb)
    assert len(changes) == 200
    changes.done()
    assert len(changes) == 0
    change = Delta(1, added=((B, P, A),))
    kb.apply(Origin.WINDOW, change)
    kb.apply(Origin.WINDOW, change.inverse())
    kb.apply(Origin.WINDOW, change)
    assert changes.read() == ([((B, P, A), None), ((B, P, A), GRAPH_WINDOW)], [])
    changes.close()
    kb.apply(Origin.WINDOW, Delta(2, added=((A, P, A),)))
    assert len(changes) == 2


def test_what_comes_and_goes_unasked_takes_no_memory() -> None:
    kb = KnowledgeBase()
    changes = KnowledgeChanges(kb)
    for number in range(1000):
        triple = (IRI(f"http://e/{number}"), P, A)
        kb.apply(Origin.WINDOW, Delta(number, added=(triple,)))
        kb.apply(Origin.WINDOW, Delta(number, removed=(triple,)))
    assert len(changes) == 0


def test_a_worn_store_is_renewed_and_answers_under_way_keep_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sensorstream.kb.graph_changes._WORN", 20)
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, [(A, P, B)])
    copy = Copy(kb)
    stores, answers = set(), []
    for number in range(40):
        gone = (IRI(f"http://e/{number - 3}"), P, A)
        came = (IRI(f"http://e/{number}"), P, A)
        kb.apply(Origin.WINDOW, Delta(number, added=(came,), removed=(gone,)))
        answers.append((copy.query("SELECT ?s { ?s ?p ?o }"), min(number + 1, 3) + 1))
        stores.add(id(copy.store))
        assert copy.quads() == expected_quads(kb)
    assert len(stores) > 1
    assert all(len(rows(answer)) == count for answer, count in answers)


def test_a_triple_of_two_graphs_is_one_solution_of_the_union() -> None:
    kb = KnowledgeBase()
    kb.add(Origin.WINDOW, [(A, P, B)])
    kb.add(Origin.INFERRED, [(A, P, B)])
    copy = Copy(kb)
    assert rows(copy.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")) == [[f'"1"^^<{xsd.INTEGER}>']]
    graphs = rows(copy.query("SELECT ?g { GRAPH ?g { ?s ?p ?o } }"))
    assert graphs == [[f"<{GRAPH_INFERRED}>"], [f"<{GRAPH_WINDOW}>"]]


def test_the_protocol_may_choose_the_graphs() -> None:
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, [(A, P, A)])
    kb.add(Origin.WINDOW, [(B, P, B)])
    copy = Copy(kb)
    union, named = "SELECT ?s { ?s ?p ?o }", "SELECT ?s { GRAPH ?g { ?s ?p ?o } }"
    assert rows(copy.query(union, default_graphs=[GRAPH_WINDOW])) == [[f"<{B}>"]]
    assert rows(copy.query(named, default_graphs=[GRAPH_WINDOW])) == []
    assert rows(copy.query(named, named_graphs=[GRAPH_STATIC])) == [[f"<{A}>"]]
    assert rows(copy.query(union, named_graphs=[GRAPH_STATIC])) == []


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("SELECT ?s {\n  ?s ?p }", "query:2:9", "unexpected '}': expected a term"),
        ("SELECT ?s { ?s foo:p ?o }", "query:1:16", "'foo:p' is not declared"),
        ("", "query:1:1", "the text ends here: expected ASK"),
        ("SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o }", "query:1:8", "?s is neither grouped by"),
    ],
)
def test_a_syntax_error_says_where(text: str, place: str, said: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_answerable(text)
    assert str(caught.value.position) == place
    assert said in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
        "SELECT * { service silent <http://127.0.0.1:9/> { ?s ?p ?o } }",
        "SELECT * { SERVICESILENT<http://127.0.0.1:9/>{ ?s ?p ?o } }",
        "ASK { { SELECT ?s { SERVICE ?s { ?s ?p ?o } } } }",
        "ASK { ?a ?b ?c FILTER(?a<?b)SERVICE#>\n?c{?s ?p ?o} }",
        "ASK { ?a ?b ?c FILTER EXISTS { SERVICE ?c {?s ?p ?o} } }",
        "ASK { ?a ?b ?c # \r SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } \n }",
        "ASK { ?a ?b 5SERVICE#\n?c{?s ?p ?o} }",
        "ASK { LATERAL { ?a ?b 'service' } }",
    ],
)
def test_no_query_calls_out(text: str) -> None:
    with pytest.raises(QueryError, match="SERVICE"):
        read_answerable(text)


def test_the_word_service_may_stand_in_names_and_texts() -> None:
    kb = KnowledgeBase()
    kb.add(Origin.WINDOW, [(A, IRI("http://example.org/service"), Literal("service"))])
    text = "PREFIX e: <http://example.org/> SELECT ?x { ?x e:service ?y FILTER(?y = 'service') }"
    assert rows(Copy(kb).query(text)) == [[f"<{A}>"]]


def test_what_oxigraph_cannot_do_is_a_query_error() -> None:
    kb = KnowledgeBase()
    kb.add(Origin.WINDOW, [(A, P, B)])
    with pytest.raises(QueryError, match="no such function"):
        Copy(kb).query("SELECT * { ?s ?p ?o FILTER(<http://example.org/f>(?s)) }")
    with pytest.raises(QueryError, match=r"the query cannot be answered: .*IRI"):
        Copy(kb).query("SELECT * { ?s ?p <http://[> }")


def test_an_iri_that_is_none_is_named() -> None:
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, [(IRI("http://example.org/a b"), P, B)])
    with pytest.raises(TermError, match="a b"):
        Copy(kb).query("ASK { }")


def test_an_answer_that_began_keeps_to_its_state() -> None:
    kb = KnowledgeBase()
    things = [(IRI(f"http://example.org/{n}"), P, A) for n in range(500)]
    kb.add(Origin.WINDOW, things)
    copy = Copy(kb)
    results = copy.query("SELECT ?s { ?s ?p ?o }")
    assert isinstance(results, ox.QuerySolutions)
    next(results)
    kb.apply(Origin.WINDOW, Delta(1, removed=tuple(things)))
    assert rows(copy.query("SELECT ?s { ?s ?p ?o }")) == []
    assert len(list(results)) == 499


@given(values)
def test_terms_go_to_oxigraph_and_come_back(term: Term) -> None:
    assert from_oxigraph(to_oxigraph(term)) == term


def test_a_triple_term_is_refused() -> None:
    node = ox.NamedNode("http://example.org/a")
    with pytest.raises(TermError, match="triple term"):
        from_oxigraph(ox.Triple(node, node, node))


@given(values)
def test_a_store_keeps_each_term_as_it_is(term: Term) -> None:
    store = ox.Store()
    store.add(ox.Quad(ox.NamedNode(A), ox.NamedNode(P), stored(term)))
    assert [term_of(quad.object) for quad in store] == [term]
