"""What holds at a moment by Datalog, by its definition; rules with too large a result, or none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import Overrun, Position, UnsupportedQuery
from sensorstream.model import rdf
from sensorstream.model.terms import Triple
from sensorstream.network.budget import Limits
from sensorstream.sparql.dotr.dotr_reader import read_program
from sensorstream.streams.processor import StreamProcessor
from sensorstream.streams.query_report import Report
from tests.network.selection.random_rules import PREFIX, Machine, term, triples_of

DATALOG = """:in(?s, ?r) :- :at(?s, ?l), :part(?l, ?r).
:part(?l, ?r) :- :part(?l, ?m), :part(?m, ?r).
:k(?s, ?r) :- :in(?s, ?r), not :hidden(?r).
"""


places = st.sampled_from(["a", "b", "c", "d"]).map(term)
facts = st.lists(
    st.one_of(
        st.tuples(places, st.just(term("part")), places),
        st.tuples(st.sampled_from([term("s"), term("t")]), st.just(term("at")), places),
        st.tuples(places, st.just(rdf.TYPE), st.just(term("Hidden"))),
    ),
    max_size=4,
    unique=True,
)


def derived(graph: set[Triple]) -> set[tuple[Any, Any]]:
    """What the Datalog rules above say of ``:k``, by applying them until nothing is new."""
    part = {(s, o) for s, p, o in graph if p == term("part")}
    while new := {(a, d) for a, b in part for c, d in part if b == c} - part:
        part |= new
    hidden = {s for s, p, _ in graph if p == rdf.TYPE}
    at = [(s, o) for s, p, o in graph if p == term("at")]
    return {(s, r) for s, place in at for one, r in part if one == place and r not in hidden}


@settings(max_examples=60)
@given(facts, st.lists(facts, min_size=1, max_size=5))
def test_at_each_moment_holds_what_follows_from_it_and_the_background(
    background: list[Triple], moments: list[list[Triple]]
) -> None:
    text = DATALOG.replace(":hidden(?r)", ":Hidden(?r)") + (
        "define { ?x :was ?y } from K(SELECT ?s ?r { ?s :k ?r }) with ?x = K.?s, ?y = K.?r"
    )
    machine = Machine(text, background=background)
    for time, graph in enumerate(moments):
        machine.push(time, tuple(graph))
    told = [(each.time, *(each.triples or ())[0]) for each in machine.finish()]
    assert sorted(told) == sorted(
        (time, s, term("was"), r)
        for time, graph in enumerate(moments)
        for s, r in derived({*background, *graph})
    )


def test_a_selector_that_holds_in_the_background_holds_at_every_moment() -> None:
    machine = Machine(
        "define { :it :at ?r } from R(SELECT ?r { ?r a :Room }) with ?r = R.?r",
        background=[(term("room"), rdf.TYPE, term("Room"))],
    )
    for time in (1, 4):
        machine.push(time, triples_of(time, ("T", "x", 1)))
    assert [each.time for each in machine.finish()] == [1, 4]


SELECT = "define {{ :it :saw ?y }} from K(SELECT ?s ?y {{ ?s :{} ?y }}) with ?y = K.?y"
CHAIN = [(term(f"n{each}"), term("next"), term(f"n{each + 1}")) for each in range(1500)]


class Limited(Machine):
    """Rules that may keep a thousand triples."""

    limits = Limits(kept=1000)

    def _processor(self) -> StreamProcessor:
        return StreamProcessor(
            self.graph, instant=lambda each: int(each.lexical), second=1, limits=self.limits
        )


def test_rules_that_are_recursive_through_not_are_refused_with_their_circle() -> None:
    program = read_program(
        f"{PREFIX}:a(?s, ?o) :- :k(?s, ?o), not :b(?s, ?o).\n"
        f":c(?s, ?o) :- :a(?s, ?o).\n:b(?s, ?o) :- :c(?s, ?o).\n{SELECT.format('a')}",
        name="r",
        start=Position("r", 1, 1),
    )
    with pytest.raises(
        UnsupportedQuery, match=r"r:2:1 → Datalog r:3:1 → Datalog r:4:1 → Datalog r:2"
    ):
        Machine().processor.register("r", "", program, lambda report: None)


def test_rules_in_a_circle_derive_what_follows_and_no_more() -> None:
    machine = Machine(
        ":a(?s, ?o) :- :b(?s, ?o). :b(?o, ?s) :- :a(?s, ?o). :b(?s, ?o) :- :k(?s, ?o)."
        + SELECT.format("a")
    )
    machine.push(1, triples_of(1, ("T", "x", 1)))
    assert [each.triples for each in machine.finish()] == [
        [(term("it"), term("saw"), end)] for end in (term("x"), term("s1"))
    ]


def test_a_derivation_may_be_a_thousand_steps_deep() -> None:
    machine = Machine(
        ":reached(:n0, :n0). :reached(:n0, ?y) :- :reached(:n0, ?x), :next(?x, ?y)."
        + SELECT.format("reached"),
        background=CHAIN,
    )
    machine.push(1, triples_of(1, ("T", "x", 1)))
    assert len(machine.finish()) == len(CHAIN) + 1


def test_rules_that_derive_too_much_are_stopped_and_others_go_on() -> None:
    # Each pair of places in the chain: a million.
    grows = ":far(?x, ?y) :- :next(?x, ?y). :far(?x, ?z) :- :far(?x, ?y), :far(?y, ?z)."
    machine = Limited(grows + SELECT.format("far"), SELECT.format("k"), background=CHAIN)
    for time in (1, 2):
        machine.push(time, triples_of(time, ("T", "x", 1)))
    machine.processor.finish()
    ((name, error),) = machine.processor.faults
    assert name == "r0"
    assert isinstance(error, Overrun)
    assert [(each.query, each.time) for each in machine.reports] == [("r1", 1), ("r1", 2)]


def test_rules_that_derive_too_much_at_one_moment_are_stopped_then() -> None:
    grows = ":pair(?x, ?y) :- :item(:it, ?x), :item(:it, ?y)."
    machine = Limited(grows + SELECT.format("pair"), SELECT.format("item"))

    def items(count: int) -> tuple[Triple, ...]:
        return tuple((term("it"), term("item"), term(f"i{each}")) for each in range(count))

    for time, count in ((1, 3), (2, 40), (3, 2)):
        machine.push(time, items(count))
    machine.processor.finish()
    assert [name for name, _ in machine.processor.faults] == ["r0"]
    told: list[Report] = machine.reports
    assert [each.time for each in told if each.query == "r0"] == [1] * 9
    assert [each.time for each in told if each.query == "r1"] == [1] * 3 + [2] * 40 + [3] * 2


def test_facts_hold_at_every_moment_and_cost_no_rule_each() -> None:
    facts = " ".join(f":part(:a{each}, :b{each % 7})." for each in range(500))
    machine = Machine(f"{facts} :at(?s, ?b) :- :k(?s, ?a), :part(?a, ?b)." + SELECT.format("at"))
    for time in (1, 2):
        machine.push(time, triples_of(time, ("T", f"a{time}", 1)))
    assert [each.triples for each in machine.finish()] == [
        [(term("it"), term("saw"), term(f"b{each}"))] for each in (1, 2)
    ]
