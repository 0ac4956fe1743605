"""A part of the W3C's evaluation tests, each answered by DuckDB in one query."""

from __future__ import annotations

import pytest

from tests.archive.sparql.world import World
from tests.history.sparql.w3c import fault_of_history
from tests.w3c.manifests import QueryCase, parameters, query_cases

CASES = query_cases()


@pytest.mark.parametrize("case", parameters(CASES[::5]))
def test_duckdb_gives_the_stated_result(case: QueryCase, archive_world: World) -> None:
    assert fault_of_history(case, archive_world) is None
