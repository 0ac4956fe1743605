"""Rules of texts that are registered one by one: what is equal stands once, and nobody notices."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.network.selection.event_store import EventRows
from sensorstream.network.selection.instants import Instants
from sensorstream.network.selection.matcher import Matcher
from sensorstream.network.selection.moment_graph import Channel, InstantGraph
from sensorstream.streams.query_report import Report
from tests.network.selection.random_rules import (
    PREFIX,
    RULE,
    Machine,
    found,
    rules,
    streams,
    timed,
    triples_of,
)


@settings(max_examples=15)
@given(st.lists(rules(), min_size=2, max_size=3), streams)
def test_rules_that_share_selectors_select_what_each_selects_alone(
    drawn: list[tuple[str, dict[str, str]]], stream: Any
) -> None:
    events = timed(stream)
    text = "\n".join(f"rule r{place} {each}" for place, (each, _) in enumerate(drawn))
    together = Machine(text)
    alone = [Machine(each) for each, _ in drawn]
    for time, graph in events:
        for machine in (together, *alone):
            machine.push(time, graph)
    reports = together.finish()
    for place, machine in enumerate(alone):
        mine = [each for each in reports if each.rule == f"r{place}"]
        assert found(mine) == found(machine.finish())


@settings(max_examples=20)
@given(
    rules(),
    st.lists(st.integers(0, 3), min_size=2, max_size=4),
    streams,
    st.sets(st.integers(0, 11), max_size=1),
)
def test_rules_that_differ_in_constants_select_what_each_selects_alone(
    drawn: tuple[str, dict[str, str]], constants: list[int], stream: Any, stops: set[int]
) -> None:
    alike = [drawn[0].replace("?v > 1", f"?v > {each}") for each in constants]
    text = "\n".join(f"rule r{place} {each}" for place, each in enumerate(alike))
    together = Machine(text)
    alone = [Machine(each) for each in alike]
    for place, (time, graph) in enumerate(timed(stream)):
        for machine in (together, *alone):
            machine.push(time, graph)
        if place in stops:
            together.restart()
    reports = together.finish()
    for place, machine in enumerate(alone):
        mine = [each for each in reports if each.rule == f"r{place}"]
        assert found(mine) == found(machine.finish())


@pytest.fixture
def _only_new_objects() -> None:
    """Spare the collector all older objects: to look through those of a long run takes seconds."""
    gc.collect()
    gc.freeze()


def count(kind: type[object]) -> int:
    gc.collect()
    return sum(1 for each in gc.get_objects() if type(each) is kind)


@settings(max_examples=12)
@given(
    rules(),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8)), min_size=2, max_size=4),
    streams,
    st.sets(st.integers(0, 11), max_size=1),
    st.integers(2, 11),
)
def test_a_text_that_starts_later_selects_what_it_selects_alone(
    drawn: tuple[str, dict[str, str]],
    drawn_texts: list[tuple[int, int]],
    stream: Any,
    stops: set[int],
    ends: int,
) -> None:
    # Each text has a constant of its own, and the number of the event before which it starts.
    texts = [
        (drawn[0].replace("?v > 1", f"?v > {constant}"), begin) for constant, begin in drawn_texts
    ]
    together = Machine()
    alone = [Machine() for _ in texts]
    now = -1
    for place, (time, graph) in enumerate(timed(stream)):
        for number, (text, begin) in enumerate(texts):
            # A moment that has not ended is also for those who come: here they come between two.
            if (
                place >= begin
                and time > now
                and f"t{number}" not in alone[number].processor.queries
            ):
                together.processor.complete(time)
                alone[number].processor.complete(time)
                together._start(f"t{number}", PREFIX + text)
                alone[number]._start(f"t{number}", PREFIX + text)
        if place == ends and "t0" in together.processor.queries:
            for machine in (together, alone[0]):
                if time > now:
                    # Together, the start of another text may have ended the moment already.
                    machine.processor.complete(time)
                machine.processor.unregister("t0")
        now = time
        for machine in (together, *alone):
            machine.push(time, graph)
        if place in stops:
            together.restart()
    reports = together.finish()
    for number, machine in enumerate(alone):
        mine = [each for each in reports if each.query == f"t{number}"]
        assert found(mine) == found(machine.finish())


def test_a_text_that_starts_later_takes_no_event_that_others_keep() -> None:
    machine = Machine(RULE.format(1))
    machine.push(1, triples_of(1, ("B", "x", 30)))
    machine.processor.complete(2)
    machine._start("later", PREFIX + RULE.format(2))
    machine.push(2, triples_of(2, ("T", "x", 10)))
    assert {each.query for each in machine.finish()} == {"r0"}


@pytest.mark.usefixtures("_only_new_objects")
def test_texts_that_differ_in_constants_have_one_selector_and_one_store() -> None:
    machine = Machine(*(RULE.format(each) for each in range(20)))
    machine.push(1, triples_of(1, ("B", "x", 30)))
    machine.push(2, triples_of(2, ("T", "x", 10)))
    assert len(machine.finish()) == 10
    made = {each.__name__: count(each) for each in (Channel, EventRows, InstantGraph, Matcher)}
    assert made == {"Channel": 2, "EventRows": 1, "InstantGraph": 1, "Matcher": 1}


@pytest.mark.usefixtures("_only_new_objects")
def test_datalog_rules_of_other_files_are_the_same_rules() -> None:
    clause = ":k(?s, ?o) :- :l(?s, ?o)."
    unused = ":unused(?s, ?o) :- :l(?s, ?o)."
    machine = Machine(f"{clause} {RULE.format(1)}", f"{unused}\n\n{clause}\n{RULE.format(2)}")
    machine.push(2, triples_of(2, ("T", "x", 10)))
    machine.finish()
    assert count(InstantGraph) == 1


@pytest.mark.usefixtures("_only_new_objects")
def test_what_rules_keep_stays_the_same_over_a_long_stream() -> None:
    # Two texts, one of which consumes what it takes; new keys and subjects all the time.
    machine = Machine(RULE.format(1), f"{RULE.format(0)} consuming B")
    held: list[tuple[int, int]] = []
    objects: list[int] = []
    reports = 0

    def told() -> Callable[[Report], None]:
        def sink(report: Report) -> None:
            nonlocal reports
            reports += 1

        return sink

    for query in machine.processor.queries.values():
        query._sink = told()
    for time in range(1200):
        machine.push(time, triples_of(time, ("BBT"[time % 3], f"k{time // 3}", 5)))
        if time % 300 == 299:
            gc.collect()
            instants: Instants = machine.processor._instants
            kept = sum(len(tuple(each.kept())) for each in instants._rulesets.values())
            lanes = sum(len(each._lanes) for each in instants._stores.values())
            held.append((kept, lanes))
            objects.append(len(gc.get_objects()))
    assert reports == 798
    assert max(held) == min(held), held
    assert max(objects) - min(objects) < 100, objects
    # A pair of texts, each with nine seconds of events, and what one has consumed meanwhile.
    assert held[0][0] < 100
