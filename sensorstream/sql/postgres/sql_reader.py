"""A query as PostgreSQL reads it, to one as Spark reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, Final

from sqlglot import exp, parse
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ErrorLevel, SqlglotError, UnsupportedError
from sqlglot.optimizer.qualify import qualify
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.schema import MappingSchema

from sensorstream.errors import Position, QueryError
from sensorstream.model.frozen import frozen
from sensorstream.sql.postgres.function_table import AGGREGATES, OVER_WINDOWS, PLAIN, WAYS
from sensorstream.sql.postgres.select_queries import query, scope_of
from sensorstream.sql.postgres.sql_scope import Columns, Outputs, position, refused
from sensorstream.sql.spark_dialect import simplify

HISTORY: Final = "history"
"""The schema of the views."""
_UNLISTED: Final = "it is not on the list of what means the same on Spark"
_TRIMS: Final = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def _call(kind: type[exp.Func], name: str, arguments: list[exp.Expr]) -> exp.Expr:
    return kind(this=name, expressions=arguments)


def _in_words(name: str, *keys: str) -> Callable[[PostgresParser], exp.Expr]:
    """Read a function whose arguments have words between them as a call of it."""

    def read(parser: PostgresParser) -> exp.Expr:
        found: exp.Expr = PostgresParser.FUNCTION_PARSERS[name](parser)
        # Its other arguments are refused, because the call then has too many.
        others = [key for key, value in found.args.items() if isinstance(value, exp.Expr)]
        given = [found.args.get(key) for key in dict.fromkeys((*keys, *others))]
        called = _TRIMS.get(str(found.args.get("position"))) if name == "TRIM" else name.lower()
        return _call(exp.Anonymous, called or "btrim", [each for each in given if each])

    return read


class _Reader(Postgres):
    """PostgreSQL's SQL, in which a call keeps the name that it has in the query."""

    class Parser(PostgresParser):
        FUNCTIONS: ClassVar = {
            **{name.upper(): partial(_call, exp.Anonymous, name) for name in PLAIN},
            **{
                name.upper(): partial(_call, exp.AnonymousAggFunc, name)
                for name in (*AGGREGATES, *OVER_WINDOWS)
            },
            "GENERATE_SERIES": PostgresParser.FUNCTIONS["GENERATE_SERIES"],
        }
        FUNCTION_PARSERS: ClassVar = {
            "CAST": PostgresParser.FUNCTION_PARSERS["CAST"],
            "EXTRACT": PostgresParser.FUNCTION_PARSERS["EXTRACT"],
            "OVERLAY": PostgresParser.FUNCTION_PARSERS["OVERLAY"],
            "POSITION": _in_words("POSITION", "this", "substr"),
            "SUBSTRING": _in_words("SUBSTRING", "this", "start", "length"),
            "TRIM": _in_words("TRIM", "this", "expression"),
        }


@frozen
class Catalog:
    """The views with the types of their columns in PostgreSQL.

    ``by_code_point``: the database compares texts, and changes their case, by code point.
    """

    views: Mapping[str, Columns]
    by_code_point: bool


@frozen
class Translated:
    """Spark's SQL over temporary views, as text and tree, its columns, and the views it uses.

    ``starred``: it names columns by a star, here or in a part.
    """

    text: str
    tree: exp.Expr
    columns: Outputs
    views: tuple[str, ...]
    starred: bool


def translate(text: str, catalog: Catalog) -> Translated:
    """Translate one SELECT of PostgreSQL's SQL to Spark's.

    Raises:
        QueryError: the text is not one SELECT over views of schema ``history``, or a part of it is
            not on the list of what means the same.
    """
    read = _read(text)
    _check_names(read)
    for select in read.find_all(exp.Select):
        _name_columns(select)
    starred = any(not isinstance(each.parent, exp.Func) for each in read.find_all(exp.Star))
    used = _name_views(read, catalog)
    views = {name: catalog.views[view] for name, view in used.items()}
    qualified = _qualified(read, views)
    scope = scope_of(views, by_code_point=catalog.by_code_point)
    try:
        tree, columns = query(qualified, scope)
        told = spark_text(tree)
    except RecursionError:
        raise QueryError("the query is nested too deeply") from None
    return Translated(told, tree, columns, tuple(used.values()), starred)


def spark_text(tree: exp.Expr) -> str:
    """Write a tree in Spark's SQL; raises QueryError for something that Spark does not have."""
    tree = tree.copy()
    simplify(tree)
    try:
        return tree.sql(
            dialect="spark", identify=True, unsupported_level=ErrorLevel.RAISE, comments=False
        )
    except UnsupportedError as error:
        raise QueryError(f"Spark cannot answer this: {error}") from error


def view_name(name: str) -> str:
    """The temporary view for ``history.name``; temporary views have no schema."""
    return f"{HISTORY}_{name}"


def _read(text: str) -> exp.Query:
    try:
        statements = [each for each in parse(text, dialect=_Reader) if each is not None]
    except SqlglotError as error:
        told: Mapping[str, object] = (getattr(error, "errors", None) or [{}])[0]
        line, column = told.get("line"), told.get("col")
        place = None
        if isinstance(line, int) and isinstance(column, int):
            # The column is the end of the wrong token; it starts its length before.
            highlight = str(told.get("highlight") or " ")
            place = Position("query", line, max(1, column - len(highlight) + 1))
        what = told.get("description") or error
        raise QueryError(f"not SQL that can be read: {what}", position=place) from error
    except RecursionError:
        raise QueryError("the query is nested too deeply") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise QueryError("expected one SELECT")
    if statements[0].find(exp.DML, exp.Into, exp.Lock) is not None:
        raise QueryError("expected a SELECT that only reads")
    return statements[0]


def _check_names(read: exp.Query) -> None:
    """Refuse functions that are not on the list, naming the first in the text."""
    for each in read.find_all(exp.Unnest):
        raise refused(each, _UNLISTED)
    unknown = [each for each in read.find_all(exp.Anonymous) if each.name not in PLAIN]
    if unknown:
        first = min(unknown, key=lambda each: each.meta.get("start", 0))
        way = WAYS.get(first.name.lower(), _UNLISTED)
        raise QueryError(f"not on Spark: {first.name}(): {way}", position=position(first))


def _name_views(read: exp.Query, catalog: Catalog) -> dict[str, str]:
    """Name Spark's temporary views instead; returns their names, each with that of its view."""
    ctes = {each.alias for each in read.find_all(exp.CTE)}
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
    # Only the names and their order count here, not the types.
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


def _name_columns(select: exp.Select) -> None:
    """Give columns without a name the one that PostgreSQL gives them."""
    for each in list(select.expressions):
        if isinstance(each, exp.Alias | exp.Column | exp.Star | exp.Aliases):
            continue
        call = each
        while isinstance(call, exp.Window | exp.Filter | exp.WithinGroup):
            call = call.this
        name = "?column?"
        if isinstance(call, exp.Cast) and isinstance(call.this, exp.Column):
            call = call.this
        if isinstance(call, exp.Anonymous | exp.AnonymousAggFunc | exp.Column):
            name = call.name
        elif isinstance(call, exp.Case | exp.Extract | exp.CurrentDate | exp.CurrentTimestamp):
            name = call.sql_name().lower()
        each.replace(exp.alias_(each.copy(), name, quoted=True))
