"""The value of a SPARQL expression as SQL: parts of a term, all null where it is an error.

A number is a ``numeric`` with the rank of its type (0 integer, 1 decimal, 2 float, 3 double): a
double is the shortest decimal that reads back as it. A truth value is a three-valued boolean. The
class of a value says what is known of it before the query runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final, TypeAlias

from sqlglot import exp

from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.model.xsd import FAMILIES, NUMERIC_TYPES
from sensorstream.sparql.values import number, rank
from sensorstream.sql.sparql.lexical_forms import is_of_time, moment_of, number_of, number_text
from sensorstream.sql.sql_fragments import constant, is_light, null, sql

STORED: Final = ("kind", "text", "datatype", "language", "number")
"""The parts that a relation keeps of a computed value."""


TYPES: Final = {
    "kind": "SMALLINT",
    "text": "TEXT",
    "datatype": "TEXT",
    "language": "TEXT",
    "number": "DECIMAL",
    "moment": "TIMESTAMPTZ",
    "chars": "TEXT",
    "truth": "BOOLEAN",
}
"""Parts that are null unless something is known of them, with their types in SQL."""
_LITERAL: Final = "CASE WHEN NOT :text IS NULL THEN 2 END"
_NUMERIC: Final = ", ".join(f"'{each}'" for each in sorted(NUMERIC_TYPES))


_Made: TypeAlias = "str | Callable[[SqlTerm], exp.Expr]"
"""A part: a text in which other parts are named, or what makes it."""


class _Part:
    """A part of a value, made when it is asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, value: SqlTerm, owner: type) -> exp.Expr:
        return value.part(self._name)


class SqlTerm:
    """Any term; ``parts`` are those it is made of, ``texts`` the SQL of others by all of these.

    A part that is in neither is null.
    """

    id: exp.Expr | None = None
    """The term's id, where it has one."""
    kind = _Part()
    """0, 1, 2 as in the relation of terms; null: an error, or unbound."""
    text = _Part()
    """The IRI, the blank node's label, or the lexical form."""
    datatype = _Part()
    language = _Part()
    number = _Part()
    """The number of a numeric literal; null for all else."""
    rank = _Part()
    """The rank of its type; of no meaning without a number."""
    moment = _Part()
    """The instant of a dateTime or date; null for all else."""
    chars = _Part()
    """The characters of a plain or tagged string; null for all else."""
    truth = _Part()
    """The effective boolean value (SPARQL 1.1, section 17.2.2)."""
    is_time = _Part()
    """Whether its datatype is one of times."""
    bound = _Part()
    """Whether it is no error: never null."""

    def __init__(self, parts: Mapping[str, exp.Expr], texts: Mapping[str, _Made]) -> None:
        self._parts = parts
        self._texts = texts

    def part(self, name: str) -> exp.Expr:
        """A part by its name."""
        if name in self._parts:
            return self._parts[name]
        made = self._texts.get(name, _DEFAULTS.get(name))
        if made is None:
            return null(TYPES[name])
        return made(self) if callable(made) else said(made, self)

    def parts(self) -> Mapping[str, exp.Expr]:
        """The parts that this value is made of, by name."""
        return self._parts

    def remade(self, parts: Mapping[str, exp.Expr]) -> SqlTerm:
        """The same value with parts that are computed elsewhere."""
        return SqlTerm(parts, self._texts)

    @property
    def is_light(self) -> bool:
        """Whether its parts cost nothing to repeat."""
        return all(map(is_light, self.parts().values()))


def said(
    text: str, value: SqlTerm | None = None, /, **given: SqlTerm | exp.Expr | str | int
) -> exp.Expr:
    """SQL in which ``:kind`` is a part of the value, ``:a_kind`` one of that given as ``a``, the
    rest as in :func:`.sql`.
    """
    parts: dict[str, exp.Expr | str | int] = {}
    for name in _names(text):
        owner, _, part = name.partition("_")
        known, of = given.get(name), given.get(owner)
        if known is not None and not isinstance(known, SqlTerm):
            parts[name] = known
        elif part and isinstance(of, SqlTerm):
            parts[name] = of.part(part)
        elif value is not None and (name in TYPES or name in _DEFAULTS):
            parts[name] = value.part(name)
    return sql(text, **parts)


@cache
def _names(text: str) -> Sequence[str]:
    return re.findall(":([a-z_]+)", text)


_DEFAULTS: Final[Mapping[str, _Made]] = {
    "bound": ":kind IS NOT NULL",
    "rank": lambda _: constant(0),
    "is_time": lambda value: is_of_time(value.datatype),
}
"""Parts of which something is known of all values."""
_OF_TERM: Final = {
    "rank": "CASE :datatype WHEN :double THEN 3 WHEN :float THEN 2 WHEN :decimal THEN 1 ELSE 0 END",
    "chars": "CASE WHEN :datatype IN (:string, :tagged) THEN :text END",
    "truth": "CASE WHEN :datatype = :boolean THEN BTRIM(:text, :blanks) IN ('true', '1') "
    "WHEN NOT :number IS NULL THEN :number <> 0 AND :number <> CAST('NaN' AS DECIMAL) "
    "WHEN :datatype IN (:string, :tagged) THEN :text <> '' "
    f"WHEN :datatype IN ({_NUMERIC}) THEN FALSE END",
}


class UnknownTerm(SqlTerm):
    """A term of which nothing is known."""

    def __init__(self, parts: Mapping[str, exp.Expr], id_: exp.Expr | None = None) -> None:
        super().__init__(parts, _OF_TERM)
        self.id = id_

    def part(self, name: str) -> exp.Expr:
        if name != "moment":
            return super().part(name)
        computed, known = moment_of(self.text, self.datatype), self._parts.get(name)
        if known is None:
            return computed
        form = "CASE WHEN :datatype = :date THEN :computed ELSE :known END"
        return said(form, self, computed=computed, known=known)

    def parts(self) -> Mapping[str, exp.Expr]:
        return {name: self.part(name) for name in STORED}

    def remade(self, parts: Mapping[str, exp.Expr]) -> SqlTerm:
        return UnknownTerm(parts)


class QueryConstant(UnknownTerm):
    """A term of the query's text."""

    def __init__(self, term: IRI | BlankNode | Literal, id_: exp.Expr | None = None) -> None:
        self.term = term
        parts: dict[str, exp.Expr] = {"rank": constant(0)}
        if isinstance(term, Literal):
            parts |= {"kind": constant(2), "text": constant(term.lexical)}
            parts["datatype"] = constant(term.datatype)
            parts["rank"] = constant(rank(term))
            if term.language is not None:
                parts["language"] = constant(term.language)
            if number(term) is not None:
                parts["number"] = numeric_constant(term)
        elif isinstance(term, IRI):
            parts |= {"kind": constant(0), "text": constant(str(term))}
        else:
            parts |= {"kind": constant(1), "text": constant(term.removeprefix("_:"))}
        super().__init__(parts, id_)

    def part(self, name: str) -> exp.Expr:
        if name == "moment" and not may_be_time(self):
            return null("TIMESTAMPTZ")
        return super().part(name)


def numeric_constant(term: Literal) -> exp.Expr:
    """The number of a valid numeric literal."""
    value = number(term)
    if isinstance(value, float):
        written = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value))
        return exp.cast(constant(written or repr(value)), "DECIMAL")
    written = str(value) if isinstance(value, int) else format(value or 0, "f")
    return exp.cast(constant(written), "DECIMAL")


_OF_TRUTH: Final = {
    "kind": "CASE WHEN NOT :truth IS NULL THEN 2 END",
    "text": "CASE WHEN :truth THEN 'true' WHEN NOT :truth THEN 'false' END",
    "datatype": "CASE WHEN NOT :truth IS NULL THEN :boolean END",
    "bound": "NOT :truth IS NULL",
}


class Truth(SqlTerm):
    """A boolean."""

    def __init__(self, truth: exp.Expr) -> None:
        super().__init__({"truth": truth}, _OF_TRUTH)


_OF_NUMBER: Final[Mapping[str, _Made]] = {
    "text": lambda value: number_text(value.number, value.rank),
    "kind": "CASE WHEN NOT :number IS NULL THEN 2 END",
    "datatype": "CASE WHEN :number IS NULL THEN NULL WHEN :rank = 0 THEN :integer "
    "WHEN :rank = 1 THEN :decimal WHEN :rank = 2 THEN :float ELSE :double END",
    "truth": "(:number <> 0 AND :number <> CAST('NaN' AS DECIMAL))",
    "bound": "NOT :number IS NULL",
}


class NumberValue(SqlTerm):
    """A number; its rank is an SQL integer."""

    def __init__(self, number: exp.Expr, rank: exp.Expr) -> None:
        super().__init__({"number": number, "rank": rank}, _OF_NUMBER)


_OF_TEXT: Final = {
    "kind": _LITERAL,
    "chars": ":text",
    "datatype": "CASE WHEN NOT :text IS NULL THEN :string END",
    "truth": ":text <> ''",
    "bound": "NOT :text IS NULL",
}
_OF_TAGGED: Final = {
    **_OF_TEXT,
    "datatype": "CASE WHEN :text IS NULL THEN NULL WHEN :language IS NULL THEN :string "
    "ELSE :tagged END",
}


class StringValue(SqlTerm):
    """A string, perhaps with a language tag."""

    def __init__(self, text: exp.Expr, language: exp.Expr | None = None) -> None:
        if language is None:
            super().__init__({"text": text}, _OF_TEXT)
        else:
            super().__init__({"text": text, "language": language}, _OF_TAGGED)


_OF_NAME: Final = {"kind": "CASE WHEN NOT :text IS NULL THEN 0 END"}


class NameValue(SqlTerm):
    """An IRI."""

    def __init__(self, text: exp.Expr) -> None:
        super().__init__({"text": text}, _OF_NAME)


class TypedLiteral(UnknownTerm):
    """A literal of one datatype, such as xsd:dateTime; null text: an error."""

    def __init__(self, text: exp.Expr, datatype: str) -> None:
        self._name = datatype
        made = sql("CASE WHEN NOT :text IS NULL THEN :name END", text=text, name=datatype)
        super().__init__({"kind": sql(_LITERAL, text=text), "text": text, "datatype": made})

    def parts(self) -> Mapping[str, exp.Expr]:
        return {"text": self.text}

    def remade(self, parts: Mapping[str, exp.Expr]) -> SqlTerm:
        return TypedLiteral(parts["text"], self._name)


class Unbound(SqlTerm):
    """An error, or a variable that nothing binds."""

    def __init__(self) -> None:
        super().__init__({"bound": exp.false()}, {})

    def parts(self) -> Mapping[str, exp.Expr]:
        return {name: self.part(name) for name in STORED}

    def remade(self, parts: Mapping[str, exp.Expr]) -> SqlTerm:
        return UnknownTerm(parts)


def may_be_time(value: SqlTerm) -> bool:
    """Whether a value may be a moment or a duration."""
    if isinstance(value, QueryConstant):
        return isinstance(value.term, Literal) and value.term.datatype in FAMILIES
    return isinstance(value, UnknownTerm)


def time_of(text: exp.Expr, datatype: exp.Expr) -> SqlTerm:
    """A moment or duration with a datatype that only the query's run tells; null: an error."""
    return _literal(text, datatype, null("DECIMAL"))


def literal_of(text: exp.Expr, datatype: exp.Expr) -> SqlTerm:
    """A literal with a datatype that only the query's run tells; null text: an error."""
    return _literal(text, datatype, number_of(text, datatype))


def _literal(text: exp.Expr, datatype: exp.Expr, number: exp.Expr) -> SqlTerm:
    made = sql("CASE WHEN NOT :text IS NULL THEN :datatype END", text=text, datatype=datatype)
    parts = {"kind": sql(_LITERAL, text=text), "text": text, "datatype": made}
    return UnknownTerm({**parts, "number": number})
