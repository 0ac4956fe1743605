"""SPARQL over a deployment's history in PostgreSQL: as Oxigraph answers it."""

from __future__ import annotations

import pytest

from sensorstream.errors import Overrun, QueryError, UnsupportedQuery
from sensorstream.history.asking.checked_question import read_question
from sensorstream.history.asking.query_run import AskingLimits, answered, plan_of
from sensorstream.model.timeline import Timeline
from tests.databases import Databases
from tests.history import house

LIMITS = AskingLimits(30.0, 10_000)


@pytest.fixture(scope="module")
def history(new_database: Databases, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of the house's history; its server has stopped."""
    url = new_database()
    house.live(url, tmp_path_factory.mktemp("house"))
    return url


def test_there_are_enough_questions() -> None:
    assert len(house.cases()) >= 60


@pytest.mark.parametrize("case", house.cases(), ids=lambda case: case.name)
def test_an_answer_is_that_of_oxigraph(history: str, case: house.Case) -> None:
    store = house.exported(history, case.question.time)
    with answered(history, case.question, LIMITS) as answer:
        found = house.comparable(answer, case)
    assert found == house.expected(store, case)


def ask(url: str, text: str, limits: AskingLimits = LIMITS) -> object:
    question = read_question(text, Timeline.INTEGER)
    with answered(url, question, limits) as answer:
        return answer if isinstance(answer, bool) else len(list(getattr(answer, "rows", ())))


def test_an_answer_with_too_many_rows_is_an_error_and_never_cut_off(history: str) -> None:
    text = "SELECT * { ?s ?p ?o } LIMIT 11"
    assert ask(history, text, AskingLimits(30.0, 11)) == 11
    with pytest.raises(Overrun, match=r"more than 10 rows: .* LIMIT \(limits\.question_rows\)"):
        ask(history, text, AskingLimits(30.0, 10))


def test_a_query_may_not_take_for_ever(history: str) -> None:
    text = "SELECT (COUNT(*) AS ?n) { " + "".join(f"?s{n} ?p{n} ?o{n} . " for n in range(9)) + "}"
    with pytest.raises(Overrun, match="longer than"):
        ask(history, text, AskingLimits(0.3, 100))


def test_a_text_nested_to_the_limit_is_answered_or_refused(history: str) -> None:
    deep = f"ASK {'{' * 195} ?s ?p ?o {'}' * 195}"
    assert ask(history, deep) is True
    with pytest.raises(QueryError, match="nested too deeply"):
        ask(history, f"ASK {'{' * 300} ?s ?p ?o {'}' * 300}")


@pytest.mark.parametrize("text", ["'; drop table store.terms; --", "%s %(x)s", "{}", "\\\\", "$$"])
def test_a_constant_stays_a_constant(history: str, text: str) -> None:
    assert ask(history, f'ASK {{ ?s ?p "{text}" }}') is False
    assert ask(history, f'SELECT ("{text}" AS ?x) {{}}') == 1


def test_what_sql_cannot_say_is_refused_by_name(history: str) -> None:
    with pytest.raises(UnsupportedQuery):
        ask(history, "SELECT * { ?s ?p ?o FILTER(<urn:no-function>(?o)) }")


def test_the_plan_shows_the_sql_and_what_postgresql_does(history: str) -> None:
    question = read_question("SELECT ?s { ?s ?p 5 } LIMIT 3", Timeline.INTEGER)
    found = plan_of(history, question, LIMITS)
    assert "store.statements" in found.sql
    assert "Limit" in found.plan
    assert "actual" not in found.plan
    assert found.algebra.startswith("Slice")
    (case,) = [each for each in house.cases() if each.name == "places"]
    found = plan_of(history, case.question, LIMITS)
    assert "store.statements" in found.sql
    assert "sfWithin" in found.algebra
    assert "actual" in plan_of(history, question, LIMITS, analyze=True).plan


def test_the_planner_is_told_what_as_of_an_instant_means(history: str) -> None:
    question = read_question("SELECT * { ?s ?p ?o }", Timeline.INTEGER, at="30")
    sql = plan_of(history, question, LIMITS).sql
    assert "span(valid_from, valid_to) @> CAST(30 AS BIGINT)" in sql
