"""Groups of graph patterns from the parse tree.

Source: SPARQL 1.1 Query, section 18.2.2; EP-SPARQL, section 4.2; for windows see ``streams``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lark import Token, v_args
from lark.tree import Meta

from sensorstream.model.terms import BlankNode
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern, TriplePattern, Variable
from sensorstream.sparql.building.expressions import ExpressionBuilder
from sensorstream.sparql.building.term_builder import NO_PREFIXES, Triples
from sensorstream.sparql.lexer import Source
from sensorstream.sparql.walk import visible


@dataclass(frozen=True, slots=True)
class GroupOfPatterns:
    """The content of a group in braces; its own filters are separate, as OPTIONAL needs them."""

    pattern: Pattern
    condition: Expression | None = None

    @property
    def whole(self) -> Pattern:
        return (
            self.pattern if self.condition is None else algebra.Filter(self.condition, self.pattern)
        )


@dataclass(frozen=True, slots=True)
class _Filter:
    condition: Expression


@dataclass(frozen=True, slots=True)
class _Bind:
    variable: Variable
    expression: Expression


_Element: TypeAlias = Callable[[Pattern], Pattern]
"""OPTIONAL or MINUS: what the patterns before it become."""


@dataclass(frozen=True, slots=True)
class _Operator:
    """``UNION``, or an operator of patterns in time."""

    kind: str
    offset: int
    consumption: algebra.Consumption = algebra.Consumption.UNRESTRICTED


class PatternBuilder(ExpressionBuilder):
    """The rules from ``group`` down to ``data_row``."""

    def __init__(
        self, source: Source, base: str | None, prefixes: Mapping[str, str] = NO_PREFIXES
    ) -> None:
        super().__init__(source, base, prefixes)
        self.of_rules = False
        """Whether the text is a rule set, which has EACH."""
        self._blocks = 0
        self._block_of: dict[BlankNode, int] = {}

    def group(self, children: list[Any]) -> GroupOfPatterns:
        pattern: Pattern = algebra.BGP()
        condition: Expression | None = None
        block: list[TriplePattern] = []
        # The variables of a pattern that only BIND has been added to: asking for them at each BIND
        # of a row would be quadratic.
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
        """A block of triple patterns, to which its blank nodes belong from now on.

        Raises:
            QueryError: a blank node belongs to another block (section 5.1.1).
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

    @v_args(meta=True)
    def filter(self, meta: Meta, children: list[Expression]) -> _Filter:
        return _Filter(self.at(meta.start_pos, self.without_aggregates(children[0], "FILTER")))

    def bind(self, children: list[Any]) -> _Bind:
        expression, variable = children
        self._places[_bound(variable)] = self._places[variable]
        return _Bind(variable, self.without_aggregates(expression, "BIND"))

    @v_args(meta=True)
    def optional(self, meta: Meta, children: list[GroupOfPatterns]) -> _Element:
        right, condition = children[0].pattern, children[0].condition
        return lambda left: self.operation(meta.start_pos, algebra.LeftJoin(left, right, condition))

    @v_args(meta=True)
    def minus(self, meta: Meta, children: list[GroupOfPatterns]) -> _Element:
        right = children[0].whole
        return lambda left: self.operation(meta.start_pos, algebra.Minus(left, right))

    @v_args(meta=True)
    def graph(self, meta: Meta, children: list[Any]) -> Pattern:
        return self.operation(meta.start_pos, algebra.Graph(children[0], children[1].whole))

    @v_args(meta=True)
    def service(self, meta: Meta, children: list[Any]) -> Pattern:
        *silent, endpoint, group = children
        made = algebra.Service(endpoint, group.whole, silent=bool(silent))
        return self.operation(meta.start_pos, made)

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

    def inline_data(self, children: list[algebra.Values]) -> Pattern:
        return children[0]

    @v_args(meta=True)
    def each(self, meta: Meta, children: list[Any]) -> algebra.Each:
        member, members, *ends, group = children
        if not self.of_rules:
            self.fail(
                meta.start_pos,
                "EACH belongs to a rule set, whose lists are known before anything streams: "
                f"expected {members} rdf:rest*/rdf:first {member} for some member of a list",
            )
        if len({member, members, *ends}) < 2 + len(ends):
            self.fail(meta.start_pos, "EACH: expected different variables")
        if missing := [each for each in ends if each not in visible(group.whole)]:
            self.fail_at(missing[0], f"EACH: expected {missing[0]} in the pattern in braces")
        return self.at(meta.start_pos, algebra.Each(member, members, group.whole, *ends))

    def data_column(self, children: list[Any]) -> algebra.Values:
        return algebra.Values((children[0],), tuple((value,) for value in children[1:]))

    @v_args(meta=True)
    def data_rows(self, meta: Meta, children: list[Any]) -> algebra.Values:
        columns = tuple(child for child in children if isinstance(child, Variable))
        rows = children[len(columns) :]
        for offset, row in rows:
            if len(row) != len(columns):
                self.fail(offset, f"the row has {len(row)} values: expected {len(columns)}")
        return algebra.Values(columns, tuple(row for _, row in rows))

    @v_args(meta=True)
    def data_row(self, meta: Meta, children: list[Any]) -> tuple[int, tuple[Any, ...]]:
        return meta.start_pos, tuple(children)

    def undef(self, children: list[Token]) -> None:
        return None


def joined(left: Pattern, right: Pattern) -> Pattern:
    """``Join(left, right)``, simplified (section 18.2.2.8)."""
    if left == algebra.BGP():
        return right
    return left if right == algebra.BGP() else algebra.Join(left, right)


def _combined(operator: _Operator, left: GroupOfPatterns, right: GroupOfPatterns) -> Pattern:
    match operator.kind:
        case "SEQ":
            return algebra.Seq(left.whole, right.whole, operator.consumption)
        case "UNION":
            return algebra.Union(left.whole, right.whole)
        case "EQUALS":
            return algebra.Equals(left.whole, right.whole)
        case "OPTIONALSEQ":
            return algebra.OptionalSeq(left.pattern, right.whole, left.condition)
        case _:
            return algebra.EqualsOptional(left.whole, right.pattern, right.condition)


def _bound(variable: Variable) -> tuple[str, Variable]:
    return "bind", variable
