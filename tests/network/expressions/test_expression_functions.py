"""A computation is what its operations give one after the other, each of terms (section 17.3)."""

from __future__ import annotations

from typing import Literal as OneOf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.expressions.expression_functions import truth_of, value_of
from sensorstream.sparql.algebra import Arithmetic, Call, Comparison, Expression, Sign, Variable
from sensorstream.sparql.values import compare, equal

INT = "http://www.w3.org/2001/XMLSchema#int"
TERMS: tuple[Term | None, ...] = (
    *(Literal(each, xsd.INTEGER) for each in ("0", "7", "-3", "007", "9" * 4000)),
    *(Literal(each, xsd.DECIMAL) for each in ("0.0", "2.50", "-1.16818457031250", "4000000.1")),
    *(Literal(each, xsd.DOUBLE) for each in ("1.5E0", "-0.0E0", "NaN", "INF", "-INF", "1e308")),
    Literal("0.1", xsd.FLOAT),
    Literal("5", INT),
    Literal("five", xsd.INTEGER),
    Literal("five"),
    Literal("2026-03-02T12:00:00Z", xsd.DATE_TIME),
    Literal("2026-03-02T13:30:00Z", xsd.DATE_TIME),
    Literal("PT30M", xsd.DAY_TIME_DURATION),
    IRI("http://example.org/a"),
    None,
)
NAMES = tuple(f"v{place}" for place in range(len(TERMS)))
PLACES = {name: place for place, name in enumerate(NAMES)}
leaves: st.SearchStrategy[Expression] = st.one_of(
    st.sampled_from(NAMES).map(Variable),
    st.sampled_from([each for each in TERMS if each is not None]),
)


def larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from("+-*/"), inner, inner),
        st.builds(Sign, st.sampled_from("+-"), inner),
        st.builds(
            Call, st.sampled_from(["ABS", "ROUND", "CEIL", "FLOOR"]), inner.map(lambda e: (e,))
        ),
    )


computations = st.recursive(leaves, larger, max_leaves=8)


def step_by_step(expression: Expression) -> Term | None:
    """Each operation by itself, of the terms that its operands are."""
    match expression:
        case Variable(name):
            return TERMS[PLACES[name]]
        case Arithmetic(operator, left, right):
            row = (step_by_step(left), step_by_step(right))
            alone: Expression = Arithmetic(operator, Variable("a"), Variable("b"))
        case Sign(operator, operand):
            row = (step_by_step(operand), None)
            alone = Sign(operator, Variable("a"))
        case Call(name, (argument,)):
            row = (step_by_step(argument), None)
            alone = Call(name, (Variable("a"),))
        case _:
            assert isinstance(expression, IRI | Literal)
            return expression
    return value_of(alone, {"a": 0, "b": 1})(row)


@settings(max_examples=150)
@given(computations)
def test_a_computation_is_what_its_operations_give_one_by_one(expression: Expression) -> None:
    assert value_of(expression, PLACES)(TERMS) == step_by_step(expression)


@settings(max_examples=150)
@given(st.sampled_from(["=", "!=", "<", ">", "<=", ">="]), computations, computations)
def test_a_comparison_of_computations_is_one_of_their_terms(
    operator: OneOf["=", "!=", "<", ">", "<=", ">="], left: Expression, right: Expression
) -> None:
    one, other = step_by_step(left), step_by_step(right)
    found = truth_of(Comparison(operator, left, right), PLACES)(TERMS)
    if operator in ("=", "!="):
        same = equal(one, other)
        assert found == (same if same is None or operator == "=" else not same)
        return
    order = compare(one, other)
    meant = {"<": (-1,), ">": (1,), "<=": (-1, 0), ">=": (0, 1)}[operator]
    assert found == (None if order is None else order in meant)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("ABS", "-INF", "INF"),
        ("ABS", "NaN", "NaN"),
        ("ROUND", "-INF", "-INF"),
        ("CEIL", "INF", "INF"),
        ("FLOOR", "NaN", "NaN"),
    ],
)
def test_what_is_not_finite_is_rounded_to_itself(name: str, text: str, expected: str) -> None:
    found = value_of(Call(name, (Literal(text, xsd.DOUBLE),)), {})(())
    assert found == Literal(expected, xsd.DOUBLE)


def test_a_number_on_the_way_may_have_no_more_digits_than_a_result() -> None:
    huge = Literal("9" * 4000, xsd.INTEGER)
    square = Arithmetic("*", huge, huge)
    assert value_of(square, {})(()) is None
    assert value_of(Arithmetic("-", square, square), {})(()) is None
