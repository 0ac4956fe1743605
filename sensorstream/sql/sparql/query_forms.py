"""Query forms: what is made of the solutions (SPARQL 1.1, section 16)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sqlglot import exp

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.network.expressions.expression_functions import with_base
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import PatternTerm, Query, TriplePattern, Variable
from sensorstream.sparql.extensions import beyond_sql
from sensorstream.sparql.rewrite import rewritten
from sensorstream.sparql.walk import nodes, visible
from sensorstream.sql.sparql.compiled_query import (
    PARTS,
    TOO_DEEP,
    Id,
    QueryRelations,
    ResultColumn,
    SqlQuery,
)
from sensorstream.sql.sparql.pattern_relations import PatternCompiler
from sensorstream.sql.sparql.solution_relations import (
    Compiler,
    Layout,
    PatternPlace,
    SolutionSelect,
    columns_of,
    from_,
    join,
    order_by,
    own_columns,
    selected,
    settled,
    where,
)
from sensorstream.sql.sparql.sql_terms import TYPES, QueryConstant, Unbound
from sensorstream.sql.sql_fragments import (
    all_of,
    constant,
    is_storable,
    named,
    null,
    sql,
    table,
    titled,
    united,
)

_UNKNOWN: Final = -(2**62)
"""Ids from here downwards are those of terms that only the query's text has."""
_MOST_VALUES: Final = 2_000
"""Values of all VALUES over history. As many take four seconds to compile."""
_MOST_ARGUMENTS: Final = 300
"""Members of all IN, and arguments of functions, over history. As many take four seconds; each is
compared in all the ways two terms may be equal."""
_MOST_IN_TEMPLATE: Final = 1_000
"""Triples of a template over history. As many take a second to compile."""
_ENDS: Final = ("subject", "predicate", "object")
_TRIPLE: Final = [f"{end}_{part}" for end in _ENDS for part in PARTS]
_TRIPLE_COLUMNS: Final = tuple(
    ResultColumn(end, place * len(PARTS)) for place, end in enumerate(_ENDS)
)


def constants(query: Query, graphs: Iterable[IRI] = ()) -> frozenset[Term]:
    """The terms of a query whose ids :class:`QueryRelations` is to give, where they are known.

    ``graphs`` are the names that a variable of GRAPH can have.
    """
    found = (each for each in nodes(query) if isinstance(each, IRI | Literal))
    return frozenset(each for each in (*found, *graphs) if is_storable(each))


def compile_query(query: Query, scope: QueryRelations) -> SqlQuery:
    """A query as SQL.

    Raises:
        UnsupportedQuery: part of the query cannot be said in SQL with the same meaning, or it is
            nested too deeply, or too large.
    """
    if (name := beyond_sql(query)) is not None:
        raise UnsupportedQuery(
            f"<{name}>(): SQL does not have this function: ask the same with --on history or the "
            "window, or select what it needs and compute it on the rows"
        )
    _check_size(query)
    try:
        return _compiled(query, scope)
    except RecursionError:
        raise UnsupportedQuery(TOO_DEEP) from None


def _check_size(query: Query) -> None:
    match query.form:
        case algebra.Construct(template, _) if len(template) > _MOST_IN_TEMPLATE:
            raise UnsupportedQuery(
                f"the template has {len(template):,} triples: expected at most "
                f"{_MOST_IN_TEMPLATE:,} over history"
            )
    values = arguments = 0
    for node in nodes(query):
        match node:
            case algebra.Values(variables, rows):
                values += max(1, len(variables)) * len(rows)
            case (
                algebra.In(_, members) | algebra.Call(_, members) | algebra.FunctionCall(_, members)
            ):
                arguments += len(members)
    if arguments > _MOST_ARGUMENTS:
        raise UnsupportedQuery(
            f"IN and functions have {arguments:,} members and arguments: expected at most "
            f"{_MOST_ARGUMENTS} over history; write those of IN as VALUES"
        )
    if values > _MOST_VALUES:
        raise UnsupportedQuery(
            f"VALUES has {values:,} values: expected at most {_MOST_VALUES:,} over history; "
            "ask in parts"
        )


def _compiled(query: Query, scope: QueryRelations) -> SqlQuery:
    form = query.form
    pattern = rewritten(with_base(form.pattern, query.base))
    ids, terms = _with_unknown(_produced(query, scope.named), scope)
    default, graphs = _dataset(query.dataset, scope)
    compiler = PatternCompiler(terms, ids, graphs, beside=scope.beside, marked=scope.marked)
    match form:
        case algebra.Select():
            relation = settled(compiler.relation(pattern, PatternPlace(default)), compiler.names)
            tree, columns = _decoded(compiler, relation, [each.name for each in visible(pattern)])
            return SqlQuery("SELECT", tree, columns)
        case algebra.Ask():
            relation = compiler.relation(pattern, PatternPlace(default, once=True))
            found = from_(selected(()), relation.under("r"))
            return SqlQuery("ASK", selected([named(exp.Exists(this=found), "answer")]), ())
        case algebra.Construct(template, _):
            return _construct(compiler, template, compiler.relation(pattern, PatternPlace(default)))
        case algebra.Describe(described, _):
            relation = compiler.relation(pattern, PatternPlace(default, once=True))
            return _describe(compiler, described, relation, default)
    raise AssertionError(form)


def _produced(query: Query, graphs: Iterable[IRI]) -> set[Term]:
    """The constants that can become the value of a variable."""
    found: set[Term] = set()
    for node in nodes(query):
        match node:
            case algebra.Graph(Variable(), _):
                found.update(graphs)
            case algebra.Values(_, rows):
                found.update(term for row in rows for term in row if term is not None)
            case TriplePattern(subject, path, object_) if not isinstance(path, IRI | Variable):
                # A path of length zero begins and ends at any constant.
                found.update(end for end in (subject, object_) if isinstance(end, IRI | Literal))
            case algebra.Describe(terms, _):
                found.update(term for term in terms if isinstance(term, IRI))
            case (
                algebra.Extend(_, _, expression)
                | algebra.GroupKey(expression)
                | algebra.Aggregate(_, expression)
            ):
                found.update(e for e in nodes(expression) if isinstance(e, IRI | Literal))
    return found


def _with_unknown(
    found: Iterable[Term], scope: QueryRelations
) -> tuple[dict[Term, Id], exp.Select]:
    """Ids for all constants; those that nobody knows get ids below zero, for this query."""
    ids = dict(scope.ids)
    free = _UNKNOWN
    unknown = [each for each in sorted(found) if each not in ids]
    for each in unknown:
        ids[each] = free
        free -= 1
    if not unknown:
        return ids, scope.terms
    parts = (*PARTS, "number", "moment")
    rows = [exp.Tuple(expressions=[constant(ids[e]), *_parts_of(e, parts)]) for e in unknown]
    columns = ("id", *parts)
    source = exp.Values(
        expressions=rows,
        alias=titled("w", columns),
    )
    own = from_(
        selected(
            named(exp.cast(exp.column(name, "w"), TYPES.get(name, "BIGINT")), name)
            for name in columns
        ),
        source,
    )
    known = columns_of(scope.terms.copy(), "k", columns)
    return ids, columns_of(united([known, own]), "b", columns)


def _parts_of(term: Term, names: Sequence[str] = PARTS) -> list[exp.Expr]:
    assert isinstance(term, IRI | BlankNode | Literal)
    value = QueryConstant(term)
    return [value.part(each).copy() for each in names]


def _dataset(
    dataset: algebra.Dataset, scope: QueryRelations
) -> tuple[exp.Select, Mapping[IRI, exp.Select]]:
    """The graphs of FROM and FROM NAMED; without them, all that the scope has."""
    if not dataset.default and not dataset.named:
        return scope.default, scope.named
    columns = (*_ENDS, "number")
    parts: list[exp.Expr] = [
        columns_of(scope.named[each].copy(), "g", columns)
        for each in dataset.default
        if each in scope.named
    ]
    if not parts:
        types = ("BIGINT", "BIGINT", "BIGINT", "DOUBLE PRECISION")
        nothing = selected(
            named(null(kind), name) for name, kind in zip(columns, types, strict=True)
        )
        parts = [where(nothing, exp.false())]
    default = columns_of(united(parts), "b", columns)
    return default, {each: scope.named[each] for each in dataset.named if each in scope.named}


def _decoded(
    compiler: Compiler, relation: SolutionSelect, names: Sequence[str]
) -> tuple[exp.Select, tuple[ResultColumn, ...]]:
    """The solutions with the parts of each term, in their order."""
    alias = compiler.names.fresh("r")
    frame = compiler.frame(PatternPlace(compiler.terms), (relation, alias))
    columns: list[exp.Expr] = []
    read: list[ResultColumn] = []
    for name in names:
        read.append(ResultColumn(name, len(columns)))
        layout = relation.layouts.get(name)
        column = compiler.names.column(name)
        if layout is None:
            columns += [named(null("TEXT"), f"{column}_{part}") for part in PARTS]
        else:
            value = frame.variable(name)
            columns += [named(value.part(p).copy(), f"{column}_{p}") for p in PARTS]
    tree = frame.attach(from_(selected(columns), relation.under(alias)))
    order_by(tree, relation, alias)
    return tree, tuple(read)


def _construct(
    compiler: Compiler, template: Sequence[TriplePattern], relation: SolutionSelect
) -> SqlQuery:
    """The template's triples for each solution, without those that RDF does not have."""
    has_blank = any(nodes(template, BlankNode))
    if has_blank:
        relation = settled(relation, compiler.names)
    names = sorted({each.name for each in nodes(template, Variable)})
    place = PatternPlace(compiler.terms)
    valued = compiler.valued(relation, [n for n in names if n in relation.layouts], place)
    columns = own_columns(valued, "r")
    columns.append(named(sql("ROW_NUMBER() OVER ()") if has_blank else constant(0), "place"))
    solutions = from_(selected(columns), valued.under("r"))
    parts = [_instances(each, valued.layouts) for each in template]
    if not parts:
        none = selected(named(null(TYPES[name.partition("_")[2]]), name) for name in _TRIPLE)
        parts = [where(none, exp.false())]
    tree = _triples(united(parts))
    named_solutions = exp.CTE(this=solutions, alias=titled("solutions"))
    tree.set("with_", exp.With(expressions=[named_solutions]))
    return SqlQuery("CONSTRUCT", tree, _TRIPLE_COLUMNS)


def _instances(triple: TriplePattern, layouts: Mapping[str, Layout]) -> exp.Expr:
    columns: list[exp.Expr] = []
    conditions = []
    assert isinstance(triple.predicate, IRI | Variable)
    for end, part, kinds in (
        (triple.subject, "subject", (0, 1)),
        (triple.predicate, "predicate", (0,)),
        (triple.object, "object", (0, 1, 2)),
    ):
        parts = _instance(end, layouts)
        columns += [named(each, f"{part}_{name}") for name, each in zip(PARTS, parts, strict=True)]
        allowed = [exp.Literal.number(kind) for kind in kinds]
        conditions.append(exp.In(this=parts[0].copy(), expressions=allowed))
    return where(from_(selected(columns), exp.table_("solutions", alias="s")), *conditions)


def _instance(end: PatternTerm, layouts: Mapping[str, Layout]) -> list[exp.Expr]:
    match end:
        case Variable(name):
            value = layouts[name].value_in("s") if name in layouts else Unbound()
            return [value.part(part) for part in PARTS]
        case BlankNode():
            label = sql(
                ":label || '-' || CAST(s.place AS TEXT)", label=f"c{end.removeprefix('_:')}"
            )
            return [constant(1), label, null("TEXT"), null("TEXT")]
    return _parts_of(end)


def _describe(
    compiler: Compiler,
    described: Sequence[Variable | IRI],
    relation: SolutionSelect,
    graph: exp.Select,
) -> SqlQuery:
    """The triples about the terms, and about blank nodes that these lead to."""
    roots: list[exp.Expr] = []
    for each in described:
        if isinstance(each, IRI):
            roots.append(selected([named(constant(compiler.ids[each]), "id")]))
        elif each.name in relation.layouts:
            roots.append(_ids_of(compiler, relation, relation.layouts[each.name]))
    if not roots:
        roots = [where(selected([named(null("BIGINT"), "id")]), exp.false())]
    first = united(roots, distinct=True)
    base = from_(
        selected([named(exp.cast(exp.column("id", "f"), "BIGINT"), "id")]),
        table(first, "f"),
    )
    more = from_(selected([exp.column("object", "g")]), exp.table_("described", alias="d"))
    more.append("joins", join(table(graph.copy(), "g"), sql("g.subject = d.id")))
    more.append(
        "joins", join(table(compiler.terms.copy(), "t"), sql("t.id = g.object AND t.kind = 1"))
    )
    found = exp.CTE(this=united([base, more], distinct=True), alias=titled("described", ["id"]))
    columns: list[exp.Expr] = []
    tree = from_(selected(columns), exp.table_("described", alias="d"))
    tree.append("joins", join(table(graph.copy(), "g"), sql("g.subject = d.id")))
    for end, alias in zip(_ENDS, ("t1", "t2", "t3"), strict=True):
        on = sql(":a = :b", a=exp.column("id", alias), b=exp.column(end, "g"))
        tree.append("joins", join(table(compiler.terms.copy(), alias), on))
        columns += [named(exp.column(part, alias), f"{end}_{part}") for part in PARTS]
    tree.set("expressions", columns)
    whole = _triples(tree)
    whole.set("with_", exp.With(expressions=[found], recursive=True))
    return SqlQuery("DESCRIBE", whole, _TRIPLE_COLUMNS)


def _ids_of(compiler: Compiler, relation: SolutionSelect, layout: Layout) -> exp.Select:
    if layout.has_id:
        return from_(selected([named(layout.id_in("r"), "id")]), relation.under("r"))
    tree = from_(selected([exp.column("id", "t")]), relation.under("r"))
    value = layout.value_in("r")
    on = all_of(
        sql("t.kind = :kind AND t.text = :text", kind=value.kind, text=value.text),
        sql("NOT t.datatype IS DISTINCT FROM :datatype", datatype=value.datatype),
        sql("NOT t.language IS DISTINCT FROM :language", language=value.language),
    )
    tree.append("joins", join(table(compiler.terms.copy(), "t"), on))
    return tree


def _triples(found: exp.Expr) -> exp.Select:
    tree = columns_of(found, "x", _TRIPLE)
    tree.set("distinct", exp.Distinct())
    return tree
