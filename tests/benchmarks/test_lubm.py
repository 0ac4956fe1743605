"""The benchmark on LUBM measures what answers as other engines do."""

from __future__ import annotations

import pytest

from benchmarks.lubm import figures, peers
from benchmarks.lubm.generator import QUERIES, department, departments, materialised, text_of
from benchmarks.peers.closures import owlrl


def test_departments_are_the_same_every_time_and_hold_no_statement_twice() -> None:
    found = department(3)
    assert found == department(3)
    assert len(set(found)) == len(found)
    assert len(set(materialised(found))) == len(materialised(found)) > len(found)
    universities = list(departments(2))
    assert 30 <= len(universities) <= 50
    assert department(1, 1) in universities


@pytest.mark.parametrize("stay", [True, False])
def test_rules_and_the_naive_loop_find_the_same_solutions(stay: bool) -> None:
    events = [text_of(department(number)) for number in range(2)]
    _, found = figures.rate(lambda: figures.reasoner("minimal"), events, QUERIES, stay=stay)
    assert figures.naive_rate(events, QUERIES, stay=stay)[1] == found
    assert all(found)


def test_other_engines_answer_as_owl2rl_does(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [each for each in peers.PEERS if each[0] in ("reasonable", "Jena, OWLMicro")]
    monkeypatch.setattr(peers, "PEERS", kept)
    # A part of a department: Jena is slow.
    events = [text_of(department(0)[:400])]
    ours = peers.ours(events)
    assert sum(map(bool, ours.solutions)) > 3
    for each in peers.theirs(events, 60):
        assert not each.failure
        assert each.solutions == ours.solutions


def test_an_engine_that_takes_too_long_is_told() -> None:
    first = next(peers.theirs([text_of(department(0))], 0))
    assert "no answer" in first.failure


def test_owlrl_closes_a_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("closed")
    source, target = folder / "said.nt", folder / "closed.nt"
    source.write_text(text_of(department(0)[:5]), encoding="utf-8")
    assert owlrl(str(source), str(target))["triples"] > 5
    assert department(0)[0][0] in target.read_text(encoding="utf-8")


def test_a_member_a_change_and_the_memory_are_measured() -> None:
    assert min(figures.membership(50)) > 0
    held, spent = figures.change_of_two(
        lambda: figures.reasoner("plain"), [text_of(department(0)[:50])]
    )
    assert (held, spent > 0) == (50, True)
