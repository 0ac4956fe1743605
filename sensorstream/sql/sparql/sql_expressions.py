"""Translate an expression of the algebra to a value in SQL (SPARQL 1.1, section 17).

An error is null, as is unbound; SQL's three-valued AND, OR and NOT are those of section 17.2. Parts
that SQL cannot say with the same meaning are refused.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.terms import IRI, Literal
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Variable
from sensorstream.sparql.functions import iri_function
from sensorstream.sql.sparql.comparisons import equal, ordered, same
from sensorstream.sql.sparql.solution_relations import Frame
from sensorstream.sql.sparql.sql_functions import (
    CASTS,
    FUNCTIONS,
    arithmetic,
    blank_node,
    negative,
    negative_time,
    positive,
    summed,
)
from sensorstream.sql.sparql.sql_terms import (
    STORED,
    NameValue,
    QueryConstant,
    SqlTerm,
    Truth,
    Unbound,
    UnknownTerm,
    may_be_time,
    said,
)
from sensorstream.sql.sql_fragments import any_of, constant, sql

_REASONS: Final = {
    "SHA1": "PostgreSQL has no such function of its own: expected SHA256, or MD5",
    "BNODE": "a blank node of a text is one for each solution: expected BNODE()",
    "GETDURATION": "it belongs to a continuous query",
    "GETSTARTTIME": "it belongs to a continuous query",
    "GETENDTIME": "it belongs to a continuous query",
}


def value_of(expression: Expression, frame: Frame) -> SqlTerm:
    """The value of an expression; raises UnsupportedQuery if SQL cannot say it."""
    match expression:
        case IRI() | Literal():
            return QueryConstant(expression, id_of(expression, frame))
        case Variable(name):
            return frame.variable(name)
        case (
            algebra.Or()
            | algebra.And()
            | algebra.Not()
            | algebra.Comparison()
            | algebra.In()
            | algebra.Exists()
        ):
            return Truth(truth_of(expression, frame))
        case algebra.Arithmetic(operator, left, right):
            return _arithmetic(operator, *_pair(left, right, frame), frame)
        case algebra.Sign(operator, operand):
            return _signed(operator, _compared(operand, frame), frame)
        case algebra.FunctionCall(function, arguments):
            return _cast(function, arguments, frame)
        case algebra.Call(name, arguments):
            return _call(name, arguments, frame)
    raise UnsupportedQuery(f"unknown expression: {expression}")


def truth_of(expression: Expression, frame: Frame) -> exp.Expr:
    """The effective boolean value of an expression; null is an error."""
    match expression:
        case algebra.Or(left, right):
            return sql(":a OR :b", a=truth_of(left, frame), b=truth_of(right, frame))
        case algebra.And(left, right):
            return sql(":a AND :b", a=truth_of(left, frame), b=truth_of(right, frame))
        case algebra.Not(operand):
            return sql("NOT :a", a=truth_of(operand, frame))
        case algebra.Comparison("=", left, right):
            return equal(*_pair(left, right, frame))
        case algebra.Comparison("!=", left, right):
            return sql("NOT :a", a=equal(*_pair(left, right, frame)))
        case algebra.Comparison(operator, left, right):
            return ordered(operator, *_pair(left, right, frame))
        case algebra.In(operand, choices):
            value = _compared(operand, frame)
            return any_of(*(equal(value, _compared(each, frame)) for each in choices))
        case algebra.Exists(pattern):
            return frame.exists(pattern, frame)
        case algebra.Call("BOUND", (Variable(name),)):
            return _bound(name, frame)
        case algebra.Call("SAMETERM", (left, right)):
            return same(*_pair(left, right, frame))
    return frame.light(value_of(expression, frame)).truth


def id_of(expression: Expression, frame: Frame) -> exp.Expr | None:
    """The id of an expression's value, where it is always that of a known term."""
    match expression:
        case Variable(name):
            return frame.id(name)
        case IRI() | Literal():
            id_ = frame.ids(expression)
            return None if id_ is None else constant(id_)
        case algebra.Call("COALESCE", arguments) if arguments:
            ids = [found for each in arguments if (found := id_of(each, frame)) is not None]
            if len(ids) == len(arguments):
                return exp.Coalesce(this=ids[0], expressions=ids[1:])
        case algebra.Call("IF", (condition, then, otherwise)):
            one, other = id_of(then, frame), id_of(otherwise, frame)
            if one is not None and other is not None:
                return sql(
                    "CASE WHEN :truth THEN :one WHEN NOT :truth THEN :other END",
                    truth=frame.light(Truth(truth_of(condition, frame))).truth,
                    one=one,
                    other=other,
                )
    return None


def _pair(left: Expression, right: Expression, frame: Frame) -> tuple[SqlTerm, SqlTerm]:
    return _compared(left, frame), _compared(right, frame)


def _compared(expression: Expression, frame: Frame) -> SqlTerm:
    return frame.light(value_of(expression, frame))


def _arithmetic(operator: str, a: SqlTerm, b: SqlTerm, frame: Frame) -> SqlTerm:
    if operator not in ("+", "-") or not (may_be_time(a) and may_be_time(b)):
        return arithmetic(operator, a, b, frame)
    of_times = summed(frame, a, b, 1 if operator == "+" else -1)
    if isinstance(a, QueryConstant) or isinstance(b, QueryConstant):
        return of_times
    return _coalesce([frame.light(arithmetic(operator, a, b, frame)), of_times])


def _signed(operator: str, value: SqlTerm, frame: Frame) -> SqlTerm:
    of_number = negative(value) if operator == "-" else positive(value)
    if not may_be_time(value):
        return of_number
    of_time = negative_time(frame, value)
    if operator == "+":
        of_time = negative_time(frame, of_time)
    if isinstance(value, QueryConstant):
        return of_time
    return _coalesce([frame.light(of_number), of_time])


def _bound(name: str, frame: Frame) -> exp.Expr:
    id_ = frame.id(name)
    return frame.variable(name).bound if id_ is None else sql("NOT :id IS NULL", id=id_)


def _cast(function: IRI, arguments: tuple[Expression, ...], frame: Frame) -> SqlTerm:
    cast = CASTS.get(function)
    if cast is None:
        raise UnsupportedQuery(
            f"<{function}>(): there is no such function; those named by an IRI are the casts, "
            "such as xsd:integer(?x)"
        )
    if len(arguments) != 1:
        raise UnsupportedQuery(f"<{function}>(): expected one argument, not {len(arguments)}")
    return cast(frame, value_of(arguments[0], frame))


def _call(name: str, arguments: tuple[Expression, ...], frame: Frame) -> SqlTerm:
    match name, arguments:
        case ("BOUND", _) | ("SAMETERM", _):
            return Truth(truth_of(algebra.Call(name, arguments), frame))
        case "COALESCE", _:
            return _coalesce([frame.light(value_of(each, frame)) for each in arguments])
        case "IF", (condition, then, otherwise):
            truth = frame.light(Truth(truth_of(condition, frame))).truth
            return _choice(
                truth,
                frame.light(value_of(then, frame)),
                frame.light(value_of(otherwise, frame)),
            )
        case (("IRI" | "URI"), _):
            return _iri(arguments, frame)
        case "BNODE", ():
            return blank_node(frame)
    values = [value_of(each, frame) for each in arguments]
    if name in FUNCTIONS:
        return FUNCTIONS[name](frame, *values)
    reason = _REASONS.get(name, "history cannot be asked with it")
    raise UnsupportedQuery(f"{name}(): {reason}")


def _coalesce(values: list[SqlTerm]) -> SqlTerm:
    """The first of some values that is no error."""
    made: dict[str, exp.Expr] = {part: getattr(Unbound(), part) for part in STORED}
    for each in values:
        made = {
            part: sql(
                "CASE WHEN NOT :kind IS NULL THEN :a WHEN :bound THEN :b END",
                kind=made["kind"],
                a=made[part],
                bound=each.bound,
                b=each.part(part),
            )
            for part in STORED
        }
    return UnknownTerm(made)


def _choice(truth: exp.Expr, then: SqlTerm, otherwise: SqlTerm) -> SqlTerm:
    return UnknownTerm(
        {
            part: sql(
                "CASE WHEN :truth THEN :one WHEN NOT :truth THEN :other END",
                truth=truth,
                one=then.part(part),
                other=otherwise.part(part),
            )
            for part in STORED
        }
    )


def _iri(arguments: tuple[Expression, ...], frame: Frame) -> SqlTerm:
    """IRI(): of an IRI, or of a text that is an absolute one."""
    value = frame.light(value_of(arguments[0], frame))
    if len(arguments) == 2:
        base = arguments[1]
        if isinstance(value, QueryConstant) and isinstance(value.term, Literal):
            return _resolved(value, str(base))
        if str(base):
            raise UnsupportedQuery(
                "IRI() of a computed text below BASE: SQL cannot resolve it; expected no BASE, "
                "and texts that are absolute IRIs"
            )
    return NameValue(
        said(
            "CASE WHEN :kind = 0 THEN :text WHEN :chars ~ :form THEN :chars END",
            value,
            form=r"^[A-Za-z][A-Za-z0-9+.-]*:([^\x01-\x20<>\"{}|\\^`%]|%[0-9A-Fa-f]{2})*$",
        )
    )


def _resolved(value: QueryConstant, base: str) -> SqlTerm:
    found = iri_function(base)(value.term)
    return (
        UnknownTerm(QueryConstant(found).parts())
        if isinstance(found, IRI)
        else NameValue(sql("NULL"))
    )
