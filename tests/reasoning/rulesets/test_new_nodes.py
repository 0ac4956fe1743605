"""Blank nodes of conclusions: one for each solution, which goes with it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import OntologyError, Overrun
from sensorstream.kb.oxigraph_terms import subject_to_oxigraph, to_oxigraph
from sensorstream.model.terms import BlankNode, Triple
from sensorstream.reasoning.rulesets.rule_set import combined
from tests.reasoning.rulesets.graphs import PREFIXES, graph, rules
from tests.reasoning.rulesets.test_rule_reasoner import World

RULES = [
    ("?x :part _:n . _:n a :Part ; :of ?x", "?x a :C FILTER(!isBlank(?x))"),
    ("?y :owner _:n . _:n :called ?n", "?x :part ?y OPTIONAL { ?x :q ?n }"),
    ("?x :pair _:a, _:b . _:a :beside _:b", "{ ?x :p ?y } UNION { ?x :q ?y . ?y a :C }"),
    ("?x :r ?z", "?x :r ?y . ?y :r ?z"),
    ("?x :r ?y", "?x :part ?y"),
    ("?x a ?c", "?p rdfs:domain ?c . ?x ?p ?y"),
    ("_:n :lone ?x", "?x :p ?y FILTER NOT EXISTS { ?y :q ?x }"),
]
TEXT = " ;\n".join(f"INSERT {{ {head} }} WHERE {{ {body} }}" for head, body in RULES)
STATIC = graph(":owner rdfs:domain :Owned . :q rdfs:domain :C")
FACTS = sorted(
    graph(" . ".join(f":{s} {p} :{o}" for s in "ab" for p in (":p", ":q", ":r") for o in "ab"))
    | graph(":a a :C . :b a :C")
)


def closed(triples: Iterable[Triple]) -> ox.Dataset:
    """What the rules say, round by round, with a node for each rule, solution and label."""
    store = ox.Store()
    for s, p, o in triples:
        store.add(ox.Quad(subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o)))
    made: dict[tuple[object, ...], ox.BlankNode] = {}
    size = -1
    while size != len(store):
        size = len(store)
        for head, body in RULES:
            found = store.query(f"{PREFIXES} SELECT * {{ {body} }}")
            assert isinstance(found, ox.QuerySolutions)
            names = [each.value for each in found.variables]
            for row in list(found):
                terms = {name: str(row[name]) for name in names if row[name] is not None}
                text = head
                for label in re.findall(r"_:\w+", head):
                    node = made.setdefault((head, label, *sorted(terms.items())), ox.BlankNode())
                    text = text.replace(f"{label} ", f"{node} ").replace(f"{label},", f"{node},")
                    text = re.sub(f"{label}$", str(node), text)
                for name, term in terms.items():
                    text = re.sub(rf"\?{name}\b", lambda _, term=term: term, text)  # type: ignore[misc]
                for triple in text.split(" . "):
                    if "?" not in triple:
                        # Store.load would rename the nodes.
                        store.extend(ox.parse(f"{PREFIXES} {triple} .", ox.RdfFormat.TURTLE))
    return canonical(iter(store))


def canonical(quads: Iterable[ox.Quad]) -> ox.Dataset:
    found = ox.Dataset(quads)
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


def held(world: World) -> ox.Dataset:
    return canonical(
        ox.Quad(subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o))
        for s, p, o in world.kb.index
    )


@settings(max_examples=8)
@given(
    st.lists(
        st.lists(st.sampled_from(FACTS), min_size=1, max_size=4, unique=True),
        min_size=1,
        max_size=4,
    )
)
def test_each_solution_has_its_own_node_for_as_long_as_it_holds(
    changes: list[list[Triple]],
) -> None:
    world = World(rules(TEXT), STATIC)
    window: set[Triple] = set()
    for change in changes:
        world.toggle(change)
        window = window.symmetric_difference(change)
        assert held(world) == closed(STATIC | window)


def nodes(triples: Iterable[Triple]) -> set[str]:
    return {s for s, _, _ in triples if isinstance(s, BlankNode)}


def test_a_node_is_the_same_whenever_the_solution_is_and_however_the_rule_is_written() -> None:
    one = rules("# a\nINSERT { ?x :part [ :of ?x ] } WHERE { ?x a :C }")
    other = rules(
        "INSERT DATA { [] :p 1 } ;\n# b\nINSERT { ?y :part _:n . _:n :of ?y } WHERE { ?y a :C }"
    )
    first, second = World(one, set()), World(other, set())
    first.change(graph(":a a :C"), set())
    second.change(graph(":b a :C"), set())
    second.change(graph(":a a :C"), graph(":b a :C"))
    assert first.inferred() == second.inferred()
    assert len(combined((one, other)).rules) == 1


def test_members_of_lists_are_no_part_of_a_solution_but_what_they_share_is() -> None:
    rule = """INSERT { ?y :whole [ :of ?c ] }
        WHERE { ?c owl:intersectionOf ?l . EACH ?p IN ?l { ?y ?p ?any } }"""
    world = World(rules(rule), graph(":C owl:intersectionOf ( :p :q )"))
    world.change(graph(":a :p 1, 2 ; :q 3 . :b :p 4 ; :q 5 . :c :p 6"), set())
    assert len(nodes(world.inferred())) == 2


def test_a_node_of_the_ontology_is_told_apart_in_what_is_made_of_it() -> None:
    rule = "INSERT { ?x :seen [ :by ?c ] } WHERE { ?c owl:onProperty ?p . ?x ?p ?y }"
    world = World(rules(rule), graph("[] owl:onProperty :p . [] owl:onProperty :p"))
    world.change(graph(":a :p 1"), set())
    assert len(nodes(world.inferred())) == 2


def test_what_is_stated_in_any_case_may_have_nodes_of_its_own() -> None:
    found = rules("INSERT DATA { _:a :p _:b . _:b :q 1 } ; INSERT DATA { _:c :p _:c }")
    assert len(nodes(found.facts)) == 3
    again = rules("INSERT DATA { _:c :p _:a . _:a :q 1 } ; INSERT DATA { _:b :p _:b }")
    assert again.facts == found.facts


ENDLESS = "# r\nINSERT { ?x ?q [ ?p 1 ] } WHERE { ?x ?p ?y . ?p :leads ?q }"


def test_nodes_of_nodes_without_end_refuse_the_change_that_begins_them() -> None:
    world = World(rules(ENDLESS), graph(":p :leads :q"))
    with pytest.raises(Overrun, match=r"r: nodes that are made of nodes.*8 steps.*isBlank"):
        world.change(graph(":a :p :b"), set())
    assert not world.inferred()
    world.change(graph(":a :q :b"), set())
    with pytest.raises(OntologyError, match="the rule sets do not fit the ontology: r: nodes"):
        World(rules(ENDLESS), graph(":p :leads :q . :a :p :b"))


def test_a_schema_that_would_make_nodes_without_end_is_refused_when_it_streams() -> None:
    rule = "# r\nINSERT { ?y :part [ a ?d ] } "
    rule += "WHERE { ?c owl:unionOf ?l . ?l rdf:rest*/rdf:first ?d . ?y a ?d }"
    world = World(rules(rule), graph(":p rdfs:domain :C"))
    world.change(graph(":a a :C"), set())
    with pytest.raises(Overrun, match=r"with what the message says of the schema: rule r .* feeds"):
        world.change(graph(":B owl:unionOf ( :C )"), set())
    world.change(graph(":b a :C"), set())
    assert not world.inferred()
    with pytest.raises(OntologyError, match=r"do not fit the ontology: rule r .* feeds itself"):
        World(rules(rule), graph(":B owl:unionOf ( :C )"))
