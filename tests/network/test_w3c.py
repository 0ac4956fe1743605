"""The W3C's evaluation tests, with their data as a stream and junk that comes and goes."""

from __future__ import annotations

import pytest

from sensorstream.sparql.algebra import OrderBy, Query
from sensorstream.sparql.walk import nodes
from tests.w3c.checks import read
from tests.w3c.manifests import QueryCase, parameters, query_cases
from tests.w3c.network import ANEW, NETWORK_DEVIATIONS, answer_of_network
from tests.w3c.results import Solutions, equal, expected


@pytest.mark.parametrize("case", parameters(query_cases()))
def test_a_stream_of_the_data_gives_the_stated_result(case: QueryCase) -> None:
    query = read(case, update=False)
    assert isinstance(query, Query)
    found, reason = answer_of_network(case, query)
    wanted = expected(case.result)
    by_rows = any(isinstance(node, OrderBy) for node in nodes(query.form.pattern))
    by_file = any(isinstance(each, Solutions) and each.ordered for each in (found, wanted))
    right = equal(found, wanted, ordered=by_rows or by_file, lax=case.lax)
    assert right is (case.label not in NETWORK_DEVIATIONS)
    assert bool(reason) is (case.label in ANEW)
