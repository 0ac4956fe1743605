"""Values computed for a row, in DuckDB: fields of a struct instead of lateral joins.

``FROM r, LATERAL (SELECT f(r.x) AS number) AS e`` is a join for DuckDB, and so is the search for
a term by its id, which the archive has no table for. Both become one more column:
``FROM (SELECT r, STRUCT_PACK(number := f(r.x)) AS e FROM r)``. A table's name stands for the
struct of its row, so nothing else changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from sqlglot import exp

from sensorstream.sql.sparql.compiled_query import PARTS


@dataclass(slots=True)
class _Let:
    """Fields to compute; ``level``: after those of the levels below."""

    name: str
    fields: dict[str, exp.Expr]


def inline_values(subqueries: Iterable[exp.Subquery]) -> None:
    """Put expressions in the places of the queries that only give them names."""
    for subquery in subqueries:
        if _is_value(subquery):
            subquery.replace(exp.Paren(this=_substituted(subquery.this)))


def rewrite_lets(tree: exp.Query) -> None:
    """Rewrite a tree of DuckDB in place."""
    inline_values(list(tree.find_all(exp.Subquery)))
    names = count(1)
    for select in list(tree.find_all(exp.Select)):
        let_below(select, names)


# -- one value --------------------------------------------------------------------------------


def _is_value(subquery: exp.Subquery) -> bool:
    """Whether it is an expression that reads only lets beside it."""
    if isinstance(subquery.parent, exp.From | exp.Join | exp.Lateral | exp.SetOperation):
        return False
    select = subquery.this
    return (
        isinstance(select, exp.Select)
        and select.args.get("from_") is not None
        and all(let_of(each) is not None for each in _sources(select))
    )


def _substituted(select: exp.Select) -> exp.Expr:
    """The value of a select over nothing but lets."""
    known: dict[tuple[str, str], exp.Expr] = {}
    for each in _sources(select):
        let = let_of(each)
        assert let is not None
        for name, value in let.fields.items():
            known[let.name, name] = _replaced(value.copy(), known)
    return _replaced(select.expressions[0].unalias(), known)


def _replaced(tree: exp.Expr, known: Mapping[tuple[str, str], exp.Expr]) -> exp.Expr:
    holder = exp.Paren(this=tree)
    for column in list(holder.find_all(exp.Column)):
        value = known.get((column.table, column.name))
        if value is not None:
            column.replace(exp.Paren(this=value.copy()))
    return holder


def _sources(select: exp.Select) -> list[exp.Expr]:
    from_ = select.args.get("from_")
    first = [] if from_ is None else [from_.this]
    return [*first, *(join.this for join in select.args.get("joins") or ())]


# -- rows -------------------------------------------------------------------------------------


def let_of(source: exp.Expr) -> _Let | None:
    """The let that a table of FROM is."""
    if isinstance(source, exp.Lateral):
        source = source.this
    if not isinstance(source, exp.Subquery) or not isinstance(source.this, exp.Select):
        return None
    select = source.this
    if any(select.args.get(key) for key in ("from_", "joins", "where", "distinct", "with_")):
        return None
    return _Let(source.alias, {e.alias: e.unalias() for e in select.expressions})


def let_below(select: exp.Select, names: Iterable[int], *, spark: bool = False) -> None:
    """Compute named expressions of a select in tables below it; in DuckDB, look terms up there."""
    joins = select.args.get("joins") or []
    from_ = select.args.get("from_")
    if from_ is None or not joins:
        return
    kept: list[exp.Expr] = []
    lets: list[_Let] = []
    conditions: list[exp.Expr] = []
    for join in joins:
        let = let_of(join.this)
        if let is not None:
            lets.append(let)
            continue
        found = None if spark else _term_of(join)
        if found is not None:
            term, id_, others = found
            lets += _parts_of(term, id_, select)
            conditions += others
            continue
        assert not lets or not _reads(join, lets), "a join that reads what is computed"
        kept.append(join)
    if not lets:
        return
    if conditions:
        select.where(*conditions, copy=False)
    source, visible = from_.this, [each.alias_or_name for each in _named_sources(from_, kept)]
    for level in _levels(lets):
        columns = [_whole(name) if spark else exp.column(name) for name in visible]
        columns += [exp.alias_(_struct(let.fields), let.name) for let in level]
        inner = exp.Select(expressions=columns)
        inner.set("from_", exp.From(this=source))
        inner.set("joins", kept)
        if not spark:
            # Without OFFSET, DuckDB would repeat the expressions wherever they are used.
            inner.set("offset", exp.Offset(expression=exp.Literal.number(0)))
        kept = []
        visible += [let.name for let in level]
        source = exp.Subquery(
            this=inner,
            alias=exp.TableAlias(this=exp.to_identifier(f"q{next(iter(names))}")),
        )
    select.set("from_", exp.From(this=source))
    select.set("joins", None)


def _named_sources(from_: exp.From, joins: Sequence[exp.Expr]) -> list[exp.Expr]:
    found = [from_.this, *(join.this for join in joins)]
    return [each.this if isinstance(each, exp.Lateral) else each for each in found]


def _reads(tree: exp.Expr, lets: Iterable[_Let]) -> bool:
    names = {let.name for let in lets}
    return any(column.table in names for column in tree.find_all(exp.Column))


def _levels(lets: Sequence[_Let]) -> list[list[_Let]]:
    """The lets, each in a level above those that it reads."""
    level_of: dict[str, int] = {}
    levels: list[list[_Let]] = []
    for let in lets:
        read = {c.table for value in let.fields.values() for c in value.find_all(exp.Column)}
        level = max((level_of[name] + 1 for name in read if name in level_of), default=0)
        level_of[let.name] = level
        while len(levels) <= level:
            levels.append([])
        levels[level].append(let)
    return levels


def _whole(name: str) -> exp.Expr:
    """The row of a table as a struct, for Spark, where a table's name alone is none."""
    row = exp.Anonymous(this="STRUCT", expressions=[exp.column(exp.Star(), name)])
    return exp.alias_(row, name)


def _struct(fields: Mapping[str, exp.Expr]) -> exp.Expr:
    return exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(name), expression=value)
            for name, value in fields.items()
        ]
    )


# -- terms ------------------------------------------------------------------------------------


def _term_of(join: exp.Join) -> tuple[str, exp.Expr, list[exp.Expr]] | None:
    """The table, the id and the other conditions of a join that looks a term up by its id."""
    source, on = join.this, join.args.get("on")
    if not isinstance(source, exp.Subquery) or not isinstance(source.this, exp.Select):
        return None
    tables = _sources(source.this)
    if len(tables) != 1 or not isinstance(tables[0], exp.Table) or tables[0].name != "terms":
        return None
    conditions = list(on.flatten()) if isinstance(on, exp.And) else [on]
    for place, each in enumerate(conditions):
        if isinstance(each, exp.Paren):
            each = each.this
        if not isinstance(each, exp.EQ):
            continue
        for own, other in ((each.left, each.right), (each.right, each.left)):
            if isinstance(own, exp.Column) and (own.table, own.name) == (source.alias, "id"):
                others = conditions[:place] + conditions[place + 1 :]
                return source.alias, other, [c for c in others if c is not None]
    return None


def _parts_of(term: str, id_: exp.Expr, select: exp.Select) -> list[_Let]:
    """The parts of a term from the text that is its id; numbers and moments only if needed."""
    needed = {c.name for c in select.find_all(exp.Column) if c.table == term}
    matched, parts = f"{term}m", f"{term}p"
    split = _Let(matched, {"parts": _call("literal_parts", id_.copy())})
    found = exp.column("parts", matched)
    values: dict[str, exp.Expr] = {
        "kind": _call("term_kind", id_.copy()),
        "text": _call("term_text", id_.copy(), found.copy()),
        "datatype": _call("term_datatype", found.copy()),
        "language": _call("term_language", found.copy()),
    }
    valued = needed & {"number", "moment"}
    if not valued:
        return [split, _Let(term, {"id": id_.copy(), **values})]
    text, datatype = exp.column("text", parts), exp.column("datatype", parts)
    whole: dict[str, exp.Expr] = {"id": id_.copy()}
    whole |= {part: exp.column(part, parts) for part in PARTS}
    whole |= {
        name: _call(f"literal_{name}", text.copy(), datatype.copy()) for name in sorted(valued)
    }
    return [split, _Let(parts, values), _Let(term, whole)]


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))
