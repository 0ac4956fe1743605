"""Translates PostgreSQL's SQL to Spark's SQL."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from sqlglot import exp, parse
from sqlglot.errors import ErrorLevel, SqlglotError, UnsupportedError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from sensorstream.errors import Position, QueryError
from sensorstream.history.views import HISTORY, View
from sensorstream.spark.source_tables import SOURCE_TABLES

Q = TypeVar("Q", bound=exp.Query)

_REACHES_JAVA: Final = frozenset({"reflect", "java_method", "try_reflect"})


def translate(text: str, views: Mapping[str, View]) -> tuple[exp.Query, tuple[View, ...]]:
    """The query over Spark's temporary views, and the views it uses.

    Raises:
        QueryError: the text is not one SELECT of PostgreSQL's SQL, or it names a table that is not
            a view of schema ``history``.
    """
    query = _read(text)
    for select in query.find_all(exp.Select):
        _name_columns(select)
    used: dict[str, View] = {}
    ctes = {each.alias for each in query.find_all(exp.CTE)}
    for table in list(query.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier):
            continue
        name = table.name if table.this.args.get("quoted") else table.name.lower()
        if not table.db and name in ctes:
            continue
        if table.catalog or table.db.lower() not in ("", HISTORY) or name not in views:
            raise QueryError(
                f"there is no view '{table.sql(dialect='postgres', comments=False)}': Spark "
                f"answers over the views of schema '{HISTORY}'"
            )
        used[name] = views[name]
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        table.set("db", None)
        table.set("this", exp.to_identifier(view_name(name), quoted=True))
    for column in query.find_all(exp.Column):
        column.set("db", None)
    for call in query.find_all(exp.Anonymous):
        if call.name.lower() in _REACHES_JAVA:
            raise QueryError(f"'{call.name}' is not allowed here")
    for extract in list(query.find_all(exp.Extract)):
        if extract.name.upper() == "EPOCH":
            extract.replace(_epoch(extract.expression))
    types = {view_name(name): _column_types(view) for name, view in used.items()}
    return _typed(query, types), tuple(used.values())


@dataclass(frozen=True, slots=True)
class ViewSource:
    """A base table in one view: columns to read, and texts that other columns must have."""

    table: str
    columns: tuple[str, ...]
    equals: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The name of its temporary view."""
        digest = hashlib.sha256(repr((self.columns, self.equals)).encode()).hexdigest()[:12]
        return f"store_{self.table}_{digest}"


def view_name(name: str) -> str:
    """The temporary view for ``history.name``; temporary views have no schema."""
    return f"{HISTORY}_{name}"


def view_query(view: View) -> tuple[exp.Select, tuple[ViewSource, ...]]:
    """The query of a view over temporary views of the base tables, and these tables."""
    query = view.query.copy()
    _group(query)
    sources: dict[ViewSource, None] = {}
    for table in list(query.find_all(exp.Table)):
        equals = sorted(_take_equalities(table))
        select = table.find_ancestor(exp.Select)
        assert select is not None
        used = {c.name for c in select.find_all(exp.Column) if c.table == table.alias}
        columns = [c.name for c in SOURCE_TABLES[table.name].columns if c.name in used]
        source = ViewSource(table.name, tuple(columns), tuple(equals))
        sources[source] = None
        table.set("this", exp.to_identifier(source.name, quoted=True))
        table.set("db", None)
    return query, tuple(sources)


def _take_equalities(table: exp.Table) -> Iterator[tuple[str, str]]:
    """Remove from the query the equalities with a value that every row of a table must fulfil."""
    select = table.find_ancestor(exp.Select)
    assert select is not None
    where = select.args.get("where")
    tests = [where.this] if where is not None else []
    # A left join's condition binds its right side, and no view states more there.
    tests += [join.args["on"] for join in select.args.get("joins") or () if join.args.get("on")]
    for test in tests:
        for each in list(test.flatten()) if isinstance(test, exp.And) else [test]:
            left, right = each.args.get("this"), each.args.get("expression")
            if (
                isinstance(each, exp.EQ)
                and isinstance(left, exp.Column)
                and left.table == table.alias
                and isinstance(right, exp.Literal)
            ):
                yield left.name, right.this
                each.replace(exp.true())


def _group(query: exp.Expr) -> None:
    """Turn a look-up per row (LATERAL) into one join with all groups.

    Spark would do the same, but would compute the left side twice.
    """
    for lateral in list(query.find_all(exp.Lateral)):
        join, values = lateral.parent, lateral.this.this
        assert isinstance(join, exp.Join)
        assert isinstance(values, exp.Select)
        here: list[exp.Expr] = []
        outer: list[exp.Expr] = []
        for test in values.args["where"].this.flatten():
            tables = {column.table for column in test.find_all(exp.Column)}
            (here if len(tables) == 1 else outer).append(test.copy())
        alias = lateral.alias
        for test in outer:
            key = test.this
            values.select(exp.alias_(key.copy(), key.name), copy=False)
            values.group_by(key.copy(), copy=False)
            key.set("table", exp.to_identifier(alias))
        values.set("where", exp.Where(this=exp.and_(*here)) if here else None)
        join.set("this", exp.Subquery(this=values, alias=lateral.args["alias"].copy()))
        join.set("on", exp.and_(*outer))


def spark_sql(query: exp.Expr) -> str:
    """The query in Spark's dialect.

    Raises:
        QueryError: it uses something that Spark does not have.
    """
    try:
        return query.sql(
            dialect="spark", identify=True, unsupported_level=ErrorLevel.RAISE, comments=False
        )
    except UnsupportedError as error:
        raise QueryError(f"Spark cannot answer this: {error}") from error


def _read(text: str) -> exp.Query:
    try:
        statements = [each for each in parse(text, dialect="postgres") if each is not None]
    except SqlglotError as error:
        told: Mapping[str, object] = (getattr(error, "errors", None) or [{}])[0]
        line, column = told.get("line"), told.get("col")
        position = None
        if isinstance(line, int) and isinstance(column, int):
            # The column is the end of the wrong token; it starts its length before.
            highlight = str(told.get("highlight") or " ")
            position = Position("query", line, max(1, column - len(highlight) + 1))
        what = told.get("description") or error
        raise QueryError(f"not SQL that can be read: {what}", position=position) from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise QueryError("expected one SELECT")
    query = statements[0]
    if query.find(exp.DML, exp.Into, exp.Lock) is not None:
        raise QueryError("expected a SELECT that only reads")
    return query


def _epoch(moment: exp.Expr) -> exp.Expr:
    """Seconds since 1970, which Spark's EXTRACT does not support."""
    seconds = exp.Div(
        this=exp.func("UNIX_MICROS", moment.copy()), expression=exp.Literal.number(1_000_000)
    )
    return exp.cast(seconds, "decimal(20, 6)")


def _typed(query: Q, types: Mapping[str, Mapping[str, str]]) -> Q:
    """The query with the types of its parts: an integer divided by an integer stays one."""
    schema = MappingSchema(dict(types))
    try:
        qualified = qualify(
            query,
            schema=schema,
            dialect="postgres",
            validate_qualify_columns=False,
            quote_identifiers=False,
            expand_stars=False,
            expand_alias_refs=False,
        )
        return annotate_types(qualified, schema=schema, dialect="postgres")
    except SqlglotError as error:
        raise QueryError(f"not SQL that can be read: {error}") from error


def _column_types(view: View) -> dict[str, str]:
    """The columns of a view with their types, without those whose type depends on the data."""
    query, sources = view_query(view)
    types = {
        source.name: {each.name: each.kind for each in SOURCE_TABLES[source.table].columns}
        for source in sources
    }
    typed = _typed(query, types)
    return {
        each.alias_or_name: each.type.sql()
        for each in typed.selects
        if each.type is not None and not each.is_type(exp.DType.UNKNOWN)
    }


def _name_columns(query: exp.Select) -> None:
    """Give columns without a name the one that PostgreSQL gives them."""
    for each in list(query.expressions):
        if isinstance(each, exp.Alias | exp.Column | exp.Star | exp.Aliases):
            continue
        call = each.this if isinstance(each, exp.Window) else each
        name = "?column?"
        if isinstance(call, exp.Case):
            name = "case"
        elif isinstance(call, exp.Func) and not isinstance(call, exp.Cast | exp.Connector):
            name = call.sql_name().lower()
        each.replace(exp.alias_(each.copy(), name, quoted=True))
