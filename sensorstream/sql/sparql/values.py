"""The value of a SPARQL expression as SQL: parts of a term, all null where it is an error.

A number is a ``numeric`` with the rank of its type (0 integer, 1 decimal, 2 float, 3 double): a
double is the shortest decimal that reads back as it. A truth value is a three-valued boolean.
Which class a value has is what is known of it before the query runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.model.xsd import (
    FAMILIES,
    NUMERIC_TYPES,
    XSD_BOOLEAN,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
    XSD_STRING,
)
from sensorstream.sparql.values import number, rank
from sensorstream.sql.sparql.fragments import constant, free, is_light, null, sql
from sensorstream.sql.sparql.lexical import moment_of, number_of, number_text

RANKED: Final = (XSD_INTEGER, XSD_DECIMAL, XSD_FLOAT, XSD_DOUBLE)
STORED: Final = ("kind", "text", "datatype", "language", "number")
"""The parts that a relation keeps of a computed value."""


class Value:
    """Any term; the parts as SQL."""

    id: exp.Expr | None = None
    """The term's id, where it has one."""

    @property
    def kind(self) -> exp.Expr:
        """0, 1, 2 as in the relation of terms; null: an error, or unbound."""
        raise NotImplementedError

    @property
    def text(self) -> exp.Expr:
        """The IRI, the blank node's label, or the lexical form."""
        raise NotImplementedError

    @property
    def datatype(self) -> exp.Expr:
        return null("TEXT")

    @property
    def language(self) -> exp.Expr:
        return null("TEXT")

    @property
    def number(self) -> exp.Expr:
        """The number of a numeric literal; null for all else."""
        return null("DECIMAL")

    @property
    def rank(self) -> exp.Expr:
        """The rank of its type; of no meaning without a number."""
        return constant(0)

    @property
    def moment(self) -> exp.Expr:
        """The instant of a dateTime or date; null for all else."""
        return null("TIMESTAMPTZ")

    @property
    def string(self) -> exp.Expr:
        """The characters of a plain or tagged string; null for all else."""
        return null("TEXT")

    @property
    def truth(self) -> exp.Expr:
        """The effective boolean value (SPARQL 1.1, section 17.2.2)."""
        return null("BOOLEAN")

    @property
    def bound(self) -> exp.Expr:
        """Whether it is no error: never null."""
        return sql(":kind IS NOT NULL", kind=self.kind)

    def parts(self) -> Mapping[str, exp.Expr]:
        """What this value is made of, by name."""
        return {name: getattr(self, name) for name in STORED}

    def remade(self, parts: Mapping[str, exp.Expr]) -> Value:
        """The same value of parts computed elsewhere."""
        return Columns(parts)

    @property
    def is_light(self) -> bool:
        """Whether its parts cost nothing to repeat."""
        return all(map(is_light, self.parts().values()))


class Columns(Value):
    """A term of which nothing is known."""

    def __init__(self, parts: Mapping[str, exp.Expr], id_: exp.Expr | None = None) -> None:
        self._parts = parts
        self.id = id_

    @property
    def kind(self) -> exp.Expr:
        return self._parts["kind"]

    @property
    def text(self) -> exp.Expr:
        return self._parts["text"]

    @property
    def datatype(self) -> exp.Expr:
        return self._parts["datatype"]

    @property
    def language(self) -> exp.Expr:
        return self._parts["language"]

    @property
    def number(self) -> exp.Expr:
        return self._parts["number"]

    @property
    def rank(self) -> exp.Expr:
        return sql(
            "CASE :datatype WHEN :double THEN 3 WHEN :float THEN 2 WHEN :decimal THEN 1 ELSE 0 END",
            datatype=self.datatype,
        )

    @property
    def moment(self) -> exp.Expr:
        known = self._parts.get("moment")
        computed = moment_of(self.text, self.datatype)
        if known is None:
            return computed
        return sql(
            "CASE WHEN :datatype = :date THEN :computed ELSE :known END",
            datatype=self.datatype,
            computed=computed,
            known=known,
        )

    @property
    def string(self) -> exp.Expr:
        return sql(
            "CASE WHEN :datatype IN (:string, :tagged) THEN :text END",
            datatype=self.datatype,
            text=self.text,
        )

    @property
    def truth(self) -> exp.Expr:
        numeric = [constant(each) for each in sorted(NUMERIC_TYPES)]
        return sql(
            "CASE WHEN :datatype = :boolean THEN BTRIM(:text, :blanks) IN ('true', '1') "
            "WHEN NOT :number IS NULL THEN :number <> 0 AND :number <> CAST('NaN' AS DECIMAL) "
            "WHEN :datatype IN (:string, :tagged) THEN :text <> '' "
            "WHEN :numeric THEN FALSE END",
            datatype=self.datatype,
            text=self.text,
            number=self.number,
            numeric=exp.In(this=free(self.datatype), expressions=numeric),
        )


class Constant(Columns):
    """A term of the query's text."""

    def __init__(self, term: IRI | BlankNode | Literal, id_: exp.Expr | None = None) -> None:
        self.term = term
        parts: dict[str, exp.Expr] = {
            "datatype": null("TEXT"),
            "language": null("TEXT"),
            "number": null("DECIMAL"),
        }
        if isinstance(term, Literal):
            parts |= {"kind": constant(2), "text": constant(term.lexical)}
            parts["datatype"] = constant(term.datatype)
            if term.language is not None:
                parts["language"] = constant(term.language)
            if number(term) is not None:
                parts["number"] = numeric_constant(term)
        elif isinstance(term, IRI):
            parts |= {"kind": constant(0), "text": constant(str(term))}
        else:
            parts |= {"kind": constant(1), "text": constant(term.removeprefix("_:"))}
        super().__init__(parts, id_)

    @property
    def rank(self) -> exp.Expr:
        return constant(rank(self.term) if isinstance(self.term, Literal) else 0)

    @property
    def moment(self) -> exp.Expr:
        if may_be_time(self):
            return super().moment
        return null("TIMESTAMPTZ")


def numeric_constant(term: Literal) -> exp.Expr:
    """The number of a valid numeric literal."""
    value = number(term)
    if isinstance(value, float):
        written = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value))
        return exp.cast(constant(written or repr(value)), "DECIMAL")
    written = str(value) if isinstance(value, int) else format(value or 0, "f")
    return exp.cast(constant(written), "DECIMAL")


class Truth(Value):
    """A boolean."""

    def __init__(self, truth: exp.Expr) -> None:
        self._truth = truth

    @property
    def kind(self) -> exp.Expr:
        return sql("CASE WHEN NOT :truth IS NULL THEN 2 END", truth=self._truth)

    @property
    def text(self) -> exp.Expr:
        return sql(
            "CASE WHEN :truth THEN 'true' WHEN NOT :truth THEN 'false' END", truth=self._truth
        )

    @property
    def datatype(self) -> exp.Expr:
        return sql(
            "CASE WHEN NOT :truth IS NULL THEN :name END", truth=self._truth, name=XSD_BOOLEAN
        )

    @property
    def truth(self) -> exp.Expr:
        return self._truth

    @property
    def bound(self) -> exp.Expr:
        return sql("NOT :truth IS NULL", truth=self._truth)

    def parts(self) -> Mapping[str, exp.Expr]:
        return {"truth": self._truth}

    def remade(self, parts: Mapping[str, exp.Expr]) -> Value:
        return Truth(parts["truth"])


class Number(Value):
    """A number; its rank is an SQL integer."""

    def __init__(self, number: exp.Expr, rank: exp.Expr) -> None:
        self._number = number
        self._rank = rank

    @property
    def kind(self) -> exp.Expr:
        return sql("CASE WHEN NOT :number IS NULL THEN 2 END", number=self._number)

    @property
    def text(self) -> exp.Expr:
        return number_text(self._number, self._rank)

    @property
    def datatype(self) -> exp.Expr:
        return sql(
            "CASE WHEN :number IS NULL THEN NULL WHEN :rank = 0 THEN :integer "
            "WHEN :rank = 1 THEN :decimal WHEN :rank = 2 THEN :float ELSE :double END",
            number=self._number,
            rank=self._rank,
        )

    @property
    def number(self) -> exp.Expr:
        return self._number

    @property
    def rank(self) -> exp.Expr:
        return self._rank

    @property
    def truth(self) -> exp.Expr:
        return sql("(:number <> 0 AND :number <> CAST('NaN' AS DECIMAL))", number=self._number)

    @property
    def bound(self) -> exp.Expr:
        return sql("NOT :number IS NULL", number=self._number)

    def parts(self) -> Mapping[str, exp.Expr]:
        return {"number": self._number, "rank": self._rank}

    def remade(self, parts: Mapping[str, exp.Expr]) -> Value:
        return Number(parts["number"], parts["rank"])


class Text(Value):
    """A string, perhaps with a language tag."""

    def __init__(self, text: exp.Expr, language: exp.Expr | None = None) -> None:
        self._text = text
        self._language = language

    @property
    def kind(self) -> exp.Expr:
        return sql("CASE WHEN NOT :text IS NULL THEN 2 END", text=self._text)

    @property
    def text(self) -> exp.Expr:
        return self._text

    @property
    def datatype(self) -> exp.Expr:
        if self._language is None:
            return sql(
                "CASE WHEN NOT :text IS NULL THEN :name END", text=self._text, name=XSD_STRING
            )
        return sql(
            "CASE WHEN :text IS NULL THEN NULL WHEN :language IS NULL THEN :string "
            "ELSE :tagged END",
            text=self._text,
            language=self._language,
        )

    @property
    def language(self) -> exp.Expr:
        return null("TEXT") if self._language is None else self._language

    @property
    def string(self) -> exp.Expr:
        return self._text

    @property
    def truth(self) -> exp.Expr:
        return sql(":text <> ''", text=self._text)

    @property
    def bound(self) -> exp.Expr:
        return sql("NOT :text IS NULL", text=self._text)

    def parts(self) -> Mapping[str, exp.Expr]:
        if self._language is None:
            return {"text": self._text}
        return {"text": self._text, "language": self._language}

    def remade(self, parts: Mapping[str, exp.Expr]) -> Value:
        return Text(parts["text"], parts.get("language"))


class Name(Value):
    """An IRI."""

    def __init__(self, text: exp.Expr) -> None:
        self._text = text

    @property
    def kind(self) -> exp.Expr:
        return sql("CASE WHEN NOT :text IS NULL THEN 0 END", text=self._text)

    @property
    def text(self) -> exp.Expr:
        return self._text

    def parts(self) -> Mapping[str, exp.Expr]:
        return {"text": self._text}

    def remade(self, parts: Mapping[str, exp.Expr]) -> Value:
        return Name(parts["text"])


class Typed(Columns):
    """A literal of one datatype, such as xsd:dateTime; null text: an error."""

    def __init__(self, text: exp.Expr, datatype: str) -> None:
        self._name = datatype
        super().__init__(
            {
                "kind": sql("CASE WHEN NOT :text IS NULL THEN 2 END", text=text),
                "text": text,
                "datatype": sql(
                    "CASE WHEN NOT :text IS NULL THEN :name END", text=text, name=datatype
                ),
                "language": null("TEXT"),
                "number": null("DECIMAL"),
            }
        )

    def parts(self) -> Mapping[str, exp.Expr]:
        return {"text": self.text}

    def remade(self, parts: Mapping[str, exp.Expr]) -> Value:
        return Typed(parts["text"], self._name)


class Unbound(Value):
    """An error, or a variable that nothing binds."""

    @property
    def kind(self) -> exp.Expr:
        return null("SMALLINT")

    @property
    def text(self) -> exp.Expr:
        return null("TEXT")

    @property
    def bound(self) -> exp.Expr:
        return exp.false()


def may_be_time(value: Value) -> bool:
    """Whether a value may be a moment or a duration."""
    if isinstance(value, Constant):
        return isinstance(value.term, Literal) and value.term.datatype in FAMILIES
    return isinstance(value, Columns)


def time_of(text: exp.Expr, datatype: exp.Expr) -> Value:
    """A moment or duration with a datatype that only the query's run tells; null: an error."""
    return _literal(text, datatype, null("DECIMAL"))


def literal_of(text: exp.Expr, datatype: exp.Expr) -> Value:
    """A literal with a datatype that only the query's run tells; null text: an error."""
    return _literal(text, datatype, number_of(text, datatype))


def _literal(text: exp.Expr, datatype: exp.Expr, number: exp.Expr) -> Value:
    return Columns(
        {
            "kind": sql("CASE WHEN NOT :text IS NULL THEN 2 END", text=text),
            "text": text,
            "datatype": sql(
                "CASE WHEN NOT :text IS NULL THEN :datatype END", text=text, datatype=datatype
            ),
            "language": null("TEXT"),
            "number": number,
        }
    )
