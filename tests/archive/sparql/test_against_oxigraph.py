"""Random patterns on random graphs: DuckDB's answer is Oxigraph's."""

from __future__ import annotations

from hypothesis import given, settings

from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.algebra import Pattern
from tests.archive.sparql.world import World
from tests.history.sparql.test_against_oxigraph import both_answers, data_sets
from tests.network.oracle import patterns


@settings(max_examples=25)
@given(data=data_sets, pattern=patterns())
def test_a_pattern_has_the_solutions_of_oxigraph(
    archive_world: World, data: list[tuple[Triple, IRI | None]], pattern: Pattern
) -> None:
    found, expected = both_answers(archive_world, data, pattern)
    assert found == expected
