"""Times and durations in DuckDB: its values are those of the network."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.network.expressions.expression_functions import value_of
from sensorstream.sparql.algebra import Expression, Extend, Project, Query, Select, Variable
from tests.archive.sparql.world import World
from tests.history.sparql.test_times import NAMES, bound, operands
from tests.network.expressions.times import questions, terms


@settings(max_examples=5)
@given(values=st.tuples(terms, terms, terms), asked=questions(operands))
def test_an_expression_of_times_has_the_value_of_the_network(
    archive_world: World, values: tuple[Any, Any, Any], asked: Expression
) -> None:
    triples, pattern = bound(dict(zip(NAMES, values, strict=True)))
    result = Variable("x")
    query = Query(Select(Project(Extend(pattern, result, asked), (result,))))
    archive_world.forget()
    compiled = archive_world.compiled(query, archive_world.load({None: triples}))
    places = {name: n for n, name in enumerate(NAMES)}
    assert set(archive_world.answer(compiled)) == {(value_of(asked, places)(values),)}
