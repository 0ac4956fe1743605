"""Rules that would be too many are one table, and conclude the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import Triple
from sensorstream.network.recursion.triple_kinds import TriplesRead
from sensorstream.reasoning.rulesets import specialise as tables
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules, text_of
from sensorstream.reasoning.rulesets.specialise import Specialisation
from tests.reasoning.rulesets.graphs import PREFIXES, graph, indexed, rules
from tests.reasoning.rulesets.oracle import as_stored, closed
from tests.reasoning.rulesets.strategies import schemas, windows
from tests.reasoning.rulesets.test_rule_reasoner import STREAMED, World

SUBCLASSES = (
    "INSERT { ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c FILTER(!sameTerm(?c, :No)) }"
)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables for small schemas, too."""
    monkeypatch.setattr(tables, "LARGE", 1)


@pytest.fixture(scope="module")
def always_here() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "LARGE", 1)
        yield


@pytest.mark.usefixtures("always_here")
@pytest.mark.parametrize("name", ["rhodf", "rdfs", "owl2rl"])
@settings(max_examples=3)
@given(data=st.data(), static=schemas, changes=windows)
def test_tables_conclude_what_the_updates_say_whatever_streams(
    name: str, data: st.DataObject, static: set[Triple], changes: list[list[Triple]]
) -> None:
    static |= graph(":D rdfs:subClassOf :E . :C rdfs:subClassOf :F")
    world = World(bundled_rules(name), static)
    for change in changes:
        said = data.draw(st.lists(st.sampled_from(STREAMED), max_size=1, unique=True))
        world.toggle([*change, *said])
        window = {t for t in world.kb.index if world.kb.marks(t) & 2}
        assert as_stored(world.kb.index) == closed(text_of(name), static | window)


def test_a_large_schema_makes_a_table_in_place_of_rules() -> None:
    many = " ".join(f":C{n} rdfs:subClassOf :C{n // 3} ." for n in range(1, 600))
    few = " ".join(f":p{n} rdfs:domain :C{n} ." for n in range(20))
    world = World(bundled_rules("rhodf"), graph(f"{many} {few}"))
    assert len(world.reasoner.rules) < 100
    assert world.reasoner.tables == 1
    world.change(graph(":a :p17 :b . :c a :C500"), set())
    assert graph(":a a :C17, :C5, :C1, :C0 . :c a :C166, :C55, :C18, :C6, :C2, :C0") <= (
        world.inferred()
    )
    world.change(set(), graph(":c a :C500"))
    assert not graph(":c a :C166, :C0") & world.inferred()
    assert graph(":a a :C17, :C0") <= world.inferred()


@pytest.mark.usefixtures("always")
def test_filters_about_the_schema_hold_in_tables() -> None:
    world = World(rules(SUBCLASSES), graph(":No rdfs:subClassOf :D . :Yes rdfs:subClassOf :D, :No"))
    assert world.reasoner.tables == 1
    world.change(graph(":a a :No . :b a :Yes"), set())
    assert world.inferred() == graph(":b a :D, :No")


@pytest.mark.usefixtures("always")
def test_what_streams_of_the_schema_is_not_in_the_table_and_makes_it_outdated() -> None:
    static = graph(":C rdfs:subClassOf :D")
    world = World(rules(SUBCLASSES), static)
    world.change(graph(":D rdfs:subClassOf :E"), set())
    assert world.reasoner.unspecialised
    world.change(graph(":a a :C"), set())
    assert world.inferred() == graph(":a a :D, :E")
    world.change(set(), graph(":D rdfs:subClassOf :E"))
    assert not world.reasoner.unspecialised
    assert world.inferred() == graph(":a a :D")
    # What the table says already alters nothing.
    world.change(graph(":C rdfs:subClassOf :C"), set())
    assert not world.reasoner.unspecialised


@pytest.mark.usefixtures("always")
def test_a_table_tells_of_which_kinds_its_conclusions_may_be() -> None:
    index = indexed(graph(":C rdfs:subClassOf :D, owl:TransitiveProperty . :No rdfs:subClassOf :E"))
    special = Specialisation(rules(SUBCLASSES).rules, index, lambda triple: True)
    (table,) = special.tables
    type_, of_d, of_e, of_transitive = (
        next(iter(graph(f":x a {name}"))) for name in (":C", ":D", ":E", "owl:TransitiveProperty")
    )
    assert table.may_say(TriplesRead(None, None))
    assert table.may_say(TriplesRead(of_d[1], of_d[2]))
    assert table.may_say(TriplesRead(of_transitive[1], of_transitive[2]))
    assert not table.may_say(TriplesRead(type_[1], type_[2]))
    assert not table.may_say(TriplesRead(of_e[1], of_e[2]))
    assert table.names(type_[2])
    assert not table.names(of_e[2])


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    "text",
    [
        "INSERT { ?x ?p ?v } WHERE { ?c owl:onProperty ?p ; owl:hasValue ?v . ?x a ?c }",
        "INSERT { ?x a ?c } WHERE { ?p rdfs:domain ?c . ?x ?p ?y }",
        "INSERT { ?d :of ?x } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c }",
        "INSERT { ?x a ?d } WHERE { ?c rdfs:subClassOf/rdfs:subClassOf ?d . ?x a ?c }",
        "INSERT { ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c FILTER(?x != ?d) }",
        "INSERT { ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c . ?x :p ?y }",
        "INSERT { ?x a :E } WHERE { :C rdfs:subClassOf :D . ?x a :C }",
    ],
)
def test_rules_of_other_forms_are_specialised_as_ever(text: str) -> None:
    static = graph(
        ":C rdfs:subClassOf :D . :D rdfs:subClassOf :E . :p rdfs:domain :C . "
        ":C owl:onProperty :p ; owl:hasValue 1"
    )
    world = World(rules(text), static)
    window = graph(":a a :C ; :p :b . :b :p 2")
    world.change(window, set())
    assert as_stored(world.kb.index) == closed(f"{PREFIXES}\n{text}", static | window)
