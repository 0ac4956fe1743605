"""The functions of terms, hashes and casts (SPARQL 1.1, sections 17.4.2, 17.4.6 and 17.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sensorstream.model.xsd import (
    FAMILIES,
    XSD_BOOLEAN,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
    XSD_STRING,
)
from sensorstream.sql.sparql.fragments import sql
from sensorstream.sql.sparql.frames import Frame
from sensorstream.sql.sparql.lexical import (
    decimal_of,
    double_of,
    integer_of,
    number_text,
    rounded,
    single,
)
from sensorstream.sql.sparql.times import cast
from sensorstream.sql.sparql.values import (
    RANKED,
    Name,
    Number,
    Text,
    Truth,
    Typed,
    Value,
    literal_of,
    said,
    time_of,
)

_READERS: Final = {
    XSD_INTEGER: integer_of,
    XSD_DECIMAL: decimal_of,
    XSD_FLOAT: double_of,
    XSD_DOUBLE: double_of,
}
Function = Callable[[Value, Frame], Value]


def _str(value: Value, frame: Frame) -> Value:
    value = frame.light(value)
    return Text(said("CASE WHEN :kind IN (0, 2) THEN :text END", value))


def _lang(value: Value, frame: Frame) -> Value:
    value = frame.light(value)
    return Text(said("CASE WHEN :kind = 2 THEN COALESCE(:language, '') END", value))


def _datatype(value: Value, frame: Frame) -> Value:
    return Name(value.datatype)


def langmatches(tag: Value, wanted: Value, frame: Frame) -> Value:
    """LANGMATCHES: basic filtering (RFC 4647, section 3.3.1)."""
    tag, wanted = frame.light(tag), frame.light(wanted)
    return Truth(
        said(
            "CASE WHEN :b_chars = '*' THEN :a_chars <> '' ELSE LOWER(:a_chars) = LOWER(:b_chars) "
            "OR LEFT(LOWER(:a_chars), LENGTH(:b_chars) + 1) = LOWER(:b_chars) || '-' END",
            a=tag,
            b=wanted,
        )
    )


def strlang(text: Value, tag: Value, frame: Frame) -> Value:
    """STRLANG."""
    text, tag = frame.light(text), frame.light(tag)
    fits = said("NOT :chars IS NULL AND :tag_chars <> '' AND :language IS NULL", text, tag=tag)
    return Text(
        said("CASE WHEN :fits THEN :chars END", text, fits=fits),
        said("CASE WHEN :fits THEN LOWER(:chars) END", tag, fits=fits),
    )


def strdt(text: Value, datatype: Value, frame: Frame) -> Value:
    """STRDT."""
    text, datatype = frame.light(text), frame.light(datatype)
    form = "CASE WHEN :type_kind = 0 AND :language IS NULL THEN :chars END"
    made = said(form, text, type=datatype)
    return literal_of(frame.computed(made, "text"), datatype.text)


def _kinds(text: str) -> Function:
    def function(value: Value, frame: Frame) -> Value:
        return Truth(said(text, value))

    return function


def _is_numeric(value: Value, frame: Frame) -> Value:
    value = frame.light(value)
    return Truth(said("CASE WHEN NOT :kind IS NULL THEN NOT :number IS NULL END", value))


def _hashing(text: str) -> Function:
    def function(value: Value, frame: Frame) -> Value:
        value = frame.light(value)
        plain = said("CASE WHEN :language IS NULL THEN :chars END", value)
        return Text(sql(text, text=plain))

    return function


FUNCTIONS: Final[Mapping[str, Function]] = {
    "STR": _str,
    "LANG": _lang,
    "DATATYPE": _datatype,
    "ISIRI": _kinds(":kind = 0"),
    "ISURI": _kinds(":kind = 0"),
    "ISBLANK": _kinds(":kind = 1"),
    "ISLITERAL": _kinds(":kind = 2"),
    "ISNUMERIC": _is_numeric,
    "MD5": _hashing("MD5(:text)"),
    **{name: _hashing(f"HEX_{name}(:text)") for name in ("SHA256", "SHA384", "SHA512")},
}


def _cast_string(value: Value, frame: Frame) -> Value:
    value = frame.light(value)
    # Outside of these bounds XPath writes a double with an exponent (Functions 3.1, 19.1.2.2).
    number = said(
        "CASE WHEN :rank >= 2 AND ABS(:number) < CAST('Infinity' AS DECIMAL) AND (:number = 0 OR "
        "ABS(:number) >= 0.000001 AND ABS(:number) < 1000000) "
        "THEN CAST(TRIM_SCALE(:number) AS TEXT) ELSE :canonical END",
        value,
        canonical=number_text(value.number, value.rank),
    )
    return Text(
        said(
            "CASE WHEN :kind = 0 THEN :text WHEN :kind = 1 OR NOT :language IS NULL THEN NULL "
            "WHEN :datatype = :boolean THEN CASE BTRIM(:text, :blanks) WHEN 'true' THEN 'true' "
            "WHEN '1' THEN 'true' WHEN 'false' THEN 'false' WHEN '0' THEN 'false' END "
            "WHEN NOT :number IS NULL THEN :written ELSE :text END",
            value,
            written=number,
        )
    )


def _cast_boolean(value: Value, frame: Frame) -> Value:
    value = frame.light(value)
    return Truth(
        said(
            "CASE WHEN :datatype = :string THEN CASE WHEN BTRIM(:text, :blanks) "
            "IN ('true', 'false', '1', '0') THEN :text IN ('true', '1') END "
            "WHEN :datatype = :boolean OR NOT :number IS NULL THEN :truth END",
            value,
        )
    )


def _cast_number(target: str) -> Function:
    rank = RANKED.index(target)

    def function(value: Value, frame: Frame) -> Value:
        value = frame.light(value)
        number = value.number
        if rank < 2:
            number = sql("CASE WHEN ABS(:a) < CAST('Infinity' AS DECIMAL) THEN :a END", a=number)
        made = said(
            "CASE WHEN :datatype = :string THEN :read "
            "WHEN :datatype = :boolean THEN CASE WHEN :truth THEN 1 ELSE 0 END ELSE :number END",
            value,
            read=_READERS[target](value.text),
            number=number,
        )
        made = frame.computed(made)
        if rank == 0:
            made = sql("TRUNC(:number)", number=made)
        elif target == XSD_FLOAT:
            made = single(made)
        elif target == XSD_DOUBLE:
            made = rounded(made)
        return Number(made, sql(str(rank)))

    return function


def _cast_time(target: str) -> Function:
    def function(value: Value, frame: Frame) -> Value:
        value = frame.light(value)
        # A string is read as the datatype that it shall have.
        form = "CASE WHEN :datatype = :string THEN :target ELSE :datatype END"
        datatype = said(form, value, target=target)
        read = time_of(value.text, frame.computed(datatype, "datatype"))
        return Typed(frame.computed(cast(read, target), "text"), target)

    return function


CASTS: Final[Mapping[str, Function]] = {
    XSD_STRING: _cast_string,
    XSD_BOOLEAN: _cast_boolean,
    **{
        target: _cast_number(target) for target in (XSD_INTEGER, XSD_DECIMAL, XSD_FLOAT, XSD_DOUBLE)
    },
    **{target: _cast_time(target) for target in FAMILIES},
}
