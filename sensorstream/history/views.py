"""The views for users, generated from the ontology as sqlglot trees. The trees have no dialect:
:func:`install_views` renders them for PostgreSQL, and Spark renders the same trees over the tables
that it reads.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Final

from psycopg2 import extensions
from sqlalchemy import Connection, Engine
from sqlglot import exp, parse_one

from sensorstream.errors import OntologyConflict
from sensorstream.history.database import translating
from sensorstream.history.live_views import LIVE, install_live_functions, live_query
from sensorstream.history.reader_role import admit_reader
from sensorstream.history.row_batches import install_row_batches
from sensorstream.history.sql_names import sql_names
from sensorstream.history.terms import Dictionary
from sensorstream.history.time_questions import install_functions
from sensorstream.model.datatypes import (
    INTEGER_TYPES,
    NUMERIC_TYPES,
    XSD_BOOLEAN,
    XSD_DATE_TIME,
    XSD_DATE_TIME_STAMP,
)
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Term
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import RDF_TYPE

HISTORY: Final = "history"
_SCHEMAS: Final = (HISTORY, LIVE)
_OF_HISTORY_ALONE: Final = ("messages", "alerts")
# The comment of each generated view contains it, so that other views are never touched.
_MARK: Final = "SensorStream:"
# In the trees: the number of the IRI that is its argument. The numbers differ between databases.
_TERM: Final = "TERM"
# The same in a rendered query, where nothing else looks so: names of SQL have no parentheses.
_RENDERED_TERM: Final = re.compile(rf"{_TERM}\('((?:[^']|'')*)'\)")
# Doubles from here on do not fit a bigint.
_BIGINT_END: Final = "9.2e18"


@dataclass(frozen=True, slots=True)
class View:
    """A view of history: its name, its query and a sentence for people.

    :func:`.live_query` makes the query of the window's view of it.
    ``query`` looks for classes among the statements. ``classes`` joins ``store.class_sets``, which
    only PostgreSQL has: it says the same in the place of WHERE and of the join with its name.
    """

    name: str
    query: exp.Select
    comment: str
    classes: exp.Join | None = None


def view_definitions(schema: Schema, timeline: Timeline) -> tuple[View, ...]:
    """All views: the fixed four, then one per class, then one per property."""
    names = sql_names(schema)
    properties = sorted(schema.object_properties | schema.datatype_properties)
    return (
        *_fixed_views(timeline),
        *(_class_view(schema, names, each, timeline) for each in sorted(schema.classes)),
        *(_property_view(schema, names[each], each, timeline) for each in properties),
    )


def _fixed_views(timeline: Timeline) -> tuple[View, ...]:
    return (
        View(
            "individuals",
            _query(
                # A class may be asserted and inferred. It is looked up per stay: DISTINCT of the
                # whole rows would need the terms of columns that a question leaves out.
                "SELECT n.text AS iri, c.class AS class, :time AS time, "
                ":expired AS expired_at, :message AS message_id FROM store.stays AS i "
                "LEFT JOIN LATERAL (SELECT k.text AS class FROM store.statements AS t "
                "LEFT JOIN store.terms AS k ON k.id = t.object "
                "WHERE t.stay = i.stay AND t.subject = i.name AND t.valid_to = i.expired_at "
                "AND t.predicate = :type GROUP BY k.text) AS c ON TRUE "
                "LEFT JOIN store.terms AS n ON n.id = i.name",
                time=_time("i.time", timeline),
                expired=_time("i.expired_at", timeline),
                message=_message("i"),
                type=term_number(RDF_TYPE),
            ),
            "one row per stay of an individual in the window and class it had on leaving",
            classes=_join(
                "LEFT JOIN LATERAL (SELECT k.text AS class FROM store.class_sets AS s "
                "CROSS JOIN LATERAL UNNEST(s.classes) AS t(object) "
                "LEFT JOIN store.terms AS k ON k.id = t.object "
                "WHERE s.id = i.class_set GROUP BY k.text) AS c ON TRUE",
            ),
        ),
        View(
            "statements",
            _query(
                "SELECT n.text AS subject, p.text AS predicate, o.text AS object, "
                "CASE o.kind WHEN 0 THEN 'iri' WHEN 1 THEN 'blank' ELSE 'literal' END AS kind, "
                "o.datatype AS datatype, o.language AS language, "
                "s.number AS number, o.moment AS moment, :start AS valid_from, :end AS valid_to, "
                ":message AS message_id, s.inferred AS inferred, i.stay IS NULL AS superseded "
                "FROM store.statements AS s "
                "LEFT JOIN store.terms AS n ON n.id = s.subject "
                "LEFT JOIN store.terms AS p ON p.id = s.predicate "
                "LEFT JOIN store.terms AS o ON o.id = s.object "
                "LEFT JOIN store.stays AS i ON i.stay = s.stay AND i.expired_at = s.valid_to",
                start=_time("s.valid_from", timeline),
                end=_time("s.valid_to", timeline),
                message=_message("s"),
            ),
            "every statement that was, how long it held, and which message said it",
        ),
        View(
            "messages",
            _query(
                "SELECT m.seq AS seq, m.id AS id, m.source AS source, "
                "m.received_at AS received_at, m.status AS status, m.reason AS reason, "
                "m.content AS content FROM store.messages AS m WHERE m.kind = 'message'"
            ),
            "every message as it arrived, and what became of it",
        ),
        View(
            "alerts",
            _query(
                "SELECT a.seq AS seq, a.id AS id, a.rule AS rule, a.kind AS kind, "
                "a.severity AS severity, a.text AS text, a.key AS key, :time AS time, "
                "a.raised_at AS raised_at, a.message_id AS message_id FROM store.alerts AS a",
                time=_time("a.time", timeline),
            ),
            "every alert",
        ),
    )


def _class_view(schema: Schema, names: Mapping[IRI, str], name: IRI, timeline: Timeline) -> View:
    """One row per stay of an individual of the class, with its values at expiry.

    The values are looked up per stay, so that a question about a few individuals touches only
    their statements.
    """
    query = _query(
        "SELECT n.text AS iri, :time AS time, :expired AS expired_at, "
        ":message AS message_id FROM store.stays AS i "
        "LEFT JOIN store.terms AS n ON n.id = i.name "
        "WHERE EXISTS (SELECT 1 FROM store.statements AS c WHERE c.stay = i.stay "
        "AND c.subject = i.name AND c.valid_to = i.expired_at "
        "AND c.predicate = :type AND c.object = :name)",
        time=_time("i.time", timeline),
        expired=_time("i.expired_at", timeline),
        message=_message("i"),
        type=term_number(RDF_TYPE),
        name=term_number(name),
    )
    applicable = _applicable(schema, name)
    if applicable:
        columns = {each: _value(schema, each) for each in applicable}
        values = _query(
            "SELECT FROM store.statements AS s "
            "WHERE s.stay = i.stay AND s.subject = i.name AND s.valid_to = i.expired_at"
        )
        # A number needs no term.
        texts = [each for each, value in columns.items() if _needs_term(value)]
        if texts:
            looked_up = _expression("o.id = CASE WHEN :test THEN s.object END")
            test = exp.In(
                this=exp.column("predicate", "s"), expressions=[term_number(each) for each in texts]
            )
            on = exp.replace_placeholders(looked_up, test=test)
            terms = exp.alias_(exp.table_("terms", db="store"), "o", table=True, copy=False)
            values.append("joins", exp.Join(this=terms, side="LEFT", on=on))
        values.set(
            "expressions",
            [_named(_pivot(each, value), names[each]) for each, value in columns.items()],
        )
        lateral = exp.Lateral(
            this=values.subquery(copy=False), alias=exp.TableAlias(this=exp.to_identifier("p"))
        )
        for each in applicable:
            column = exp.column(names[each], "p", quoted=True)
            query.append("expressions", _named(column, names[each]))
        query.append("joins", exp.Join(this=lateral, side="LEFT", on=exp.true()))
    classes = _join(
        "JOIN store.class_sets AS c "
        "ON c.id = i.class_set AND c.classes @> CAST(ARRAY[:name] AS BIGINT[])",
        name=term_number(name),
    )
    return View(names[name], query, f"individuals of class {name}", classes=classes)


def _property_view(schema: Schema, view: str, name: IRI, timeline: Timeline) -> View:
    query = _query(
        "SELECT n.text AS iri, :value AS value, :start AS valid_from, :end AS valid_to, "
        ":message AS message_id, s.inferred AS inferred FROM store.statements AS s "
        "LEFT JOIN store.terms AS n ON n.id = s.subject "
        "LEFT JOIN store.terms AS o ON o.id = s.object "
        "WHERE s.predicate = :name",
        value=_value(schema, name),
        start=_time("s.valid_from", timeline),
        end=_time("s.valid_to", timeline),
        message=_message("s"),
        name=term_number(name),
    )
    if schema.datatype_of(name) in INTEGER_TYPES:
        # A cast value cannot be looked up in an index, this can.
        query.append("expressions", exp.column("number", "s").as_("number"))
    return View(view, query, f"values of property {name}, former ones included")


def _applicable(schema: Schema, name: IRI) -> list[IRI]:
    """The properties that an individual of a class may have, also those without a domain."""
    known = schema.object_properties | schema.datatype_properties
    own = schema.properties_of(name)
    return sorted(each for each in known if each in own or not schema.domains(each))


def _value(schema: Schema, name: IRI) -> exp.Expr:
    """The value of a property as an SQL expression: over a statement ``s`` and its object ``o``.

    A literal that is not of the property's datatype, or does not fit SQL's type, is NULL here;
    its text is in ``history.statements``.
    """
    datatype = schema.datatype_of(name)
    if datatype in INTEGER_TYPES:
        return _expression(
            f"CASE WHEN s.number = FLOOR(s.number) AND ABS(s.number) < {_BIGINT_END} "
            "THEN CAST(s.number AS BIGINT) END"
        )
    if datatype in NUMERIC_TYPES:
        return exp.column("number", "s")
    if datatype in (XSD_DATE_TIME, XSD_DATE_TIME_STAMP):
        return exp.column("moment", "o")
    if datatype == XSD_BOOLEAN:
        return _expression(
            "CASE WHEN o.text IN ('true', '1') THEN TRUE "
            "WHEN o.text IN ('false', '0') THEN FALSE END"
        )
    return exp.column("text", "o")


def _needs_term(value: exp.Expr) -> bool:
    return any(column.table == "o" for column in value.find_all(exp.Column))


def _pivot(name: IRI, value: exp.Expr) -> exp.Expr:
    """The property's value in a group of statements: the greatest of several (or true)."""
    test = exp.EQ(this=exp.column("predicate", "s"), expression=term_number(name))
    chosen = exp.Case(ifs=[exp.If(this=test, true=value)])
    truth = value.find(exp.Boolean) is not None
    return exp.LogicalOr(this=chosen) if truth else exp.Max(this=chosen)


def _named(value: exp.Expr, name: str) -> exp.Expr:
    # sqlglot's own builders copy their arguments, again and again: a hundred views take seconds.
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def _message(table: str) -> exp.Expr:
    """The id of a message, from its number: as :func:`.message_id`."""
    return _expression(f"'m' || CAST({table}.message AS TEXT)")


def term_number(name: IRI) -> exp.Expr:
    """The number of an IRI in ``store.terms``; :func:`numbered` puts it in."""
    return exp.Anonymous(this=_TERM, expressions=[exp.Literal.string(name)])


def terms_of(views: Iterable[View]) -> frozenset[IRI]:
    """The IRIs whose numbers the views need."""
    return frozenset(
        IRI(each.expressions[0].this)
        for view in views
        for each in view.query.find_all(exp.Anonymous)
        if each.this == _TERM
    )


def look_up_all(query: exp.Select) -> None:
    """Join every term, where PostgreSQL looks up only those that are shown.

    For engines that join whole tables: the others would all have one key, null.
    """
    for case in list(query.find_all(exp.Case)):
        if isinstance(case.parent, exp.EQ):
            case.replace(case.args["ifs"][0].args["true"].copy())


def numbered(view: View, numbers: Mapping[Term, int]) -> View:
    """The view with the numbers of its terms; a term without one equals nothing."""

    query = view.query.copy()
    classes = None if view.classes is None else view.classes.copy()
    for tree in (query, classes):
        for node in [] if tree is None else list(tree.find_all(exp.Anonymous)):
            if node.this == _TERM:
                number = numbers.get(IRI(node.expressions[0].this), 0)
                node.replace(exp.Literal.number(number))
    return replace(view, query=query, classes=classes)


def _time(column: str, timeline: Timeline) -> exp.Expr:
    """An instant of the time line in readable form; :func:`_sql` has more about it."""
    instant = exp.to_column(column)
    if timeline is Timeline.INTEGER:
        return instant
    return exp.UnixToTime(this=instant, scale=exp.UnixToTime.MICROS)


def _query(text: str, **parts: exp.Expr) -> exp.Select:
    query = exp.replace_placeholders(_expression(text), **parts) if parts else _expression(text)
    assert isinstance(query, exp.Select)
    return query


def _join(text: str, **parts: exp.Expr) -> exp.Join:
    (join,) = _query(f"SELECT FROM store.stays AS i {text}", **parts).args["joins"]
    assert isinstance(join, exp.Join)
    return join


def _expression(text: str) -> exp.Expr:
    return _parsed(text).copy()


@cache
def _parsed(text: str) -> exp.Expr:
    """One of the few texts that all views are made of; nobody changes the tree."""
    return parse_one(text, dialect="postgres")


@dataclass(frozen=True, slots=True)
class _Rendered:
    """A view in PostgreSQL's dialect; its terms have no numbers yet."""

    name: str
    text: str
    comment: str
    live: str | None
    """The query of the view of the window, if there is one."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A view as it has to be in a database."""

    text: str
    comment: str


def install_views(database: Engine, schema: Schema, timeline: Timeline) -> None:
    """Make the views of history and window, all or nothing, and let the reader see them.

    Views that need no change are not touched, so a restart waits for no running query.

    Raises:
        HistoryError: the database fails, or a view of the user depends on a generated view that has
            to change.
    """
    views, terms = _rendered(schema, timeline)
    with translating("cannot make the history's views"):
        # In a transaction of its own: the views may have to wait for queries, and the writer must
        # not wait for them.
        with database.begin() as connection:
            _name_terms(_driver_cursor(connection), terms)
        with database.begin() as connection:
            _install(connection, views, timeline)


def _install(connection: Connection, views: Sequence[_Rendered], timeline: Timeline) -> None:
    # The driver's cursor: here a per cent sign in an IRI is not a parameter.
    cursor = _driver_cursor(connection)
    for name in _SCHEMAS:
        cursor.execute(f"create schema if not exists {name}")
    wanted = _wanted(cursor, views)
    there = _installed(cursor)
    for name in _changed(there, wanted):
        cursor.execute(f"drop view {name}")
    install_live_functions(cursor)
    install_row_batches(cursor)
    for name, view in wanted.items():
        if there.get(name) != view.comment:
            told = exp.Literal.string(view.comment).sql("postgres")
            cursor.execute(f"create view {name} as {view.text}; comment on view {name} is {told}")
    install_functions(cursor, timeline)
    admit_reader(cursor, _SCHEMAS)


def check_views(database: Engine, schema: Schema, timeline: Timeline) -> None:
    """Check that the views of an ontology could be made now; nothing is changed.

    Raises:
        OntologyConflict: another view depends on a generated view that would change.
        HistoryError: the database fails.
    """
    with translating("cannot check the history's views"), database.connect() as connection:
        cursor = _driver_cursor(connection)
        changed = _changed(_installed(cursor), _wanted(cursor, _rendered(schema, timeline)[0]))
        # What a view's rule depends on, other than the view itself.
        cursor.execute(
            "select distinct r.ev_class::regclass::text, n.nspname, v.relname from pg_depend d "
            "join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass "
            "join pg_class v on v.oid = d.refobjid and d.refclassid = 'pg_class'::regclass "
            "join pg_namespace n on n.oid = v.relnamespace "
            "where n.nspname = any(%s) "
            """and format('"%%s"."%%s"', n.nspname, v.relname) = any(%s) """
            "and r.ev_class <> v.oid order by 1, 2, 3",
            (list(_SCHEMAS), list(changed)),
        )
        row = cursor.fetchone()
        connection.rollback()
    if row is not None:
        raise OntologyConflict(
            f"the view {row[0]} is built on {row[1]}.{row[2]}, which would change: drop it, put "
            "the ontology, and make it again"
        )


@lru_cache(maxsize=8)
def _rendered(schema: Schema, timeline: Timeline) -> tuple[tuple[_Rendered, ...], frozenset[IRI]]:
    """The views and the IRIs whose numbers they need.

    Kept: rendering takes most of the time of a start, and an ontology that is put needs the views
    twice.
    """
    definitions = view_definitions(schema, timeline)
    terms = terms_of(definitions)
    return tuple(map(_render, definitions)), terms


def _render(view: View) -> _Rendered:
    # First, as the query is changed next.
    live = None if view.name in _OF_HISTORY_ALONE else _sql(live_query(view.query))
    return _Rendered(view.name, _sql(_stored_query(view)), view.comment, live)


def _wanted(cursor: extensions.cursor, views: Iterable[_Rendered]) -> dict[str, _Wanted]:
    """The views of history and window, by their names in SQL, with numbers for terms."""
    cursor.execute(
        "select t.text, v.term from store.vocabulary v join store.terms t on t.id = v.term"
    )
    numbers: dict[str, int] = dict(cursor.fetchall())

    def numbered_text(text: str) -> str:
        # A term without a number equals nothing.
        return _RENDERED_TERM.sub(
            lambda found: str(numbers.get(found[1].replace("''", "'"), 0)), text
        )

    found: dict[str, _Wanted] = {}
    for view in views:
        text = numbered_text(view.text)
        found[_qualified(HISTORY, view.name)] = _Wanted(text, _comment(view.comment, text))
        if view.live is not None:
            # Its own query is made of that of history: one fingerprint tells of both.
            told = f"what is in the window now, as history.{view.name} has what was"
            live = _Wanted(numbered_text(view.live), _comment(told, text))
            found[_qualified(LIVE, view.name)] = live
    return found


def _changed(there: Mapping[str, str], wanted: Mapping[str, _Wanted]) -> frozenset[str]:
    """The names of the views that cannot stay as they are."""
    return frozenset(
        name
        for name, comment in there.items()
        if name not in wanted or wanted[name].comment != comment
    )


def drop_views(connection: Connection) -> None:
    """Remove the generated views, which a change of the base tables would find in its way."""
    cursor = _driver_cursor(connection)
    for name in _installed(cursor):
        cursor.execute(f"drop view {name}")


def _name_terms(cursor: extensions.cursor, names: Collection[IRI]) -> None:
    """Give IRIs numbers for views; these terms stay, whether a statement has them or not."""
    # As the writer does, so that no term gets two numbers, and none is removed meanwhile.
    cursor.execute("select from store.progress for update")
    numbers = Dictionary().numbers(cursor, sorted(names))
    cursor.execute(
        "insert into store.vocabulary select unnest(%s::bigint[]) on conflict do nothing",
        (list(numbers.values()),),
    )


def _driver_cursor(connection: Connection) -> extensions.cursor:
    driver = connection.connection.driver_connection
    assert isinstance(driver, extensions.connection)
    return driver.cursor()


def _installed(cursor: extensions.cursor) -> dict[str, str]:
    """The comments of the generated views that are there, by their names in SQL."""
    cursor.execute(
        """select format('"%%s"."%%s"', n.nspname, c.relname), """
        "obj_description(c.oid, 'pg_class') from pg_class c "
        "join pg_namespace n on n.oid = c.relnamespace "
        "where n.nspname = any(%s) and c.relkind = 'v' "
        "and obj_description(c.oid, 'pg_class') like %s",
        (list(_SCHEMAS), f"{_MARK}%"),
    )
    return dict(cursor.fetchall())


def _comment(told: str, query: str) -> str:
    """The description of the view and a fingerprint of its query, to detect changes."""
    digest = hashlib.sha256(query.encode()).hexdigest()[:12]
    return f"{_MARK} {told} [{digest}]"


def _qualified(schema: str, name: str) -> str:
    return exp.table_(name, db=schema, quoted=True).sql("postgres")


def _sql(query: exp.Select) -> str:
    """The query in PostgreSQL's dialect; the tree is used up.

    Moments are made by the function ``store.moment``: it is exact, and there are indexes on it, so
    that a condition on a time of a view reaches them.
    """
    for node in list(query.find_all(exp.UnixToTime)):
        moment = exp.func("moment", node.this, copy=False)
        node.replace(exp.Dot(this=exp.to_identifier("store"), expression=moment))
    return query.sql("postgres", identify=True, copy=False)


def _stored_query(view: View) -> exp.Select:
    """The query over the tables that PostgreSQL has; that of the view is used up."""
    query = view.query
    if view.classes is not None:
        name = view.classes.alias_or_name
        others = [each for each in query.args["joins"] if each.alias_or_name != name]
        query.set("joins", [view.classes, *others])
        query.set("where", None)
    return query
