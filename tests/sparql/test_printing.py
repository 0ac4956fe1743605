from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from sensorstream.sparql.algebra import Query, Update
from sensorstream.sparql.parser import parse_query, parse_update
from sensorstream.sparql.printing import query_text, update_text
from tests.sparql.strategies import queries, updates

SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SLOW
@given(queries())
def test_a_query_that_is_printed_and_read_means_the_same(query: Query) -> None:
    assert parse_query(query_text(query)) == query


@SLOW
@given(updates())
def test_an_update_that_is_printed_and_read_means_the_same(update: Update) -> None:
    assert parse_update(update_text(update)) == update
