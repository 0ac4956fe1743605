from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI
from sensorstream.network.budget import NO_LIMITS, EngineLoad
from sensorstream.network.dispatch import Dispatcher
from sensorstream.network.operators.row_operators import ConstantOperator
from sensorstream.network.plan.nodes import ConstantPlan

P, Q, BY, ONE, OTHER = (IRI(f"http://example.org/{name}") for name in ("p", "q", "by", "1", "2"))
S, V = IRI("http://example.org/s"), IRI("http://example.org/v")


@pytest.fixture
def fired() -> list[str]:
    return []


@pytest.fixture
def index(fired: list[str]) -> TripleIndex:
    """Watched for two sensors and, without a guard, for everybody."""
    index = TripleIndex()
    dispatcher = Dispatcher(index, lambda node: None, EngineLoad(NO_LIMITS))

    def named(name: str) -> Any:
        return lambda triples, out: fired.append(name)

    for name, guard in (("one", (BY, ONE)), ("other", (BY, OTHER)), ("all", None)):
        dispatcher.subscribe(
            ConstantOperator(ConstantPlan((name,), ())), P, None, named(name), guard
        )
    return index


def test_a_triple_fires_what_its_subject_is_guarded_for(
    index: TripleIndex, fired: list[str]
) -> None:
    index.add((S, BY, ONE))
    index.add((S, P, V))
    assert fired == ["all", "one"]


def test_a_subject_without_the_guards_value_fires_what_has_no_guard(
    index: TripleIndex, fired: list[str]
) -> None:
    index.add((S, P, V))
    index.add((S, BY, ONE))
    assert fired == ["all"]


def test_of_patterns_with_a_subject_those_with_another_one_are_not_asked(fired: list[str]) -> None:
    index = TripleIndex()
    dispatcher = Dispatcher(index, lambda node: None, EngineLoad(NO_LIMITS))
    nodes = [ConstantOperator(ConstantPlan((f"q{each}",), ())) for each in range(3)]

    def told(name: str, *_: object) -> None:
        fired.append(name)

    for node, subject in zip(nodes, (S, V, S), strict=True):
        dispatcher.subscribe(node, P, None, partial(told, node.variables[0]), subject)
    index.add((S, P, ONE))
    assert fired == ["q0", "q2"]
    for node in nodes:
        dispatcher.forget(node)
    assert dispatcher.idle
    index.add((S, P, OTHER))
    assert fired == ["q0", "q2"]


def test_a_triple_that_goes_fires_alike(index: TripleIndex, fired: list[str]) -> None:
    for triple in ((S, BY, OTHER), (S, BY, ONE), (S, P, V)):
        index.add(triple)
    fired.clear()
    index.discard((S, P, V))
    assert sorted(fired) == ["all", "one", "other"]


def test_what_is_forgotten_fires_no_more() -> None:
    index, fired = TripleIndex(), []
    dispatcher = Dispatcher(index, lambda node: None, EngineLoad(NO_LIMITS))
    node, kept = (ConstantOperator(ConstantPlan((name,), ())) for name in "xy")
    for each in (node, kept):
        for guard in ((BY, ONE), None):
            dispatcher.subscribe(each, P, None, lambda triples, out: fired.append(P), guard)
    dispatcher.forget(node)
    index.add((S, BY, ONE))
    index.add((S, P, V))
    assert len(fired) == 2
    dispatcher.forget(kept)
    index.add((S, P, ONE))
    assert len(fired) == 2
