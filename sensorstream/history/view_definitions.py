"""The views for users, as sqlglot trees, generated from the ontology.

The trees have no dialect: :mod:`sensorstream.history.views` renders them for PostgreSQL, and Spark
renders the same trees over the tables that it reads.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from sqlglot import exp, parse_one

from sensorstream.model import rdf, xsd
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.schema import Schema, local_name
from sensorstream.model.terms import IRI, Term
from sensorstream.model.timeline import Timeline
from sensorstream.model.xsd import INTEGER_TYPES, NUMERIC_TYPES

# ``hasXLocation`` becomes ``has_x_location``. Every view and every column has a unique name:
# where two would be the same, classes go before properties and then the IRI that sorts first keeps
# the plain name; the others get ``_class`` or ``_property``, and a number if that is taken too. The
# names of the fixed views and columns are reserved.

ENTRY_VIEWS: Final = ("messages", "alerts")
"""The views of data that is neither in the window nor archived."""
FIXED_VIEWS: Final = ("individuals", "statements", *ENTRY_VIEWS)
FIXED_COLUMNS: Final = ("iri", "time", "expired_at", "message_id")
# PostgreSQL cuts names after 63 bytes; ours are ASCII.
_LONGEST: Final = 63
_BOUNDARY: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER: Final = re.compile(r"[^a-z0-9]+")


def sql_names(schema: Schema) -> Mapping[IRI, str]:
    """The SQL name of each class and property; the same schema gives the same names."""
    taken = {*FIXED_VIEWS, *FIXED_COLUMNS}
    names: dict[IRI, str] = {}
    properties = schema.object_properties | schema.datatype_properties
    for suffix, kind in (("class", schema.classes), ("property", properties)):
        for iri in sorted(kind):
            if iri in names:
                continue
            plain = snake_case(local_name(iri))
            for name in itertools.chain(
                [_cut(plain), _cut(plain, f"_{suffix}")],
                (_cut(plain, f"_{suffix}_{number}") for number in itertools.count(2)),
            ):
                if name not in taken:
                    break
            names[iri] = name
            taken.add(name)
    return names


def snake_case(name: str) -> str:
    """Lower-case words of a local name, joined by ``_``; ASCII, never empty, no digit first."""
    spaced = _BOUNDARY.sub("_", name)
    ascii_only = unicodedata.normalize("NFKD", spaced).encode("ascii", "ignore").decode()
    words = _OTHER.sub("_", ascii_only.lower()).strip("_")
    if not words:
        return "unnamed"
    return f"n{words}" if words[0].isdigit() else words


def _cut(name: str, suffix: str = "") -> str:
    return f"{name[: _LONGEST - len(suffix)]}{suffix}"


# In the trees: the number of the IRI that is its argument. The numbers differ between databases.
_TERM: Final = "TERM"
# The same in a rendered query, where it is unique: names of SQL have no parentheses.
_RENDERED_TERM: Final = re.compile(rf"{_TERM}\('((?:[^']|'')*)'\)")
# Doubles from here on do not fit a bigint.
_BIGINT_END: Final = "9.2e18"


@frozen
class View:
    """A view of history: its name, its query and a sentence for people.

    :func:`.live_query` makes the query of the window's view from it. ``query`` looks for classes
    and values among the statements. ``stored`` is the same over data that only PostgreSQL has
    beside each stay, ``store.class_sets`` among it: PostgreSQL takes a maximum from an index only
    where a question reads one table. None: there is no difference.
    """

    name: str
    query: exp.Select
    comment: str
    stored: exp.Select | None = None


def view_definitions(schema: Schema, timeline: Timeline) -> tuple[View, ...]:
    """The views: the fixed four, then one per class, then one per property."""
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
                **_of_stay(timeline),
                type=term_number(rdf.TYPE),
            ),
            "one row per stay of an individual in the window and class it had on leaving",
            _query(
                "SELECT i.iri AS iri, c.class AS class, :time AS time, "
                ":expired AS expired_at, :message AS message_id FROM store.stays AS i "
                "LEFT JOIN LATERAL (SELECT k.text AS class FROM store.class_sets AS s "
                "CROSS JOIN LATERAL UNNEST(s.classes) AS t(object) "
                "LEFT JOIN store.terms AS k ON k.id = t.object "
                "WHERE s.id = i.class_set GROUP BY k.text) AS c ON TRUE",
                **_of_stay(timeline),
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


_SETS: Final = (
    "ARRAY(SELECT c.id FROM store.class_sets AS c "
    "WHERE c.classes @> CAST(ARRAY[:name] AS BIGINT[]))"
)


def _class_view(schema: Schema, names: Mapping[IRI, str], name: IRI, timeline: Timeline) -> View:
    """A view of a row per stay of an individual of the class, with its values at expiry.

    The values are looked up per stay, so that a question about a few individuals touches only their
    statements.
    """
    query = _query(
        "SELECT n.text AS iri, :time AS time, :expired AS expired_at, "
        ":message AS message_id FROM store.stays AS i "
        "LEFT JOIN store.terms AS n ON n.id = i.name "
        "WHERE EXISTS (SELECT 1 FROM store.statements AS c WHERE c.stay = i.stay "
        "AND c.subject = i.name AND c.valid_to = i.expired_at "
        "AND c.predicate = :type AND c.object = :name)",
        **_of_stay(timeline),
        type=term_number(rdf.TYPE),
        name=term_number(name),
    )
    # Without classes, no stay is read.
    stored = _query(
        "SELECT i.iri AS iri, :time AS time, :expired AS expired_at, :message AS message_id "
        f"FROM store.stays AS i WHERE i.class_set = ANY({_SETS}) AND {_SETS} <> '{{}}'",
        **_of_stay(timeline),
        name=term_number(name),
    )
    known, own = schema.object_properties | schema.datatype_properties, schema.properties_of(name)
    # Everything may have a property without a domain.
    applicable = sorted(each for each in known if each in own or not schema.domains(each))
    if applicable:
        columns = {each: _value(schema, each) for each in applicable}
        values = _query(
            "SELECT FROM store.statements AS s "
            "WHERE s.stay = i.stay AND s.subject = i.name AND s.valid_to = i.expired_at"
        )
        # A number needs no term.
        texts = [each for each, value in columns.items() if _needs_term(value)]
        if texts:
            looked_up = _parsed("o.id = CASE WHEN :test THEN s.object END")
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
            stored.append("expressions", _named(_beside(each, columns[each]), names[each]))
        query.append("joins", exp.Join(this=lateral, side="LEFT", on=exp.true()))
    return View(names[name], query, f"individuals of class {name}", stored)


def _beside(name: IRI, value: exp.Expr) -> exp.Expr:
    """The value of a property as an expression over a stay ``i``, from that over its statements."""
    if _needs_term(value):
        looked_up = "(SELECT :value FROM store.terms AS o WHERE o.id = s.object)"
        value = exp.replace_placeholders(_parsed(looked_up), value=value)
    greatest = _parsed(
        "CASE WHEN i.several THEN (SELECT :greatest FROM UNNEST(i.properties, i.objects, i.numbers)"
        " AS s(predicate, object, number) WHERE s.predicate = :name) ELSE :first END"
    )
    place = exp.func("ARRAY_POSITION", exp.column("properties", "i"), term_number(name))
    first = exp.Paren(this=value.copy())
    for column in list(first.find_all(exp.Column)):
        if column.table == "s":
            beside = exp.column(f"{column.name}s", "i")
            column.replace(exp.Bracket(this=beside, expressions=[place.copy()]))
    parts = {"greatest": _chosen(value), "name": term_number(name), "first": first.this}
    return exp.replace_placeholders(greatest, **parts)


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


def _value(schema: Schema, name: IRI) -> exp.Expr:
    """The value of a property as an SQL expression over a statement ``s`` and its object ``o``.

    A literal that is not of the property's datatype, or does not fit SQL's type, is NULL here; its
    text is in ``history.statements``.
    """
    datatype = schema.datatype_of(name)
    if datatype in INTEGER_TYPES:
        return _expression(
            f"CASE WHEN s.number = FLOOR(s.number) AND ABS(s.number) < {_BIGINT_END} "
            "THEN CAST(s.number AS BIGINT) END"
        )
    if datatype in NUMERIC_TYPES:
        return exp.column("number", "s")
    if datatype in (xsd.DATE_TIME, xsd.DATE_TIME_STAMP):
        return exp.column("moment", "o")
    if datatype == xsd.BOOLEAN:
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
    return _chosen(exp.Case(ifs=[exp.If(this=test, true=value)]))


def _chosen(value: exp.Expr) -> exp.Expr:
    return exp.LogicalOr(this=value) if value.find(exp.Boolean) else exp.Max(this=value)


def _named(value: exp.Expr, name: str) -> exp.Expr:
    # sqlglot's own builders copy their arguments repeatedly: a hundred views take seconds.
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
    """Join every term, where PostgreSQL looks up only the terms that are shown.

    For engines that join whole tables: the terms not looked up would all have one key, null.
    """
    for case in list(query.find_all(exp.Case)):
        if isinstance(case.parent, exp.EQ):
            case.replace(case.args["ifs"][0].args["true"].copy())


def numbered(view: View, numbers: Mapping[Term, int]) -> View:
    """The view with the numbers of its terms; a term without one equals nothing."""

    query = view.query.copy()
    for node in list(query.find_all(exp.Anonymous)):
        if node.this == _TERM:
            number = numbers.get(IRI(node.expressions[0].this), 0)
            node.replace(exp.Literal.number(number))
    return replace(view, query=query)


def numbered_text(text: str, numbers: Mapping[str, int]) -> str:
    """A rendered query with the numbers of its terms; a term without one equals nothing."""
    return _RENDERED_TERM.sub(lambda found: str(numbers.get(found[1].replace("''", "'"), 0)), text)


def _time(column: str, timeline: Timeline) -> exp.Expr:
    """An instant of the time line in readable form, in any dialect."""
    table, name = column.split(".")
    instant = exp.column(name, table)
    if timeline is Timeline.INTEGER:
        return instant
    return exp.UnixToTime(this=instant, scale=exp.UnixToTime.MICROS)


def _query(text: str, **parts: exp.Expr) -> exp.Select:
    # Replacing copies the tree.
    query = exp.replace_placeholders(_parsed(text), **parts) if parts else _expression(text)
    assert isinstance(query, exp.Select)
    return query


def _of_stay(timeline: Timeline) -> dict[str, exp.Expr]:
    """The columns of views over a stay ``i``."""
    time, expired = (_time(f"i.{name}", timeline) for name in ("time", "expired_at"))
    return {"time": time, "expired": expired, "message": _message("i")}


def _expression(text: str) -> exp.Expr:
    return _parsed(text).copy()


@cache
def _parsed(text: str) -> exp.Expr:
    """The tree of one of the few texts of all views; it must not be changed."""
    return parse_one(text, dialect="postgres")
