"""What the rules of a text read, make and keep while they run."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model.terms import Literal
from sensorstream.network.recursion.triple_kinds import TriplesRead
from sensorstream.network.rows import Row
from sensorstream.network.selection.event_store import EventRows
from sensorstream.network.selection.running_rules import (
    Consumed,
    Ruleset,
    StoreReading,
    rule_of,
    triples_of,
)
from tests.network.selection.random_rules import RULE, Machine, term
from tests.network.selection.random_rules import triples_of as said_by

CLAUSES = """:a(?s, ?o) :- :b(?s, ?o). :unused(?s, ?o) :- :e(?s, ?o).
:b(?s, ?o) :- :c(?s, ?o), not :d(?s, ?o). """
SELECT = "define {{ :it :made ?v }} from T(SELECT ?v {{ ?s :{} ?v }}) with ?v = T.?v"


def rules_of(machine: Machine) -> Ruleset:
    (found,) = machine.processor._instants._rulesets.values()
    return found


def kind(name: str) -> TriplesRead:
    return TriplesRead(term(name), None)


def test_a_text_reads_what_its_selectors_ask_for_and_what_that_follows_from() -> None:
    ruleset = rules_of(Machine(CLAUSES + SELECT.format("a")))
    assert [str(each.head[0].predicate) for each in ruleset.sees] == [term("a"), term("b")]
    assert ruleset.asked == (frozenset([kind("a")]),)
    assert ruleset.read == {*map(kind, "abcd")}
    assert ruleset.made == (frozenset([kind("made")]),)
    assert rules_of(Machine(CLAUSES + SELECT.format("c"))).sees == ()


def test_the_row_of_a_firing_is_the_name_of_its_rule_and_its_graph() -> None:
    graph = [(term("s"), term("p"), term("o")), (term("t"), term("q"), term("o"))]
    row: Row = (Literal("r"), *(end for triple in graph for end in triple))
    assert (rule_of(row), triples_of(row)) == ("r", graph)


times = st.integers(0, 3)


@given(st.dictionaries(st.sampled_from("AB"), st.integers(0, 9), min_size=2), st.lists(times))
def test_consumed_events_stay_as_long_as_a_scope_reaches_them(
    keeps: dict[str, int], gaps: list[int]
) -> None:
    consumed, now, most = Consumed(keeps), 0, 0
    reached: set[Any] = set()
    for number, gap in enumerate(gaps * 9):
        now += gap
        event: Any = ("AB"[number % 2], (now, (Literal(str(number)),)))
        consumed[event] = None
        reached.add(event)
        consumed.forget(now)
        reached = {each for each in reached if each[1][0] >= now - keeps[each[0]]}
        assert reached <= consumed.keys()
        most = max(most, len(reached))
        assert len(consumed) <= 2 * most + 16


cells = st.tuples(st.sampled_from(["a", "b", "c"]).map(Literal))


@given(
    st.lists(st.tuples(times, st.lists(cells, max_size=3, unique=True)), max_size=8),
    st.sets(st.sampled_from(["a", "b", "c"])),
    st.integers(0, 6),
    st.none() | st.integers(0, 12),
)
def test_a_text_keeps_of_a_store_what_its_own_rules_may_ask_for(
    stream: list[Any], wanted: set[str], keeps: int, since: int | None
) -> None:
    store, happened, now = EventRows([0]), [], 0
    mine, other = StoreReading(store), StoreReading(store)
    other.take(8, lambda row: True)
    mine.take(keeps, lambda row: row[0].lexical in wanted)  # type: ignore[union-attr]
    for gap, rows in stream:
        now += gap
        store.elapse(now)
        store.take(now, rows)
        happened += [(now, row) for row in rows]
    there = [each for each in happened if each[0] >= now - 8]
    assert sorted(other.events(None, now)) == sorted(there)
    for present in (None, now):
        expected = [
            (time, row)
            for time, row in there
            if row[0].lexical in wanted
            and time >= (since or 0)
            and (present is None or time >= now - keeps)
        ]
        assert sorted(mine.events(since, present)) == sorted(expected)


def test_what_is_kept_is_taken_back_with_what_was_consumed() -> None:
    machine = Machine(f"{RULE.format(1)} consuming B")
    for time, label in enumerate("BBTB"):
        machine.push(time, said_by(time, (label, "x", 5)))
    machine.processor.complete(4)
    ruleset = rules_of(machine)
    kept = list(ruleset.kept())
    assert [(each.time, each.label) for each in kept] == [(0, ""), (1, ""), (3, ""), (1, "B")]
    again = Ruleset("again", ruleset.patterns, ruleset.clauses)
    again.keep(kept, since=2)
    assert list(again.kept()) == kept
    assert (again.since, ruleset.size(), ruleset.needed(11)) == (2, 3, 1)
