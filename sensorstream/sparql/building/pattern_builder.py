"""Groups of graph patterns, and expressions, from the parse tree.

Source: SPARQL 1.1 Query, section 18.2.2; EP-SPARQL, section 4.2; for windows see ``streams``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Final, Literal, TypeAlias, TypeVar

from lark import Token

from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, BlankNode
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Aggregate, Expression, Pattern, TriplePattern, Variable
from sensorstream.sparql.building.term_builder import TermBuilder, Triples, number, plain, rule
from sensorstream.sparql.extensions import fault_of_call
from sensorstream.sparql.functions import FUNCTIONS
from sensorstream.sparql.place_functions import PLACE_AGGREGATES
from sensorstream.sparql.walk import aggregates, visible

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


@frozen
class _SignedProduct:
    """The rest of a sum whose sign the lexer read as part of a number, as in ``?x -1``."""

    sign: str
    value: Expression
    offset: int


@frozen
class GroupOfPatterns:
    """The content of a group in braces; its own filters are separate, as OPTIONAL needs them."""

    pattern: Pattern
    condition: Expression | None = None

    @property
    def whole(self) -> Pattern:
        return (
            self.pattern if self.condition is None else algebra.Filter(self.condition, self.pattern)
        )


@frozen
class _Filter:
    condition: Expression


@frozen
class _Bind:
    variable: Variable
    expression: Expression


_Element: TypeAlias = Callable[[Pattern], Pattern]
"""OPTIONAL or MINUS: what the patterns before it become."""


@frozen
class _Operator:
    """``UNION``, or an operator of patterns in time."""

    kind: str
    offset: int
    consumption: algebra.Consumption = algebra.Consumption.UNRESTRICTED


class PatternBuilder(TermBuilder):
    """The rules from ``group`` down to ``function``."""

    of_rules = False
    """Whether the text is a rule set, in which EACH may stand."""
    _makes_iris = False
    _blocks = 0

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.luposdate_aggregates: set[Aggregate] = set()
        self._block_of: dict[BlankNode, int] = {}

    def group(self, children: list[Any]) -> GroupOfPatterns:
        pattern: Pattern = algebra.BGP()
        condition: Expression | None = None
        block: list[TriplePattern] = []
        # The variables of a pattern to which only BIND was added: to compute them at each BIND of a
        # row would be quadratic.
        bound: set[Variable] | None = None
        for child in children:
            if isinstance(child, Triples):
                block += child.patterns
                continue
            if isinstance(child, _Filter):
                # A filter does not end a block of triples (section 5.2.2).
                condition = (
                    child.condition
                    if condition is None
                    else algebra.And(condition, child.condition)
                )
                continue
            if block or not isinstance(child, _Bind):
                bound = None
            pattern = self._with_block(pattern, block)
            block = []
            if isinstance(child, _Bind):
                if bound is None:
                    bound = set(visible(pattern))
                if child.variable in bound:
                    told = f"{child.variable} has a value already: BIND needs a new one"
                    self.fail_at(_bound(child.variable), told)
                bound.add(child.variable)
                pattern = algebra.Extend(pattern, child.variable, child.expression)
            else:
                pattern = child(pattern) if callable(child) else joined(pattern, child)
        return GroupOfPatterns(self._with_block(pattern, block), condition)

    def _with_block(self, pattern: Pattern, block: list[TriplePattern]) -> Pattern:
        return joined(pattern, self.block(tuple(block))) if block else pattern

    def block(self, patterns: tuple[TriplePattern, ...]) -> algebra.BGP:
        """A block of triple patterns, which owns its blank nodes from now on.

        Raises QueryError if a blank node belongs to another block (section 5.1.1).
        """
        self._blocks += 1
        for triple in patterns:
            for part in (triple.subject, triple.object):
                if (
                    isinstance(part, BlankNode)
                    and self._block_of.setdefault(part, self._blocks) != self._blocks
                ):
                    self.fail_at(
                        part,
                        f"{part} stands in another block of triples already: "
                        "use a variable to join them",
                    )
        return algebra.BGP(patterns)

    # Elements

    def filter(self, children: list[Expression]) -> _Filter:
        return _Filter(self.at(self.here, self.without_aggregates(children[0], "FILTER")))

    def bind(self, children: list[Any]) -> _Bind:
        expression, variable = children
        self._places[_bound(variable)] = self._places[variable]
        return _Bind(variable, self.without_aggregates(expression, "BIND"))

    def optional(self, children: list[GroupOfPatterns]) -> _Element:
        right, condition = children[0].pattern, children[0].condition
        offset = self.here
        return lambda left: self.operation(offset, algebra.LeftJoin(left, right, condition))

    def minus(self, children: list[GroupOfPatterns]) -> _Element:
        right = children[0].whole
        offset = self.here
        return lambda left: self.operation(offset, algebra.Minus(left, right))

    graph = rule(lambda name, group: algebra.Graph(name, group.whole))
    service = rule(lambda *of: algebra.Service(of[-2], of[-1].whole, silent=len(of) > 2))

    def sequence_of(self, children: list[Token]) -> _Operator:
        word, *policy = children
        of = algebra.Consumption(policy[0].type) if policy else algebra.Consumption.UNRESTRICTED
        return _Operator(word.type, word.start_pos or 0, of)

    def combined(self, children: list[Any]) -> Pattern:
        first, *rest = children
        left: GroupOfPatterns = first
        for word, right in zip(rest[::2], rest[1::2], strict=True):
            operator = word if isinstance(word, _Operator) else _Operator(word.type, word.start_pos)
            made = self.operation(operator.offset, _combined(operator, left, right))
            left = GroupOfPatterns(made)
        return left.whole

    inline_data = plain(lambda values: values)

    def each(self, children: list[Any]) -> algebra.Each:
        member, members, *ends, group = children
        if not self.of_rules:
            self.fail(
                self.here,
                "EACH belongs to a rule set, whose lists are known before anything streams: "
                f"expected {members} rdf:rest*/rdf:first {member} for some member of a list",
            )
        if len({member, members, *ends}) < 2 + len(ends):
            self.fail(self.here, "EACH: expected different variables")
        if missing := [each for each in ends if each not in visible(group.whole)]:
            self.fail_at(missing[0], f"EACH: expected {missing[0]} in the pattern in braces")
        return self.at(self.here, algebra.Each(member, members, group.whole, *ends))

    data_column = plain(lambda name, *of: algebra.Values((name,), tuple((each,) for each in of)))

    def data_rows(self, children: list[Any]) -> algebra.Values:
        columns = tuple(child for child in children if isinstance(child, Variable))
        rows = children[len(columns) :]
        for offset, row in rows:
            if len(row) != len(columns):
                self.fail(offset, f"the row has {len(row)} values: expected {len(columns)}")
        return algebra.Values(columns, tuple(row for _, row in rows))

    def data_row(self, children: list[Any]) -> tuple[int, tuple[Any, ...]]:
        return self.here, tuple(children)

    undef = plain(lambda *_: None)

    # Expressions

    any_of = plain(lambda *parts: reduce(algebra.Or, parts))
    all_of = plain(lambda *parts: reduce(algebra.And, parts))
    negation = plain(algebra.Not)

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

    def sign(self, children: list[Any]) -> Expression:
        return self.operation(children[0].start_pos, algebra.Sign(children[0].value, children[1]))

    # Functions

    expression_list = plain(lambda *parts: parts)

    def arguments(self, children: list[Any]) -> tuple[bool, tuple[Expression, ...]]:
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
        if distinct and function not in PLACE_AGGREGATES:
            self.fail_at(
                function, f"DISTINCT is for aggregates, but <{function}> is not an aggregate"
            )
        if reason := fault_of_call(function, arguments):
            self.fail_at(function, f"<{function}>: {reason}")
        if function in PLACE_AGGREGATES:
            return self._aggregate(self._places[function], function, arguments[0], distinct)
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

    def exists(self, children: list[Any]) -> Expression:
        found = self.operation(self.here, algebra.Exists(children[-1].whole))
        return algebra.Not(found) if len(children) == 2 else found

    def aggregate(self, children: list[Any]) -> Aggregate:
        name, *marks, of = children
        star = isinstance(of, Token)
        expression = None if star else of
        return self._aggregate(self.here, name.value.upper(), expression, bool(marks))

    def group_concat(self, children: list[Any]) -> Aggregate:
        distinct = isinstance(children[0], Token)
        expression, *rest = (child for child in children if not isinstance(child, Token))
        return self._aggregate(
            self.here, "GROUP_CONCAT", expression, distinct, rest[-1] if rest else None
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

        Raises QueryError if it does; ``where`` names its place in the query.
        """
        for aggregate in aggregates(expression):
            self.fail_at(
                aggregate,
                f"{aggregate.name} cannot stand in {where}: aggregates stand in SELECT, HAVING "
                "and ORDER BY",
            )
        return expression


def joined(left: Pattern, right: Pattern) -> Pattern:
    """``Join(left, right)``, simplified (section 18.2.2.8)."""
    if left == algebra.BGP():
        return right
    return left if right == algebra.BGP() else algebra.Join(left, right)


def _combined(operator: _Operator, left: GroupOfPatterns, right: GroupOfPatterns) -> Pattern:
    kind: type[Any] = algebra.BETWEEN[operator.kind]
    made: Pattern = kind(left.whole, right.whole)
    if isinstance(made, algebra.Seq):
        return replace(made, consumption=operator.consumption)
    if isinstance(made, algebra.WithOptional):
        (name,) = {"left", "right"}.difference(made.kept)
        optional = left if name == "left" else right
        changed: dict[str, Any] = {name: optional.pattern, "condition": optional.condition}
        return replace(made, **changed)
    return made


def _bound(variable: Variable) -> tuple[str, Variable]:
    return "bind", variable


def _many(least: int, most: int | None) -> str:
    if least == most:
        return "1 argument" if least == 1 else f"{least} arguments"
    return f"{least} to {most} arguments"
