"""What rules mean, case by case, and which are refused."""

from __future__ import annotations

from functools import partial

import pytest

from sensorstream.errors import ProgramError
from sensorstream.kb.graph_index import Origin
from sensorstream.model import xsd
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.operators.row_operators import RowByRow
from sensorstream.network.recursion.derivation_program import DerivationProgram
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Pattern
from tests.network.recursion.strategies import Change
from tests.network.recursion.world import World, rule

TRANSITIVE = rule("transitive", "{ ?x :p ?z } WHERE { ?x :p ?y . ?y :p ?z }")
FORTH = rule("forth", "{ ?x :b true } WHERE { ?x :a true }")
BACK = rule("back", "{ ?x :a true } WHERE { ?x :b true }")
TRUE = Literal("true", IRI("http://www.w3.org/2001/XMLSchema#boolean"))


def iri(name: str) -> IRI:
    return IRI(f"http://example.org/{name}")


def fact(text: str) -> Triple:
    s, p, o = text.split()
    return iri(s), iri(p), TRUE if o == "true" else iri(o)


def toggle(world: World, *facts: str) -> Delta:
    world.change(Change(fact(each), in_window=False) for each in facts)
    return world.settle()


def ring(size: int) -> list[str]:
    return [f"n{place} p n{(place + 1) % size}" for place in range(size)]


def test_a_ring_that_goes_leaves_nothing() -> None:
    world = World([TRANSITIVE])
    assert len(toggle(world, *ring(4)).added) == 16
    assert len(toggle(world, *ring(4)).removed) == 16
    assert not world.derived()


def test_two_rules_do_not_keep_each_other_alive() -> None:
    world = World([FORTH, BACK])
    assert set(toggle(world, "x a true").added) == {fact("x a true"), fact("x b true")}
    assert set(toggle(world, "x a true").removed) == {fact("x a true"), fact("x b true")}


def test_what_is_asserted_and_derived_stays_when_either_goes() -> None:
    world = World([TRANSITIVE])
    toggle(world, "x p y", "y p z", "x p z")
    assert world.kb.origins(fact("x p z")) == Origin.WINDOW | Origin.INFERRED
    assert toggle(world, "x p z") == Delta(2)
    assert world.kb.origins(fact("x p z")) == Origin.INFERRED
    toggle(world, "x p z")
    assert toggle(world, "y p z").removed == (fact("x p z"),)
    assert world.kb.origins(fact("x p z")) == Origin.WINDOW


def test_a_derivation_that_another_one_replaces_at_once_is_not_taken_for_it() -> None:
    # The new way to b leads through b: it does not count once the old one has gone.
    reached = rule("reached", "{ ?y :p ?r } WHERE { ?x :p ?r . { ?x :e ?y } UNION { ?x :f ?y } }")
    world = World([reached])
    toggle(world, "a p r", "a e b", "b e c")
    toggle(world, "a e b", "c f b")
    assert not world.derived()


def test_what_expires_from_a_window_takes_its_consequences_along() -> None:
    source = "FROM NAMED WINDOW :window ON :stream [RANGE 1m]"
    window = rule("copy", f"{{ ?x :p ?y }} {source} WHERE {{ WINDOW :window {{ ?x :near ?y }} }}")
    world = World([window, TRANSITIVE])
    steps = [Change(fact(each), in_window=True) for each in ("x near y", "y near z", "z near x")]
    world.change(steps)
    assert len(world.settle().added) == 9
    world.change(steps[:1])
    assert len(world.settle().removed) == 6
    assert world.derived() == {fact("y p z"), fact("z p x"), fact("y p x")}


def test_negation_looks_at_a_finished_stratum() -> None:
    apart = rule(
        "apart",
        "{ ?x :apart ?y } WHERE { ?x a :Node . ?y a :Node FILTER NOT EXISTS { ?x :p ?y } }",
    )
    world = World([apart, TRANSITIVE])
    world.kb.add(
        Origin.STATIC,
        [
            (iri(n), IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), iri("Node"))
            for n in "xy"
        ],
    )
    toggle(world, "x p m", "m p y")
    assert fact("x apart y") not in world.derived()
    assert toggle(world, "m p y").added == (fact("x apart y"),)


def test_a_value_may_be_computed_outside_of_recursion() -> None:
    count = rule(
        "count", "{ ?x :n ?n } WHERE { { SELECT ?x (COUNT(?y) AS ?n) { ?x :p ?y } GROUP BY ?x } }"
    )
    world = World([count, TRANSITIVE])
    toggle(world, "x p y", "y p z")
    assert (iri("x"), iri("n"), Literal("2", xsd.INTEGER)) in world.derived()


def test_ill_formed_triples_are_left_out() -> None:
    world = World([rule("turned", "{ ?y :q ?x } WHERE { ?x :a ?y }")])
    assert toggle(world, "x a true", "x a y").added == (fact("y q x"),)


def test_an_unbound_variable_of_one_alternative_leaves_out_its_triples() -> None:
    either = rule("either", "{ ?x :q ?x . ?y :q ?y } WHERE { { ?x :a ?v } UNION { ?y :b ?v } }")
    world = World([either])
    assert toggle(world, "x a v").added == (fact("x q x"),)


def test_in_a_chain_nothing_goes_only_to_come_back() -> None:
    world = World([TRANSITIVE])
    toggle(world, *ring(20)[:-1])
    marked: list[Triple] = []
    world.kb.subscribe(lambda triple, old, new: marked.append(triple))
    removed = toggle(world, "n9 p n10").removed
    assert len(removed) == 10 * 10 - 1
    assert sorted(marked) == sorted([*removed, fact("n9 p n10")])


def test_a_query_sees_what_comes_back_as_unchanged() -> None:
    world = World([TRANSITIVE])
    network = Network()
    query = rule("", "{ ?x :p ?y } WHERE { ?x :p ?y }").body
    node = world.build(network, query)
    toggle(world, *ring(4))
    network.listen(node, lambda added, removed: None)
    network.settle()
    told: list[tuple[list[Row], list[Row]]] = []
    network.listen(node, lambda added, removed: told.append(node.change()))
    toggle(world, "n0 p n2")
    network.settle()
    toggle(world, "n0 p n2")
    network.settle()
    assert all(change == ([], []) for change in told)


def test_a_rule_that_breaks_goes_with_what_it_derived_and_the_others_stay() -> None:
    world = World(())
    brittle = rule("brittle", "{ ?x :p ?y } WHERE { ?x :brittle ?y }")

    def holds(row: Row) -> bool:
        if iri("bad") in row:
            raise ZeroDivisionError("broken")
        return True

    def build(network: Network, body: Pattern) -> Node:
        node = world.build(network, body)
        if "brittle" not in repr(body):
            return node
        return network.share(
            "breaking", lambda: RowByRow(node, node.variables, partial(filter, holds))
        )

    world.program = DerivationProgram(world.kb, Origin.INFERRED, [brittle, TRANSITIVE], build)
    toggle(world, "x brittle y", "y p z")
    assert world.derived() == {fact("x p y"), fact("x p z")}
    delta = toggle(world, "a brittle bad", "z p x")
    assert world.derived() == {fact("y p x")}
    assert set(delta.added) == {fact("y p x")}
    assert set(delta.removed) == {fact("x p y"), fact("x p z")}
    assert isinstance(world.program.faults["brittle"], ZeroDivisionError)


def refused(*rules: DerivationRule) -> str:
    with pytest.raises(ProgramError) as caught:
        World(rules)
    return caught.value.message


def test_a_cycle_through_negation_is_named() -> None:
    message = refused(
        rule("idle", "{ ?x a :Idle } WHERE { ?x a :Machine FILTER NOT EXISTS { ?x a :Busy } }"),
        rule("waiting", "{ ?x a :Waiting } WHERE { ?x a :Idle }"),
        rule("busy", "{ ?x a :Busy } WHERE { ?x a :Waiting }"),
    )
    assert "rule idle reads" in message
    assert "through EXISTS" in message
    assert "idle → waiting → busy → idle" in message


@pytest.mark.parametrize(
    ("body", "through"),
    [
        ("?x :q ?y MINUS { ?y :p ?x }", "MINUS"),
        ("?x :q ?y OPTIONAL { ?y :p ?x }", "OPTIONAL"),
        ("?x :p+ ?y", "a property path"),
        ("?x !:q ?y", "a property path"),
        ("?x :q ?y { SELECT DISTINCT ?x { ?x :p ?z } }", "DISTINCT"),
        ("?x :q ?y { SELECT (COUNT(*) AS ?n) { ?a :p ?b } }", "a sub-select"),
    ],
)
def test_only_plain_patterns_may_be_recursive(body: str, through: str) -> None:
    message = refused(rule("r", f"{{ ?x :p ?y }} WHERE {{ {body} }}"))
    assert f"through {through}" in message
    assert "r → r;" in message


def test_classes_are_told_apart() -> None:
    world = World([rule("r", "{ ?x a :Idle } WHERE { ?x :p ?y FILTER NOT EXISTS { ?x a :Busy } }")])
    assert len(toggle(world, "x p y").added) == 1
    assert not world.program.faults


def test_rules_that_might_never_end_are_refused() -> None:
    message = refused(rule("next", "{ ?x :n ?m } WHERE { ?x :n ?n BIND(?n + 1 AS ?m) }"))
    assert "computes ?m and feeds itself: next → next" in message


def test_a_copied_value_is_no_new_one() -> None:
    copied = rule("copied", "{ ?x :n ?m } WHERE { ?y :n ?n . ?x :p ?y BIND(?n AS ?m) }")
    world = World([copied])
    assert toggle(world, "y n v", "x p y").added == (fact("x n v"),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{ ?x :p _:new } WHERE { ?x :q ?y }", "blank node"),
        ("{ ?x :p ?z } WHERE { ?x :q ?y }", "does not bind ?z"),
    ],
)
def test_heads_that_cannot_be_written_are_refused(text: str, said: str) -> None:
    assert said in refused(rule("r", text))


def test_a_graph_may_be_empty_when_a_rule_begins() -> None:
    near = rule("near", "{ ?x :q ?y } WHERE { ?x :p ?y GRAPH :window { ?x :near ?y } }")
    world = World([near])
    toggle(world, "x p y")
    world.change([Change(fact("x near y"), in_window=True)])
    assert world.settle().added == (fact("x q y"),)


def test_two_rules_of_one_name_are_refused() -> None:
    assert "two rules are named transitive" in refused(TRANSITIVE, TRANSITIVE)
