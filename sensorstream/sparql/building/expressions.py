"""Expressions from the parse tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, Literal, TypeVar

from lark import Token, v_args
from lark.tree import Meta

from sensorstream.model.terms import IRI
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Aggregate, Expression, Variable
from sensorstream.sparql.building.term_builder import NO_PREFIXES, TermBuilder, number
from sensorstream.sparql.extensions import fault_of_call
from sensorstream.sparql.functions import FUNCTIONS
from sensorstream.sparql.lexer import Source
from sensorstream.sparql.walk import aggregates

_Of = TypeVar("_Of")
_SAME_FUNCTION: Final = {"URI": "IRI", "ISURI": "ISIRI"}
_LUPOSDATE: Final = "http://www.luposdate.org/"
_LUPOSDATE_AGGREGATES: Final = {
    f"{_LUPOSDATE}{name}": aggregate
    for name, aggregate in (
        ("average", "AVG"),
        ("avg", "AVG"),
        ("count", "COUNT"),
        ("max", "MAX"),
        ("min", "MIN"),
        ("sum", "SUM"),
    )
}


@dataclass(frozen=True, slots=True)
class _SignedProduct:
    """The rest of a sum whose sign the lexer read as part of a number, as in ``?x -1``."""

    sign: str
    value: Expression
    offset: int


class ExpressionBuilder(TermBuilder):
    """The rules from ``expression`` down to ``function``."""

    def __init__(
        self, source: Source, base: str | None, prefixes: Mapping[str, str] = NO_PREFIXES
    ) -> None:
        super().__init__(source, base, prefixes)
        self.luposdate_aggregates: set[Aggregate] = set()
        self._makes_iris = False

    def any_of(self, children: list[Expression]) -> Expression:
        return reduce(algebra.Or, children)

    def all_of(self, children: list[Expression]) -> Expression:
        return reduce(algebra.And, children)

    def comparison(self, children: list[Any]) -> Expression:
        left, operator, right = children
        return self.operation(operator.start_pos, algebra.Comparison(operator.value, left, right))

    def membership(self, children: list[Any]) -> Expression:
        found = algebra.In(children[0], children[-1])
        return algebra.Not(found) if len(children) == 3 else found

    def arithmetic(self, children: list[Any]) -> Expression:
        result, *rest = children
        parts = iter(rest)
        for part in parts:
            if isinstance(part, _SignedProduct):
                sign: Literal["+", "-"] = "-" if part.sign == "-" else "+"
                result = self.operation(part.offset, algebra.Arithmetic(sign, result, part.value))
            else:
                made = algebra.Arithmetic(part.value, result, next(parts))
                result = self.operation(part.start_pos, made)
        return result  # type: ignore[no-any-return]

    def signed_product(self, children: list[Any]) -> _SignedProduct:
        token, *rest = children
        first: Expression = number(token.value[1:])
        product = self.arithmetic([first, *rest]) if rest else first
        return _SignedProduct(token.value[0], product, token.start_pos)

    def negation(self, children: list[Expression]) -> Expression:
        return algebra.Not(children[0])

    def sign(self, children: list[Any]) -> Expression:
        return self.operation(children[0].start_pos, algebra.Sign(children[0].value, children[1]))

    # Functions

    def expression_list(self, children: list[Expression]) -> tuple[Expression, ...]:
        return tuple(children)

    @v_args(meta=True)
    def arguments(self, meta: Meta, children: list[Any]) -> tuple[bool, tuple[Expression, ...]]:
        distinct = bool(children) and isinstance(children[0], Token)
        return distinct, tuple(children[1:] if distinct else children)

    def function_call(self, children: list[Any]) -> Expression | Aggregate:
        function, (distinct, arguments) = children
        if function in _LUPOSDATE_AGGREGATES:
            if len(arguments) != 1:
                self.fail_at(function, f"<{function}> takes one argument, not {len(arguments)}")
            aggregate = self._aggregate(
                self._places[function], _LUPOSDATE_AGGREGATES[function], arguments[0], distinct
            )
            self.luposdate_aggregates.add(aggregate)
            return aggregate
        if distinct:
            self.fail_at(
                function, f"DISTINCT is for aggregates, but <{function}> is not an aggregate"
            )
        if reason := fault_of_call(function, arguments):
            self.fail_at(function, f"<{function}>: {reason}")
        return self.operation(self._places[function], algebra.FunctionCall(function, arguments))

    def builtin(self, children: list[Any]) -> Expression:
        token, arguments = children
        name = token.value.upper()
        least, most = FUNCTIONS[name].least, FUNCTIONS[name].most
        if len(arguments) < least or (most is not None and len(arguments) > most):
            self.fail(
                token.start_pos, f"{name} takes {_many(least, most)}, but has {len(arguments)}"
            )
        if name == "BOUND" and not isinstance(arguments[0], Variable):
            self.fail(token.start_pos, "BOUND takes a variable: expected e.g. BOUND(?x)")
        name = _SAME_FUNCTION.get(name, name)
        self._makes_iris |= name == "IRI"
        return self.operation(token.start_pos, algebra.Call(name, arguments))

    @v_args(meta=True)
    def exists(self, meta: Meta, children: list[Any]) -> Expression:
        found = self.operation(meta.start_pos, algebra.Exists(children[-1].whole))
        return algebra.Not(found) if len(children) == 2 else found

    @v_args(meta=True)
    def aggregate(self, meta: Meta, children: list[Any]) -> Aggregate:
        name, *marks, of = children
        star = isinstance(of, Token)
        expression = None if star else of
        return self._aggregate(meta.start_pos, name.value.upper(), expression, bool(marks))

    @v_args(meta=True)
    def group_concat(self, meta: Meta, children: list[Any]) -> Aggregate:
        distinct = isinstance(children[0], Token)
        expression, *rest = (child for child in children if not isinstance(child, Token))
        return self._aggregate(
            meta.start_pos, "GROUP_CONCAT", expression, distinct, rest[-1] if rest else None
        )

    def _aggregate(
        self,
        offset: int,
        name: Any,
        expression: Expression | None,
        distinct: bool,
        separator: str | None = None,
    ) -> Aggregate:
        if any(True for _ in aggregates(expression)):
            self.fail(offset, f"{name} cannot be taken of another aggregate")
        return self.at(offset, Aggregate(name, expression, distinct, separator))

    def run_time_base(self) -> IRI | None:
        """The base IRI, if a function that has been read since the last call needs it."""
        needed, self._makes_iris = self._makes_iris, False
        return IRI(self.base_iri) if needed and self.base_iri is not None else None

    def without_aggregates(self, expression: _Of, where: str) -> _Of:
        """The expression, which must not aggregate.

        Raises:
            QueryError: it has an aggregate; ``where`` names its place in the query.
        """
        for aggregate in aggregates(expression):
            self.fail_at(
                aggregate,
                f"{aggregate.name} cannot stand in {where}: aggregates stand in SELECT, HAVING "
                "and ORDER BY",
            )
        return expression


def _many(least: int, most: int | None) -> str:
    if least == most:
        return "1 argument" if least == 1 else f"{least} arguments"
    return f"{least} to {most} arguments"
