"""What folding says must hold for every row: the network's own evaluation is the oracle."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.analysis.folding import KnownValue, truths, value
from sensorstream.analysis.value_kinds import KindScope, kind_of
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.xsd import XSD
from sensorstream.network.expressions.expression_functions import truth_of, value_of
from sensorstream.sparql.algebra import (
    And,
    Arithmetic,
    Call,
    Comparison,
    Expression,
    FunctionCall,
    In,
    Not,
    Or,
    Sign,
    Variable,
)

TERMS: tuple[Term, ...] = (
    IRI("urn:x"),
    Literal("a"),
    Literal("", language="en"),
    Literal("0", xsd.INTEGER),
    Literal("7", xsd.INTEGER),
    Literal("true", xsd.BOOLEAN),
    *(
        Literal(text, f"{XSD}{datatype}")
        for text, datatype in (
            ("2014-08-01T10:00:00Z", "dateTime"),
            ("2014-08-01T10:00:00", "dateTime"),
            ("2014-08-01", "date"),
            ("10:00:00Z", "time"),
            ("PT1H", "dayTimeDuration"),
            ("P1Y", "duration"),
            ("-P1M", "yearMonthDuration"),
            ("2014-02-30", "date"),
            ("seven", "integer"),
            ("POINT(1 2)", "anyURI"),
        )
    ),
)
PLACES = {"x": 0, "y": 1}
rows = st.tuples(*(st.sampled_from((*TERMS, BlankNode("_:b"), None)) for _ in PLACES))
leaves: st.SearchStrategy[Expression] = st.sampled_from(
    (*TERMS, *map(Variable, ("x", "y", "never")))
)


def _larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(And, inner, inner),
        st.builds(Or, inner, inner),
        st.builds(Not, inner),
        st.builds(Comparison, st.sampled_from(("=", "!=", "<", ">=")), inner, inner),
        st.builds(Arithmetic, st.sampled_from(("+", "-", "/")), inner, inner),
        st.builds(Sign, st.just("-"), inner),
        st.builds(lambda of, one, two: In(of, (one, two)), inner, inner, inner),
        st.builds(lambda one, two: Call("COALESCE", (one, two)), inner, inner),
        st.builds(lambda a, b, c: Call("IF", (a, b, c)), inner, inner, inner),
        st.builds(
            lambda name, one: Call(name, (one,)),
            st.sampled_from(("STRLEN", "HOURS", "YEAR", "TZ", "ABS")),
            inner,
        ),
        st.builds(
            lambda name, one: FunctionCall(IRI(f"{XSD}{name}"), (one,)),
            st.sampled_from(("integer", "date", "dateTime", "dayTimeDuration", "string")),
            inner,
        ),
        st.sampled_from(("x", "y")).map(lambda name: Call("BOUND", (Variable(name),))),
    )


@given(expression=st.recursive(leaves, _larger, max_leaves=8), row=rows)
@settings(max_examples=400)
def test_what_an_expression_comes_to_is_among_what_was_said(
    expression: Expression, row: tuple[Term | None, ...]
) -> None:
    kinds = [None if term is None else kind_of(term) for term in row]
    for bound in (
        KindScope(dict.fromkeys(PLACES)),
        KindScope(dict(zip(PLACES, kinds, strict=True))),
    ):
        assert truth_of(expression, PLACES)(row) in truths(expression, bound)
        said = value(expression, bound)
        found = value_of(expression, PLACES)(row)
        if said is KnownValue.FAILS:
            assert found is None
        elif said is not KnownValue.VARIES:
            assert found == said
        told = bound.kinds(expression)
        if found is not None and told is not None:
            assert (kind_of(found) or {"any"}) <= told


def test_an_invalid_literal_is_equal_to_itself() -> None:
    invalid = Literal("2014-02-30", f"{XSD}date")
    for expression in (In(invalid, (invalid, IRI("urn:x"))), Comparison("=", invalid, invalid)):
        assert truth_of(expression, {})(()) is True
        assert True in truths(expression, KindScope({}))
