"""Random patterns on random graphs: Spark's answer is Oxigraph's."""

from __future__ import annotations

from hypothesis import given, reject, settings

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.algebra import Pattern
from tests.history.sparql import test_against_oxigraph as of_postgresql
from tests.network.oracle import patterns
from tests.spark.sparql.held_world import SparkWorld


@settings(max_examples=100)
@given(data=of_postgresql.data_sets, pattern=patterns())
def test_spark_has_the_solutions_of_oxigraph(
    spark_world: SparkWorld, data: list[tuple[Triple, IRI | None]], pattern: Pattern
) -> None:
    try:
        found, expected = of_postgresql.both_answers(spark_world, data, pattern)
    except UnsupportedQuery:
        # An EXISTS, a MINUS or an OPTIONAL within an EXISTS.
        reject()
    assert found == expected
