from __future__ import annotations

from benchmarks.lubm.generator import QUERIES
from benchmarks.middle import departments, individuals
from benchmarks.middle.event_files import departments as lines


def test_every_query_has_answers_that_oxigraph_and_the_network_agree_on() -> None:
    # A disagreement raises.
    assert set(departments.rates(1)) >= {"departments stay", "each leaves before the next"}
    solutions, _ = departments.oxigraph([departments.graph_of(each) for each in lines(2)], 1)
    answered = [number for number, count in enumerate(solutions, 1) if count]
    # The second asks for graduates of the one university: few departments have them.
    assert set(answered) >= set(range(1, len(QUERIES) + 1)) - {2}


def test_an_individual_is_measured_with_its_terms() -> None:
    found = individuals.bytes_each(200)
    assert found["in all"] > found["of that, terms and triples"] > 0
