"""The order of rules against its definition, while texts come, are replaced and go."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TypeAlias

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sensorstream.errors import Position, UnsupportedQuery
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.recursion.triple_kinds import TriplesRead, reads, written
from sensorstream.network.selection.firing_order import Order
from sensorstream.network.selection.running_rules import RuleMember, Ruleset
from sensorstream.network.selection.selection_plan import plan_rules
from sensorstream.sparql.dotr.dotr_reader import read_program

E = "http://example.org/"
PREFIX = f"PREFIX : <{E}>\n"
# Of these, and of what the terminology says about some of them.
ATOMS = [
    *("?s a :C0", "?s a :C1", "?s a :C2", "?s a ?c", "?s :p0 ?v", "?s :p1 ?v", "?s :p1 :C0"),
    *("?s :p2 ?v", "?s :p2 :C1", "?s :p3 ?v", "?s :p3 :C0", "?s ?p ?v"),
]
CLAUSES = [
    ":p3(?s, ?o) :- :p2(?s, ?o).",
    ":C2(?s) :- :C0(?s), :p3(?s, ?o).",
    ":p2(?s, ?o) :- :p2(?s, ?m), :p2(?m, ?o).",
    ":C0(?s) :- :p1(?s, :C0).",
]


def term(name: str) -> IRI:
    return IRI(E + name)


def conclusions(triple: Triple) -> Iterable[Triple]:
    """p0 is a property under p1, C0 a class under C1, and the range of p2 is C2."""
    subject, predicate, object_ = triple
    if predicate == term("p0"):
        yield subject, term("p1"), object_
    if predicate == rdf.TYPE and object_ == term("C0"):
        yield subject, rdf.TYPE, term("C1")
    if predicate == term("p2"):
        yield object_, rdf.TYPE, term("C2")  # type: ignore[misc]


Read: TypeAlias = tuple[list[str], list[tuple[str, str]]]
"""Datalog rules, and what each rule makes and selects."""
made = st.sampled_from([each for each in ATOMS if "?c" not in each and "?p" not in each])
texts = st.tuples(
    st.lists(st.sampled_from(CLAUSES), max_size=2, unique=True),
    st.lists(st.tuples(made, st.sampled_from(ATOMS)), min_size=1, max_size=2),
)


def ruleset(name: str, text: Read) -> Ruleset:
    clauses, rules = text
    written_rules = [
        f"rule {name}{number} define {{ {makes} }} from A(SELECT * {{ {selects} }}) with ?s = A.?s"
        + (", ?v = A.?s" if "?v" in makes else "")
        for number, (makes, selects) in enumerate(rules)
    ]
    program = read_program(
        PREFIX + "\n".join([*clauses, *written_rules]), name=name, start=Position(name, 1, 1)
    )
    return Ruleset(
        name, plan_rules(program, lambda length: length // timedelta(seconds=1)), program.clauses
    )


def following(kind: TriplesRead, rules: Ruleset) -> set[TriplesRead]:
    """The definition: what may follow from triples of a kind, found step by step."""
    found: set[TriplesRead] = set()
    new = {kind}
    unknown = term("unknown")
    while new:
        found |= new
        for each in tuple(found):
            if each.predicate is not None:
                for _, p, o in conclusions((unknown, each.predicate, each.object or unknown)):
                    new.add(TriplesRead(p, None if o == unknown else o))
            for clause in rules.sees:
                if any(read.kind.meets(each) for read in reads(clause.body)):
                    new |= set(map(written, clause.head))
        new -= found
    return found


def definition(rulesets: Iterable[Ruleset]) -> tuple[dict[RuleMember, int], set[frozenset[str]]]:
    """The level of each rule, and the circles."""
    members = [RuleMember(each, n) for each in rulesets for n in range(len(each.patterns.patterns))]
    sees = {
        reader: {
            maker
            for maker in members
            if any(
                found.meets(read.kind)
                for triple in maker.pattern.rule.template
                for found in following(written(triple), reader.ruleset)
                for read in reads(reader.pattern.trigger.pattern)
            )
        }
        for reader in members
    }
    reached = {each: set(sees[each]) for each in members}
    for _ in members:
        for each in members:
            reached[each].update(*(reached[other] for other in tuple(reached[each])))
    circles = {
        frozenset(o.pattern.rule.name for o in reached[each] if each in reached[o])
        for each in members
        if each in reached[each]
    }
    levels = dict.fromkeys(members, 0)
    for _ in members:
        for each in members:
            levels[each] = max((levels[other] + 1 for other in sees[each]), default=0)
    return levels, circles


@settings(max_examples=60)
# What a text has made counts no more when it is replaced.
@example(
    steps=[
        ("a", ([], [("?s a :C0", "?s :p2 ?v")])),
        ("b", ([], [("?s :p1 ?v", "?s a :C0")])),
        ("a", ([], [("?s :p2 ?v", "?s :p1 ?v")])),
    ]
)
# The reasoner concludes from a value that is not known, and from one that is.
@example(steps=[("a", ([], [("?s :p0 ?v", "?s :p1 :C0")]))])
@example(steps=[("a", ([], [("?s :p2 :C1", "?s a :C2")]))])
# Datalog over two texts.
@example(
    steps=[
        ("a", ([CLAUSES[0]], [("?s :p1 ?v", "?s :p3 ?v")])),
        ("b", ([], [("?s :p2 ?v", "?s :p1 ?v")])),
    ]
)
@given(steps=st.lists(st.tuples(st.sampled_from("abcd"), texts | st.none()), max_size=8))
def test_texts_in_turn_are_in_the_order_of_the_definition(
    steps: list[tuple[str, Read | None]],
) -> None:
    order = Order(conclusions)
    run: dict[str, Ruleset] = {}
    for name, text in steps:
        if text is None:
            order.drop(name)
            run.pop(name, None)
            continue
        new = ruleset(name, text)
        levels, circles = definition({**run, name: new}.values())
        if circles:
            with pytest.raises(UnsupportedQuery) as raised:
                order.check(new)
            named = raised.value.message.split(": ")[1]
            assert frozenset(named.split(", ")) in circles
            assert raised.value.position is not None
            assert raised.value.position.file == name
        else:
            order.check(new)
            order.add(new)
            run[name] = new
            assert order.levels() == levels
    assert order.levels() == definition(run.values())[0]
    order.renew()
    assert order.levels() == definition(run.values())[0]


def test_a_text_costs_what_it_concerns() -> None:
    asked = 0

    def counted(triple: Triple) -> Iterable[Triple]:
        nonlocal asked
        asked += 1
        return ()

    order = Order(counted)
    costs = []
    for number in range(40):
        before = asked
        new = ruleset(
            f"t{number}",
            (
                [f":p{number}(?s, ?o) :- :q{number}(?s, ?o)."],
                [(f"?s :made{number} ?v", f"?s :p{number} ?v")],
            ),
        )
        order.check(new)
        order.add(new)
        costs.append(asked - before)
    assert costs[-1] == costs[0]
