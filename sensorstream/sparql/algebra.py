"""The algebra of stream SPARQL: what a query means, without how it was written.

Names and shapes follow SPARQL 1.1 Query, section 18.2, with these differences:

- A :class:`BGP` holds the triple patterns of one block, paths included (the specification splits a
  block at each path and joins the parts again). So a blank node, which is a variable that cannot be
  selected, never leaves the node it belongs to.
- ``Group`` and ``AggregateJoin`` are one node, which names what it computes.
- ``SELECT *`` is resolved: :class:`Project` always lists its variables.
- ``ToList`` and ``ToMultiset`` are left out: a solution modifier within a pattern is a
  sub-select.

A constant is the term itself (``sensorstream.model.terms``). All nodes are immutable, hashable
and compared by value, so equal parts of different queries can be found and shared.

Streams: RSP-QL's named windows (Dell'Aglio et al., "RSP-QL Semantics", 2014), LUPOSDATE's
windows and report periods ("Monitoring eBay auctions", sections 4-6) and EP-SPARQL's temporal
operators (Anicic et al., "EP-SPARQL", 2011, section 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from typing import ClassVar, Final, Protocol, TypeAlias
from typing import Literal as OneOf

from sensorstream.errors import Position
from sensorstream.model.frozen import Frozen, field
from sensorstream.model.terms import IRI, BlankNode, Literal


class Variable(Frozen):
    """``?name``, stored without the question mark. Only the parser makes names like ``.x``."""

    name: str

    def __str__(self) -> str:
        return f"?{self.name}"


# Paths (section 18.2.2.3). A plain IRI is a path of length one, the specification's "link".


class OfPath(Frozen):
    """A path made of one path."""

    path: Path


class OfPaths(Frozen):
    """A path made of two paths."""

    left: Path
    right: Path


class Inverse(OfPath):
    """``^path``."""


class Sequence(OfPaths):
    """``left/right``."""


class Alternative(OfPaths):
    """``left|right``."""


class ZeroOrMore(OfPath):
    """``path*``."""


class OneOrMore(OfPath):
    """``path+``."""


class ZeroOrOne(OfPath):
    """``path?``."""


class NegatedSet(Frozen):
    """``!(a|^b)``: a step along any property but ``forward``, or against any but ``backward``.

    A direction without members is not walked, unless both are empty (``!()`` walks forward).
    """

    forward: tuple[IRI, ...]
    backward: tuple[IRI, ...] = ()


Path: TypeAlias = (
    IRI | Inverse | Sequence | Alternative | ZeroOrMore | OneOrMore | ZeroOrOne | NegatedSet
)

# Expressions (section 17). ``Literal`` and ``IRI`` stand for themselves.


class _OfTwo(Frozen):
    left: Expression
    right: Expression


class Or(_OfTwo):
    """``left || right``."""


class And(_OfTwo):
    """``left && right``."""


class Not(Frozen):
    """``! operand``."""

    operand: Expression


Comparing: TypeAlias = OneOf["=", "!=", "<", ">", "<=", ">="]
TURNED: Final[Mapping[str, Comparing]] = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    ">": "<",
    "<=": ">=",
    ">=": "<=",
}
"""The operator that compares the same two values in the other order."""


class Comparison(Frozen):
    """``left operator right``."""

    operator: Comparing
    left: Expression
    right: Expression


class Arithmetic(Frozen):
    """``left operator right``."""

    operator: OneOf["+", "-", "*", "/"]
    left: Expression
    right: Expression


class Sign(Frozen):
    """``- operand`` or ``+ operand``."""

    operator: OneOf["+", "-"]
    operand: Expression


class In(Frozen):
    """``operand IN (choices)``; NOT IN is :class:`Not` around it, which means the same."""

    operand: Expression
    choices: tuple[Expression, ...]


class Call(Frozen):
    """A built-in function (section 17.4) or an EP-SPARQL one; ``name`` in capitals.

    ``GETDURATION``, ``GETSTARTTIME`` and ``GETENDTIME`` have no arguments.
    """

    name: str
    arguments: tuple[Expression, ...] = ()


class FunctionCall(Frozen):
    """A function named by an IRI, such as the casts ``xsd:integer(?x)``."""

    function: IRI
    arguments: tuple[Expression, ...] = ()


class Exists(Frozen):
    """``EXISTS { pattern }``; NOT EXISTS is :class:`Not` around it."""

    pattern: Pattern


class Aggregate(Frozen):
    """``name([DISTINCT] expression)``; it stands in a :class:`Group` only.

    ``expression`` is None for ``COUNT(*)``; ``separator`` is for GROUP_CONCAT; None: not given,
    which means a space. An IRI names an aggregate of GeoSPARQL.
    """

    name: OneOf["COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"] | IRI
    expression: Expression | None
    distinct: bool = False
    separator: str | None = None


Expression: TypeAlias = (
    Variable
    | IRI
    | Literal
    | Or
    | And
    | Not
    | Comparison
    | Arithmetic
    | Sign
    | In
    | Call
    | FunctionCall
    | Exists
)

# Graph patterns (sections 18.2.2, 18.2.3)

PatternTerm: TypeAlias = Variable | IRI | BlankNode | Literal


class TriplePattern(Frozen):
    """A triple, or a path between two ends."""

    subject: PatternTerm
    predicate: Variable | Path
    object: PatternTerm

    @property
    def parts(self) -> tuple[PatternTerm, Variable | Path, PatternTerm]:
        """Subject, predicate and object."""
        return (self.subject, self.predicate, self.object)


class BGP(Frozen):
    """A block of triple patterns that all must match; without any, the one empty solution."""

    patterns: tuple[TriplePattern, ...] = ()


class OfPattern(Frozen):
    """A pattern made of the solutions of a pattern."""

    pattern: Pattern


class OfPatterns(Frozen):
    """A pattern made of the solutions of two patterns."""

    kept: ClassVar[tuple[str, ...]] = ("left", "right")
    """The sides that are part of every solution; the other may be missing (or must be)."""
    word: ClassVar[str] = ""
    """The word between the groups that it combines, if it is written so."""
    left: Pattern
    right: Pattern


class WithOptional(OfPatterns):
    """Two patterns, one of them optional; the condition belongs to that one and sees both."""

    kept = ("left",)
    condition: Expression | None = None


class Join(OfPatterns):
    """The solutions of both patterns together."""


class LeftJoin(WithOptional):
    """``left OPTIONAL { right FILTER(condition) }``; the condition sees both sides."""


class Filter(Frozen):
    """The solutions for which the condition has the effective boolean value true.

    Directly above a :class:`Group` it is HAVING.
    """

    condition: Expression
    pattern: Pattern


class Union(OfPatterns):
    """The solutions of either pattern."""

    kept = ()
    word = "UNION"


class Minus(OfPatterns):
    """``left MINUS { right }``."""

    kept = ("left",)


class Extend(OfPattern):
    """``BIND(expression AS variable)``, or the same in a SELECT clause."""

    variable: Variable
    expression: Expression


class Graph(Frozen):
    """``GRAPH name { pattern }``."""

    name: Variable | IRI
    pattern: Pattern


class Service(Frozen):
    """``SERVICE [SILENT] endpoint { pattern }``."""

    endpoint: Variable | IRI
    pattern: Pattern
    silent: bool = False


class Values(Frozen):
    """Rows of constants; None is UNDEF."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[IRI | Literal | None, ...], ...]


class GroupKey(Frozen):
    """A GROUP BY condition; without a variable its value cannot be selected."""

    expression: Expression
    variable: Variable | None = None


class Group(OfPattern):
    """A solution for each group: the keys' variables and the aggregates' variables.

    Without keys all solutions are one group, even if there are no solutions (section 18.5.1).
    """

    keys: tuple[GroupKey, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]


# Temporal operators (EP-SPARQL, section 4.2)


class Consumption(Enum):
    """The choice of the left solutions that SEQ joins with a right one, among those that fit."""

    UNRESTRICTED = "UNRESTRICTED"
    """All that fit, as in the paper."""
    RECENT = "RECENT"
    """The last that ended; of these, the last that started."""
    CHRONOLOGICAL = "CHRONOLOGICAL"
    """The first that ended; a solution of either side is used once."""


class Seq(OfPatterns):
    """``{ left } SEQ { right }``: right starts strictly after left has ended (SeqJoin)."""

    word = "SEQ"
    consumption: Consumption = Consumption.UNRESTRICTED


class Equals(OfPatterns):
    """``{ left } EQUALS { right }``: both have the same interval (EqJoin)."""

    word = "EQUALS"


class OptionalSeq(WithOptional):
    """``{ left FILTER(condition) } OPTIONALSEQ { right }`` (SeqRightJoin).

    ``right`` must be there; ``left`` may have ended strictly before it starts. The condition
    belongs to the optional side, as in :class:`LeftJoin`, and sees both sides.
    """

    kept = ("right",)
    word = "OPTIONALSEQ"


class EqualsOptional(WithOptional):
    """``{ left } EQUALSOPTIONAL { right FILTER(condition) }`` (EqLeftJoin).

    ``left`` must be there; ``right`` may have the same interval.
    """

    word = "EQUALSOPTIONAL"


class Window(Frozen):
    """``WINDOW name { pattern }``: matches the content of a window of the query's dataset."""

    name: Variable | IRI
    pattern: Pattern


class Stream(Frozen):
    """``STREAM name { pattern }``: in a pattern in time, the events of one stream."""

    name: IRI
    pattern: Pattern


# Lists, in rule sets


class Each(Frozen):
    """``EACH member IN members FROM first TO last { pattern }``, of rule sets only.

    The pattern must match for each member of an RDF list. Variables that stand only in it are
    separate for each member; all others are shared. FROM and TO make the matches a chain: the value
    of ``last`` at a member is that of ``first`` at the next; outside, ``first`` is that of the
    first member and ``last`` that of the last one. An empty list matches nothing.
    """

    member: Variable
    members: Variable | IRI
    pattern: Pattern
    first: Variable | None = None
    last: Variable | None = None


# Solution modifiers (section 18.2.5); within a pattern they are a sub-select.


class OrderCondition(Frozen):
    """A condition of ORDER BY."""

    expression: Expression
    descending: bool = False


class OrderBy(OfPattern):
    """Solutions in order."""

    conditions: tuple[OrderCondition, ...]


class Project(OfPattern):
    """The solutions with only these variables."""

    variables: tuple[Variable, ...]


class Distinct(OfPattern):
    """The solutions without duplicates."""


class Reduced(OfPattern):
    """The solutions, with a number of duplicates that the evaluation chooses."""


class Slice(OfPattern):
    """``limit`` solutions (None: all) from the one at ``offset`` (from 0)."""

    offset: int = 0
    limit: int | None = None


BETWEEN: Final = {each.word: each for each in (Union, Seq, Equals, OptionalSeq, EqualsOptional)}
"""The operators between two groups, by word."""
OneByOne: TypeAlias = Join | LeftJoin | Filter | Minus | Extend
"""Patterns that handle the solutions of their kept patterns one by one."""
Modifier: TypeAlias = Slice | Distinct | Reduced | OrderBy
"""Patterns that leave solutions out, or order them."""
InTime: TypeAlias = Seq | Equals | OptionalSeq | EqualsOptional
"""The operators that compare their sides by the intervals in which these happen."""
Pattern: TypeAlias = (
    BGP
    | Join
    | LeftJoin
    | Filter
    | Union
    | Minus
    | Extend
    | Graph
    | Service
    | Values
    | Group
    | InTime
    | Window
    | Stream
    | Each
    | OrderBy
    | Project
    | Distinct
    | Reduced
    | Slice
)

# Streams


class WindowKind(Enum):
    """The way a window moves."""

    SLIDING = "sliding"
    TUMBLING = "tumbling"
    """It steps by its own range: each triple is in one computation of it."""
    LANDMARK = "landmark"
    """It keeps everything since its start."""
    NOW = "now"
    """It keeps what happens at the present instant."""


class WindowUnit(Enum):
    """The elements that enter and leave a window, which a numeric range counts."""

    TRIPLES = "triples"
    INDIVIDUALS = "individuals"
    """An individual enters and leaves with all triples whose subject it is."""


class WindowDefinition(Frozen):
    """``FROM NAMED WINDOW name ON stream [RANGE range STEP step STARTING AT origin]``.

    ``range`` is a length of time (a logical window) or a number of the unit (a physical one); it is
    None for a landmark window and for NOW only. ``step`` is of the same sort (of either for a
    landmark window); None means that the window moves with every change. A window of ``stream``
    None reads all streams. With ``instances_of``, only its instances are individuals of the
    window. ``origin`` moves the multiples of ``step``; only what happened from ``start`` to
    ``end``, both included, enters. These three are numbers (seconds) or ``xsd:dateTime``
    literals. ``delay`` is how long before the present a window of a length of time ends. With
    ``in_default`` its content is part of the default graph as well, as RSP-QL's ``FROM WINDOW`` and
    C-SPARQL have it.
    """

    name: IRI
    stream: IRI | None = None
    kind: WindowKind = WindowKind.SLIDING
    unit: WindowUnit = WindowUnit.TRIPLES
    range: timedelta | int | None = None
    step: timedelta | int | None = None
    instances_of: IRI | None = None
    origin: Literal | None = None
    start: Literal | None = None
    end: Literal | None = None
    in_default: bool = False
    delay: timedelta | None = None


class Relation(Enum):
    """The stream of solutions that a query makes of its changing result."""

    RSTREAM = "RSTREAM"
    """The whole result at each report."""
    ISTREAM = "ISTREAM"
    """The additions since the last report."""
    DSTREAM = "DSTREAM"
    """The removals since the last report."""


class Registration(Frozen):
    """``REGISTER RSTREAM name AS``; ``REGISTER QUERY name AS`` leaves the relation open (None).

    ``name`` is the output stream, or a plain word that names the query.
    """

    name: IRI | str
    relation: Relation | None = None


class ReportKind(Enum):
    """The event that makes a continuous query report."""

    CHANGE = "CHANGE"
    INSTANT = "INSTANT"
    """The end of all events of one time."""
    WINDOW_CLOSE = "WINDOW CLOSE"
    PERIOD = "PERIOD"
    """The end of each ``every``, a length of time."""
    TRIPLES = "TRIPLES"
    """The arrival of ``every`` triples."""


class ReportClause(Frozen):
    """``STREAM INTERMEDIATERESULT …`` or ``REPORT …``."""

    kind: ReportKind
    every: timedelta | int | None = None


class AlertClause(Frozen):
    """``ALERT severity "text" KEY "key"``: each solution raises an alert.

    In both texts ``{?name}`` stands for a value of the solution. ``key`` None: the text is the key.
    """

    severity: str
    text: str
    key: str | None = None


class Dataset(Frozen):
    """The graphs and windows a query reads; without any clause, those its caller gives."""

    default: tuple[IRI, ...] = ()
    named: tuple[IRI, ...] = ()
    windows: tuple[WindowDefinition, ...] = ()


class ValidTime(Frozen):
    """``AT "start"``: statements that held then; ``DURING "start"/"end"``: at a time between.

    The times are as written: only the deployment knows its time line. DURING is half open: a
    statement that began at ``end`` is not seen. ``end`` is None for AT. A variable is the time of a
    rule that asks the history.
    """

    start: str | Variable
    end: str | Variable | None = None


class Placing(Protocol):
    """The places of the parts of a text (:class:`.Places`)."""

    def of(self, part: object) -> Position:
        """The place where a part of the meaning was written."""


# Query forms (section 16)


class Select(OfPattern):
    """The solutions; the pattern is a :class:`Project`, perhaps within modifiers."""


class Ask(OfPattern):
    """Whether there is a solution."""


class Construct(Frozen):
    """A graph from a template; its blank nodes are new for each solution."""

    template: tuple[TriplePattern, ...]
    pattern: Pattern


class Describe(Frozen):
    """A graph about these terms."""

    terms: tuple[Variable | IRI, ...]
    pattern: Pattern


class Query(Frozen):
    """A query with its dataset and, if it is continuous, its reports."""

    form: Select | Ask | Construct | Describe
    dataset: Dataset = Dataset()
    registration: Registration | None = None
    report: ReportClause | None = None
    base: IRI | None = None
    """The base of ``IRI("text")``; None also if that function is not called."""
    valid_time: ValidTime | None = None
    """The valid time of a query over history."""
    alert: AlertClause | None = None
    places: Placing | None = field(default=None, compare=False, repr=False)
    """The places of its parts in its text; they do not belong to its meaning."""


# Updates (SPARQL 1.1 Update, section 3)


class Quad(Frozen):
    """A triple and its graph; None is the default graph, or the one WITH names."""

    triple: TriplePattern
    graph: Variable | IRI | None = None


class GraphSet(Enum):
    """Several graphs at once, or the default graph."""

    DEFAULT = "DEFAULT"
    NAMED = "NAMED"
    ALL = "ALL"


class _OfQuads(Frozen):
    quads: tuple[Quad, ...]


class InsertData(_OfQuads):
    """``INSERT DATA { quads }``."""


class DeleteData(_OfQuads):
    """``DELETE DATA { quads }``."""


class DeleteWhere(_OfQuads):
    """``DELETE WHERE { quads }``: they are both pattern and template."""


class Modify(Frozen):
    """``WITH graph DELETE { } INSERT { } USING … WHERE { }``; None: the clause is missing."""

    delete: tuple[Quad, ...] | None
    insert: tuple[Quad, ...] | None
    pattern: Pattern
    using: Dataset = Dataset()
    graph: IRI | None = None
    base: IRI | None = None
    """As in :class:`Query`."""


class Load(Frozen):
    """``LOAD source INTO GRAPH target``; None is the default graph."""

    source: IRI
    target: IRI | None = None
    silent: bool = False


class _OfGraphs(Frozen):
    target: IRI | GraphSet
    silent: bool = False


class Clear(_OfGraphs):
    """``CLEAR target``."""


class Drop(_OfGraphs):
    """``DROP target``."""


class Create(Frozen):
    """``CREATE GRAPH target``."""

    target: IRI
    silent: bool = False


class Transfer(Frozen):
    """``ADD``, ``MOVE`` or ``COPY`` ``source TO target``; None is the default graph."""

    verb: OneOf["ADD", "MOVE", "COPY"]
    source: IRI | None
    target: IRI | None
    silent: bool = False


Operation: TypeAlias = (
    InsertData | DeleteData | DeleteWhere | Modify | Load | Clear | Drop | Create | Transfer
)


class Update(Frozen):
    """A sequence of operations."""

    operations: tuple[Operation, ...]
