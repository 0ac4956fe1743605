"""Rules that tell the static graph and the window apart."""

from __future__ import annotations

from collections.abc import Iterable

import pyoxigraph as ox
import pytest
from hypothesis import given, settings

from sensorstream.errors import OntologyError, ProgramError
from sensorstream.kb.graph_index import Origin
from sensorstream.kb.oxigraph_terms import from_oxigraph, subject_to_oxigraph, to_oxigraph
from sensorstream.model.terms import Triple
from sensorstream.model.vocabulary import GRAPH_STATIC, GRAPH_WINDOW
from tests.reasoning.rulesets.graphs import PREFIXES, graph, rules
from tests.reasoning.rulesets.oracle import as_stored, updates_of
from tests.reasoning.rulesets.strategies import schemas, windows
from tests.reasoning.rulesets.test_rule_reasoner import World

NAMED = f"""
PREFIX g: <{GRAPH_STATIC.removesuffix("static")}>
{PREFIXES}
# rdfs2 of the paper
INSERT {{ ?x a ?c }} WHERE {{ GRAPH g:static {{ ?p rdfs:domain ?c }} ?x ?p ?y }} ;
INSERT {{ ?x a ?d }} WHERE {{ ?c rdfs:subClassOf ?d . ?x a ?c }} ;
INSERT {{ ?x a :Said }} WHERE {{ ?x a ?c FILTER EXISTS {{ GRAPH g:window {{ ?x a ?c }} }} }} ;
INSERT {{ ?x :p ?y }} WHERE {{ ?x :q ?y FILTER NOT EXISTS {{ GRAPH g:window {{ ?x :p ?z }} }} }} ;
INSERT {{ ?y :r ?x }} WHERE {{ GRAPH g:window {{ ?x :p ?y }} ?x a :D }} ;
INSERT {{ ?x :both ?y }} WHERE {{ GRAPH g:window {{ ?x ?p ?y }} GRAPH g:static {{ ?x ?q ?y }} }}
"""


def closed(static: Iterable[Triple], window: Iterable[Triple]) -> set[Triple]:
    """What Oxigraph says, conclusions in the default graph, which has all triples."""
    store = ox.Store()
    for name, triples in ((GRAPH_STATIC, static), (GRAPH_WINDOW, window)):
        for s, p, o in triples:
            triple = subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o)
            store.add(ox.Quad(*triple))
            store.add(ox.Quad(*triple, ox.NamedNode(name)))
    size = -1
    while size != len(store):
        size = len(store)
        for update in updates_of(NAMED):
            store.update(update)
    found = store.quads_for_pattern(None, None, None, ox.DefaultGraph())
    return {
        (from_oxigraph(q.subject), from_oxigraph(q.predicate), from_oxigraph(q.object))  # type: ignore[misc]
        for q in found
    }


@settings(max_examples=12)
@given(static=schemas, changes=windows)
def test_a_graph_has_what_was_said_there_and_no_conclusions(
    static: set[Triple], changes: list[list[Triple]]
) -> None:
    static = static | graph(":a :q :b ; :p :c . :p rdfs:domain :D . :D rdfs:subClassOf :F")
    world = World(rules(NAMED), static)
    world.change(set(), set())
    assert as_stored(world.kb.index) == closed(static, ())
    for change in changes:
        world.toggle(change)
        window = set(world.kb.triples(Origin.WINDOW))
        assert as_stored(world.kb.index) == closed(static, window)


def test_what_was_said_may_decide_what_follows_of_the_same_kind() -> None:
    rule = "INSERT { ?x a :C } WHERE { ?x :p 1 FILTER NOT EXISTS { %s } }"
    with pytest.raises(ProgramError, match="through EXISTS, but helps to derive it"):
        rules(rule % "?x a :C")
    assert rules(rule % "GRAPH <urn:sensorstream:window> { ?x a :C }").rules


def test_nodes_may_be_made_of_what_was_said_in_recursion() -> None:
    rule = "INSERT { ?x :part [ a :Whole ] } WHERE { %s }"
    world = World(rules(rule % "GRAPH <urn:sensorstream:window> { ?x a :Whole }"), set())
    world.change(graph(":a a :Whole"), set())
    assert len(world.inferred()) == 2


def test_a_reasoner_that_is_closed_follows_no_graph() -> None:
    world = World(rules(NAMED), graph(":p rdfs:domain :D"))
    listeners = len(world.kb._listeners)
    world.reasoner.close()
    world.reasoner.close()
    assert listeners > len(world.kb._listeners) == 0


def test_what_contradicts_itself_in_a_graph_is_found_at_the_start() -> None:
    text = (
        'INSERT { ?x ss:contradiction "x" } WHERE { GRAPH <urn:sensorstream:static> { ?x a :C } }'
    )
    with pytest.raises(OntologyError, match="contradicts itself: x"):
        World(rules(text), graph(":a a :C"))
