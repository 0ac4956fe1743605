"""What the reasoner keeps is what the text of its rules says, after every change of the window."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import Inconsistent, OntologyError, Overrun
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.budget import NO_LIMITS, Limits
from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set import RuleSet, combined
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules, text_of
from tests.reasoning.rulesets.graphs import PREFIXES, graph, rules
from tests.reasoning.rulesets.oracle import as_stored, closed
from tests.reasoning.rulesets.strategies import schemas, windows

NAMES = ("rdfs", "rhodf", "owl2rl")
_STATIC = Origin.STATIC | Origin.STATIC_INFERRED


class World:
    """A knowledge base and its reasoner, driven as the engine drives them."""

    def __init__(self, rule_set: RuleSet, static: set[Triple], limits: Limits = NO_LIMITS) -> None:
        self.kb = KnowledgeBase()
        self.kb.add(Origin.STATIC, sorted(static))
        self.reasoner = RuleReasoner(rule_set, limits)
        self.reasoner.start(self.kb)

    def change(self, added: set[Triple], removed: set[Triple]) -> Delta:
        delta = Delta(0, tuple(sorted(added)), tuple(sorted(removed)))
        before = self.inferred()
        self.kb.apply(Origin.WINDOW, delta)
        try:
            change = self.reasoner.react(self.kb, delta)
        except Exception:
            self.kb.apply(Origin.WINDOW, delta.inverse())
            assert self.inferred() == before
            raise
        now = self.inferred()
        assert (set(change.added), set(change.removed)) == (now - before, before - now)
        return change

    def toggle(self, change: list[Triple]) -> None:
        window = set(self.kb.triples(Origin.WINDOW))
        self.change(set(change) - window, set(change) & window)

    def inferred(self) -> set[Triple]:
        found = set(self.kb.triples(Origin.INFERRED))
        assert not any(self.kb.origins(triple) & _STATIC for triple in found)
        return found


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=3)
@given(static=schemas, changes=windows)
def test_all_that_holds_is_what_the_updates_say(
    name: str, static: set[Triple], changes: list[list[Triple]]
) -> None:
    world = World(bundled_rules(name), static)
    assert as_stored(world.kb.index) == closed(text_of(name), static)
    for change in changes:
        world.toggle(change)
        window = set(world.kb.triples(Origin.WINDOW))
        assert as_stored(world.kb.index) == closed(text_of(name), static | window)


STREAMED = sorted(
    graph(
        ":C rdfs:subClassOf :D . :p rdfs:subPropertyOf :q . :q a owl:TransitiveProperty . "
        ":p rdfs:domain :C . :q owl:inverseOf :p ."
    )
)


@pytest.mark.parametrize("name", ["rdfs", "owl2rl"])
@settings(max_examples=2)
@given(data=st.data(), static=schemas, changes=windows)
def test_a_schema_that_streams_counts_for_as_long_as_it_is_there(
    name: str, data: st.DataObject, static: set[Triple], changes: list[list[Triple]]
) -> None:
    world = World(bundled_rules(name), static)
    for change in changes:
        said = data.draw(st.lists(st.sampled_from(STREAMED), max_size=2, unique=True))
        world.toggle([*change, *said])
        window = set(world.kb.triples(Origin.WINDOW))
        assert as_stored(world.kb.index) == closed(text_of(name), static | window)


def test_rules_are_specialised_again_when_the_schema_has_left() -> None:
    world = World(bundled_rules("owl2rl"), graph(":C rdfs:subClassOf :D . :D rdfs:subClassOf :E"))
    said = graph(":F rdfs:subClassOf :C")
    world.change(said | graph(":a a :F"), set())
    assert world.reasoner.unspecialised
    assert graph(":a a :C, :D, :E") <= world.inferred()
    world.change(set(), said)
    assert not world.reasoner.unspecialised
    assert world.inferred() == {
        t for t in world.inferred() if t[1].endswith("#sameAs") or t[2].endswith("#Thing")
    }


TRANSITIVE = """
INSERT { ?x a ?c } WHERE { ?p rdfs:domain ?c . ?x ?p ?y } ;
INSERT { ?x :q ?z } WHERE { ?x :q ?y . ?y :q ?z } ;
INSERT { ?x :is :last } WHERE { ?x a :C FILTER NOT EXISTS { ?x :q ?y } } ;
"""


def test_a_window_that_loses_most_of_its_triples_is_derived_again() -> None:
    static = graph(":p rdfs:domain :C . :i0 :p 0")
    world = World(rules(TRANSITIVE), static)
    window: set[Triple] = set()
    anew = []
    for first, count in ((0, 500), (496, 500), (990, 20), (1005, 300)):
        said = graph(
            " ".join(f":i{n} :p {n}, 0 ; :q :i{n + 1} ." for n in range(first, first + count))
        )
        said -= graph(" ".join(f":i{n} :q :i{n + 1} ." for n in range(0, 1400, 4)))
        run = world.reasoner._run
        world.change(said - window, window - said)
        anew.append(world.reasoner._run is not run)
        window = said
        expected = closed(f"{PREFIXES}\n{TRANSITIVE}", static | window)
        assert as_stored(world.kb.index) ^ expected == set()
    assert anew == [False, True, True, False]


@pytest.mark.parametrize("name", ["rdfs", "rhodf"])
def test_names_that_the_ontology_does_not_declare_do_not_alter_the_rules(name: str) -> None:
    world = World(bundled_rules(name), graph(":p rdfs:domain :C . :C rdfs:subClassOf :D"))
    said = graph(":a :p :b ; :new :c ; a :Unknown")
    world.change(said, set())
    assert graph(":new rdfs:subPropertyOf :new . :a a :D") <= world.inferred()
    assert not world.reasoner.unspecialised
    world.change(set(), said)
    assert world.inferred() == set()
    world.change(graph(":new rdfs:subPropertyOf :p"), set())
    world.change(said, set())
    assert world.reasoner.unspecialised
    assert graph(":a :p :c") <= world.inferred()


CONTRADICTORY = combined(map(bundled_rules, ("owl2rl", "owl2rl-unsatisfiable")))
APART = graph(":C owl:disjointWith :D . :E rdfs:subClassOf :D . :q a owl:TransitiveProperty")


def test_a_contradiction_refuses_the_change_and_leaves_no_trace() -> None:
    world = World(CONTRADICTORY, APART)
    world.change(graph(":a a :C ; :q :b"), set())
    before = world.inferred()
    with pytest.raises(Inconsistent, match="cax-dw") as caught:
        world.change(graph(":a a :E . :b :q :c"), set())
    assert caught.value.individuals == ("<http://example.org/a>",)
    found = caught.value.contradiction
    assert found is not None
    said = graph(" . ".join(line.removesuffix(" .") for line in found.triples))
    assert said == graph(":a a :C, :E")
    assert found.limits == ""
    assert {"rule cax-dw", "rule cax-sco"} <= set(found.axioms)
    apart = "<http://example.org/C> <http://www.w3.org/2002/07/owl#disjointWith>"
    assert f"{apart} <http://example.org/D> ." in found.axioms
    assert world.inferred() == before
    world.change(graph(":b a :E ; :q :c"), set())
    world.change(set(), graph(":b a :E ; :q :c"))
    assert world.inferred() == before


def refusal(world: World, said: set[Triple]) -> Inconsistent | None:
    try:
        world.change(said, set())
    except Inconsistent as error:
        return error
    return None


SAID = st.lists(
    st.sampled_from(sorted(graph(":a a :C, :D, :E ; :p :b ; :q :b ; :r :b . :b a :C, :D ; :r :a"))),
    min_size=2,
    unique=True,
)


@settings(max_examples=6)
@given(said=SAID)
def test_the_statements_of_a_contradiction_are_a_minimal_set(said: list[Triple]) -> None:
    static = APART | graph(":p rdfs:subPropertyOf :r . :r rdfs:domain :E ; owl:inverseOf :q")
    error = refusal(World(CONTRADICTORY, static), set(said))
    if error is None:
        return
    assert error.contradiction is not None
    assert error.contradiction.limits == ""
    found = graph(" . ".join(line.removesuffix(" .") for line in error.contradiction.triples))
    assert refusal(World(CONTRADICTORY, static), found) is not None
    for each in found:
        # A part may contradict in another way, by another rule or about another individual.
        other = refusal(World(CONTRADICTORY, static), found - {each})
        assert other is None or error.contradiction.axioms[0] not in str(other)


def test_an_ontology_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(OntologyError, match="contradicts itself: cax-dw"):
        World(CONTRADICTORY, APART | graph(":a a :C, :E"))


def test_what_grows_beyond_the_limit_is_refused_and_the_rest_goes_on() -> None:
    limits = Limits(rows=2000, settings="limits.message")
    world = World(bundled_rules("owl2rl"), graph(":p rdfs:domain :C"), limits)
    world.change(graph(":a :p :b ; owl:sameAs :c"), set())
    before = world.inferred()
    clique = " . ".join(f":n{number} owl:sameAs :n{number + 1}" for number in range(60))
    with pytest.raises(Overrun, match=r"limits\.message_rows"):
        world.change(graph(clique), set())
    assert world.inferred() == before
    world.change(graph(":c :p :d"), set())
    assert graph(":a :p :d") <= world.inferred()


C = IRI("http://example.org/C")
NOT_YET = """
# busy
INSERT { ?x :busy true } WHERE { ?x :p ?y } ;
# free
INSERT { ?x a :Free } WHERE { ?x a :C FILTER NOT EXISTS { ?x :busy true } } ;
# told
INSERT { ?x :told ?y } WHERE { ?x a :Free ; :q ?y }
"""


@settings(max_examples=15)
@given(static=schemas, changes=windows)
def test_what_a_rule_with_not_exists_concludes_of_the_static_graph_the_window_takes_back(
    static: set[Triple], changes: list[list[Triple]]
) -> None:
    static = static | graph(":a a :C ; :q :b")
    world = World(rules(NOT_YET), static)
    for change in changes:
        world.toggle(change)
        window = set(world.kb.triples(Origin.WINDOW))
        facts = static | window
        busy = {s for s, p, _ in facts if p.endswith("/p")}
        free = {s for s, p, o in facts if (p, o) == (rdf.TYPE, C) and s not in busy}
        told = {(s, o) for s, p, o in facts if p.endswith("/q") and s in free}
        found = set(world.kb.index)
        assert {s for s, p, o in found if p == rdf.TYPE and o.endswith("/Free")} == free
        assert {(s, o) for s, p, o in found if p.endswith("/told")} == told


@pytest.mark.parametrize("name", NAMES)
def test_it_goes_on_over_another_knowledge_base_of_the_same_content(name: str) -> None:
    first = World(bundled_rules(name), APART)
    first.change(graph(":a a :E ; :q :b"), set())
    other = KnowledgeBase()
    for origin in Origin:
        other.add(origin, list(first.kb.triples(origin)))
    delta = Delta(0, tuple(sorted(graph(":b :q :c"))))
    other.apply(Origin.WINDOW, delta)
    change = first.reasoner.react(other, delta)
    first.kb.apply(Origin.WINDOW, delta)
    beside = World(bundled_rules(name), APART)
    beside.change(graph(":a a :E ; :q :b . :b :q :c"), set())
    assert set(other.triples(Origin.INFERRED)) == beside.inferred()
    assert not change.removed
