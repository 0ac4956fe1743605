"""Blocks of triple patterns: joins of the triples by their ids, and paths between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.xsd import RDF_LANG_STRING, XSD_STRING
from sensorstream.sparql.algebra import (
    Comparison,
    Expression,
    In,
    Inverse,
    Path,
    PatternTerm,
    TriplePattern,
    Variable,
)
from sensorstream.sparql.algebra import (
    Sequence as PathSequence,
)
from sensorstream.sparql.values import number
from sensorstream.sql.sparql.fragments import any_of, constant, named, sql, table
from sensorstream.sql.sparql.paths import Paths
from sensorstream.sql.sparql.relations import (
    Layout,
    Relation,
    from_,
    join,
    own_columns,
    selected,
    settled,
    unit,
    where,
)

if TYPE_CHECKING:
    from sensorstream.sql.sparql.patterns import Compiler, Place

_COLUMNS: Final = ("subject", "predicate", "object")
_Triple = tuple[PatternTerm, "Variable | Path", PatternTerm]


@dataclass(frozen=True, slots=True)
class Bound:
    """``?name operator number``, which a filter demands; the number as a double."""

    name: str
    operator: str
    number: float


@dataclass(frozen=True, slots=True)
class OneOf:
    """The terms that a filter allows, where only the same term is equal."""

    name: str
    terms: tuple[Term, ...]


def bound(condition: Expression) -> Bound | OneOf | None:
    """What a condition demands of a variable, so that an index can answer it.

    Of numbers it is a little less than the condition: rounding loses the difference of < and <=.
    """
    match condition:
        case Comparison("=", Variable(name), (IRI() | Literal()) as term) if _is_plain(term):
            return OneOf(name, (term,))
        case In(Variable(name), choices) if all(map(_is_plain, choices)):
            return OneOf(name, tuple(each for each in choices if isinstance(each, IRI | Literal)))
        case Comparison(
            "=" | "<" | ">" | "<=" | ">=" as operator, Variable(name), Literal() as term
        ):
            value = number(term)
            if value is None:
                return None
            try:
                double = float(value)
            except OverflowError:
                return None
            loose = {"<": "<=", ">": ">="}.get(operator, operator)
            return Bound(name, loose, double) if double - double == 0 else None
    return None


def _is_plain(term: object) -> bool:
    """Whether nothing but the same term is equal to a term: an IRI or a string."""
    return isinstance(term, IRI) or (
        isinstance(term, Literal) and term.datatype in (XSD_STRING, RDF_LANG_STRING)
    )


def block(compiler: Compiler, patterns: Iterable[TriplePattern], place: Place) -> Relation:
    """The solutions of a block.

    The rows of triples that say the same differ in their times only, so the solutions of plain
    triples are the distinct rows of their join.
    """
    triples, paths = _parted(compiler, patterns)
    found = _joined(compiler, triples, place) if triples else unit()
    for each in paths:
        found = _with_path(compiler, found, each, place)
    return found


def _parted(
    compiler: Compiler, patterns: Iterable[TriplePattern]
) -> tuple[list[_Triple], list[_Triple]]:
    """Plain triples, and those with a path that is no triple or sequence of triples."""
    triples: list[_Triple] = []
    paths: list[_Triple] = []

    def add(subject: PatternTerm, path: Variable | Path, object_: PatternTerm) -> None:
        match path:
            case IRI() | Variable():
                triples.append((subject, path, object_))
            case Inverse(inner):
                add(object_, inner, subject)
            case PathSequence(left, right):
                between = Variable(compiler.names.fresh("."))
                add(subject, left, between)
                add(between, right, object_)
            case _:
                paths.append((subject, path, object_))

    for each in patterns:
        add(_end(each.subject), each.predicate, _end(each.object))
    return triples, paths


def _end(term: PatternTerm) -> PatternTerm:
    return Variable(str(term)) if isinstance(term, BlankNode) else term


def _joined(compiler: Compiler, triples: Sequence[_Triple], place: Place) -> Relation:
    columns: dict[str, exp.Expr] = {}
    conditions: list[exp.Expr] = []
    tables: list[exp.Expr] = []
    keys: dict[str, exp.Expr] = {}
    # Constants that nobody knows make the block empty.
    for triple in dict.fromkeys(triples):
        alias = compiler.names.fresh("g")
        tables.append(table(place.graph.copy(), alias))
        for end, part in zip(triple, _COLUMNS, strict=True):
            column = exp.column(part, alias)
            if isinstance(end, Variable):
                if end.name in columns:
                    conditions.append(sql(":a = :b", a=column, b=columns[end.name]))
                    continue
                columns[end.name] = column
                conditions += _substituted(column, end.name, place)
                conditions += _bounded(compiler, column, end.name, place.bounds)
                if part == "object" and _is_ordered(end.name, place.bounds):
                    keys[compiler.names.fresh("n")] = exp.column("number", alias)
            else:
                assert isinstance(end, IRI | Literal)
                conditions.append(sql(":a = :b", a=column, b=_id(compiler, end)))
    layouts = {name: Layout(compiler.names.column(name), True, False, True) for name in columns}
    own = [named(each, layouts[name].column) for name, each in columns.items()]
    own += [named(each, name) for name, each in keys.items()]
    tree = from_(selected(own), *tables)
    where(tree, *conditions)
    return Relation(tree, layouts, unique=True, pending=True, keys=tuple(keys))


def _id(compiler: Compiler, term: Term) -> exp.Expr:
    id_ = compiler.ids.get(term)
    return exp.cast(exp.null(), "BIGINT") if id_ is None else constant(id_)


def _substituted(column: exp.Expr, name: str, place: Place) -> list[exp.Expr]:
    """The value that a variable has in the row around an EXISTS."""
    if place.outer is None or not place.substituted:
        return []
    id_ = place.outer.id(name)
    if id_ is None:
        return []
    same = sql(":a = :b", a=column, b=id_)
    if place.outer.is_certain(name):
        return [same]
    return [any_of(same, sql(":id IS NULL", id=id_))]


def _bounded(
    compiler: Compiler, column: exp.Column, name: str, bounds: Iterable[Bound | OneOf]
) -> list[exp.Expr]:
    """Conditions that an index answers; the filters decide exactly."""
    found: list[exp.Expr] = []
    for each in bounds:
        if each.name != name:
            continue
        if isinstance(each, OneOf):
            ids = [_id(compiler, term) for term in each.terms]
            found.append(exp.In(this=column.copy(), expressions=ids) if ids else exp.false())
        elif column.name == "object":
            found.append(
                sql(
                    f":number {each.operator} CAST(:value AS DOUBLE PRECISION)",
                    number=exp.column("number", column.table),
                    value=repr(each.number),
                )
            )
    return found


def _is_ordered(name: str, bounds: Iterable[Bound | OneOf]) -> bool:
    """Whether an index on numbers answers a condition on a variable."""
    return any(isinstance(each, Bound) and each.name == name for each in bounds)


def _with_path(compiler: Compiler, below: Relation, triple: _Triple, place: Place) -> Relation:
    """The relation with the pairs that a path connects, from the ends that are known."""
    if not place.once:
        below = settled(below, compiler.names)
    subject, path, object_ = triple
    assert not isinstance(path, Variable)
    alias, other = compiler.names.fresh("r"), compiler.names.fresh("r")
    known = [_known(compiler, end, below, alias, place) for end in (subject, object_)]
    paths = Paths(place.graph, compiler.names, compiler.ids, compiler.beside)
    pairs: exp.Expr = table(paths.pairs(path, *known), other)
    if compiler.beside:
        pairs = exp.Lateral(this=pairs)
    layouts = dict(below.layouts)
    columns, conditions = own_columns(below, alias), []
    fresh: dict[str, exp.Expr] = {}
    for end, part in ((subject, "subject"), (object_, "object")):
        column = exp.column(part, other)
        if not isinstance(end, Variable):
            conditions.append(sql(":a = :b", a=column, b=_id(compiler, end)))
        elif end.name in fresh:
            conditions.append(sql(":a = :b", a=column, b=fresh[end.name]))
        elif end.name in below.layouts:
            conditions.append(sql(":a = :b", a=column, b=below.layouts[end.name].id_in(alias)))
        else:
            fresh[end.name] = column
            layouts[end.name] = Layout(compiler.names.column(end.name), True, False, True)
            columns.append(named(column, layouts[end.name].column))
    tree = from_(selected(columns), below.under(alias))
    tree.append("joins", join(pairs, exp.and_(*conditions) if conditions else exp.true()))
    return Relation(tree, layouts, pending=below.pending)


def _known(
    compiler: Compiler, end: PatternTerm, below: Relation, alias: str, place: Place
) -> exp.Expr | None:
    if not isinstance(end, Variable):
        return _id(compiler, end)
    if not compiler.beside:
        return None
    if end.name in below.layouts:
        return below.layouts[end.name].id_in(alias)
    if place.outer is not None and place.outer.is_certain(end.name):
        return place.outer.id(end.name)
    return None
