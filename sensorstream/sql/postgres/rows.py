"""What a row of the table of functions says, and a call that is answered from one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from sqlglot import exp

from sensorstream.sql.postgres.casts import converted, ordered
from sensorstream.sql.postgres.constants import settle
from sensorstream.sql.postgres.scope import Around, Scope, one_of, refused, whole
from sensorstream.sql.types import NUMBERS, TIMES, Kind, SqlType, Typed, spark

MANY: Final = 10_000


@dataclass(frozen=True, slots=True)
class Call:
    """A call in the query, of a function that is on the list."""

    name: str
    node: exp.Expr
    arguments: Sequence[exp.Expr]
    distinct: bool = False
    order: Sequence[exp.Expr] = ()
    around: Around = lambda tree: tree

    def aggregate(self, name: str, result: SqlType, *parts: exp.Expr) -> Typed:
        """Spark's function of the call, with DISTINCT, over its window or behind its filter."""
        if self.distinct:
            parts = (exp.Distinct(expressions=[parts[0].copy()]),)
        return Typed(self.around(spark(name, result, *parts).tree), result)


@dataclass(frozen=True, slots=True)
class Of:
    """A value of one of these kinds; ``literal``: what a literal in quotes is.

    ``to``: the kind that the value is given. ``sorted``, ``cased``: it must be one that both
    systems sort, or change the case of, alike. ``why``: the reason to refuse another kind.
    """

    kinds: tuple[Kind, ...]
    literal: Kind | None = None
    to: Kind | None = None
    sorted: bool = False
    cased: bool = False
    why: str = ""

    def taken(self, value: Typed, node: exp.Expr, call: Call, scope: Scope) -> Typed:
        """The argument; raises :class:`QueryError` if it is another one."""
        if self.cased and not scope.by_code_point:
            raise refused(call.node, "case depends on the database's language here")
        if self.literal is not None:
            value = settle(value, self.literal, node)
        if self.sorted:
            ordered(value, call.node, by_code_point=scope.by_code_point)
        one_of(self.kinds, value, call.node if self.why else node, self.why)
        return value if self.to is None else converted(value, self.to, node)


@dataclass(frozen=True, slots=True)
class Written:
    """A literal in the text of the query.

    It is a whole number from ``least`` on; one of ``words``, as Spark has them; else a text that is
    not empty, or may be ``empty``; ``once``: each character stands in it once.
    """

    what: str
    least: int | None = None
    words: Mapping[str, str] | None = None
    once: bool = False
    empty: bool = False

    def taken(self, node: exp.Expr, call: Call) -> Typed:
        """The argument; raises :class:`QueryError` if it is another one."""
        if self.least is not None:
            number = whole(node, self.least, call.node, self.what)
            return Typed(exp.Literal.number(number), SqlType(Kind.INTEGER))
        text = node.name if isinstance(node, exp.Literal | exp.Var) else ""
        if self.words is not None:
            text = self.words.get(text.lower(), "")
        elif not node.is_string:
            text = ""
        if not text and not (self.empty and node.is_string):
            expected = "must be a literal with at least one character"
            if self.words is not None:
                expected = f"is one of {', '.join(sorted(self.words))}, as a literal"
            raise refused(call.node, f"{self.what} {expected}")
        if self.once and len(set(text)) < len(text):
            raise refused(call.node, f"a character stands twice in {self.what}")
        return Typed(exp.Literal.string(text), SqlType(Kind.TEXT))


Argument: TypeAlias = Of | Written


Body: TypeAlias = Callable[[Call, Sequence[Typed], Scope], Typed]


@dataclass(frozen=True, slots=True)
class Row:
    """A function or operator with arguments of some kinds: its result, and what Spark has for it.

    ``result`` is None where it is the type of the first argument. ``spark`` is a name, a template
    over ``:a``, ``:b``, ... or what writes it; ``then`` a template over what the others give.
    """

    result: SqlType | None
    spark: str | Body
    arguments: tuple[Argument, ...]
    optional: int
    then: str

    def takes(self, count: int) -> bool:
        """Whether a call may have so many arguments; of MANY the last kind may be repeated."""
        if self.optional == MANY:
            return count > 0
        return 0 <= len(self.arguments) - count <= self.optional

    def at(self, place: int) -> Argument:
        """What stands at a place of a call."""
        return self.arguments[min(place, len(self.arguments) - 1)]

    def fits(self, values: Sequence[Typed | None]) -> bool:
        """Whether the values among a call's arguments have the row's kinds."""
        return all(
            isinstance(each := self.at(place), Written)
            or (value is not None and value.kind in each.kinds)
            for place, value in enumerate(values)
        )

    def told(self, call: Call, values: Sequence[Typed | None], scope: Scope) -> Typed:
        """The call on Spark; raises :class:`QueryError` if its arguments are not this row's."""
        given = []
        for place, (node, value) in enumerate(zip(call.arguments, values, strict=True)):
            each = self.at(place)
            if isinstance(each, Written):
                given.append(each.taken(node, call))
            else:
                assert value is not None
                given.append(each.taken(value, node, call, scope))
        if not isinstance(self.spark, str):
            return self.spark(call, given, scope)
        result = given[0].type if self.result is None else self.result
        found = call.aggregate(self.spark, result, *(each.tree for each in given))
        return spark(self.then, result, found.tree) if self.then else found


def row(
    result: SqlType | None,
    spark: str | Body,
    *arguments: Argument,
    optional: int = 0,
    then: str = "",
) -> tuple[Row]:
    """A row; of its arguments so many at the end are ``optional``."""
    return (Row(result, spark, arguments, optional, then),)


def answered(rows: tuple[Row, ...], call: Call, scope: Scope) -> Typed:
    """A call on Spark, by the first row with its kinds of arguments, else the last.

    Raises:
        QueryError: it has other arguments, or an order that means nothing.
    """
    rows = tuple(each for each in rows if each.takes(len(call.arguments)))
    if not rows:
        raise refused(call.node, "with so many arguments it is not on the list")
    # Once for all rows: calls are nested deeply.
    values = [
        scope.value(node) if any(isinstance(each.at(place), Of) for each in rows) else None
        for place, node in enumerate(call.arguments)
    ]
    return next((each for each in rows if each.fits(values)), rows[-1]).told(call, values, scope)


def of(*kinds: Kind, to: Kind | None = None) -> Of:
    """A value of one of these kinds, and not a literal in quotes."""
    return Of(kinds, to=to)


ALL: Final = Of(tuple(Kind))
ANY: Final = Of(tuple(each for each in Kind if each is not Kind.UNKNOWN), Kind.TEXT)
TEXTS: Final = Of((Kind.TEXT,), Kind.TEXT)
AS_TEXT: Final = Of(ANY.kinds, Kind.TEXT, to=Kind.TEXT)
TEXT_OR_BYTES: Final = Of((Kind.TEXT, Kind.BYTES), Kind.TEXT)
NUMBER: Final = Of(NUMBERS, Kind.DOUBLE)
AS_DOUBLE: Final = Of(NUMBERS, Kind.DOUBLE, to=Kind.DOUBLE)
EXACT: Final = of(Kind.NUMERIC)
AS_MOMENT: Final = of(*TIMES, to=Kind.MOMENT)
TRUTH: Final = Of((Kind.BOOLEAN,), Kind.BOOLEAN, why="it is no condition")
