"""One database for all tests of compiled queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.history.sparql.world import World


@pytest.fixture(scope="session")
def world(new_database: Callable[[], str]) -> Iterator[World]:
    """A database for data sets."""
    made = World(new_database())
    yield made
    made.close()
