from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import LanguageError
from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Triple

Play: TypeAlias = Callable[..., Any]


def after(play: Play, update: str, *triples: str) -> set[str]:
    """The window after a rule with this update met ``go a Go``, without that triple."""
    stage = play(f"rule r on insert :Go as ?go then sparql {{ {update} }}")
    stage.say(*triples, "go a Go")
    window: set[str] = stage.window()
    return window - {"go a Go"}


def test_data_are_inserted_and_deleted(play: Play) -> None:
    update = "INSERT DATA { :x :p :y, :z ; a :A } ; DELETE DATA { :x :q :y }"
    assert after(play, update, "x q y") == {"x p y", "x p z", "x a A"}


def test_data_may_name_what_the_rule_knows(play: Play) -> None:
    assert after(play, "INSERT DATA { ?go :seen true }") == {
        'go seen "true"^^<http://www.w3.org/2001/XMLSchema#boolean>'
    }


def test_delete_where_deletes_each_match(play: Play) -> None:
    update = "DELETE WHERE { ?x :p ?y . ?y a :A }"
    assert after(play, update, "x p y", "y a A", "x p z") == {"x p z"}


def test_deletes_and_inserts_come_from_the_same_solutions(play: Play) -> None:
    update = "DELETE { ?x :p ?y } INSERT { ?y :p ?x } WHERE { ?x :p ?y }"
    assert after(play, update, "a p b", "b p c") == {"b p a", "c p b"}


def test_insert_computes_values(play: Play) -> None:
    update = "insert { ?x :n ?m } where { ?x :p ?y BIND(CONCAT('{', STR(1 + 1), '}') AS ?m) }"
    assert after(play, update, "a p b") == {"a p b", 'a n "{2}"'}


def test_a_template_with_an_unbound_variable_gives_nothing(play: Play) -> None:
    update = "INSERT { ?x :n ?z ; :m ?x } WHERE { ?x :p ?y OPTIONAL { ?y :q ?z } }"
    assert after(play, update, "a p b") == {"a p b", "a m a"}


def test_prefixes_may_be_declared_inside(play: Play) -> None:
    update = "PREFIX e: <http://example.org/> INSERT DATA { e:x e:p e:y } ;"
    assert after(play, update) == {"x p y"}


def test_each_operation_sees_the_beginning_of_the_round(play: Play) -> None:
    update = "INSERT DATA { :x :p :y } ; INSERT { ?a :q ?b } WHERE { ?a :p ?b }"
    assert after(play, update) == {"x p y"}


def test_the_graphs_may_be_read(play: Play) -> None:
    update = "INSERT { ?x :told true } WHERE { GRAPH <urn:sensorstream:inferred> { ?x a :Human } }"
    assert after(play, update, "tom a Child", "ann a Human") == {
        "tom a Child",
        "ann a Human",
        'tom told "true"^^<http://www.w3.org/2001/XMLSchema#boolean>',
    }


@pytest.mark.parametrize(
    ("update", "place", "said"),
    [
        ("CLEAR ALL", "4:11", "CLEAR is not allowed"),
        ("LOAD <http://127.0.0.1/x>", "4:11", "LOAD is not allowed"),
        ("WITH <urn:g> DELETE { ?x ?p ?o } WHERE { ?x ?p ?o }", "4:16", "WITH is not allowed"),
        ("INSERT { ?x :p 1 } USING <urn:g> WHERE { ?x :q 1 }", "4:36", "USING is not allowed"),
        ("INSERT DATA { GRAPH <urn:g> { :x :p 1 } }", "4:31", "GRAPH is not allowed"),
        ("INSERT { _:b :p ?x } WHERE { ?x :q 1 }", "4:20", "blank nodes"),
        ("DELETE WHERE { ?x :p [] }", "4:32", "a blank node cannot stand in DELETE WHERE"),
        ("INSERT { ?x :p ?z } WHERE { ?x :q 1 }", "4:26", "?z has no value"),
        ("INSERT DATA { ?x :p 1 }", "4:25", "?x has no value"),
        ("INSERT { ?x :p } WHERE { ?x :q 1 }", "4:26", "unexpected '}'"),
        ("INSERT { ?x :p 1 }\nWHERE { ?x :q }", "5:15", "unexpected '}'"),
        ("INSERT { ?x :p 1 }", "4:29", "the text ends here: expected USING or WHERE"),
        ("INSERT DATA { :x :p 1 } DELETE DATA { :x :p 2 }", "4:35", "expected ';'"),
        ("SELECT * { ?x ?p ?o }", "4:11", "unexpected 'SELECT': expected ADD,"),
        ("DELETE { ?x ?p ?o } INSERT", "4:37", "the text ends here: expected '{'"),
        ("INSERT { ?x :p 1 } WHERE { SERVICE <urn:s> { ?x :q 1 } }", "4:38", "SERVICE"),
    ],
)
def test_what_rules_cannot_use_is_refused_where_it_stands(
    play: Play, update: str, place: str, said: str
) -> None:
    with pytest.raises(LanguageError) as caught:
        play(f"rule r on change then\n sparql {{ {update} }}")
    assert said in caught.value.message
    assert str(caught.value.position) == f"test.rules:{place}"


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("?x :p ?y FILTER(?y > 1)", "unexpected 'FILTER'"),
        ("?x :p ?y \\u007D ; DELETE WHERE \\u007B ?a ?b ?c", "unexpected '}'"),
        ("?x :p/:q ?y", "a path cannot stand in the triples of an update"),
        ("GRAPH <urn:g> { ?x :p ?y }", "GRAPH is not allowed here"),
        ("?x :p [] ", "a blank node cannot stand in DELETE WHERE"),
        ("?x foo:p ?y", "the prefix of 'foo:p' is not declared"),
    ],
)
def test_a_deleted_pattern_is_triples_and_nothing_else(play: Play, pattern: str, said: str) -> None:
    with pytest.raises(LanguageError) as caught:
        play(f"rule r on change then delete {{ {pattern} }}")
    assert caught.value.message.startswith(said)
    assert str(caught.value.position).startswith("test.rules:3:")


UPDATES = (
    "DELETE WHERE { ?x :p ?y }",
    "DELETE WHERE { ?x :p ?y . ?y :q ?z }",
    "INSERT { ?y :r ?x } WHERE { ?x :p ?y FILTER NOT EXISTS { ?y :q ?x } }",
    "DELETE { ?x ?any ?y } INSERT { ?y :p ?x ; :q ?z } WHERE { ?x ?any ?y OPTIONAL { ?y :q ?z } }",
    "DELETE { ?x :p ?y } INSERT { ?x :p ?y } WHERE { ?x :q+ ?y }",
    "INSERT { ?x :n ?n } WHERE { SELECT ?x (COUNT(?y) AS ?n) { ?x :p ?y } GROUP BY ?x }",
    "DELETE { ?x :p ?y . ?y :p ?x } WHERE { { ?x :p ?y } UNION { ?y :q ?x } }",
    "DELETE DATA { :a :p :b . :b :q :c }",
)
names = st.sampled_from("abc")
graphs = st.sets(st.tuples(names, st.sampled_from("pq"), names), max_size=10)


@given(update=st.sampled_from(UPDATES), graph=graphs)
@settings(max_examples=150)
def test_an_operation_does_what_oxigraph_does(
    play: Play, update: str, graph: set[tuple[str, str, str]]
) -> None:
    ours = after(play, update, *map(" ".join, graph))

    def node(name: str) -> ox.NamedNode:
        return ox.NamedNode(f"http://example.org/{name}")

    store = ox.Store()
    store.extend(ox.Quad(node(s), node(p), node(o)) for s, p, o in graph)
    # The rule's own trigger is in the window too, where a pattern may meet it.
    go = ox.Quad(node("go"), ox.NamedNode(rdf.TYPE), node("Go"))
    store.add(go)
    store.update(update, prefixes={"": "http://example.org/"})
    store.remove(go)
    theirs = {
        written((s, IRI(p.value), o))
        for s, p, o in ((IRI(q.subject.value), q.predicate, from_oxigraph(q.object)) for q in store)
    }
    assert ours == theirs


def written(triple: Triple) -> str:
    s, p, o = (str(term).removeprefix("http://example.org/") for term in triple)
    return f"{s} {'a' if p == rdf.TYPE else p} {o}"
