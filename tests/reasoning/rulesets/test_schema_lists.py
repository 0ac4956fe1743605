"""EACH and paths along lists, for the lists of a static graph."""

from __future__ import annotations

import pytest

from sensorstream.errors import ProgramError
from sensorstream.model.terms import BlankNode, Triple
from sensorstream.reasoning.rulesets import schema_lists
from sensorstream.reasoning.rulesets.rule_set import renamed
from sensorstream.reasoning.rulesets.schema_lists import MOST_MEMBERS, unrolled
from tests.reasoning.rulesets.graphs import PREFIXES, graph, indexed, rules
from tests.reasoning.rulesets.oracle import closed
from tests.reasoning.rulesets.world import concluded

ALL = "# all\nINSERT { ?y a ?c } WHERE { ?c owl:intersectionOf ?l . EACH ?d IN ?l { ?y a ?d } }"
CHAIN = (
    "# chain\nINSERT { ?x ?p ?y } WHERE { ?p owl:propertyChainAxiom ?l . "
    "EACH ?q IN ?l FROM ?x TO ?y { ?x ?q ?y } }"
)
KEY = (
    "# key\nINSERT { ?x owl:sameAs ?y } WHERE { ?c owl:hasKey ?l . ?x a ?c . ?y a ?c . "
    "EACH ?p IN ?l { ?x ?p ?z . ?y ?p ?z } }"
)


def new(rule: str, turtle: str) -> set[Triple]:
    """What follows from a graph, which is also what the rule as an update says."""
    known = graph(turtle)
    found = concluded(rules(rule), known)
    assert found == closed(f"{PREFIXES}\n{rule}", known)
    return found - known


def test_a_list_becomes_a_conjunction() -> None:
    (rule,) = unrolled(rules(ALL).rules, indexed(graph(":l rdf:first :D ; rdf:rest :m . "
        ":m rdf:first :E ; rdf:rest rdf:nil . :C owl:intersectionOf :l .")))  # fmt: skip
    (expected,) = rules(
        "INSERT { ?y a ?c } WHERE { ?c owl:intersectionOf :l . ?y a :D . ?y a :E }"
    ).rules
    assert renamed(rule) == renamed(expected)
    assert rule.name == "all"


def test_what_stands_only_inside_is_another_for_each_member() -> None:
    known = ":C owl:hasKey ( :p :q ) . :a a :C ; :p 1 ; :q 2 . :b a :C ; :p 1 ; :q 2 ."
    assert graph(":a owl:sameAs :b .") <= new(KEY, known)
    assert not new(KEY, known.replace(":b a :C ; :p 1 ;", ":b a :C ; :p 2 ;")) & graph(
        ":a owl:sameAs :b ."
    )


def test_a_chain_leads_from_link_to_link() -> None:
    known = ":r owl:propertyChainAxiom ( :p :q :p ) . :a :p :b . :b :q :c . :c :p :d . :b :p :x ."
    assert new(CHAIN, known) == graph(":a :r :d .")


@pytest.mark.parametrize(
    "broken",
    [
        ":C owl:intersectionOf rdf:nil .",
        ":C owl:intersectionOf :l . :l rdf:first :D ; rdf:rest :l .",
        ":C owl:intersectionOf :l . :l rdf:first :D .",
        ":C owl:intersectionOf :l . :l rdf:rest rdf:nil .",
        ':C owl:intersectionOf "list" .',
    ],
)
def test_an_empty_an_endless_and_a_broken_list_say_nothing(broken: str) -> None:
    assert new(ALL, f"{broken} :a a :D .") == set()


def test_a_cell_with_two_members_is_read_both_ways() -> None:
    known = (
        ":C owl:intersectionOf :l . :l rdf:first :D, :E ; rdf:rest rdf:nil . :a a :E . :b a :D ."
    )
    assert new(ALL, known) == graph(":a a :C . :b a :C .")


def test_a_conclusion_can_make_a_node_a_list_of_a_rule() -> None:
    both = f"INSERT {{ ?d owl:intersectionOf ?l }} WHERE {{ ?d owl:sameAs ?l }} ;\n{ALL}"
    known = ":C owl:sameAs :l . :l rdf:first :D ; rdf:rest rdf:nil . :a a :D ."
    assert new(both, known) == graph(":C owl:intersectionOf :l . :a a :C .")


def test_a_list_that_is_too_long_for_each_is_refused_with_the_way_out() -> None:
    members = " ".join(f":D{number}" for number in range(MOST_MEMBERS + 1))
    known = indexed(graph(f":C owl:intersectionOf ( {members} ) ."))
    with pytest.raises(ProgramError, match=r"rule all: the list .* more than 200 "):
        unrolled(rules(ALL).rules, known)


def test_cells_of_many_ways_end_at_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_lists, "MOST_WAYS", 1_000)
    cells = " ".join(f":l{n} rdf:first :D, :E ; rdf:rest :l{n + 1}, :l{n + 2} ." for n in range(40))
    known = indexed(graph(f":C owl:intersectionOf :l0 . {cells} :l40 rdf:rest rdf:nil ."))
    with pytest.raises(ProgramError, match="several members or rests"):
        unrolled(rules(ALL).rules, known)


def test_a_member_in_bind_is_refused() -> None:
    text = (
        "# said\nINSERT { ?c :says ?t } WHERE { ?c owl:unionOf ?l . ?l rdf:rest*/rdf:first ?m "
        "BIND(STR(?m) AS ?t) }"
    )
    known = indexed(graph(":C owl:unionOf ( [] ) ."))
    with pytest.raises(ProgramError, match="rule said: a list or its member stands in BIND"):
        unrolled(rules(text).rules, known)


def test_many_pairs_are_a_table_and_mean_the_same() -> None:
    rule = (
        "# pairs\nINSERT { ?y :same ?z } WHERE { ?x owl:members ?l . ?l rdf:rest* ?k . "
        "?k rdf:first ?y ; rdf:rest+ ?m . ?m rdf:first ?z . ?y owl:sameAs ?z "
        "FILTER(!sameTerm(?y, :m3)) }"
    )
    members = " ".join(f":m{number}" for number in range(33))
    known = (
        f":A owl:members ( {members} [ :p 1 ] ) . :B owl:members ( :m1 :m2 ) . :m5 owl:sameAs :m9 ."
        ":m9 owl:sameAs :m5 . :m3 owl:sameAs :m4 . :m1 owl:sameAs :m2 . :other owl:sameAs :m1 ."
    )
    assert len(unrolled(rules(rule).rules, indexed(graph(known)))) == 2
    assert new(rule, known) == graph(":m5 :same :m9 . :m1 :same :m2 .")


def test_a_member_without_a_name_stands_in_a_table_as_well() -> None:
    rule = "INSERT { ?c :has ?m } WHERE { ?c owl:unionOf ?l . ?l rdf:rest*/rdf:first ?m }"
    members = " ".join(f":m{number}" for number in range(500))
    found = new(rule, f":C owl:unionOf ( {members} [ :p 1 ] ) .")
    assert len(found) == 501
    assert sum(isinstance(o, BlankNode) for _, _, o in found) == 1


def test_lists_that_fit_in_too_many_ways_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_lists, "MOST_WAYS", 1_000)
    rule = "# two\nINSERT { ?x a ?y } WHERE { ?x owl:members ?l . ?l rdf:rest*/rdf:first ?y, ?z }"
    members = " ".join(f":m{number}" for number in range(32))
    known = indexed(graph(f":A owl:members ( {members} ) ."))
    with pytest.raises(ProgramError, match=r"rule two: the lists .* more than 1,000 ways: leave"):
        unrolled(rules(rule).rules, known)
