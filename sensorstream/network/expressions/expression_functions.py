"""From an expression of the algebra to a function of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import TypeAlias, TypeVar

from sensorstream.errors import NotIncremental, UnsupportedQuery
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.expressions.arithmetic import is_arithmetic, operand_of, order_of, term_of
from sensorstream.network.expressions.made_nodes import made_node
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import (
    And,
    Call,
    Comparison,
    Exists,
    Expression,
    FunctionCall,
    In,
    Not,
    Or,
    Variable,
)
from sensorstream.sparql.extensions import EXTENSIONS
from sensorstream.sparql.functions import (
    CASTS,
    FUNCTIONS,
    UNREPEATABLE,
    Function,
    fault_of_pattern,
    iri_function,
)
from sensorstream.sparql.values import FALSE, ORDERS, TRUE, boolean, compare, equal, truth
from sensorstream.sparql.walk import replaced

_Node = TypeVar("_Node")
Value: TypeAlias = Callable[[Row], Term | None]


def value_of(expression: Expression, places: Mapping[str, int]) -> Value:
    """The value of an expression as a function of a row with its variables at ``places``.

    A variable without a place is unbound. EXISTS must have been replaced by a variable.

    Raises:
        NotIncremental: a function whose value changes without a change of its arguments.
        UnsupportedQuery: an unknown function, or a constant that is not a valid pattern of REGEX.
    """
    if is_arithmetic(expression):
        return _computed(expression, places)
    match expression:
        case IRI() | Literal():
            return _constant(expression)
        case Variable(name):
            return _variable(places.get(name))
        case Or() | And() | Not():
            return _truth_value(truth_of(expression, places))
        case Comparison():
            return _truth_value(_comparison(expression, places))
        case In():
            return _truth_value(_membership(expression, places))
        case Call():
            return _call(expression, places)
        case FunctionCall():
            return _named_by_iri(expression, places)
        case Exists():
            raise NotIncremental(
                "EXISTS in a place where its pattern cannot be maintained", part=expression
            )
    raise UnsupportedQuery(f"unknown expression: {expression}")


def test_of(expression: Expression, places: Mapping[str, int]) -> Callable[[Row], bool]:
    """Whether the effective boolean value of an expression is true; an error is not.

    Raises:
        NotIncremental: as :func:`value_of`.
    """
    found = truth_of(expression, places)
    return lambda row: found(row) is True


def truth_of(expression: Expression, places: Mapping[str, int]) -> Callable[[Row], bool | None]:
    """The effective boolean value of an expression; None is an error (section 17.2)."""
    match expression:
        case Or(left, right):
            return _or(truth_of(left, places), truth_of(right, places))
        case And(left, right):
            return _and(truth_of(left, places), truth_of(right, places))
        case Not(operand):
            return _not(truth_of(operand, places))
        case Comparison():
            return _comparison(expression, places)
        case In():
            return _membership(expression, places)
    value = value_of(expression, places)
    return lambda row: truth(value(row))


def _constant(term: Term) -> Value:
    return lambda row: term


def _variable(place: int | None) -> Value:
    if place is None:
        return lambda row: None
    return itemgetter(place)


def _truth_value(found: Callable[[Row], bool | None]) -> Value:
    def value(row: Row) -> Term | None:
        result = found(row)
        return None if result is None else boolean(result)

    return value


def _or(
    left: Callable[[Row], bool | None], right: Callable[[Row], bool | None]
) -> Callable[[Row], bool | None]:
    def value(row: Row) -> bool | None:
        one = left(row)
        if one:
            return True
        other = right(row)
        if other:
            return True
        return None if one is None or other is None else False

    return value


def _and(
    left: Callable[[Row], bool | None], right: Callable[[Row], bool | None]
) -> Callable[[Row], bool | None]:
    def value(row: Row) -> bool | None:
        one = left(row)
        if one is False:
            return False
        other = right(row)
        if other is False:
            return False
        return None if one is None or other is None else True

    return value


def _not(operand: Callable[[Row], bool | None]) -> Callable[[Row], bool | None]:
    def value(row: Row) -> bool | None:
        found = operand(row)
        return None if found is None else not found

    return value


def _comparison(expression: Comparison, places: Mapping[str, int]) -> Callable[[Row], bool | None]:
    left, right = value_of(expression.left, places), value_of(expression.right, places)
    if expression.operator == "=":
        return lambda row: equal(left(row), right(row))
    if expression.operator == "!=":

        def unequal(row: Row) -> bool | None:
            found = equal(left(row), right(row))
            return None if found is None else not found

        return unequal
    accepted = frozenset(ORDERS[expression.operator])
    if is_arithmetic(expression.left) or is_arithmetic(expression.right):
        one = operand_of(expression.left, places, value_of)
        other = operand_of(expression.right, places, value_of)

        def ordered_amounts(row: Row) -> bool | None:
            order = order_of(one(row), other(row))
            return None if order is None else order in accepted

        return ordered_amounts

    def ordered(row: Row) -> bool | None:
        order = compare(left(row), right(row))
        return None if order is None else order in accepted

    return ordered


def _membership(expression: In, places: Mapping[str, int]) -> Callable[[Row], bool | None]:
    operand = value_of(expression.operand, places)
    choices = [value_of(each, places) for each in expression.choices]

    def value(row: Row) -> bool | None:
        term = operand(row)
        failed = False
        for choice in choices:
            found = equal(term, choice(row))
            if found:
                return True
            failed = failed or found is None
        return None if failed else False

    return value


def _computed(expression: Expression, places: Mapping[str, int]) -> Value:
    operand = operand_of(expression, places, value_of)
    return lambda row: term_of(operand(row))


def _named_by_iri(call: FunctionCall, places: Mapping[str, int]) -> Value:
    """A cast, or one of the functions of :data:`EXTENSIONS`."""
    function, arguments = call.function, call.arguments
    if cast := CASTS.get(function):
        if len(arguments) != 1:
            raise UnsupportedQuery(
                f"<{function}>(): expected one argument, not {len(arguments)}", part=call
            )
        return _strict(cast, value_of(arguments[0], places))
    extension = EXTENSIONS.get(function)
    if extension is None:
        raise UnsupportedQuery(
            f"<{function}>(): there is no such function; those named by an IRI are the casts, "
            f"such as xsd:integer(?x), and {', '.join(f'<{each}>' for each in EXTENSIONS)}",
            part=call,
        )
    left, right = (value_of(each, places) for each in arguments)

    def value(row: Row) -> Term | None:
        one, other = left(row), right(row)
        return None if one is None or other is None else extension(one, other)

    return value


def _strict(function: Function, argument: Value) -> Value:
    def value(row: Row) -> Term | None:
        term = argument(row)
        return None if term is None else function(term)

    return value


def with_base(node: _Node, base: IRI | None) -> _Node:
    """The same expressions, with the base of relative IRIs as a second argument of IRI()."""

    def change(each: object) -> object | None:
        if isinstance(each, Call) and each.name in ("IRI", "URI") and len(each.arguments) == 1:
            return Call(each.name, (with_base(each.arguments[0], base), base or IRI("")))
        return None

    return node if base is None else replaced(node, change)


def _call(call: Call, places: Mapping[str, int]) -> Value:
    name, arguments = call.name, call.arguments
    if name in UNREPEATABLE:
        raise NotIncremental(f"{name}() has another value each time", part=call)
    if name == "BOUND":
        (variable,) = arguments
        bound = value_of(variable, places)
        return lambda row: TRUE if bound(row) is not None else FALSE
    values = [value_of(each, places) for each in arguments]
    if name == "COALESCE":
        return lambda row: next(
            (found for each in values if (found := each(row)) is not None), None
        )
    if name == "IF":
        condition = truth_of(arguments[0], places)
        _, then, otherwise = values

        def choose(row: Row) -> Term | None:
            found = condition(row)
            return None if found is None else then(row) if found else otherwise(row)

        return choose
    _check_pattern(call)
    function = made_node if name == "NODE" else FUNCTIONS[name].value
    if name in ("IRI", "URI") and len(arguments) == 2:
        # The second argument is the base of the query, put there by the compiler.
        function = iri_function(str(arguments[1]))
        values = values[:1]
    if function is None:
        raise UnsupportedQuery(
            f"{name}(): there is no such function in a continuous query", part=call
        )
    if len(values) == 1:
        (single,) = values
        return lambda row: function(single(row))
    if len(values) == 2:
        first, second = values
        return lambda row: function(first(row), second(row))
    return lambda row: function(*[each(row) for each in values])


def _check_pattern(call: Call) -> None:
    """Check that a constant regular expression is valid."""
    name, arguments = call.name, call.arguments
    flags = 2 if name == "REGEX" else 3
    if name not in ("REGEX", "REPLACE") or not isinstance(arguments[1], Literal):
        return
    options = arguments[flags] if len(arguments) > flags else Literal("")
    if isinstance(options, Literal):
        reason = fault_of_pattern(arguments[1].lexical, options.lexical)
        if reason:
            raise UnsupportedQuery(f"{name}(): '{arguments[1].lexical}' {reason}", part=call)
