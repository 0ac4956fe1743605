from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from sensorstream.model.terms import IRI
from sensorstream.sparql.algebra import Comparison, Filter, Project, Query, Select, Update, Variable
from sensorstream.sparql.query_parser import parse_query, parse_update
from sensorstream.sparql.query_printer import query_text
from tests.sparql.strategies import queries, updates
from tests.w3c.checks import printed

SLOW = settings(max_examples=60, deadline=None)


@SLOW
@given(queries())
def test_a_query_that_is_printed_and_read_means_the_same(query: Query) -> None:
    assert parse_query(query_text(query)) == query


@SLOW
@given(updates())
def test_an_update_that_is_printed_and_read_means_the_same(update: Update) -> None:
    assert parse_update(printed(update)) == update


def test_several_filters_of_a_group_are_one_condition_of_having() -> None:
    # The rules that rewrite patterns may leave a filter above another one.
    query = parse_query("SELECT ?x { ?x ?p ?o } GROUP BY ?x HAVING (?x != <urn:x:a>)")
    assert isinstance(query.form, Select)
    project = query.form.pattern
    assert isinstance(project, Project)
    assert isinstance(project.pattern, Filter)
    again = Filter(Comparison("!=", Variable("x"), IRI("urn:x:b")), project.pattern)
    form = replace(query.form, pattern=replace(project, pattern=again))
    text = query_text(replace(query, form=form))
    assert "HAVING ((?x != <urn:x:a>) && (?x != <urn:x:b>))" in text
