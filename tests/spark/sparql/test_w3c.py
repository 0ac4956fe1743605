"""A part of the W3C's evaluation tests, each answered by Spark."""

from __future__ import annotations

from typing import Final

import pytest

from tests.effort import rounds
from tests.history.sparql.w3c import fault_of_history
from tests.spark.sparql.held_world import SparkWorld
from tests.w3c.manifests import QueryCase, parameters, query_cases

TOGETHER: Final = 10
"""Of so many cases that follow each other a plain run asks one, a campaign all."""
CASES: Final = [
    case for place, case in enumerate(query_cases()) if place * 3 % TOGETHER in rounds(3)
]


@pytest.mark.parametrize("case", parameters(CASES))
def test_spark_gives_the_stated_result(case: QueryCase, spark_world: SparkWorld) -> None:
    assert fault_of_history(case, spark_world) is None
