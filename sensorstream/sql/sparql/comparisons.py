"""``=``, ``<`` and the like, sameTerm and ORDER BY (SPARQL 1.1, sections 17.3, 15.1), as
:mod:`sensorstream.sparql.values` defines them.
"""

from __future__ import annotations

from sqlglot import exp

from sensorstream.model.terms import Literal
from sensorstream.model.xsd import FAMILIES
from sensorstream.sparql.algebra import TURNED
from sensorstream.sparql.values import is_valid, number
from sensorstream.sql.sparql.lexical_forms import DATE, DATE_TIME, STAMP, as_double
from sensorstream.sql.sparql.solution_relations import Frame
from sensorstream.sql.sparql.sql_terms import (
    QueryConstant,
    SqlTerm,
    may_be_time,
    numeric_constant,
    said,
)
from sensorstream.sql.sql_fragments import null, sql


def same(a: SqlTerm, b: SqlTerm) -> exp.Expr:
    """Whether two terms are the same; null if one is an error."""
    if a.id is not None and b.id is not None:
        return sql(":a = :b", a=a.id, b=b.id)
    return said(
        "CASE WHEN NOT :a_kind IS NULL AND NOT :b_kind IS NULL THEN :a_kind = :b_kind "
        "AND :a_text = :b_text AND NOT :a_datatype IS DISTINCT FROM :b_datatype "
        "AND NOT :a_language IS DISTINCT FROM :b_language END",
        a=a,
        b=b,
    )


def equal(a: SqlTerm, b: SqlTerm) -> exp.Expr:
    """``a = b``."""
    quick = _by_id(a, b)
    if quick is not None:
        return quick
    return said(
        "CASE WHEN :a_kind IS NULL OR :b_kind IS NULL THEN NULL "
        "WHEN :a_kind <> :b_kind THEN FALSE "
        "WHEN :a_kind < 2 THEN :a_text = :b_text "
        "WHEN NOT :a_number IS NULL AND NOT :b_number IS NULL THEN :numbers "
        "WHEN :a_text = :b_text AND :a_datatype = :b_datatype "
        "AND NOT :a_language IS DISTINCT FROM :b_language THEN TRUE "
        "WHEN :a_datatype = :string AND :b_datatype = :string THEN FALSE "
        "WHEN :is_a AND :is_b AND :are_times THEN :times "
        "WHEN :a_datatype = :boolean AND :b_datatype = :boolean THEN :a_truth = :b_truth "
        "WHEN NOT :a_language IS NULL OR NOT :b_language IS NULL THEN FALSE "
        "WHEN :family_a <> :family_b AND :valid_a AND :valid_b THEN FALSE END",
        a=a,
        b=b,
        numbers=_numbers("=", a, b),
        is_a=a.is_time if may_be_time(a) else exp.false(),
        is_b=b.is_time if may_be_time(b) else exp.false(),
        are_times=_same_family(a, b),
        times=_times("=", a, b),
        family_a=_family(a),
        family_b=_family(b),
        valid_a=_valid(a),
        valid_b=_valid(b),
    )


def ordered(operator: str, a: SqlTerm, b: SqlTerm) -> exp.Expr:
    """``a < b`` and the like; null where it is not defined."""
    if any(isinstance(each, QueryConstant) and number(each.term) is not None for each in (a, b)):
        return said(
            "CASE WHEN NOT :a_number IS NULL AND NOT :b_number IS NULL THEN :numbers END",
            a=a,
            b=b,
            numbers=_numbers(operator, a, b),
        )
    return said(
        "CASE WHEN NOT :a_number IS NULL AND NOT :b_number IS NULL THEN :numbers "
        "WHEN :a_datatype = :string AND :b_datatype = :string THEN :texts "
        "WHEN :a_datatype = :boolean AND :b_datatype = :boolean THEN :truths "
        "ELSE :times END",
        a=a,
        b=b,
        numbers=_numbers(operator, a, b),
        texts=sql(f":a {operator} :b", a=codepoints(a.text), b=codepoints(b.text)),
        truths=sql(f":a {operator} :b", a=a.truth, b=b.truth),
        times=_times(operator, a, b),
    )


def codepoints(text: exp.Expr) -> exp.Expr:
    """A text to be compared by code points, whatever the database's collation is."""
    return sql('(:text COLLATE "C")', text=text)


def order_keys(value: SqlTerm, frame: Frame) -> list[exp.Expr]:
    """The keys by which ORDER BY compares a term: unbound, blank nodes, IRIs, literals.

    Literals are ordered by value where ``<`` is defined, numbers first, then times, then the rest
    by their text.
    """
    key: exp.Expr = null("DECIMAL")
    tie: exp.Expr = null("DECIMAL")
    if may_be_time(value):
        of_time = said("CASE WHEN :is_time THEN store.time_key(:text, :datatype) END", value)
        key = frame.computed(of_time, "number")
        tied = "CASE WHEN NOT :key IS NULL THEN store.time_tie(:text, :datatype) END"
        tie = said(tied, value, key=key)
    text = said("CASE WHEN :number IS NULL AND :key IS NULL THEN :text END", value, key=key)
    return [
        said(
            "CASE WHEN :kind IS NULL THEN 0 WHEN :kind = 1 THEN 1 WHEN :kind = 0 THEN 2 "
            "WHEN NOT :number IS NULL THEN 3 WHEN :key IS NULL THEN 8 "
            "WHEN :datatype IN (:datetime, :stamp) THEN 4 WHEN :datatype = :date THEN 5 "
            "WHEN :datatype = :time THEN 6 ELSE 7 END",
            value,
            key=key,
        ),
        value.number.copy(),
        key,
        tie,
        codepoints(text),
        sql("CASE WHEN NOT :text IS NULL THEN :part END", text=text, part=value.datatype),
        sql("CASE WHEN NOT :text IS NULL THEN :part END", text=text, part=value.language),
    ]


def _by_id(a: SqlTerm, b: SqlTerm) -> exp.Expr | None:
    """Equality with an IRI is that of ids."""
    if isinstance(a, QueryConstant):
        a, b = b, a
    if not isinstance(b, QueryConstant) or isinstance(b.term, Literal) or a.id is None:
        return None
    if b.id is None:
        return sql("CASE WHEN NOT :id IS NULL THEN FALSE END", id=a.id)
    return sql(":a = :b", a=a.id, b=b.id)


def _numbers(operator: str, a: SqlTerm, b: SqlTerm) -> exp.Expr:
    if isinstance(a, QueryConstant):
        a, b, operator = b, a, TURNED[operator]
    if isinstance(b, QueryConstant) and isinstance(b.term, Literal):
        return _with_constant(operator, a, b.term)
    return said(
        "CASE WHEN :a_number = CAST('NaN' AS DECIMAL) OR :b_number = CAST('NaN' AS DECIMAL) "
        "THEN FALSE WHEN GREATEST(:a_rank, :b_rank) >= 2 THEN :doubles ELSE :exact END",
        a=a,
        b=b,
        doubles=sql(f":a {operator} :b", a=as_double(a.number), b=as_double(b.number)),
        exact=sql(f":a {operator} :b", a=a.number, b=b.number),
    )


def _with_constant(operator: str, a: SqlTerm, term: Literal) -> exp.Expr:
    value = number(term)
    if value is None or value != value:
        return exp.false()
    doubles = sql(f":a {operator} :b", a=as_double(a.number), b=as_double(numeric_constant(term)))
    if isinstance(value, float):
        whole = doubles
    else:
        exact = sql(f":a {operator} :b", a=a.number, b=numeric_constant(term))
        form = "CASE WHEN :rank >= 2 THEN :doubles ELSE :exact END"
        whole = said(form, a, doubles=doubles, exact=exact)
    return sql(":a <> CAST('NaN' AS DECIMAL) AND :whole", a=a.number, whole=whole)


def _times(operator: str, a: SqlTerm, b: SqlTerm) -> exp.Expr:
    """The comparison of two times of one family; null for all else."""
    if not (may_be_time(a) and may_be_time(b)):
        return null("BOOLEAN")
    compared = f"CASE WHEN :order <> 2 THEN :order {operator} 0"
    if operator == "=":
        # One zone missing: the answer is unknown; durations that are not in order are unequal.
        compared += " WHEN :order = 2 AND :datatype IN (:duration, :daytime, :yearmonth) THEN FALSE"
    return said(
        "CASE WHEN :a_is_time AND :b_is_time THEN "
        "(SELECT :compared FROM (SELECT :order AS n OFFSET 0) AS o) END",
        a=a,
        b=b,
        compared=said(f"{compared} END", a, order=exp.column("n", "o")),
        order=_order(a, b),
    )


def _order(a: SqlTerm, b: SqlTerm) -> exp.Expr:
    """-1, 0, 1, or 2 for neither equal nor in order; null where there is no comparison.

    dateTimes and dates of the years 1 to 9999 are compared by the instants that are stored, unless
    only a fraction of a microsecond may tell them apart. With a time zone on one side only, the
    order is defined for times more than 14 hours apart.
    """
    exact = said("store.time_order(:a_text, :a_datatype, :b_text, :b_datatype)", a=a, b=b)
    if any(_is_no_instant(each) for each in (a, b)):
        return exact
    return said(
        "CASE WHEN :a_datatype IN (:datetime, :stamp, :date) "
        "AND :b_datatype IN (:datetime, :stamp, :date) "
        "AND (:a_datatype = :date) = (:b_datatype = :date) THEN "
        "TIMES_COMPARED(:a_moment, :b_moment, :a_text, :b_text, :exact) ELSE :exact END",
        a=a,
        b=b,
        exact=exact,
    )


def _is_no_instant(value: SqlTerm) -> bool:
    """Whether a value is known to be neither a dateTime nor a date."""
    if not isinstance(value, QueryConstant) or not isinstance(value.term, Literal):
        return False
    return FAMILIES.get(value.term.datatype) not in ("dateTime", "date")


def _same_family(a: SqlTerm, b: SqlTerm) -> exp.Expr:
    return sql(
        "CASE WHEN :a IN (:datetime, :stamp) THEN 1 WHEN :a = :date THEN 2 WHEN :a = :time THEN 3 "
        "ELSE 4 END = CASE WHEN :b IN (:datetime, :stamp) THEN 1 WHEN :b = :date THEN 2 "
        "WHEN :b = :time THEN 3 ELSE 4 END",
        a=a.datatype,
        b=b.datatype,
    )


def _family(value: SqlTerm) -> exp.Expr:
    """Literals of different families are never equal; null: a datatype that is not known."""
    return said(
        "CASE WHEN NOT :number IS NULL THEN 1 WHEN :datatype IN (:datetime, :stamp) THEN 2 "
        "WHEN :datatype = :date THEN 3 WHEN :datatype = :string THEN 4 "
        "WHEN :datatype = :boolean THEN 5 WHEN :datatype = :time THEN 6 "
        "WHEN :datatype IN (:duration, :daytime, :yearmonth) THEN 7 END",
        value,
    )


def _valid(value: SqlTerm) -> exp.Expr:
    """Whether a literal of a known datatype is valid."""
    if isinstance(value, QueryConstant):
        valid = isinstance(value.term, Literal) and is_valid(value.term)
        return exp.true() if valid else exp.false()
    return said(
        "CASE WHEN :datatype = :string THEN TRUE "
        "WHEN :datatype = :boolean THEN BTRIM(:text, :blanks) IN ('true', 'false', '0', '1') "
        "WHEN :is_time THEN CASE WHEN :datatype IN (:datetime, :stamp, :date) AND "
        "BTRIM(:text, :blanks) ~ CASE :datatype WHEN :date THEN :dates WHEN :stamp THEN :stamps "
        "ELSE :datetimes END AND IS_DATE(LEFT(BTRIM(:text, :blanks), 10)) "
        "THEN TRUE ELSE store.is_time(:text, :datatype) END ELSE NOT :number IS NULL END",
        value,
        dates=DATE,
        stamps=STAMP,
        datetimes=DATE_TIME,
    )
