"""The W3C's evaluation tests, each answered by PostgreSQL in one query."""

from __future__ import annotations

import pytest

from tests.history.sparql.w3c import fault_of_history
from tests.history.sparql.world import World
from tests.w3c.manifests import QueryCase, parameters, query_cases


@pytest.mark.parametrize("case", parameters(query_cases()))
def test_postgresql_gives_the_stated_result(case: QueryCase, world: World) -> None:
    assert fault_of_history(case, world) is None
