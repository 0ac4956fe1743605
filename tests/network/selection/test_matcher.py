"""Rules over time against their definition, on random streams with ties and restarts."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.network.selection.random_rules import (
    Machine,
    both,
    consuming_rule,
    rules,
    streams,
    triples_of,
)


@settings(max_examples=60)
@given(rules(), streams, st.sets(st.integers(0, 11), max_size=2))
def test_what_a_rule_selects_is_what_the_definition_says(
    drawn: tuple[str, dict[str, str]], stream: Any, stops: set[int]
) -> None:
    graphs, defined = both(drawn, stream, stops)
    assert graphs == defined


def test_what_is_consumed_is_what_the_definition_says() -> None:
    # Evenly random, as the cases that matter need several events of the right kinds.
    for seed in range(examples(30)):
        draw = Random(seed)
        stream = [
            (
                draw.randint(0, 1),
                [
                    (draw.choice("TTBC"), draw.choice("xy"), draw.randint(0, 1))
                    for _ in range(draw.randint(1, 2))
                ],
            )
            for _ in range(10)
        ]
        graphs, defined = both(consuming_rule(draw), stream, {draw.randint(0, 20)})
        assert graphs == defined, f"seed {seed}"


@pytest.mark.parametrize("pick", ["each", "first", "last"])
def test_what_is_consumed_is_taken_once(pick: str) -> None:
    machine = Machine(
        f"define {{ :it :took ?b }} from T(SELECT ?t {{ ?t a :T }}) and {pick} "
        "B(SELECT ?b { ?b a :B }) within 9 s from T with ?b = B.?b consuming B"
    )
    for time, label in enumerate("BTT"):
        machine.push(time, triples_of(time, (label, "x", 1)))
    assert [each.time for each in machine.finish()] == [1]


def test_identifiers_are_those_of_the_firing() -> None:
    text = "define { dotr_id1 :of ?s ; :see dotr_id2 } from T(SELECT ?s { ?s a :T }) with ?s = T.?s"
    told = []
    for _ in range(2):
        machine = Machine(text)
        machine.push(5, triples_of(1, ("T", "x", 1)) + triples_of(2, ("T", "x", 1)))
        told.append([tuple(each.triples or ()) for each in machine.finish()])
    assert told[0] == told[1]
    assert len({triple[0] for graph in told[0] for triple in graph}) == 2
    (one, see), _ = told[0]
    assert see[2] != one[0]


def test_graphs_of_rules_that_run_together_have_identifiers_of_their_own() -> None:
    machine = Machine(
        "\n".join(
            f"rule r{least} define {{ dotr_id1 a :High ; :see _:x . _:x :of ?v }} "
            f"from T(SELECT ?v {{ ?s a :T ; :v ?v FILTER(?v > {least}) }}) with ?v = T.?v"
            for least in range(4)
        )
    )
    machine.push(5, triples_of(1, ("T", "x", 3)))
    reports = machine.finish()
    assert [each.rule for each in reports] == ["r0", "r1", "r2"]
    graphs = [set(each.triples or ()) for each in reports]
    assert [len(each) for each in graphs] == [3, 3, 3]
    assert len({triple[0] for graph in graphs for triple in graph}) == 6
