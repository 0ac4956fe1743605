"""Plans of patterns in time: each row has the interval in which its solution happened.

What asks for no interval is planned as everywhere (:mod:`sensorstream.network.plan.nodes`).

A row is laid out as ``variables``, followed by the start and the end of its interval. Solutions
that background knowledge makes by itself have no interval: they hold always. Theirs is
:data:`ALWAYS`, which leaves the interval of what they are joined with as it is.

``longest`` is the length beyond which no solution is wanted, in units of the time line, as far as
the filters above say so: it bounds what is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from typing import Literal as OneOf

from sensorstream.model.terms import IRI
from sensorstream.network.operators.group import group_text
from sensorstream.network.plan import nodes as plans
from sensorstream.network.plan.nodes import End, LeftJoin, Over, Pair, Plan
from sensorstream.sparql.algebra import Consumption, Expression, Path, Variable
from sensorstream.sparql.printing import part_text

TimedRow: TypeAlias = tuple[Any, ...]
"""Terms, None where unbound; then start and end."""
ALWAYS: Final = (float("inf"), float("-inf"))
"""The interval of what holds always: neutral to ``min`` of starts and ``max`` of ends."""

OCCURRENCE: Final = ".occurrence"
"""How the variables begin that are bound to an occurrence itself: triple, start and end."""


@dataclass(frozen=True, slots=True)
class Occurrence(Plan):
    """The occurrences that fit one triple pattern.

    Those of all streams, and what background knowledge says of it; or those of one stream.
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
        return (*names, self.label) if self.label else tuple(names)

    @property
    def text(self) -> str:
        ends = (str(e) if isinstance(e, Variable) else e.n3 for e in self.ends)
        where = "" if self.stream is None else f" in {self.stream.n3}"
        return f"Occurrences{where} of {' '.join(ends)}"


@dataclass(frozen=True, slots=True)
class Known(Plan):
    """What holds always and fits a triple pattern or a path.

    ``graph`` is the name of the graph; None: the background knowledge.
    """

    subject: End
    predicate: Variable | Path
    object: End
    graph: IRI | None = None

    @property
    def ends(self) -> tuple[End, Variable | Path, End]:
        return (self.subject, self.predicate, self.object)

    @property
    def is_path(self) -> bool:
        """Whether it is a path of any length."""
        return not isinstance(self.predicate, Variable | IRI)

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(e.name for e in self.ends if isinstance(e, Variable)))

    @property
    def text(self) -> str:
        where = "the background" if self.graph is None else self.graph.n3
        verb = self.predicate
        written = str(verb) if isinstance(verb, Variable) else part_text(verb)
        return f"In {where} {part_text(self.subject)} {written} {part_text(self.object)}"


@dataclass(frozen=True, slots=True)
class _Both(Pair):
    """Over two others whose solutions are joined."""

    @property
    def certain(self) -> frozenset[str]:
        return self.left.certain | self.right.certain


@dataclass(frozen=True, slots=True)
class Join(_Both):
    """Solutions of both sides that agree; the hull of their intervals."""

    longest: int | None = None

    @property
    def text(self) -> str:
        asked = not is_timeless(self.left) and not is_timeless(self.right)
        return f"Join{_on(self)}{_kept(self.longest) if asked else ''}"


@dataclass(frozen=True, slots=True)
class Seq(_Both):
    """The right starts strictly after the left has ended, and the tests hold of both.

    Of the left rows that fit a right one, ``consumption`` says which are joined with it.
    """

    tests: tuple[Expression, ...] = ()
    longest: int | None = None
    consumption: Consumption = Consumption.UNRESTRICTED

    @property
    def text(self) -> str:
        policy = "" if self.unrestricted else f" {self.consumption.value}"
        return f"SEQ{policy}{_on(self)}{_if(*self.tests)}{_kept(self.longest)}"

    @property
    def unrestricted(self) -> bool:
        """Whether all that fits is joined."""
        return self.consumption is Consumption.UNRESTRICTED


@dataclass(frozen=True, slots=True)
class Equals(_Both):
    """Both have the same interval."""

    @property
    def text(self) -> str:
        return f"EQUALS{_on(self)}"


@dataclass(frozen=True, slots=True)
class Optional(LeftJoin):
    """``left``, together with ``right`` where there is one that fits.

    OPTIONAL takes what has ended by the end of the left, OPTIONALSEQ what has ended before its
    start, and EQUALSOPTIONAL what has the same interval.
    """

    operator: OneOf["OPTIONAL", "OPTIONALSEQ", "EQUALSOPTIONAL"]
    longest: int | None = None

    @property
    def remembers(self) -> bool:
        """Whether what ended at another moment fits."""
        return self.operator != "EQUALSOPTIONAL"

    @property
    def text(self) -> str:
        kept = _kept(self.longest) if self.remembers else ""
        return f"{self.operator}{_if(self.condition)}{kept}"


@dataclass(frozen=True, slots=True)
class Minus(plans.Minus):
    """MINUS: without what agrees with something that has ended by then."""

    @property
    def text(self) -> str:
        return f"MINUS{_on(self)}"


@dataclass(frozen=True, slots=True)
class Mark(plans.Mark):
    """EXISTS: whether something that agrees, and that meets the conditions, has ended by then."""

    @property
    def text(self) -> str:
        return f"Mark ?{self.flag} where there is a match{_on(self)}{_if(*self.conditions)}"


@dataclass(frozen=True, slots=True)
class First(Over):
    """LIMIT and OFFSET: the solutions that end first."""

    offset: int
    limit: int | None

    @property
    def text(self) -> str:
        number = "All" if self.limit is None else f"The {self.limit} that end first"
        return f"{number}, after the first {self.offset}" if self.offset else number


@dataclass(frozen=True, slots=True)
class Once(Over):
    """Rows in which equal triples of a block are the same occurrence.

    A block is a set of triples: what two of its patterns become may be one triple, which then
    has one interval. ``pairs`` are the labels of occurrences that may be of the same triple.
    """

    pairs: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        return "Equal triples are one occurrence"


@dataclass(frozen=True, slots=True)
class Group(plans.Group):
    """One row for each group of which a row ends: its aggregates over all that has ended by then.

    With ``lengths`` only those rows are taken together whose common interval passes: as many as
    possible, those that started last.
    """

    lengths: tuple[Expression, ...] = ()

    @property
    def text(self) -> str:
        told = ((variable.name, part_text(each)) for variable, each in self.aggregates)
        bound = _if(*self.lengths) if self.lengths else _kept(None)
        return f"{group_text(self.keys, told)}{bound}"


def _on(plan: Pair) -> str:
    """What both sides share, for people."""
    shared = [f"?{name}" for name in plan.left.variables if name in plan.right.variables]
    return f" on {', '.join(shared)}" if shared else ""


def _if(*conditions: Expression | None) -> str:
    texts = [part_text(each) for each in conditions if each is not None]
    return f" if {' && '.join(texts)}" if texts else ""


def _kept(longest: int | None) -> str:
    return ", without a bound" if longest is None else f", no longer than {longest} units of time"


def is_timeless(plan: Plan) -> bool:
    """Whether all solutions of a plan hold always: nothing ever happens to it."""
    return not isinstance(plan, Occurrence) and all(map(is_timeless, plan.inputs))


def parts(plan: Plan) -> Iterator[Plan]:
    """A plan and all below it, from the top."""
    yield plan
    for each in plan.inputs:
        yield from parts(each)
