"""The benchmark of one more axiom: its cases, and both ways of reasoning, measure what works."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.foreign.streams import Stream
from benchmarks.one_axiom import AXIOMS, MEMO, WAYS, Case, Make, cases, costs, start
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.reasoning.dl.bounds.rules import upper
from sensorstream.reasoning.dl.process import Worker
from sensorstream.reasoning.dl.terminology import Terminology


@pytest.fixture(scope="module")
def case() -> Case:
    return next(each for each in cases() if each.name == "city, hasValue")


@pytest.fixture(scope="module")
def worker(case: Case) -> Iterator[Worker]:
    worker = Worker("pellet", Terminology.of(case.ontology).document(), timeout=60)
    yield worker
    worker.close()


def inferred(case: Case, make: Make, worker: Worker) -> set[Triple]:
    way = make(Terminology.of(case.ontology), worker, MEMO)
    stream = Stream(case.ontology, way, worker, 3)
    for number in range(5):
        assert stream.take(case.message(number))
    return set(stream.kb.triples(Origin.INFERRED))


def test_both_ways_infer_the_same_of_the_observations(case: Case, worker: Worker) -> None:
    first, other = (inferred(case, make, worker) for make in WAYS)
    assert first == other
    assert any(str(o).endswith("MainRoad") for _, _, o in first)


@pytest.mark.parametrize("make", WAYS)
def test_each_way_has_a_figure_for_each_size(case: Case, worker: Worker, make: Make) -> None:
    way = make(Terminology.of(case.ontology), worker, MEMO)
    found = costs(Stream(case.ontology, way, worker, 2), case.message, (2, 3))
    assert len(found) == 2
    assert all(float(each) > 0 for each in found)
    assert not start(case.knowing(3), make, worker).startswith("none")


class Watching:
    """A way that infers nothing and keeps which changes removed a message."""

    def __init__(self) -> None:
        self.replaced: list[bool] = []

    def start(self, kb: KnowledgeBase) -> None:
        """Nothing follows."""

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        self.replaced.append(bool(delta.removed))
        return Delta(delta.time)

    def close(self) -> None:
        """Nothing is held."""


def test_measured_are_messages_that_each_replace_one_in_a_full_window(
    case: Case, worker: Worker
) -> None:
    way = Watching()
    stream = Stream(case.ontology, way, worker, 2)
    assert len(costs(stream, case.message, (2, 5))) == 2
    assert stream.held == 5
    filled = [number for number, replaced in enumerate(way.replaced) if not replaced]
    between = filled[2] - 2
    assert filled == [0, 1, *range(2 + between, 5 + between)]
    assert between > 100


def test_every_ontology_is_one_that_rules_answer() -> None:
    found = {case.name: upper(Terminology.of(case.ontology).stated) for case in cases()}
    assert set(AXIOMS) <= set(found)
    assert [name for name, bound in found.items() if bound.untreated] == []


def test_a_known_observation_is_no_axiom() -> None:
    for case in cases():
        known = case.knowing(2)
        assert len(known.ontology.triples) > len(case.ontology.triples)
        assert Terminology.of(known.ontology).document() == Terminology.of(case.ontology).document()
