"""A plan: the operators that would answer a query, as values.

A plan holds no triples and no functions, so it can be made, printed, costed and refused without an
operator. Plans are compared by value: equal plans, of one query or of several, become one operator
(:mod:`sensorstream.network.build`).

A pattern in time is planned alike. Its rows have two hidden columns: the interval in which the
solution happened (:data:`.TIMES`). Rows of background knowledge alone have :data:`.ALWAYS`, which
leaves the interval of joined rows as it is. ``longest`` is the length, in units of the time line,
beyond which no solution is wanted, as far as the filters above say so: it bounds what is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final, TypeAlias
from typing import Literal as OneOf

from sensorstream.model.frozen import field, frozen
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.network.query_sources import TripleSource
from sensorstream.network.rows import ALWAYS, TIMES, Row, TimedRow
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Aggregate, Expression, Path, Pattern, Variable

End: TypeAlias = Variable | Term
OCCURRENCE: Final = ".occurrence"
"""The prefix of variables that are bound to an occurrence itself: triple, start and end."""


def constant(end: End) -> Term | None:
    """The term that an end of a pattern must be; None: any term."""
    return None if isinstance(end, Variable) else end


@frozen
class Plan:
    """An operator to be made, above those that feed it.

    ``variables`` lay out its rows; ``certain`` are those that every row binds. Where a plan is
    given its variables, they are a ``field()`` of it: the property is no default.
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
    def timed(self) -> bool:
        """Whether its rows happen, each in an interval."""
        return self.variables[:2] == TIMES

    @property
    def is_timeless(self) -> bool:
        """Whether all its rows hold always."""
        return all(each.is_timeless for each in self.inputs)

    @property
    def text(self) -> str:
        """A line for people, for plans that :func:`.plan_text` does not describe itself."""
        return type(self).__name__.removesuffix("Plan")


def parts(plan: Plan) -> Iterator[Plan]:
    """A plan and all below it, from the top; a shared part occurs as often as it feeds another."""
    ahead = [plan]
    while ahead:
        each = ahead.pop()
        yield each
        ahead += reversed(each.inputs)


@frozen
class Triple:
    """A triple pattern over one graph, in which blank nodes have become variables."""

    source: TripleSource
    subject: End
    predicate: End
    object: End

    @property
    def ends(self) -> tuple[End, End, End]:
        return (self.subject, self.predicate, self.object)

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(e.name for e in self.ends if isinstance(e, Variable)))


@frozen
class Match(Plan):
    """The solutions of several triple patterns with filters: a delta join."""

    triples: tuple[Triple, ...]
    filters: tuple[Expression, ...]
    variables: tuple[str, ...] = field()


@frozen
class ConstantPlan(Plan):
    """Rows that never change: VALUES, and the one empty solution."""

    variables: tuple[str, ...] = field()
    rows: tuple[Row | TimedRow, ...]

    @property
    def is_unit(self) -> bool:
        """Whether it is the one empty solution, that joins with everything."""
        return self.rows in (((),), (ALWAYS,))

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(
            name
            for place, name in enumerate(self.variables)
            if all(row[place] is not None for row in self.rows)
        )


@frozen
class Anew(Plan):
    """A whole pattern that cannot be kept in step: it is evaluated at every change.

    ``graphs`` and ``windows`` are what GRAPH and WINDOW may match, by name.
    """

    pattern: Pattern
    base: IRI | None
    default: TripleSource
    graphs: tuple[tuple[IRI, TripleSource], ...]
    windows: tuple[tuple[IRI, TripleSource], ...]
    variables: tuple[str, ...] = field()
    reason: str
    part: object = field(default=None, compare=False, repr=False)
    """The part of the query that the reason is about."""

    @property
    def sources(self) -> tuple[TripleSource, ...]:
        """The graphs that it reads, each once."""
        read = [self.default, *(each for _, each in (*self.graphs, *self.windows))]
        return tuple(dict.fromkeys(read))

    @property
    def certain(self) -> frozenset[str]:
        return frozenset()


@frozen
class PlanOverOne(Plan):
    """A plan over another one; by default its rows are laid out alike."""

    source: Plan

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.source,)

    @property
    def variables(self) -> tuple[str, ...]:
        return self.source.variables

    @property
    def certain(self) -> frozenset[str]:
        return self.source.certain.intersection(self.variables)


@frozen
class FilterPlan(PlanOverOne):
    """The rows for which a condition is true."""

    condition: Expression


@frozen
class ThresholdsPlan(PlanOverOne):
    """The rows that any reader wants, of many that differ in a constant.

    A reader wants the rows for which ``variable operator constant`` is true, with a constant of its
    own; this part is the same for all of them.
    """

    variable: str
    operator: OneOf["=", "<", ">", "<=", ">="] | IRI
    """A comparison, or a relation of places."""


@frozen
class BeyondPlan(PlanOverOne):
    """The rows of a :class:`ThresholdsPlan` that pass one reader's constant."""

    source: ThresholdsPlan
    constant: IRI | Literal
    variables: tuple[str, ...] = field()

    @property
    def condition(self) -> Expression:
        operator, variable = self.source.operator, Variable(self.source.variable)
        if isinstance(operator, IRI):
            return algebra.FunctionCall(operator, (variable, self.constant))
        return algebra.Comparison(operator, variable, self.constant)


@frozen
class ExtendPlan(PlanOverOne):
    """The rows of the source, with the value of an expression as one variable more."""

    name: str
    expression: Expression

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.source.variables, self.name)


@frozen
class ProjectPlan(PlanOverOne):
    """The rows of the source with some of its variables, in some order."""

    variables: tuple[str, ...] = field()


@frozen
class DistinctPlan(PlanOverOne):
    """The different rows of the source."""


@frozen
class SlicePlan(PlanOverOne):
    """Some rows, by their place in an order; if rows happen, those that end first."""

    conditions: tuple[algebra.OrderCondition, ...]
    offset: int
    limit: int | None


@frozen
class GroupPlan(PlanOverOne):
    """A row for each group: its keys, which are variables of the source, and aggregates.

    If rows happen, one for each group of which a row ends, over as many rows, those that started
    last, as the conditions ``lengths`` on their common interval allow; without any, over all that
    have ended by then.
    """

    keys: tuple[str, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]
    lengths: tuple[Expression, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        times = TIMES if self.source.timed else ()
        return (*times, *self.keys, *(variable.name for variable, _ in self.aggregates))

    @property
    def certain(self) -> frozenset[str]:
        return self.source.certain.intersection((*TIMES, *self.keys))


@frozen
class DelayedPlan(PlanOverOne):
    """The rows that a group had ``delay`` units of the time line ago, under other names."""

    delay: int
    variables: tuple[str, ...] = field()

    @property
    def certain(self) -> frozenset[str]:
        certain = self.source.certain
        pairs = zip(self.variables, self.source.variables, strict=True)
        return frozenset(name for name, old in pairs if old in certain)


@frozen
class ClosurePlan(PlanOverOne):
    """The pairs that one or more steps connect; the source gives the steps as pairs.

    With ``start`` or ``end``, at least the pairs with that end.
    """

    start: Term | None
    end: Term | None

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(self.source.variables)


@frozen
class PathEndsPlan(PlanOverOne):
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


@frozen
class PlanOverTwo(Plan):
    """A plan over two others."""

    kept: ClassVar[tuple[str, ...]] = ("left",)
    """The sides of which each row has one in it."""
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
        kept = (getattr(self, name).certain for name in self.kept)
        return frozenset().union(*kept).intersection(self.variables)

    @property
    def shared(self) -> tuple[str, ...]:
        others = self.right.variables
        return tuple(n for n in self.left.variables if n in others and n not in TIMES)


@frozen
class JoinPlan(PlanOverTwo):
    """The joined rows of both sides, as some variables; the interval is the hull of both."""

    kept = ("left", "right")
    variables: tuple[str, ...] = field()
    longest: int | None = None


@frozen
class PlacesCompared:
    """A condition on the places of two variables: they touch, or are at most ``metres`` apart."""

    condition: Expression
    left: str
    right: str
    metres: float


@frozen
class PlaceJoinPlan(PlanOverTwo):
    """The pairs of rows of whose places a condition is true; the sides share no variable."""

    kept = ("left", "right")
    variables: tuple[str, ...] = field()
    places: PlacesCompared


@frozen
class LeftJoinPlan(PlanOverTwo):
    """The rows of ``left``, joined with ``right`` where a row fits; the condition sees both.

    If rows happen, OPTIONAL takes rows that have ended by the end of the left, OPTIONALSEQ rows
    that have ended before its start, and EQUALSOPTIONAL rows with the same interval.
    """

    condition: Expression | None
    operator: OneOf["OPTIONAL", "OPTIONALSEQ", "EQUALSOPTIONAL"] = "OPTIONAL"
    longest: int | None = None

    @property
    def remembers(self) -> bool:
        """Whether a row that ended at another moment fits."""
        return self.operator != "EQUALSOPTIONAL"


@frozen
class MinusPlan(PlanOverTwo):
    """MINUS; if rows happen, of rows that have ended by then."""

    @property
    def variables(self) -> tuple[str, ...]:
        return self.left.variables


@frozen
class Mark(PlanOverTwo):
    """EXISTS: the left rows with a variable that says whether a right row matches.

    The conditions see both sides. If rows happen, only right rows that have ended by then match.
    """

    conditions: tuple[Expression, ...]
    flag: str

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.left.variables, self.flag)

    @property
    def certain(self) -> frozenset[str]:
        return self.left.certain | {self.flag}


@frozen
class UnionPlan(Plan):
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


# -- patterns in time (EP-SPARQL, section 4) -------------------------------------------------


@frozen
class Occurrence(Plan):
    """The occurrences that fit one triple pattern.

    They are those of all streams, with the triples of the background, or those of one stream.
    """

    subject: End
    predicate: End
    object: End
    label: str = ""
    """The name of one more variable, bound to the occurrence itself; "": none."""
    stream: IRI | None = None

    @property
    def ends(self) -> tuple[End, End, End]:
        return (self.subject, self.predicate, self.object)

    @property
    def variables(self) -> tuple[str, ...]:
        names = dict.fromkeys(e.name for e in self.ends if isinstance(e, Variable))
        return (*TIMES, *names, self.label) if self.label else (*TIMES, *names)

    @property
    def is_timeless(self) -> bool:
        return False


@frozen
class KnownPlan(Plan):
    """The triples that hold always and fit a triple pattern or a path.

    ``graph`` is the name of the graph; None: the background knowledge.
    """

    subject: End
    predicate: Variable | Path
    object: End
    graph: IRI | None = None

    @property
    def ends(self) -> tuple[Any, Any, Any]:
        return (self.subject, self.predicate, self.object)

    @property
    def path(self) -> Path | None:
        """The path, if it is one of any length."""
        return None if isinstance(self.predicate, Variable | IRI) else self.predicate

    @property
    def variables(self) -> tuple[str, ...]:
        return (*TIMES, *dict.fromkeys(e.name for e in self.ends if isinstance(e, Variable)))


@frozen
class SeqPlan(PlanOverTwo):
    """Pairs whose right starts strictly after the left has ended, and that pass the tests.

    ``consumption`` says which of the left rows that fit a right one are joined with it.
    """

    kept = ("left", "right")
    tests: tuple[Expression, ...] = ()
    longest: int | None = None
    consumption: algebra.Consumption = algebra.Consumption.UNRESTRICTED

    @property
    def unrestricted(self) -> bool:
        """Whether all left rows that fit are joined."""
        return self.consumption is algebra.Consumption.UNRESTRICTED


@frozen
class EqualsPlan(PlanOverTwo):
    """The joined rows of both sides that have the same interval."""

    kept = ("left", "right")


@frozen
class Once(PlanOverOne):
    """Rows in which equal triples of a block are the same occurrence.

    A block is a set of triples: two of its patterns may match one triple, which then has one
    interval. ``pairs`` are the labels of occurrences that may be of the same triple.
    """

    pairs: tuple[tuple[str, str], ...]
