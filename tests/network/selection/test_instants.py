"""Moments of rules over time: rules of one moment, of several texts, and of windows."""

from __future__ import annotations

import pytest

from sensorstream.errors import UnsupportedQuery
from sensorstream.model import rdf
from tests.network.selection.random_rules import Machine, term, triples_of


def test_a_rule_selects_what_another_one_has_made_at_the_same_time() -> None:
    machine = Machine(
        "rule second define { dotr_id1 :of ?a } from A(SELECT ?a { ?a a :Alarm }) with ?a = A.?a "
        "rule first define { dotr_id1 a :Alarm ; :at ?s } from T(SELECT ?s { ?s a :T }) "
        "with ?s = T.?s"
    )
    machine.push(5, triples_of(1, ("T", "x", 1)))
    machine.push(7, triples_of(2, ("B", "x", 1)))
    first, second = machine.finish()
    assert (first.rule, first.time, second.rule, second.time) == ("first", 5, "second", 5)
    alarm = (first.triples or ())[0][0]
    assert alarm.startswith("urn:dotr:")
    assert (second.triples or ())[0][2] == alarm


def test_a_rule_of_another_text_selects_it_too() -> None:
    machine = Machine(
        "define { _:x :of ?a } from A(SELECT ?a { ?a a :Alarm }) with ?a = A.?a",
        "define { ?s a :Alarm } from T(SELECT ?s { ?s a :T }) with ?s = T.?s",
    )
    machine.push(5, triples_of(1, ("T", "x", 1)))
    assert sorted(each.query for each in machine.finish()) == ["r0", "r1"]


@pytest.mark.parametrize(
    "clauses", ["", ":Alarm(?x) :- :Alert(?x)."], ids=["directly", "by Datalog"]
)
def test_rules_that_feed_each_other_at_one_moment_are_refused(clauses: str) -> None:
    made = "Alert" if clauses else "Alarm"
    with pytest.raises(UnsupportedQuery, match="r0"):
        Machine(f"{clauses} define {{ dotr_id1 a :{made} }} from A(SELECT ?a {{ ?a a :Alarm }})")


def test_in_window_mode_a_solution_happens_when_it_becomes_one() -> None:
    # The graph is what the window holds; here it is changed as the window of an engine is.
    machine = Machine(
        "rule r mode window define { :it :saw ?s } from T(SELECT ?s { ?s a :T ; :k ?k }) "
        "with ?s = T.?s"
    )
    one = (term("s"), rdf.TYPE, term("T"))
    two = (term("s"), term("k"), term("x"))
    for time, triple in ((1, one), (2, two), (3, (term("o"), term("k"), term("x")))):
        # As an engine does: the moment before ends before the window changes.
        machine.processor.complete(time)
        machine.graph.add(triple)
        machine.push(time, (triple,))
    assert [each.time for each in machine.finish()] == [2]


def test_in_window_mode_a_solution_that_was_there_before_its_rule_is_no_event() -> None:
    machine = Machine(
        "rule r mode window define { :it :saw ?s } from T(SELECT ?s { ?s a :T }) with ?s = T.?s",
        background=[(term("s"), rdf.TYPE, term("T"))],
    )
    for time in (1, 2):
        new = (term(f"s{time}"), rdf.TYPE, term("T"))
        machine.processor.complete(time)
        machine.graph.add(new)
        machine.push(time, (new,))
    assert [each.time for each in machine.finish()] == [1, 2]
