"""The archive's files as the tables and views that history has, for DuckDB.

A term has no number here: columns for numbers of terms in PostgreSQL hold texts that name terms:
the IRI, ``_:label``, or a literal in quotes with its datatype or language. Columns beside them have
the terms' parts, so no query joins the terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sensorstream.archive.parquet_layout import STATEMENTS, STAYS, ArchivedTable
from sensorstream.history.view_definitions import ENTRY_VIEWS, View, look_up_all, terms_of
from sensorstream.model.terms import IRI
from sensorstream.sql.postgres.sql_reader import HISTORY

# Parts of the name of a subject, and of that of a stay's individual.
_NAME: Final = """
    {0},
    case when starts_with({0}, '_:') then 1 else 0 end as {0}_kind,
    case when starts_with({0}, '_:') then substr({0}, 3) else {0} end as {0}_text"""

_TABLES: Final[Mapping[ArchivedTable, str]] = {
    STATEMENTS: f"""
create view store.statements as select {_NAME.format("subject")},
    predicate,
    0 as predicate_kind,
    predicate as predicate_text,
    case when kind = 'literal'
        then '"' || object || '"' || coalesce('@' || language, '^^' || datatype)
        else object end as object,
    case kind when 'iri' then 0 when 'blank' then 1 else 2 end as object_kind,
    case when kind = 'blank' then substr(object, 3) else object end as object_text,
    datatype as object_datatype,
    language as object_language,
    moment as object_moment,
    number, valid_from, valid_to, stay, message, inferred
from {{}}""",
    STAYS: f"""
create view store.stays as select {_NAME.format("name")},
    stay, entered, time, expired_at, message
from {{}}""",
}

_DUCKDB_TYPES: Final[Mapping[pa.DataType, str]] = {
    pa.string(): "varchar",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.bool_(): "boolean",
}


def definitions(
    files: Mapping[ArchivedTable, Sequence[str]], views: Iterable[View]
) -> Iterator[str]:
    """The statements that make the tables over some files, and views of history over them;
    ``files`` are patterns of paths, see :func:`.pattern`.
    """
    yield "create schema store"
    yield f"create schema {HISTORY}"
    for table, query in _TABLES.items():
        yield query.format(_rows(table, files[table]))
    for view in views:
        if view.name not in ENTRY_VIEWS:
            name = exp.table_(view.name, db=HISTORY, quoted=True).sql("duckdb")
            yield f"create view {name} as {archived_query(view).sql('duckdb', identify=True)}"


def _rows(table: ArchivedTable, files: Sequence[str]) -> str:
    if files:
        listed = ", ".join(exp.Literal.string(each).sql("duckdb") for each in files)
        return f"read_parquet([{listed}])"
    columns = ", ".join(
        f"null::{_DUCKDB_TYPES.get(each.type, 'timestamptz')} as {each.name}"
        for each in table.schema
    )
    return f"(select {columns} where false)"


def archived_query(view: View) -> exp.Expr:
    """The query of a view over the tables of this module."""
    query = view.query.copy()
    look_up_all(query)
    for select in list(query.find_all(exp.Select)):
        _leave_out_terms(select)
    terms = terms_of([view])

    def told(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and node.expressions:
            name = node.expressions[0]
            if isinstance(name, exp.Literal) and IRI(name.this) in terms:
                return exp.Literal.string(name.this)
        if isinstance(node, exp.UnixToTime):
            return exp.Anonymous(this="make_timestamptz", expressions=[node.this])
        return node

    return query.transform(told)


def _leave_out_terms(select: exp.Select) -> None:
    """Take a term's parts from the columns beside the one that names it, and drop the join."""
    named: dict[str, exp.Column] = {}
    kept = []
    for join in select.args.get("joins") or []:
        table, on = join.this, join.args.get("on")
        if isinstance(table, exp.Table) and (table.db, table.name) == ("store", "terms"):
            assert isinstance(on, exp.EQ)
            own, other = on.left, on.right
            assert isinstance(own, exp.Column)
            assert isinstance(other, exp.Column)
            assert (own.table, own.name) == (table.alias, "id")
            named[table.alias] = other
        else:
            kept.append(join)
    select.set("joins", kept)
    for column in list(select.find_all(exp.Column)):
        if column.table in named:
            source = named[column.table]
            part = source.name if column.name == "id" else f"{source.name}_{column.name}"
            column.replace(exp.column(part, source.table))
