"""Times and durations in PostgreSQL: its values are those of the network."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from typing import Any

import psycopg2
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sensorstream.history.store import PostgresStore
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.network.expressions.expression_functions import value_of
from sensorstream.network.ordering import order_text
from sensorstream.sparql.algebra import (
    BGP,
    Comparison,
    Expression,
    Extend,
    OrderBy,
    OrderCondition,
    Project,
    Query,
    Select,
    Sign,
    TriplePattern,
    Variable,
)
from tests.history.sparql.world import World
from tests.network.expressions.times import questions, terms

THING, NAMES = IRI("http://example.org/thing"), ("a", "b", "c")
PROPERTIES = {name: IRI(f"http://example.org/{name}") for name in NAMES}
operands: Any = st.one_of(terms, st.sampled_from(NAMES).map(Variable))


def bound(values: dict[str, Term]) -> tuple[list[Triple], BGP]:
    """Triples of a thing with these values, and the pattern that binds them."""
    triples: list[Triple] = [(THING, PROPERTIES[name], value) for name, value in values.items()]
    patterns = [TriplePattern(THING, PROPERTIES[name], Variable(name)) for name in values]
    return triples, BGP(tuple(patterns))


DAY = Literal("P1D", xsd.DAY_TIME_DURATION)
NO_LENGTH = Literal("PT1H", xsd.YEAR_MONTH_DURATION)


@settings(max_examples=25)
@example(values=(DAY, DAY, NO_LENGTH), asked=[Comparison("=", Variable("a"), Variable("c"))])
@example(values=(DAY, DAY, NO_LENGTH), asked=[Sign("-", Variable("c"))])
@given(
    values=st.tuples(terms, terms, terms),
    asked=st.lists(questions(operands), min_size=2, max_size=2),
)
def test_an_expression_of_times_has_the_value_of_the_network(
    world: World, values: tuple[Any, Any, Any], asked: list[Expression]
) -> None:
    triples, pattern = bound(dict(zip(NAMES, values, strict=True)))
    results = [Variable(f"x{n}") for n in range(len(asked))]
    extended: Any = pattern
    for variable, expression in zip(results, asked, strict=True):
        extended = Extend(extended, variable, expression)
    world.forget()
    query = world.compiled(
        Query(Select(Project(extended, tuple(results)))), world.load({None: triples})
    )
    places = {name: n for n, name in enumerate(NAMES)}
    expected = tuple(value_of(each, places)(values) for each in asked)
    assert set(world.answer(query)) == {expected}


@settings(max_examples=25)
@given(found=st.lists(terms, min_size=2, max_size=12, unique=True))
def test_times_are_ordered_as_in_the_network(world: World, found: list[Any]) -> None:
    variable = Variable("a")
    triples: list[Triple] = [(THING, PROPERTIES["a"], each) for each in found]
    block = BGP((TriplePattern(THING, PROPERTIES["a"], variable),))
    pattern = Project(OrderBy(block, (OrderCondition(variable, False),)), (variable,))
    world.forget()
    query = world.compiled(Query(Select(pattern)), world.load({None: triples}))
    answer = [row[0] for row in world.answer(query)]
    keys = [order_text(each) for each in answer]
    assert all(not after < before for before, after in pairwise(keys))


def test_most_times_are_ordered_without_being_taken_apart(store: PostgresStore) -> None:
    with closing(psycopg2.connect(store.url)) as connection, connection.cursor() as cursor:
        cursor.execute("set track_functions = 'all'")
        cursor.execute(
            "create temporary table said as select m.text || d.text || c.text || z.text as text "
            "from unnest(array['0999-', '1000-', '1900-', '2000-', '2014-', '-2014-', '12014-']) "
            "as y (text), lateral (select y.text || m || '-' as text "
            "from unnest(array['01', '02', '03', '04', '12']) m) m, "
            "unnest(array['01', '28', '29', '30', '31']) d (text), "
            "unnest(array['T00:00:00', 'T23:59:59.9', 'T12:00:00.123456', 'T12:00:00.1234567', "
            "'T24:00:00', 'T25:00:00']) c (text), "
            "unnest(array['Z', '+14:00', '-00:30', '', '+15:00']) z (text)"
        )
        kind = f"'{xsd.DATE_TIME}'"
        cursor.execute(
            f"select text from said, lateral (select store.time_value(text, {kind}) as v) v where "
            f"store.time_key(text, {kind}) is distinct from store.time_utc(v) or "
            f"store.time_tie(text, {kind}) is distinct from "
            "case when v is not null then (v[2] is null)::int end"
        )
        assert cursor.fetchall() == []
        connection.commit()
        cursor.execute(
            f"select text from said where text ~ '^2014-0[13]-31T12:00:00.123456[Z+]' "
            f"order by store.time_key(text, {kind}), store.time_tie(text, {kind})"
        )
        assert len(cursor.fetchall()) == 6
        cursor.execute(
            "select calls from pg_stat_xact_user_functions where funcname = 'time_value'"
        )
        # Those with a zone that there is not.
        assert cursor.fetchall() == [(4,)]
