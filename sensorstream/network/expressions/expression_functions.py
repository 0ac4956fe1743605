"""Functions of a row, made from expressions of the algebra."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, DivisionByZero, InvalidOperation
from hashlib import blake2b
from operator import itemgetter
from typing import Final, TypeAlias, TypeVar

from sensorstream.errors import NotIncremental, Overrun, UnsupportedQuery
from sensorstream.model.numerals import nearest_single, quotient, single
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.xsd import EXACT
from sensorstream.network.rows import Row
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Variable
from sensorstream.sparql.extensions import EXTENSIONS
from sensorstream.sparql.functions import (
    CASTS,
    FUNCTIONS,
    ROUNDINGS,
    UNREPEATABLE,
    fault_of_pattern,
    iri_function,
)
from sensorstream.sparql.place_functions import GEOF
from sensorstream.sparql.values import (
    FALSE,
    FLOAT,
    ORDERS,
    RANKS,
    TRUE,
    Number,
    as_comparable,
    boolean,
    calculated_time,
    compare,
    equal,
    has_digits,
    numeral,
    promoted,
    signed_time,
    truth,
)
from sensorstream.sparql.walk import replaced

_Node = TypeVar("_Node")
_Given = TypeVar("_Given")
_OWN: Final = [f"<{name}>" for name in EXTENSIONS if not name.startswith(GEOF)]
Value: TypeAlias = Callable[[Row], Term | None]
Truth: TypeAlias = Callable[[Row], bool | None]
"""The effective boolean value of a row; None is an error (section 17.2)."""


def value_of(expression: Expression, places: Mapping[str, int]) -> Value:
    """Make a function for the value of an expression for a row with variables at ``places``.

    A variable without a place is unbound. EXISTS must have been replaced by a variable. Raises
    NotIncremental at a function whose value changes without a change of its arguments;
    UnsupportedQuery at an unknown function, or a constant that is not a valid pattern of REGEX.
    """
    if _is_arithmetic(expression):
        return _computed(expression, places)
    match expression:
        case IRI() | Literal():
            return _constant(expression)
        case Variable(name):
            return _variable(places.get(name))
        case algebra.Or() | algebra.And() | algebra.Not() | algebra.Comparison() | algebra.In():
            return _strict(boolean, truth_of(expression, places))
        case algebra.Call():
            return _call(expression, places)
        case algebra.FunctionCall():
            return _named_by_iri(expression, places)
        case algebra.Exists():
            raise NotIncremental(
                "EXISTS in a place where its pattern cannot be maintained", part=expression
            )
    raise UnsupportedQuery(f"unknown expression: {expression}")


def test_of(expression: Expression, places: Mapping[str, int]) -> Callable[[Row], bool]:
    """Make a test of an expression, with an error as false; raises as :func:`value_of`."""
    found = truth_of(expression, places)
    return lambda row: found(row) is True


def all_of(tests: Sequence[Callable[[Row], bool]]) -> Callable[[Row], bool] | None:
    """Make a test of whether all tests are true of a row; None if there are none."""
    if len(tests) < 2:
        return tests[0] if tests else None
    return lambda row: all(test(row) for test in tests)


def truth_of(expression: Expression, places: Mapping[str, int]) -> Truth:
    """Make a function for the effective boolean value; None is an error (section 17.2)."""
    match expression:
        case algebra.Or(left, right):
            return _junction(truth_of(left, places), truth_of(right, places), True)
        case algebra.And(left, right):
            return _junction(truth_of(left, places), truth_of(right, places), False)
        case algebra.Not(operand):
            return _not(truth_of(operand, places))
        case algebra.Comparison():
            return _comparison(expression, places)
        case algebra.In():
            return _membership(expression, places)
    value = value_of(expression, places)
    return lambda row: truth(value(row))


def _constant(term: Term) -> Value:
    return lambda row: term


def _variable(place: int | None) -> Value:
    if place is None:
        return lambda row: None
    return itemgetter(place)


def _junction(left: Truth, right: Truth, decisive: bool) -> Truth:
    """OR, which one true side decides (``decisive``), or AND, which one false side does."""

    def value(row: Row) -> bool | None:
        one = left(row)
        if one is decisive:
            return decisive
        other = right(row)
        if other is decisive:
            return decisive
        return None if one is None or other is None else not decisive

    return value


def _not(operand: Truth) -> Truth:
    def value(row: Row) -> bool | None:
        found = operand(row)
        return None if found is None else not found

    return value


def _comparison(expression: algebra.Comparison, places: Mapping[str, int]) -> Truth:
    left, right = value_of(expression.left, places), value_of(expression.right, places)
    if expression.operator == "=":
        return lambda row: equal(left(row), right(row))
    if expression.operator == "!=":
        return _not(lambda row: equal(left(row), right(row)))
    accepted = frozenset(ORDERS[expression.operator])
    if _is_arithmetic(expression.left) or _is_arithmetic(expression.right):
        one = _operand_of(expression.left, places)
        other = _operand_of(expression.right, places)

        def ordered_amounts(row: Row) -> bool | None:
            order = _order_of(one(row), other(row))
            return None if order is None else order in accepted

        return ordered_amounts

    def ordered(row: Row) -> bool | None:
        order = compare(left(row), right(row))
        return None if order is None else order in accepted

    return ordered


def _membership(expression: algebra.In, places: Mapping[str, int]) -> Truth:
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
    operand = _operand_of(expression, places)
    return lambda row: _term_of(operand(row))


def _named_by_iri(call: algebra.FunctionCall, places: Mapping[str, int]) -> Value:
    """Make the function of a cast, or of one of :data:`EXTENSIONS`."""
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
            f"such as xsd:integer(?x), those of GeoSPARQL in <{GEOF}>, and {', '.join(_OWN)}",
            part=call,
        )
    values = [value_of(each, places) for each in arguments]

    def value(row: Row) -> Term | None:
        terms = [each(row) for each in values]
        return None if None in terms else extension(*terms)  # type: ignore[arg-type]

    return value


def _strict(
    function: Callable[[_Given], Term | None], argument: Callable[[Row], _Given | None]
) -> Value:
    def value(row: Row) -> Term | None:
        given = argument(row)
        return None if given is None else function(given)

    return value


def with_base(node: _Node, base: IRI | None) -> _Node:
    """Add the base of relative IRIs as a second argument to each IRI() in expressions."""

    def change(each: object) -> object | None:
        if (
            isinstance(each, algebra.Call)
            and each.name in ("IRI", "URI")
            and len(each.arguments) == 1
        ):
            return algebra.Call(each.name, (with_base(each.arguments[0], base), base or IRI("")))
        return None

    return node if base is None else replaced(node, change)


def _call(call: algebra.Call, places: Mapping[str, int]) -> Value:
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


def _check_pattern(call: algebra.Call) -> None:
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


DEEPEST: Final = 8
"""The number of steps in which a node may be made of nodes that were made of nodes."""
_MADE: Final = re.compile(r"_:made(\d+)-")


def made_node(key: Term | None, *parts: Term | None) -> BlankNode:
    """The node for a key and some terms, each of which may be missing.

    Its label tells in how many steps nodes were made of nodes for it; nodes of messages and
    ontologies have labels of another form. Raises Overrun beyond :data:`DEEPEST` steps.
    """
    depth = 1
    for part in parts:
        if part is not None and (made := _MADE.match(part)):
            depth = max(depth, int(made[1]) + 1)
    if depth > DEEPEST:
        raise Overrun(
            f"nodes that are made of nodes, and so on, in more than {DEEPEST} steps: expected "
            "a body that the nodes which rules make do not fit, e.g. with FILTER(!isBlank(?x))"
        )
    text = repr([part if part is None else str(part) for part in (key, *parts)])
    return BlankNode(f"_:made{depth}-{blake2b(text.encode(), digest_size=12).hexdigest()}")


# Numbers within an expression (sections 17.3 and 17.4.4), without a term for each of them: a term
# is made of the last result only, as writing a decimal down takes longer than adding it.

_Amount: TypeAlias = tuple[Number, int]
"""A number and the rank of its type in the order of promotion."""
_Operand: TypeAlias = _Amount | Term | None
"""An amount, a term that is no number, or an error."""
_Operands: TypeAlias = Callable[[Row], _Operand]

_DECIMALS: Final[Mapping[str, Callable[[Decimal, Decimal], Decimal]]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
    "/": quotient,
}


def _is_arithmetic(expression: Expression) -> bool:
    """Whether an expression computes a number out of others, or a time."""
    match expression:
        case algebra.Call(name, (_,)):
            return name in ROUNDINGS
    return isinstance(expression, algebra.Arithmetic | algebra.Sign)


def _operand_of(expression: Expression, places: Mapping[str, int]) -> _Operands:
    """Make a function for the value of an expression: an amount, if it is a number."""
    match expression:
        case algebra.Arithmetic(operator, left, right):
            sides = (_operand_of(each, places) for each in (left, right))
            return _calculation(operator, *sides)
        case algebra.Sign(operator, operand):
            return _sign(operator, _operand_of(operand, places))
        case algebra.Call(name, (argument,)) if name in ROUNDINGS:
            return _rounded(ROUNDINGS[name], _operand_of(argument, places))
        case Literal():
            known = _operand(expression)
            return lambda row: known
    value = value_of(expression, places)
    return lambda row: _operand(value(row))


def _term_of(operand: _Operand) -> Term | None:
    """The term that an operand is; None: it is an error, or has too many digits."""
    return numeral(*operand) if type(operand) is tuple else operand  # type: ignore[return-value]


def _order_of(left: _Operand, right: _Operand) -> int | None:
    """Compare two operands as :func:`.compare` does their terms."""
    if type(left) is tuple and type(right) is tuple:
        one, other = left[0], right[0]
        if left[1] != right[1]:
            one, other = as_comparable(one, other, max(left[1], right[1]))
        if one != one or other != other:
            return 2
        return (one > other) - (one < other)
    return compare(_term_of(left), _term_of(right))


def _operand(term: Term | None) -> _Operand:
    if type(term) is Literal:
        rank = RANKS.get(term.datatype)
        if rank is not None and (value := term.known) is not None:
            return value, rank  # type: ignore[return-value]
    return term


def _amount(number: Number, rank: int) -> _Amount | None:
    """The amount of a number; None: it has more digits than any number may."""
    if rank == FLOAT:
        return single(float(number)), rank
    return (number, rank) if rank > FLOAT or has_digits(number) else None


def _calculation(operator: str, left: _Operands, right: _Operands) -> _Operands:
    divides = operator == "/"

    def value(row: Row) -> _Operand:
        one, other = left(row), right(row)
        if type(one) is not tuple or type(other) is not tuple:
            if type(one) is tuple or type(other) is tuple:
                return None
            return calculated_time(operator, one, other)  # type: ignore[arg-type]
        a, rank = one
        b, other_rank = other
        try:
            if rank != other_rank or (divides and not rank):
                rank = max(rank, other_rank, 1 if divides else 0)
                a, b = promoted(a, rank), promoted(b, rank)
            if rank == FLOAT:
                a, b = nearest_single(a), nearest_single(b)  # type: ignore[arg-type]
            found = _calculated(operator, a, b)
        except (DivisionByZero, InvalidOperation, OverflowError):
            return None
        return _amount(found, rank)

    return value


def _calculated(operator: str, a: Number, b: Number) -> Number:
    if isinstance(a, Decimal):
        return _DECIMALS[operator](a, Decimal(b))
    if operator == "+":
        return a + b  # type: ignore[operator]
    if operator == "-":
        return a - b  # type: ignore[operator]
    if operator == "*":
        return a * b  # type: ignore[operator]
    if b == 0:
        # The sign is that of the dividend alone: zero has no sign here.
        return a * math.inf
    return a / b  # type: ignore[operator]


def _sign(operator: str, operand: _Operands) -> _Operands:
    def signed(row: Row) -> _Operand:
        found = operand(row)
        if type(found) is tuple:
            value, rank = found
            if operator == "-":
                value = EXACT.minus(value) if isinstance(value, Decimal) else -value
            return _amount(value, rank)
        return signed_time(operator, found)  # type: ignore[arg-type]

    return signed


def _rounded(change: Callable[[Number], Number], operand: _Operands) -> _Operands:
    def value(row: Row) -> _Operand:
        found = operand(row)
        return _amount(change(found[0]), found[1]) if type(found) is tuple else None

    return value
