"""A plan: the operators that would answer a query, as values.

A plan holds no triples and no functions, so it can be made, printed, costed and refused without
an operator. Plans are compared by value: equal plans, of one query or of several, become one
operator (:mod:`sensorstream.network.build`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.rows import Row
from sensorstream.network.sources import Source
from sensorstream.sparql.algebra import (
    Aggregate,
    Comparison,
    Expression,
    OrderCondition,
    Pattern,
    Variable,
)

End: TypeAlias = Variable | Term


def constant(end: End) -> Term | None:
    """What an end of a pattern must be; None: any term."""
    return None if isinstance(end, Variable) else end


@dataclass(frozen=True, slots=True)
class Plan:
    """One operator to be, above those that feed it.

    ``variables`` lay out its rows; ``certain`` are those that every row binds.
    """

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return ()

    @property
    def variables(self) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(self.variables)

    @property
    def text(self) -> str:
        """One line about it for people; "": its fields say it (:func:`.plan_text`)."""
        return ""


@dataclass(frozen=True, slots=True)
class Triple:
    """A triple pattern over one graph; blank nodes are variables by now."""

    source: Source
    subject: End
    predicate: End
    object: End

    @property
    def ends(self) -> tuple[End, End, End]:
        return (self.subject, self.predicate, self.object)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of its variables, each once."""
        return tuple(dict.fromkeys(e.name for e in self.ends if isinstance(e, Variable)))


@dataclass(frozen=True, slots=True)
class Match(Plan):
    """All triple patterns at once, where all filters hold: a delta join."""

    triples: tuple[Triple, ...]
    filters: tuple[Expression, ...]
    output: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return self.output


@dataclass(frozen=True, slots=True)
class Constant(Plan):
    """Rows that never change: VALUES, and the one empty solution."""

    names: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def is_unit(self) -> bool:
        """Whether it is the one empty solution, that joins with everything."""
        return self.rows == ((),)

    @property
    def variables(self) -> tuple[str, ...]:
        return self.names

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(
            name
            for place, name in enumerate(self.names)
            if all(row[place] is not None for row in self.rows)
        )


@dataclass(frozen=True, slots=True)
class Anew(Plan):
    """A whole pattern that cannot be kept in step: it is evaluated at every change.

    ``graphs`` and ``windows`` are what GRAPH and WINDOW may match, by name.
    """

    pattern: Pattern
    base: IRI | None
    default: Source
    graphs: tuple[tuple[IRI, Source], ...]
    windows: tuple[tuple[IRI, Source], ...]
    output: tuple[str, ...]
    reason: str
    part: object = field(default=None, compare=False, repr=False)
    """What of the query the reason is about."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it reads, each once."""
        read = [self.default, *(each for _, each in (*self.graphs, *self.windows))]
        return tuple(dict.fromkeys(read))

    @property
    def variables(self) -> tuple[str, ...]:
        return self.output

    @property
    def certain(self) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, slots=True)
class Over(Plan):
    """A plan over one other; its rows are laid out alike unless it says otherwise."""

    source: Plan

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.source,)

    @property
    def variables(self) -> tuple[str, ...]:
        return self.source.variables

    @property
    def certain(self) -> frozenset[str]:
        return self.source.certain


@dataclass(frozen=True, slots=True)
class Filter(Over):
    """The rows for which a condition is true."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Thresholds(Over):
    """The rows that any reader wants, of many that differ in a constant.

    A reader wants the rows for which ``variable operator constant`` is true, with a constant of
    its own; this part is the same for all of them.
    """

    variable: str
    operator: OneOf["=", "<", ">", "<=", ">="]


@dataclass(frozen=True, slots=True)
class Beyond(Plan):
    """The rows beyond one reader's constant."""

    source: Thresholds
    constant: IRI | Literal
    output: tuple[str, ...]

    @property
    def condition(self) -> Comparison:
        """What is true of them."""
        variable = Variable(self.source.variable)
        return Comparison(self.source.operator, variable, self.constant)

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.source,)

    @property
    def variables(self) -> tuple[str, ...]:
        return self.output

    @property
    def certain(self) -> frozenset[str]:
        return self.source.certain.intersection(self.output)


@dataclass(frozen=True, slots=True)
class Extend(Over):
    """Each row with the value of an expression as one variable more."""

    name: str
    expression: Expression

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.source.variables, self.name)


@dataclass(frozen=True, slots=True)
class Project(Over):
    """Only some variables, in some order."""

    names: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return self.names

    @property
    def certain(self) -> frozenset[str]:
        return self.source.certain.intersection(self.names)


@dataclass(frozen=True, slots=True)
class Distinct(Over):
    """Each row once."""


@dataclass(frozen=True, slots=True)
class Slice(Over):
    """Some rows, by their place in an order."""

    conditions: tuple[OrderCondition, ...]
    offset: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Group(Over):
    """One row for each group: its keys, which are variables of the source, and aggregates."""

    keys: tuple[str, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.keys, *(variable.name for variable, _ in self.aggregates))

    @property
    def certain(self) -> frozenset[str]:
        return self.source.certain.intersection(self.keys)


@dataclass(frozen=True, slots=True)
class Delayed(Over):
    """What a group was ``delay`` units of the time line ago, under other names."""

    delay: int
    names: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return self.names

    @property
    def certain(self) -> frozenset[str]:
        certain = self.source.certain
        pairs = zip(self.names, self.source.variables, strict=True)
        return frozenset(name for name, old in pairs if old in certain)


@dataclass(frozen=True, slots=True)
class Closure(Over):
    """The pairs that one or more steps connect; the source gives the steps as pairs.

    With ``start`` or ``end`` at least the pairs with that end.
    """

    start: Term | None
    end: Term | None

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(self.source.variables)


@dataclass(frozen=True, slots=True)
class Ends(Over):
    """The pairs of a path whose ends are the constants wanted, or equal, under new names."""

    subject: End
    object: End

    @property
    def variables(self) -> tuple[str, ...]:
        ends = (self.subject, self.object)
        return tuple(dict.fromkeys(e.name for e in ends if isinstance(e, Variable)))

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(self.variables)


@dataclass(frozen=True, slots=True)
class Pair(Plan):
    """A plan over two others."""

    left: Plan
    right: Plan

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.left, self.right)

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.left.variables, *self.right.variables)))

    @property
    def certain(self) -> frozenset[str]:
        return self.left.certain


@dataclass(frozen=True, slots=True)
class Join(Pair):
    """The rows of both sides that agree, as the ``output`` variables."""

    output: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return self.output

    @property
    def certain(self) -> frozenset[str]:
        return (self.left.certain | self.right.certain).intersection(self.output)


@dataclass(frozen=True, slots=True)
class LeftJoin(Pair):
    """OPTIONAL; the condition sees both sides."""

    condition: Expression | None


@dataclass(frozen=True, slots=True)
class Minus(Pair):
    """MINUS."""

    @property
    def variables(self) -> tuple[str, ...]:
        return self.left.variables


@dataclass(frozen=True, slots=True)
class Mark(Pair):
    """EXISTS: each left row with a variable that says whether a right row matches it.

    The conditions see both sides.
    """

    conditions: tuple[Expression, ...]
    flag: str

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.left.variables, self.flag)

    @property
    def certain(self) -> frozenset[str]:
        return self.left.certain | {self.flag}


@dataclass(frozen=True, slots=True)
class Union(Plan):
    """The rows of every input; where an input lacks a variable it is unbound."""

    parts: tuple[Plan, ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return self.parts

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for each in self.parts for name in each.variables))

    @property
    def certain(self) -> frozenset[str]:
        return frozenset.intersection(*(each.certain for each in self.parts))
