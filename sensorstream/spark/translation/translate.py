"""A query as PostgreSQL reads it, to one as Spark reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp, parse
from sqlglot.errors import ErrorLevel, SqlglotError, UnsupportedError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from sensorstream.errors import Position, QueryError
from sensorstream.history.view_definitions import HISTORY
from sensorstream.spark.translation.function_names import check_names
from sensorstream.spark.translation.queries import query, scope_of
from sensorstream.spark.translation.refusal import refused
from sensorstream.spark.translation.scope import Columns, Outputs
from sensorstream.spark.translation.views import view_name


@dataclass(frozen=True, slots=True)
class Catalog:
    """The views with the types of their columns in PostgreSQL.

    ``by_code_point``: the database compares texts, and changes their case, by code point.
    """

    views: Mapping[str, Columns]
    by_code_point: bool


@dataclass(frozen=True, slots=True)
class Translated:
    """Spark's SQL over temporary views, its columns, and the names of the views it uses.

    ``tree`` is the same as ``text``. ``starred``: it names columns by a star, here or in a part.
    """

    text: str
    tree: exp.Expr
    columns: Outputs
    views: tuple[str, ...]
    starred: bool


def translate(text: str, catalog: Catalog) -> Translated:
    """One SELECT of PostgreSQL's SQL in Spark's.

    Raises:
        QueryError: the text is not one SELECT over views of schema ``history``, or a part of it is
            not on the list of what means the same.
    """
    read = _read(text)
    ctes = {each.alias for each in read.find_all(exp.CTE)}
    check_names(text, {*ctes, *(each.name for each in read.find_all(exp.TableAlias))})
    for select in read.find_all(exp.Select):
        _name_columns(select, text)
    starred = any(not isinstance(each.parent, exp.Count) for each in read.find_all(exp.Star))
    used = _name_views(read, catalog, ctes)
    qualified = _qualified(read, {name: catalog.views[used[name]] for name in used})
    views = {name: catalog.views[view] for name, view in used.items()}
    scope = scope_of(views, by_code_point=catalog.by_code_point)
    try:
        tree, columns = query(qualified, scope)
        told = spark_text(tree)
    except RecursionError:
        raise QueryError("the query is nested too deeply") from None
    return Translated(told, tree, columns, tuple(used.values()), starred)


def spark_text(tree: exp.Expr) -> str:
    """A tree in Spark's SQL.

    Raises:
        QueryError: it uses something that Spark does not have.
    """
    try:
        return tree.sql(
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
    except RecursionError:
        raise QueryError("the query is nested too deeply") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise QueryError("expected one SELECT")
    if statements[0].find(exp.DML, exp.Into, exp.Lock) is not None:
        raise QueryError("expected a SELECT that only reads")
    return statements[0]


def _name_views(read: exp.Query, catalog: Catalog, ctes: set[str]) -> dict[str, str]:
    """Name Spark's temporary views instead; from their names to those of the views."""
    used: dict[str, str] = {}
    for table in list(read.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier):
            continue
        name = table.name if table.this.args.get("quoted") else table.name.lower()
        if not table.db and name in ctes:
            continue
        if table.catalog or table.db.lower() not in ("", HISTORY) or name not in catalog.views:
            raise refused(table, f"there is no such view: Spark answers over schema '{HISTORY}'")
        used[view_name(name)] = name
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        table.set("db", None)
        table.set("this", exp.to_identifier(view_name(name), quoted=True))
    for column in read.find_all(exp.Column):
        column.set("db", None)
    return used


def _qualified(read: exp.Query, views: Mapping[str, Columns]) -> exp.Expr:
    """The query with every column's table and every star's columns."""
    # The types matter nothing here; what counts are the names and their order.
    names: dict[str, object] = {
        view: dict.fromkeys(columns, "text") for view, columns in views.items()
    }
    try:
        return qualify(
            read,
            schema=MappingSchema(names),
            dialect="postgres",
            validate_qualify_columns=False,
            quote_identifiers=False,
            expand_alias_refs=False,
        )
    except SqlglotError as error:
        raise QueryError(f"not SQL that can be read: {error}") from error


def _name_columns(select: exp.Select, text: str) -> None:
    """Give columns without a name the one that PostgreSQL gives them."""
    for each in list(select.expressions):
        if isinstance(each, exp.Alias | exp.Column | exp.Star | exp.Aliases):
            continue
        call = each.this if isinstance(each, exp.Window | exp.Filter | exp.WithinGroup) else each
        name = "?column?"
        if isinstance(call, exp.Case):
            name = "case"
        elif isinstance(call, exp.Cast) and isinstance(call.this, exp.Column):
            name = call.this.name
        elif isinstance(call, exp.Func) and not isinstance(call, exp.Cast | exp.Connector):
            name = _written(call, text)
        each.replace(exp.alias_(each.copy(), name, quoted=True))


def _written(call: exp.Func, text: str) -> str:
    """The name of a function as the query has it: the parser gives some of them another."""
    meta = call.meta
    if "start" in meta:
        return text[meta["start"] : meta["end"] + 1].lower()
    return call.sql_name().lower()
