"""Tests that rules make of one event: asked once for all they say what each says by itself."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.expressions import expression_functions
from sensorstream.network.selection.member_tests import MemberTests
from sensorstream.sparql.algebra import Comparison, Expression, Variable

NAMES = ("v", "r")
numbers = st.integers(-3, 3).flatmap(
    lambda each: st.sampled_from(
        [
            Literal(str(each), xsd.INTEGER),
            Literal(f"{each}.5", xsd.DECIMAL),
            Literal(f"{each}.0", xsd.DOUBLE),
            Literal(f"{each}e-1", xsd.DOUBLE),
        ]
    )
)
terms = st.one_of(
    numbers,
    st.sampled_from(
        [
            IRI("urn:a"),
            IRI("urn:b"),
            Literal("a"),
            Literal("NaN", xsd.DOUBLE),
            Literal("INF", xsd.DOUBLE),
            Literal("x", xsd.INTEGER),
            Literal("2020-01-01T00:00:00Z", xsd.DATE_TIME),
            Literal("2020-01-01T01:00:00+01:00", xsd.DATE_TIME),
        ]
    ),
)


@st.composite
def conditions(draw: st.DrawFn) -> list[list[Expression]]:
    """The tests of some rules; many differ in their constants only."""
    shapes = draw(
        st.lists(
            st.tuples(st.sampled_from(["=", "<", "<=", ">", ">=", "!="]), st.sampled_from(NAMES)),
            min_size=1,
            max_size=2,
        )
    )
    constants = draw(st.sampled_from([terms, numbers]))
    alike = draw(st.booleans())
    return [
        [
            Comparison(operator, Variable(name), draw(constants))  # type: ignore[arg-type]
            for operator, name in shapes
            if alike or draw(st.booleans())
        ]
        for _ in range(draw(st.integers(1, 5)))
    ]


rows = st.tuples(st.one_of(st.none(), terms), st.one_of(st.none(), terms))


@settings(max_examples=80)
@given(conditions(), st.lists(rows, min_size=1, max_size=6), st.sets(st.integers(0, 4)))
def test_rules_are_parted_as_each_would_say(
    tests: list[list[Expression]], events: list[tuple[Term | None, Term | None]], some: set[int]
) -> None:
    together = MemberTests(tests, NAMES)
    slots = {name: place for place, name in enumerate(NAMES)}
    among = sorted(some & set(range(len(tests))))
    for row in events:
        each = [
            number
            for number, own in enumerate(tests)
            if all(expression_functions.test_of(test, slots)(row) for test in own)
        ]
        assert sorted(together.passed(row)) == each
        assert sorted(together.passed(row, among)) == [n for n in among if n in each]


def test_an_event_costs_the_rules_that_it_concerns() -> None:
    asked = 0

    class Counted(IRI):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal asked
            asked += 1
            return str.__eq__(self, str(other))

        __hash__ = IRI.__hash__

    rooms = [[Comparison("=", Variable("r"), IRI(f"urn:{each}"))] for each in range(1000)]
    together = MemberTests(rooms, NAMES)
    assert list(together.passed((None, Counted("urn:7")))) == [7]
    assert asked < 10


def test_a_number_between_two_constants_of_other_types_is_in_its_place() -> None:
    least = [Literal("1", xsd.INTEGER), Literal("2.5", xsd.DECIMAL), Literal("3", xsd.INTEGER)]
    together = MemberTests([[Comparison(">", Variable("v"), each)] for each in least], NAMES)
    assert Decimal("2.5") == least[1].value
    assert list(together.passed((Literal("2.75", xsd.DECIMAL), None))) == [0, 1]
    assert list(together.passed((Literal("2.75", xsd.DOUBLE), None))) == [0, 1]
