"""The W3C's evaluation tests, with their data as a stream and junk that comes and goes."""

from __future__ import annotations

import pytest

from tests.w3c.manifests import QueryCase, parameters, query_cases
from tests.w3c.network import fault_of_network


@pytest.mark.parametrize("case", parameters(query_cases()))
def test_a_stream_of_the_data_gives_the_stated_result(case: QueryCase) -> None:
    assert fault_of_network(case) is None
