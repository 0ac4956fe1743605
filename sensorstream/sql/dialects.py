"""Kinds of values, and the forms in DuckDB and Spark of the nodes that SPARQL's compiler writes.

The trees are PostgreSQL's, and these lists are closed: the compiler writes nothing else. A cell is
a :data:`.Cell`.

A number without bounds is a list of doubles in DuckDB, and in Spark a text that sorts like the
number (:mod:`sensorstream.model.numerals`), so a node on numbers has another line. A moment is
microseconds since 1970 in Spark. Names in small letters are functions that the engines are given:
:mod:`sensorstream.archive.archive_sparql`, :mod:`sensorstream.spark.sparql.numbers`.

Patterns are written for RE2 (DuckDB) and Java (Spark). They come from
:mod:`sensorstream.sql.sparql`: its own, and those of REGEX and REPLACE, limited to what each system
reads alike. Left to change are the options at the beginning, the ends of lines and the content of
classes of characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, auto
from typing import Final, TypeAlias

from sqlglot import exp

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.numerals import doubles, sortable
from sensorstream.sql.sql_fragments import Cell, made, sql

_OPTIONS: Final = re.compile(r"\(\?([isw]+)\)")
# PostgreSQL's classes know all of Unicode, RE2's own only ASCII.
_CLASSES: Final = {
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "s": r"\t-\r\x{85}\p{Z}",
    "S": r"[^\t-\r\x{85}\p{Z}]",
}
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_CLASS: Final = r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\."
_CLASS_OR_ESCAPE: Final = re.compile(_CLASS, re.DOTALL)
_PART: Final = re.compile(f"{_CLASS}|.", re.DOTALL)
_ENDS: Final = {"^": r"\A", "$": r"\z"}
# Anchors at lines: Java itself sees no line after a last line break.
_LINE_ENDS: Final = {"^": r"(?:\A|(?<=\n))", "$": r"(?:\z|(?=\n))"}
# In a class, Java reads && as an intersection and [ as an inner class.
_IN_CLASS: Final = re.compile(r"\\.|[&\[\]]", re.DOTALL)


def re2_pattern(pattern: str) -> str:
    """Translate a pattern for RE2; one without options stays as it is."""
    options = _OPTIONS.match(pattern)
    if options is None:
        return pattern
    # s: the dot matches line feeds; m: the anchors match at them.
    written = "i" if "i" in options[1] else ""
    written += "m" if "w" in options[1] else ""
    return f"(?{written}s)" + _CLASS_OR_ESCAPE.sub(_re2_part, pattern[options.end() :])


def _re2_part(match: re.Match[str]) -> str:
    part = match[0]
    if part.startswith("["):
        return _ESCAPE.sub(lambda each: _CLASSES.get(each[1], each[0]), part)
    known = _CLASSES.get(part[1], part)
    return f"[{known}]" if part[1] == "s" else known


def re2_replacement(text: str) -> str:
    r"""Translate a replacement: PostgreSQL writes the whole match ``\&``, RE2 ``\0``."""
    return _ESCAPE.sub(lambda each: r"\0" if each[1] == "&" else each[0], text)


def java_pattern(written: str) -> str:
    """Translate a pattern for Java."""
    found = _OPTIONS.match(written)
    options = found[1] if found else "s"
    ends = _LINE_ENDS if "w" in options else _ENDS
    made = []
    for part in _PART.findall(written[found.end() :] if found else written):
        if len(part) > 1 and part[0] == "[":
            inner = _IN_CLASS.sub(lambda m: m[0] if len(m[0]) > 1 else f"\\{m[0]}", part[1:-1])
            made.append(f"[{inner}]")
        else:
            made.append(ends.get(part, part))
    # U: \d and \s are those of Unicode; s: the dot is any character.
    return f"(?sU{'i' if 'i' in options else ''}{'u' if 'i' in options else ''}){''.join(made)}"


def java_replacement(written: str) -> str:
    """Translate a replacement text: ``\\1`` is a group, ``\\&`` the match, ``\\\\`` a backslash."""

    def exchange(match: re.Match[str]) -> str:
        if match[0] == "$":
            return r"\$"
        if match[1] == "&":
            return "$0"
        # A digit that follows is no part of the group's number.
        return f"${match[1]}" if match[1].isdigit() else r"\\"

    return re.sub(r"\\(.)|\$", exchange, written)


def group_of(pattern: str) -> int:
    """The group that PostgreSQL's SUBSTRING gives: the first, or the whole match."""
    return 1 if re.compile(pattern).groups else 0


def exchanged(pattern: exp.Expr, change: Callable[[str], str]) -> exp.Expr:
    """A pattern, or a choice of patterns, with each changed."""
    if isinstance(pattern, exp.Literal):
        return exp.Literal.string(change(pattern.this))
    if isinstance(pattern, exp.Paren):
        pattern.set("this", exchanged(pattern.this, change))
    if isinstance(pattern, exp.Case):
        for each in pattern.args["ifs"]:
            each.set("true", exchanged(each.args["true"], change))
        if pattern.args.get("default") is not None:
            pattern.set("default", exchanged(pattern.args["default"], change))
    return pattern


_WAY_OUT: Final = "of the outside: Spark cannot plan it: ask the same with --on history"
_TOO_FAR: Final = (
    f"not on Spark: an EXISTS, or a MINUS, within an EXISTS that mentions a variable {_WAY_OUT}"
)
_OPTIONAL: Final = f"not on Spark: an OPTIONAL within an EXISTS that mentions a variable {_WAY_OUT}"


class ExpressionKind(Enum):
    """The kind of a value; NUMBER is PostgreSQL's unbounded ``numeric`` or what stands for one."""

    NULL = auto()
    NUMBER = auto()
    DOUBLE = auto()
    FLOAT = auto()
    INTEGER = auto()
    TEXT = auto()
    BOOLEAN = auto()
    MOMENT = auto()


Columns: TypeAlias = Mapping[str, ExpressionKind]
TABLES: Final[Mapping[str, Columns]] = {
    "statements": {
        "subject": ExpressionKind.INTEGER,
        "predicate": ExpressionKind.INTEGER,
        "object": ExpressionKind.INTEGER,
        "number": ExpressionKind.DOUBLE,
        "valid_from": ExpressionKind.INTEGER,
        "valid_to": ExpressionKind.INTEGER,
        "inferred": ExpressionKind.BOOLEAN,
    },
    "terms": {
        "id": ExpressionKind.INTEGER,
        "kind": ExpressionKind.INTEGER,
        "text": ExpressionKind.TEXT,
        "datatype": ExpressionKind.TEXT,
        "language": ExpressionKind.TEXT,
        "number": ExpressionKind.NUMBER,
        "moment": ExpressionKind.MOMENT,
    },
}
"""The tables of the history, of which queries are made."""


def common(kinds: Iterable[ExpressionKind]) -> ExpressionKind:
    """The kind of operands, or of branches: that of a number if one is a number."""
    found = [each for each in kinds if each is not ExpressionKind.NULL]
    for each in (ExpressionKind.NUMBER, ExpressionKind.DOUBLE):
        if each in found:
            return each
    return found[0] if found else ExpressionKind.NULL


@dataclass(slots=True)
class VisibleColumns:
    """The columns that an expression of a dialect can name: its tables' and those around it."""

    dialect: str
    outer: VisibleColumns | None = None
    tables: dict[str, Columns] = field(default_factory=dict)
    queries: dict[str, Columns] = field(default_factory=dict)
    is_condition: bool = False
    """Whether it is around an EXISTS."""
    is_optional: bool = False
    """Whether it is that of the right side of an outer join."""

    def below(self, *, is_condition: bool = False, is_optional: bool = False) -> VisibleColumns:
        """The scope of a query within."""
        return VisibleColumns(self.dialect, self, {}, {}, is_condition, is_optional)

    def kind(
        self, column: exp.Column, conditions: int = 0, *, is_optional: bool = False
    ) -> ExpressionKind:
        """The kind of a column; NULL for one that nobody calculates with.

        Args:
            column: the column.
            conditions: it is named within so many EXISTS of the scope.
            is_optional: on the right side of an outer join within these.

        Raises:
            UnsupportedQuery: Spark cannot name it from there.
        """
        columns = self.tables.get(column.table, {})
        if not column.table:
            columns = {k: v for each in self.tables.values() for k, v in each.items()}
        if column.name in columns:
            if self.dialect == "spark" and conditions > 1:
                raise UnsupportedQuery(_TOO_FAR)
            if self.dialect == "spark" and conditions and is_optional:
                raise UnsupportedQuery(_OPTIONAL)
            return columns[column.name]
        if self.outer is None:
            return ExpressionKind.NULL
        return self.outer.kind(
            column, conditions + self.is_condition, is_optional=is_optional or self.is_optional
        )

    def query(self, name: str) -> Columns | None:
        """The columns of a WITH query."""
        if name in self.queries:
            return self.queries[name]
        return None if self.outer is None else self.outer.query(name)


_Change: TypeAlias = Callable[[str], str]
Row = tuple[ExpressionKind | None, Cell, Cell]
"""The kind of the result, None: that of the operands; DuckDB's cell; Spark's."""
DUCKDB: Final = "duckdb"
SPARK: Final = "spark"
PLACE: Final = {DUCKDB: 0, SPARK: 1}
"""The place of a dialect's cell."""


# -- what needs code --------------------------------------------------------------------------


def _text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def _substring_duckdb(node: exp.Substring) -> exp.Expr:
    start = node.args["start"]
    if not start.is_string:
        return node
    return made("matched", DUCKDB, node.this, start, exp.Literal.number(group_of(start.this)))


def _substring_spark(node: exp.Substring) -> exp.Expr:
    start = node.args["start"]
    if not start.is_string:
        return node
    group = exp.Literal.number(group_of(start.this))
    found = made("regexp_extract", SPARK, node.this, _text(java_pattern(start.this)), group)
    # Spark gives an empty text where nothing is found: null, unless the pattern may match one.
    return found if re.search(start.this, "") else made("nullif", SPARK, found, _text(""))


def _exchanging(pattern: _Change, replacement: _Change | None = None) -> Cell:
    """A function that writes the patterns of a node as in a dialect."""

    def change(node: exp.Expr) -> exp.Expr:
        node.set("expression", exchanged(node.expression, pattern))
        if replacement is not None:
            node.set("replacement", exchanged(node.args["replacement"], replacement))
        return node

    return change


def _replaced_spark(node: exp.RegexpReplace) -> exp.Expr:
    # All matches; a change of one match alone is only written for the end of a text.
    pattern, new = node.expression, node.args["replacement"]
    pattern, new = exchanged(pattern, java_pattern), exchanged(new, java_replacement)
    return made("regexp_replace", SPARK, node.this, pattern, new)


def _numbered_spark(node: exp.Window) -> exp.Expr:
    node.set("order", exp.Order(expressions=[exp.Ordered(this=exp.null())]))
    return node


def _now_spark(node: exp.Expr) -> exp.Expr:
    now = exp.Anonymous(this="current_timestamp")
    return made("date_format", SPARK, now, _text("yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"))


# -- functions and operators ------------------------------------------------------------------

NODES: Final[Mapping[type[exp.Expr], Row]] = {
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren), (None, "", "")),
    **dict.fromkeys((exp.Abs, exp.Sign, exp.Floor, exp.Ceil, exp.Trunc), (None, "", None)),
    **dict.fromkeys(
        (exp.And, exp.Or, exp.Not, exp.Is, exp.Boolean), (ExpressionKind.BOOLEAN, "", "")
    ),
    **dict.fromkeys(
        (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), (ExpressionKind.BOOLEAN, "", "")
    ),
    **dict.fromkeys((exp.NullSafeNEQ, exp.Between, exp.In), (ExpressionKind.BOOLEAN, "", "")),
    **dict.fromkeys((exp.Case, exp.Coalesce, exp.Greatest, exp.Least), (None, "", "")),
    exp.Null: (ExpressionKind.NULL, "", ""),
    exp.Left: (ExpressionKind.TEXT, "", ""),
    exp.Right: (ExpressionKind.TEXT, "", ""),
    exp.Length: (ExpressionKind.INTEGER, "", ""),
    exp.StrPosition: (ExpressionKind.INTEGER, "", "instr"),
    exp.Substring: (ExpressionKind.TEXT, _substring_duckdb, _substring_spark),
    exp.Replace: (ExpressionKind.TEXT, "", ""),
    exp.DPipe: (ExpressionKind.TEXT, "", ""),
    exp.SplitPart: (ExpressionKind.TEXT, "", ""),
    exp.Trim: (ExpressionKind.TEXT, "", ""),
    exp.Upper: (ExpressionKind.TEXT, "unicode_upper", ""),
    exp.Lower: (ExpressionKind.TEXT, "unicode_lower", ""),
    # Both compare by code points, and know the cases of all letters.
    exp.Collate: (ExpressionKind.TEXT, ":a", ":a"),
    exp.RegexpLike: (ExpressionKind.BOOLEAN, _exchanging(re2_pattern), _exchanging(java_pattern)),
    exp.RegexpReplace: (
        ExpressionKind.TEXT,
        _exchanging(re2_pattern, re2_replacement),
        _replaced_spark,
    ),
    exp.MD5: (ExpressionKind.TEXT, "", "MD5(CAST(:a AS BINARY))"),
    exp.Rand: (ExpressionKind.DOUBLE, "", ""),
    exp.Uuid: (ExpressionKind.TEXT, "", ""),
    exp.Window: (ExpressionKind.INTEGER, "", _numbered_spark),
    # The first of an ordered array, which Spark never makes.
    exp.Bracket: (None, "", ":a"),
}
"""The nodes of PostgreSQL's tree, where no operand is a number."""

NUMBERS: Final[Mapping[type[exp.Expr], tuple[str, str]]] = {
    exp.Add: ("number_add", "sensorstream_number_sum"),
    exp.Sub: ("number_subtract", "sensorstream_number_difference"),
    exp.Mul: ("number_multiply", "sensorstream_number_product"),
    exp.Neg: ("number_negate", "sensorstream_number_negated"),
    exp.Abs: ("number_abs", "sensorstream_number_abs"),
    exp.Sign: ("number_sign", "sensorstream_number_sign"),
    exp.Floor: ("number_floor", "sensorstream_number_floor"),
    exp.Ceil: ("number_ceiling", "sensorstream_number_ceil"),
    exp.Trunc: ("number_truncate", "sensorstream_number_trunc"),
    exp.Round: ("number_round", "sensorstream_number_round"),
}
"""The same where one operand is a number: all are made numbers."""

_URI: Final = (
    "CASE WHEN NOT :a IS NULL THEN COALESCE((SELECT STRING_AGG(CASE "
    "WHEN c.part ~ '^[A-Za-z0-9_.~-]$' THEN c.part ELSE "
    r"REGEXP_REPLACE(UPPER(ENCODE(CONVERT_TO(c.part, 'UTF8'), 'hex')), '(..)', '%\1', 'g') "
    "END, '' ORDER BY c.place) FROM (SELECT SUBSTRING(:a, n.place, 1) AS part, "
    "n.place AS place FROM GENERATE_SERIES(1, LENGTH(:a)) AS n(place)) AS c), '') END"
)
_FORM_SPARK: Final = "REPLACE(REPLACE(REPLACE(url_encode(:a), '+', '%20'), '*', '%2A'), '%7E', '~')"
_TIMES: Final = (
    "(SELECT CASE WHEN m.a IS NULL OR m.b IS NULL THEN :e "
    "WHEN m.az <> m.bz AND m.a - m.b BETWEEN CAST('-15 hours' AS INTERVAL) "
    "AND CAST('15 hours' AS INTERVAL) THEN CASE WHEN m.short AND m.a - m.b BETWEEN "
    "CAST('-14 hours' AS INTERVAL) AND CAST('14 hours' AS INTERVAL) THEN 2 "
    "WHEN NOT m.short THEN :e WHEN m.a < m.b THEN -1 ELSE 1 END "
    "WHEN m.a < m.b THEN -1 WHEN m.a > m.b THEN 1 WHEN m.short THEN 0 ELSE :e END "
    "FROM (SELECT :a AS a, :b AS b, SUBSTRING(BTRIM(:c, :blanks), 11) ~ '[Z+-]' AS az, "
    "SUBSTRING(BTRIM(:d, :blanks), 11) ~ '[Z+-]' AS bz, "
    "LENGTH(:c) <= 26 AND LENGTH(:d) <= 26 AS short OFFSET 0) AS m)"
)
EXPANDED: Final = "expanded"
"""The cell of a dialect that has what PostgreSQL's text is made of."""

FUNCTIONS: Final[Mapping[str, tuple[ExpressionKind, str, Cell, Cell]]] = {
    "SCIENTIFIC": (
        ExpressionKind.TEXT,
        "TO_CHAR(:a, '9.9999999999999999EEEE')",
        "number_scientific",
        "sensorstream_number_scientific",
    ),
    # The same number: elsewhere it has no zeros at its end.
    "TRIM_SCALE": (ExpressionKind.NUMBER, "", ":a", ":a"),
    # The quotient of a and b; only c digits of a are looked at.
    "QUOTIENT": (
        ExpressionKind.NUMBER,
        "ROUND(:a, :c) / :b",
        "number_divide(number_round(:a, :c), :b)",
        "sensorstream_number_quotient(sensorstream_number_round(:a, :c), :b, :c)",
    ),
    "ENCODE_FOR_URI": (ExpressionKind.TEXT, _URI, "url_encode", _FORM_SPARK),
    **{
        f"HEX_SHA{bits}": (
            ExpressionKind.TEXT,
            f"ENCODE(SHA{bits}(CONVERT_TO(:a, 'UTF8')), 'hex')",
            "sha256" if bits == 256 else f"sha{bits}_text",
            f"SHA2(CAST(:a AS BINARY), {bits})",
        )
        for bits in (256, 384, 512)
    },
    # a is PostgreSQL's format of the time.
    "NOW_TEXT": (
        ExpressionKind.TEXT,
        "TO_CHAR(CURRENT_TIMESTAMP AT TIME ZONE 'UTC', :a)",
        "STRFTIME(CURRENT_TIMESTAMP AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')",
        _now_spark,
    ),
    "IS_DATE": (
        ExpressionKind.BOOLEAN,
        "PG_INPUT_IS_VALID(:a, 'date')",
        "is_date",
        "NOT sensorstream_micros(:a || 'T00:00:00Z') IS NULL",
    ),
    "IS_MOMENT": (
        ExpressionKind.BOOLEAN,
        "PG_INPUT_IS_VALID(:a, 'timestamptz')",
        "is_moment",
        "NOT sensorstream_micros(:a) IS NULL",
    ),
    # Compares the texts c and d by their instants a and b where these decide, else as e says. Spark
    # would repeat the reading of the instants wherever one is compared.
    "TIMES_COMPARED": (ExpressionKind.INTEGER, _TIMES, EXPANDED, ":e"),
    # PostgreSQL has them in schema store.
    "IS_TIME": (ExpressionKind.BOOLEAN, "", "is_time", "sensorstream_is_time"),
    "TIME_ORDER": (ExpressionKind.INTEGER, "", "time_order", "sensorstream_time_order"),
    "TIME_KEY": (
        ExpressionKind.NUMBER,
        "",
        "time_key",
        "sensorstream_number(sensorstream_time_key(:a, :b))",
    ),
    "TIME_TIE": (
        ExpressionKind.NUMBER,
        "",
        "time_tie",
        "sensorstream_number(sensorstream_time_tie(:a, :b))",
    ),
    "TIME_SUM": (
        ExpressionKind.TEXT,
        "",
        "time_sum",
        "sensorstream_time_sum(:a, :b, :c, :d, CAST(:e AS STRING))",
    ),
    "TIME_NEGATIVE": (ExpressionKind.TEXT, "", "time_negative", "sensorstream_time_negative"),
    "TIME_CAST": (ExpressionKind.TEXT, "", "time_cast", "sensorstream_time_cast"),
    "TIME_PART": (ExpressionKind.TEXT, "", "time_part", "sensorstream_time_part"),
}
"""Functions that only the compiler knows: kind, PostgreSQL, DuckDB, Spark."""


# -- aggregates -------------------------------------------------------------------------------


def filtered(aggregate: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    """An aggregate of the rows that fulfil a condition."""
    if condition is None:
        return aggregate
    return exp.Filter(this=aggregate, expression=exp.Where(this=condition.copy()))


def _total_duckdb(node: exp.Sum, condition: exp.Expr | None) -> exp.Expr:
    """The sum of numbers: of the short ones as integers, with a list of the others."""
    value = node.this
    short = made("millionths", DUCKDB, value.copy())
    is_long = sql("NOT :a IS NULL AND :b IS NULL", a=value.copy(), b=short.copy())
    if condition is not None:
        is_long = sql(":a AND :b", a=is_long, b=condition.copy())
    others = filtered(made("LIST", DUCKDB, value.copy()), is_long)
    return made("number_total", DUCKDB, filtered(exp.Sum(this=short), condition), others)


def _total_spark(node: exp.Sum, condition: exp.Expr | None) -> exp.Expr:
    return filtered(made("sensorstream_number_total", SPARK, node.this), condition)


def _joined_spark(node: exp.GroupConcat, condition: exp.Expr | None) -> exp.Expr:
    # The texts are ordered by themselves.
    found = filtered(made("collect_list", SPARK, node.this.this), condition)
    ordered = made("sort_array", SPARK, found)
    return made("array_join", SPARK, ordered, node.args["separator"])


def _foremost_spark(node: exp.ArrayAgg, condition: exp.Expr | None) -> exp.Expr:
    # Only the first value is asked for. In both systems null comes first where the order ascends.
    order = node.this.expressions
    name = "max_by" if order[0].args.get("desc") else "min_by"
    keys = made("struct", SPARK, *(each.this for each in order))
    return filtered(made(name, SPARK, node.this.this, keys), condition)


AGGREGATES: Final[Mapping[type[exp.Expr], Row]] = {
    exp.Count: (ExpressionKind.INTEGER, "", ""),
    exp.Sum: (ExpressionKind.NUMBER, _total_duckdb, _total_spark),
    exp.Max: (None, "", ""),
    exp.Min: (None, "", ""),
    exp.GroupConcat: (ExpressionKind.TEXT, "", _joined_spark),
    exp.ArrayAgg: (None, "", _foremost_spark),
}
"""A function gets the condition of FILTER as well."""


# -- casts ------------------------------------------------------------------------------------

TYPES: Final[Mapping[str, tuple[ExpressionKind, str, str]]] = {
    "DECIMAL": (ExpressionKind.NUMBER, "DOUBLE[]", "STRING"),
    "DOUBLE": (ExpressionKind.DOUBLE, "DOUBLE", "DOUBLE"),
    "FLOAT": (ExpressionKind.FLOAT, "FLOAT", "FLOAT"),
    "SMALLINT": (ExpressionKind.INTEGER, "SMALLINT", "BIGINT"),
    # The type of Spark's places within texts.
    "INT": (ExpressionKind.INTEGER, "INT", "INT"),
    # An id, which is a text in the archive.
    "BIGINT": (ExpressionKind.INTEGER, "TEXT", "BIGINT"),
    "TEXT": (ExpressionKind.TEXT, "TEXT", "STRING"),
    "BOOLEAN": (ExpressionKind.BOOLEAN, "BOOLEAN", "BOOLEAN"),
    "TIMESTAMPTZ": (ExpressionKind.MOMENT, "TIMESTAMPTZ", "BIGINT"),
    "INTERVAL": (ExpressionKind.MOMENT, "INTERVAL", "INTERVAL"),
}
"""PostgreSQL's types: their kinds, and the types that stand for them."""

CASTS: Final[Mapping[tuple[ExpressionKind, str], tuple[str, str]]] = {
    (ExpressionKind.NUMBER, "TEXT"): ("number_plain", "sensorstream_number_text"),
    (ExpressionKind.NUMBER, "DOUBLE"): (":a[1]", "sensorstream_number_double"),
    (ExpressionKind.NUMBER, "FLOAT"): (
        "CAST(:a[1] AS FLOAT)",
        "CAST(sensorstream_number_double(:a) AS FLOAT)",
    ),
    (ExpressionKind.NUMBER, "INT"): (
        "CAST(:a[1] AS INT)",
        "CAST(sensorstream_number_text(:a) AS INT)",
    ),
    (ExpressionKind.TEXT, "DECIMAL"): ("number_of_text", "sensorstream_number"),
    (ExpressionKind.INTEGER, "DECIMAL"): (
        "number_of_double(CAST(:a AS DOUBLE))",
        "sensorstream_number(CAST(:a AS STRING))",
    ),
    (ExpressionKind.DOUBLE, "DECIMAL"): (
        "number_of_double",
        "sensorstream_number(CAST(:a AS STRING))",
    ),
    (ExpressionKind.TEXT, "TIMESTAMPTZ"): ("TRY_CAST(:a AS TIMESTAMPTZ)", "sensorstream_micros"),
}
"""Casts that no cast of the dialect does; the number of a double is its shortest decimal."""


def constant_number(text: str, dialect: str) -> exp.Expr:
    """A number in the query's text."""
    if dialect == SPARK:
        return _text(sortable(Decimal(text)))
    listed = exp.Array(expressions=[_text(repr(each)) for each in doubles(Decimal(text))])
    return exp.cast(listed, TYPES["DECIMAL"][1])
