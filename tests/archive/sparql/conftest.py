"""One DuckDB for all tests of compiled queries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.archive.sparql.world import World


@pytest.fixture(scope="session")
def archive_world() -> Iterator[World]:
    """Tables for data sets."""
    made = World()
    yield made
    made.close()
