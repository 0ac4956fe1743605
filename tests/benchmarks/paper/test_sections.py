"""The units of the benchmark at tiny sizes: they run, agree with each other, and add up."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from benchmarks.beside.turns import Disagreement
from benchmarks.paper import sections
from benchmarks.paper.measure import check_types
from benchmarks.paper.results import Row
from benchmarks.scenario import FILLING, PHASES, SLIDING, UNBOUNDED, Scale

SIZE = 11
TINY = Scale(
    messages=60,
    sizes=(SIZE,),
    peer_steps=2,
    clearings=(SIZE,),
    listings=(SIZE,),
    naive=MappingProxyType({SIZE: 1}),
    ontology=(31, 60),
    rules=(1, 10),
    statements=(5, 10),
    variation_messages=40,
    variation_window=SIZE,
    # Each turn begins with a full collection of this process, of which the tests are.
    turns=2,
)
PROFILES = ("plain", "pellet")


def by_system(rows: list[Row], section: str) -> dict[str, Row]:
    return {row.system: row for row in rows if row.section == section}


def test_the_sliding_window_is_run_in_every_way_and_all_infer_the_same() -> None:
    rows = sections.sliding(TINY, SIZE, PROFILES)
    found = by_system(rows, SLIDING)
    assert set(found) == {"plain", "pellet", sections.PAPER, sections.REBUILT, sections.LISTING}
    # An action holds one of the places, once a window.
    assert found["plain"].checked in {SIZE - 1, SIZE}
    assert found[sections.PAPER].checked == found["plain"].checked
    assert found["pellet"].messages == TINY.messages - SIZE
    assert found[sections.PAPER].messages == TINY.peer_steps
    naive = by_system(rows, sections.NAIVE)
    assert set(naive) == {"sync_reasoner_hermit", "sync_reasoner_pellet"}
    assert all(row.checked == found["plain"].checked for row in naive.values())
    for row in rows:
        assert set(row.phases) == set(PHASES)
        assert 0 < row.median <= row.p99
        assert row.cpu is None or row.cpu > 0


def test_a_message_is_remembered_or_asked_about() -> None:
    (row,) = by_system(
        sections.statements(replace(TINY, statements=(5,)), "pellet"), sections.STATEMENTS
    ).values()
    assert 0 < row.remembered <= row.messages
    assert row.hit is not None


def test_emptying_a_filled_window_is_measured_apart() -> None:
    rows = sections.filling(TINY, SIZE, PROFILES)
    clearing = by_system(rows, sections.CLEARING)
    assert set(clearing) == {"plain", "pellet", sections.PAPER}
    assert clearing["plain"].messages == clearing["pellet"].messages > 1
    assert clearing[sections.PAPER].messages == 1
    peer = by_system(rows, FILLING)[sections.PAPER]
    assert peer.checked > 0
    sizes = [point.asserted for point in peer.curve]
    assert sizes == sorted(sizes)


def test_without_a_window_nothing_leaves() -> None:
    found = by_system(sections.unbounded(TINY, PROFILES), UNBOUNDED)
    for row in found.values():
        sizes = [point.asserted for point in row.curve]
        assert sizes == sorted(sizes)
        assert row.curve[-1].number == TINY.messages
    # Ontology, individuals of six statements, one action; the paper's way has the same.
    assert found["plain"].curve[-1].asserted == 110 + 6 * TINY.messages + 1
    assert found[sections.PAPER].curve[-1].asserted == found["plain"].curve[-1].asserted
    assert found["pellet"].curve[-1].inferred > found["plain"].curve[-1].inferred


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("ontology-plain", TINY.ontology),
        (sections.SLEEPING, TINY.rules),
        (sections.WATCHING, TINY.rules),
        (sections.MAPPINGS, TINY.rules),
    ],
)
def test_what_the_paper_left_out_is_varied(name: str, sizes: tuple[int, ...]) -> None:
    rows = dict(sections.units(TINY, ("plain",)))[name]()
    assert [row.size for row in rows] == list(sizes)
    assert all(row.messages == TINY.variation_messages - SIZE for row in rows)


def test_statements_per_individual_are_what_they_are_called() -> None:
    rows = sections.statements(TINY, "plain")
    assert [row.size for row in rows] == list(TINY.statements)
    for row in rows:
        # What the window grew by; one of its individuals may be an action of one statement.
        held = row.curve[-1].asserted - row.curve[SIZE - 3].asserted
        assert held >= row.size
        assert held % row.size in {0, 1}


def test_types_that_differ_stop_the_measurement() -> None:
    right = {"a": frozenset({"Human", "Actor"})}
    assert check_types(right, dict(right)) == 1
    with pytest.raises(Disagreement, match="a: expected Actor, Human; found Human"):
        check_types(right, {"a": frozenset({"Human"})})
    assert check_types(right, {"a": frozenset({"Human"})}, sound_only=True) == 1
    with pytest.raises(Disagreement, match="found Robot"):
        check_types(right, {"a": frozenset({"Robot"})}, sound_only=True)


def test_a_comparison_of_nothing_is_no_comparison() -> None:
    with pytest.raises(Disagreement, match="nothing to compare"):
        check_types({}, {})
    with pytest.raises(Disagreement, match="nothing to compare"):
        check_types({"a": frozenset()}, {"a": frozenset()})
