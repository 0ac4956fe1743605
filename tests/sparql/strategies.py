"""Random algebra, in the form that the parser gives."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

from hypothesis import strategies as st

from sensorstream.model import xsd
from sensorstream.model.events import SEVERITIES
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.sparql import algebra as a
from sensorstream.sparql.functions import FUNCTIONS
from sensorstream.sparql.walk import aggregates, nodes, replaced, visible

IRIS = st.sampled_from([IRI(f"http://example.org/{name}") for name in "abcdé"])
VARIABLES = st.sampled_from([a.Variable(name) for name in ("s", "p", "o", "x1", "größe")])
TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
LITERALS = st.one_of(
    st.builds(Literal, TEXTS),
    st.builds(lambda text: Literal(text, language="en-gb"), TEXTS),
    st.integers(-9, 99).map(lambda number: Literal(str(number), xsd.INTEGER)),
    st.decimals(0, 9, places=1).map(lambda number: Literal(str(number), xsd.DECIMAL)),
)
TERMS = st.one_of(VARIABLES, IRIS, LITERALS)
# Each block gets labels of its own in the end.
NODES = st.one_of(TERMS, st.sampled_from([BlankNode("_:p"), BlankNode("_:q")]))
_NO_ARGUMENTS = [name for name, each in FUNCTIONS.items() if each.least == 0]
_ONE_ARGUMENT = [
    name
    for name, each in FUNCTIONS.items()
    if each.least <= 1 and each.most != 0 and name not in ("BOUND", "URI", "ISURI")
]
_NAMES = st.sampled_from(["COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE"])


def _paths() -> st.SearchStrategy[Any]:
    negated = st.builds(
        a.NegatedSet,
        st.lists(IRIS, min_size=1, max_size=2).map(tuple),
        st.lists(IRIS, max_size=2).map(tuple),
    )
    return st.recursive(
        st.one_of(IRIS, negated),
        lambda inner: st.one_of(
            *(st.builds(one, inner) for one in (a.Inverse, a.ZeroOrMore, a.OneOrMore, a.ZeroOrOne)),
            *(st.builds(two, inner, inner) for two in (a.Sequence, a.Alternative)),
        ),
        max_leaves=4,
    )


PATHS = _paths()
TRIPLES = st.builds(a.TriplePattern, NODES, st.one_of(VARIABLES, PATHS), NODES)
PLAIN_TRIPLES = st.builds(a.TriplePattern, NODES, st.one_of(VARIABLES, IRIS), NODES)
BLOCKS = st.lists(TRIPLES, min_size=1, max_size=3).map(lambda each: a.BGP(tuple(each)))


_COMPARISONS = st.sampled_from(["=", "!=", "<", ">", "<=", ">="])


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> Any:
    """Expressions without aggregates."""
    if depth == 0 or draw(st.booleans()):
        return draw(
            st.one_of(
                TERMS,
                st.builds(a.Call, st.sampled_from(_NO_ARGUMENTS)),
                VARIABLES.map(lambda variable: a.Call("BOUND", (variable,))),
                BLOCKS.map(a.Exists),
            )
        )
    inner = expressions(depth - 1)
    several = st.lists(inner, max_size=2).map(tuple)
    return draw(
        st.one_of(
            *(st.builds(two, inner, inner) for two in (a.Or, a.And)),
            st.builds(a.Not, inner),
            st.builds(a.Sign, st.sampled_from("+-"), inner),
            st.builds(a.Comparison, _COMPARISONS, inner, inner),
            st.builds(a.Arithmetic, st.sampled_from("+-*/"), inner, inner),
            st.builds(a.In, inner, several),
            st.builds(a.Call, st.sampled_from(_ONE_ARGUMENT), st.tuples(inner)),
            st.builds(a.FunctionCall, IRIS, several),
            patterns(depth - 1).map(a.Exists),
        )
    )


EXPRESSIONS = expressions()
_VALUE = st.one_of(IRIS, LITERALS, st.none())


@st.composite
def _values(draw: st.DrawFn) -> a.Values:
    columns = tuple(draw(st.lists(VARIABLES, unique=True, max_size=2)))
    row = st.tuples(*[_VALUE] * len(columns))
    return a.Values(columns, tuple(draw(st.lists(row, max_size=2))))


def _new(pattern: Any, *taken: a.Variable) -> a.Variable:
    known = {*visible(pattern), *taken}
    return next(each for number in count() if (each := a.Variable(f"n{number}")) not in known)


@st.composite
def _selects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    where = draw(inner)
    pattern = draw(_grouped(where)) if draw(st.booleans()) else draw(_plain(where))
    mark = draw(st.sampled_from([None, a.Distinct, a.Reduced]))
    if mark is not None:
        pattern = mark(pattern)
    return draw(_limited(pattern))


@st.composite
def _limited(draw: st.DrawFn, pattern: Any) -> Any:
    offset = draw(st.integers(0, 2))
    limit = draw(st.one_of(st.none(), st.integers(0, 5)))
    return a.Slice(pattern, offset, limit) if offset or limit is not None else pattern


_CONDITIONS = st.lists(st.builds(a.OrderCondition, EXPRESSIONS, st.booleans()), max_size=2).map(
    tuple
)


@st.composite
def _plain(draw: st.DrawFn, where: Any) -> Any:
    columns = draw(st.lists(VARIABLES, unique=True, min_size=1, max_size=3))
    conditions = draw(_CONDITIONS)
    return a.Project(a.OrderBy(where, conditions) if conditions else where, tuple(columns))


def _without_blanks(part: object) -> bool:
    return not any(isinstance(each, BlankNode) for each in nodes(part))


# An aggregate is printed wherever it is used, and a blank node stands in one block only.
_AGGREGATES = st.one_of(
    st.booleans().map(lambda distinct: a.Aggregate("COUNT", None, distinct)),
    st.builds(a.Aggregate, _NAMES, EXPRESSIONS, st.booleans()),
    st.builds(a.Aggregate, st.just("GROUP_CONCAT"), EXPRESSIONS, st.booleans(), st.none() | TEXTS),
).filter(_without_blanks)


@st.composite
def _grouped(draw: st.DrawFn, where: Any) -> Any:
    keys = [a.GroupKey(each, each) for each in draw(st.lists(VARIABLES, unique=True, max_size=2))]
    named = _new(where)
    if draw(st.booleans()):
        keys.append(a.GroupKey(draw(EXPRESSIONS), named))
    of_group = st.one_of(_AGGREGATES, *(st.just(key.variable) for key in keys))
    computed = st.one_of(
        _AGGREGATES, st.builds(a.Arithmetic, st.just("+"), _AGGREGATES, of_group | LITERALS)
    )
    items = draw(st.lists(computed, min_size=1, max_size=2))
    having = draw(st.none() | st.builds(a.Comparison, st.just(">"), _AGGREGATES, LITERALS))
    order = draw(
        st.lists(st.builds(a.OrderCondition, of_group, st.booleans()), max_size=2).map(tuple)
    )
    values = draw(st.none() | _values())
    found = dict.fromkeys(aggregates((tuple(items), having, order)))
    names = {each: a.Variable(f".agg{number}") for number, each in enumerate(found)}

    def lifted(part: Any) -> Any:
        return replaced(
            part, lambda each: names.get(each) if isinstance(each, a.Aggregate) else None
        )

    pattern: Any = a.Group(where, tuple(keys), tuple((name, of) for of, name in names.items()))
    if having is not None:
        pattern = a.Filter(lifted(having), pattern)
    if values is not None:
        pattern = a.Join(pattern, values)
    columns = [key.variable for key in keys if key.variable is not None]
    for item in items:
        name = _new(where, *columns, named)
        columns.append(name)
        pattern = a.Extend(pattern, name, lifted(item))
    if order:
        pattern = a.OrderBy(pattern, lifted(order))
    return a.Project(pattern, tuple(columns))


def _not_empty(pattern: Any) -> bool:
    return bool(pattern != a.BGP())


@st.composite
def patterns(draw: st.DrawFn, depth: int = 3, windows: tuple[IRI, ...] = ()) -> Any:
    """Group patterns; blank nodes of different blocks may have the same labels."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.one_of(BLOCKS, st.just(a.BGP()), _values()))
    inner = patterns(depth - 1, windows)
    some = inner.filter(_not_empty)
    condition = st.none() | EXPRESSIONS
    names = st.one_of(VARIABLES, IRIS)
    return draw(
        st.one_of(
            st.builds(a.Join, some, some),
            *(st.builds(two, inner, inner) for two in (a.Union, a.Minus, a.Equals)),
            st.builds(a.Seq, inner, inner, st.sampled_from(a.Consumption)),
            *(
                st.builds(three, inner, inner, condition)
                for three in (a.LeftJoin, a.OptionalSeq, a.EqualsOptional)
            ),
            st.builds(a.Filter, EXPRESSIONS, inner),
            st.builds(lambda at, of: a.Extend(at, _new(at), of), inner, EXPRESSIONS),
            st.builds(a.Graph, names, inner),
            st.builds(a.Service, names, inner, st.booleans()),
            st.builds(a.Window, st.sampled_from(windows) if windows else VARIABLES, inner),
            st.builds(a.Stream, IRIS, inner),
            _selects(inner),
        )
    )


def _with_own_blanks(node: Any) -> Any:
    numbers = count()

    def own(part: Any) -> Any:
        if not isinstance(part, a.BGP):
            return None
        number = next(numbers)
        return a.BGP(
            replaced(
                part.patterns,
                lambda each: BlankNode(f"{each}{number}") if isinstance(each, BlankNode) else None,
            )
        )

    return replaced(node, own)


_LENGTHS = st.integers(1, 10**9).map(lambda number: timedelta(microseconds=number))
_TIMES = st.one_of(
    st.none(),
    st.integers(0, 99).map(lambda number: Literal(str(number), xsd.INTEGER)),
    st.just(Literal("2014-08-01T08:05:00Z", xsd.DATE_TIME)),
)


@st.composite
def _windows(draw: st.DrawFn, name: IRI) -> a.WindowDefinition:
    kind = draw(st.sampled_from(a.WindowKind))
    stream, in_default = draw(st.none() | IRIS), draw(st.booleans())
    if kind is a.WindowKind.NOW:
        return a.WindowDefinition(name, stream, kind, in_default=in_default)
    amounts: st.SearchStrategy[Any] = draw(st.sampled_from([_LENGTHS, st.integers(1, 99)]))
    extent = step = None
    if kind is a.WindowKind.LANDMARK:
        step = draw(st.none() | amounts)
    else:
        extent = draw(amounts)
        step = extent if kind is a.WindowKind.TUMBLING else draw(st.none() | amounts)
    unit = draw(st.sampled_from(a.WindowUnit))
    only = draw(st.none() | IRIS) if unit is a.WindowUnit.INDIVIDUALS else None
    times = draw(st.tuples(_TIMES, _TIMES, _TIMES))
    return a.WindowDefinition(name, stream, kind, unit, extent, step, only, *times, in_default)


_REPORTS = st.one_of(
    st.none(),
    st.sampled_from([a.ReportKind.CHANGE, a.ReportKind.INSTANT, a.ReportKind.WINDOW_CLOSE]).map(
        a.ReportClause
    ),
    _LENGTHS.map(lambda every: a.ReportClause(a.ReportKind.PERIOD, every)),
    st.integers(1, 99).map(lambda every: a.ReportClause(a.ReportKind.TRIPLES, every)),
)


_SPANS: st.SearchStrategy[str | a.Variable] = st.one_of(st.text(max_size=9), VARIABLES)
_VALID_TIMES = st.none() | st.builds(a.ValidTime, _SPANS, st.none() | _SPANS)


_WORDS = st.text().map(lambda text: text.replace("{", "").replace("}", ""))
_ALERTS = st.none() | st.builds(
    a.AlertClause, st.sampled_from(SEVERITIES), _WORDS, st.none() | _WORDS
)


@st.composite
def queries(draw: st.DrawFn) -> a.Query:
    """Queries of all forms, with windows, registrations and reports."""
    names = tuple(draw(st.lists(IRIS, unique=True, max_size=2)))
    inner = patterns(windows=names)
    template = st.lists(PLAIN_TRIPLES, max_size=2).map(tuple)
    described = st.lists(st.one_of(VARIABLES, IRIS), min_size=1, max_size=2).map(tuple)
    form: Any = draw(
        st.one_of(
            _selects(inner).map(a.Select),
            inner.map(a.Ask),
            st.builds(a.Construct, template, inner.flatmap(_limited)),
            st.builds(a.Describe, described, inner),
        )
    )
    iris = st.lists(IRIS, max_size=2).map(tuple)
    windows = tuple(draw(_windows(name)) for name in names)
    dataset = a.Dataset(draw(iris), draw(iris), windows)
    registration = draw(
        st.none()
        | st.builds(
            a.Registration,
            st.one_of(IRIS, st.sampled_from(["averages", "window"])),
            st.none() | st.sampled_from(a.Relation),
        )
    )
    report, valid_time = draw(_REPORTS), draw(_VALID_TIMES)
    alert = draw(_ALERTS) if isinstance(form, a.Select) else None
    return a.Query(_with_own_blanks(form), dataset, registration, report, None, valid_time, alert)


@st.composite
def updates(draw: st.DrawFn) -> a.Update:
    """Requests of a few operations."""
    ground = st.one_of(IRIS, LITERALS)
    graphs = st.none() | IRIS
    data = st.builds(a.Quad, st.builds(a.TriplePattern, IRIS, IRIS, ground), graphs)
    template = st.builds(
        a.Quad,
        st.builds(a.TriplePattern, TERMS, st.one_of(VARIABLES, IRIS), TERMS),
        graphs | VARIABLES,
    )
    many = st.lists(data, max_size=3).map(tuple)
    templates = st.lists(template, max_size=3).map(tuple)
    iris = st.lists(IRIS, max_size=1).map(tuple)
    using = st.builds(a.Dataset, iris, iris)
    targets = st.one_of(IRIS, st.sampled_from(a.GraphSet))
    where = patterns().map(_with_own_blanks)
    operation: st.SearchStrategy[Any] = st.one_of(
        many.map(a.InsertData),
        many.map(a.DeleteData),
        templates.map(a.DeleteWhere),
        st.builds(a.Modify, templates, st.none() | templates, where, using, graphs),
        st.builds(a.Modify, st.none(), templates, where, using, graphs),
        st.builds(a.Load, IRIS, graphs, st.booleans()),
        st.builds(a.Clear, targets, st.booleans()),
        st.builds(a.Drop, targets, st.booleans()),
        st.builds(a.Create, IRIS, st.booleans()),
        st.builds(
            a.Transfer, st.sampled_from(["ADD", "MOVE", "COPY"]), graphs, graphs, st.booleans()
        ),
    )
    return a.Update(tuple(draw(st.lists(operation, max_size=3))))
