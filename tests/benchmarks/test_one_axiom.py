"""The benchmark of one more axiom: its cases measure what works."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.foreign.streams import Stream
from benchmarks.one_axiom import AXIOMS, Case, cases, costs, start
from sensorstream.kb.graph_index import Origin
from sensorstream.reasoning.dl.bounds.bound_rules import upper
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.reasoning.dl.terminology import Terminology


@pytest.fixture(scope="module")
def case() -> Case:
    return next(each for each in cases() if each.name == "city, hasValue")


@pytest.fixture(scope="module")
def worker(case: Case) -> Iterator[Worker]:
    worker = Worker("pellet", Terminology.of(case.ontology).document(), timeout=60)
    yield worker
    worker.close()


def test_each_size_has_a_figure(case: Case, worker: Worker) -> None:
    reasoner = DlReasoner(Terminology.of(case.ontology), worker)
    stream = Stream(case.ontology, reasoner, worker, 2)
    found = costs(stream, reasoner.memo, case.message, (2, 3))
    assert len(found) == 2
    assert all(float(each.told) > 0 for each in found)
    assert any(str(o).endswith("MainRoad") for _, _, o in stream.kb.triples(Origin.INFERRED))
    assert not start(case.knowing(3), worker).startswith("none")


@pytest.mark.parametrize(
    ("name", "asked"),
    [("city, choice of observation", 1), ("city, two of three", 1), ("city, limit elsewhere", 0)],
)
def test_questions_are_about_the_observation_and_not_about_its_sensor(
    name: str, asked: int
) -> None:
    case = next(each for each in cases() if each.name == name)
    worker = Worker("pellet", Terminology.of(case.ontology).document(), timeout=60)
    try:
        reasoner = DlReasoner(Terminology.of(case.ontology), worker)
        stream = Stream(case.ontology, reasoner, worker, 9)
        found = costs(stream, reasoner.memo, case.message, (4, 9))
    finally:
        worker.close()
    # At most: about observations of a kind that is known nothing is asked.
    # More than one, where a road begins to stand between observations.
    assert all(float(each.asked) <= 2 * asked for each in found)
    # An observation and its lanes at most; the sensor has nine of them.
    assert reasoner.largest_island < 9


def test_no_axiom_is_without_rules() -> None:
    found = {case.name: upper(Terminology.of(case.ontology).stated) for case in cases()}
    assert set(AXIOMS) <= set(found)
    without = [name for name, bound in found.items() if bound.untreated]
    assert without == []


def test_a_known_observation_is_no_axiom() -> None:
    for case in cases():
        known = case.knowing(2)
        assert len(known.ontology.triples) > len(case.ontology.triples)
        assert Terminology.of(known.ontology).document() == Terminology.of(case.ontology).document()
