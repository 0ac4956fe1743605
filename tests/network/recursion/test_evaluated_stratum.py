"""What rules derive, case by case, as facts come and go."""

from __future__ import annotations

from functools import partial

from sensorstream.kb.graph_index import Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.operators.row_operators import RowByRow
from sensorstream.network.recursion.derivation_program import DerivationProgram
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Pattern
from tests.network.recursion.strategies import Change
from tests.network.recursion.world import TRANSITIVE, World, fact, iri, ring, rule, toggle

FORTH = rule("forth", "{ ?x :b true } WHERE { ?x :a true }")
BACK = rule("back", "{ ?x :a true } WHERE { ?x :b true }")


def test_a_ring_that_goes_leaves_nothing() -> None:
    world = World([TRANSITIVE])
    assert len(toggle(world, *ring(4)).added) == 16
    assert len(toggle(world, *ring(4)).removed) == 16
    assert not world.derived()


def test_two_rules_do_not_keep_each_other_alive() -> None:
    world = World([FORTH, BACK])
    assert set(toggle(world, "x a true").added) == {fact("x a true"), fact("x b true")}
    assert set(toggle(world, "x a true").removed) == {fact("x a true"), fact("x b true")}


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


def test_in_a_chain_nothing_goes_only_to_come_back() -> None:
    world = World([TRANSITIVE])
    toggle(world, *ring(20)[:-1])
    marked: list[Triple] = []
    world.kb.subscribe(lambda triples, old, new: marked.extend(triples))
    removed = toggle(world, "n9 p n10").removed
    assert len(removed) == 10 * 10 - 1
    assert sorted(marked) == sorted([*removed, fact("n9 p n10")])


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


def test_a_graph_may_be_empty_when_a_rule_begins() -> None:
    near = rule("near", "{ ?x :q ?y } WHERE { ?x :p ?y GRAPH :window { ?x :near ?y } }")
    world = World([near])
    toggle(world, "x p y")
    world.change([Change(fact("x near y"), in_window=True)])
    assert world.settle().added == (fact("x q y"),)


def test_what_is_asserted_and_derived_stays_when_either_goes() -> None:
    world = World([TRANSITIVE])
    toggle(world, "x p y", "y p z", "x p z")
    assert world.kb.origins(fact("x p z")) == Origin.WINDOW | Origin.INFERRED
    assert toggle(world, "x p z") == Delta(2)
    assert world.kb.origins(fact("x p z")) == Origin.INFERRED
    toggle(world, "x p z")
    assert toggle(world, "y p z").removed == (fact("x p z"),)
    assert world.kb.origins(fact("x p z")) == Origin.WINDOW
