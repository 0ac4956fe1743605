"""The benchmark on LUBM measures what answers as other engines do."""

from __future__ import annotations

import pytest

from benchmarks.beside.departments import closure_beside, come, phases, rules_beside_updates
from benchmarks.lubm.generator import department, departments, materialised, text_of
from benchmarks.peers.closures import owlrl


def test_departments_are_the_same_every_time_and_hold_no_statement_twice() -> None:
    found = department(3)
    assert found == department(3)
    assert len(set(found)) == len(found)
    assert len(set(materialised(found))) == len(materialised(found)) > len(found)
    universities = list(departments(2))
    assert 30 <= len(universities) <= 50
    assert department(1, 1) in universities


def test_rules_and_the_naive_loop_find_the_same_solutions() -> None:
    with rules_beside_updates(2) as pair:
        assert pair.theirs is not None
        assert pair.theirs() > 0
    _, standing = come("minimal", [text_of(department(0))], stay=True)
    assert all(standing.found)


@pytest.mark.parametrize(
    ("module", "operation", "options"),
    [
        ("closures", "reasonable", {}),
        # A part of a department: Jena is slow.
        ("jena_rules", "close", {"reasoner": "OWLMicro"}),
    ],
)
def test_other_engines_answer_as_owl2rl_does(
    module: str, operation: str, options: dict[str, str]
) -> None:
    with closure_beside(module, operation, options, 400) as pair:
        assert pair.ours() > 0


def test_owlrl_closes_a_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("closed")
    source, target = folder / "said.nt", folder / "closed.nt"
    source.write_text(text_of(department(0)[:5]), encoding="utf-8")
    assert owlrl(str(source), str(target))["triples"] > 5
    assert department(0)[0][0] in target.read_text(encoding="utf-8")


def test_the_phases_of_a_statement_are_told_apart() -> None:
    assert list(phases("plain", 1)) == ["read", "written", "reasoned", "answered"]
