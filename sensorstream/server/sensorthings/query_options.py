"""The query options of SensorThings, and what ``$filter`` means in SPARQL.

Source: OGC 18-088, section 9.3; OData Version 4.01, part 2, section 5.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias, TypeVar

from sensorstream.errors import Position, QueryError, TermError, UnsupportedQuery
from sensorstream.model import xsd
from sensorstream.model.frozen import field, frozen, mutable
from sensorstream.model.terms import Literal, literal
from sensorstream.server.sensorthings.entity_sets import entity_model

MOST_ENTITIES: Final = 1_000
"""The most entities of a page."""
_DEEPEST: Final = 50
_MOST_OPERATORS: Final = 100
_T = TypeVar("_T")
_GEO: Final = "http://www.opengis.net/ont/geosparql#wktLiteral"
OPTIONS: Final = {
    "$filter": "an expression, e.g. `result gt 5 and Datastream/Sensor/name eq 'a'`",
    "$orderby": "expressions, each with `asc` or `desc`",
    "$select": "names of properties and links",
    "$expand": "names of links, with options of their own: `Observations($top=1)`",
    "$top": "the most entities, up to 1000",
    "$skip": "how many are left out before them",
    "$count": "true: their number, too",
}
"""The query options, and what they say."""
_NAMED: Final = ", ".join(OPTIONS)

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<geography>geography'(?:[^']|'')*')|(?P<duration>duration'[^']*')
    |(?P<text>'(?:[^']|'')*')
    |(?P<moment>\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)
    |(?P<date>\d{4}-\d\d-\d\d)|(?P<clock>\d\d:\d\d(?::\d\d(?:\.\d+)?)?)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<name>[@$]?[A-Za-z_][\w.]*)|(?P<mark>[(),/;=-]))""",
    re.VERBOSE,
)

# Operators that bind equally, the loosest first.
_OPERATORS: Final = (
    {"or": "({0} || {1})"},
    {"and": "({0} && {1})"},
    {
        name: f"({{0}} {sign} {{1}})"
        for name, sign in zip(
            ("eq", "ne", "lt", "le", "gt", "ge"), ("=", "!=", "<", "<=", ">", ">="), strict=True
        )
    },
    {"add": "({0} + {1})", "sub": "({0} - {1})"},
    {
        "mul": "({0} * {1})",
        "div": "({0} / {1})",
        # The sign is that of the first.
        "mod": "({0} - {1} * IF({0} / {1} < 0, CEIL({0} / {1}), FLOOR({0} / {1})))",
    },
)
_NOT: Final = "(!{0})"
_MINUS: Final = "(-{0})"
_ARGUMENT: Final = re.compile(r"\{\d\}")


@frozen
class Constant:
    """A constant, as SPARQL writes it; "" is null."""

    text: str


@frozen
class Member:
    """A property, with the links that lead to it."""

    path: tuple[str, ...]
    place: Position


@frozen
class Calculation:
    """An operator or function: its template of SPARQL, and its arguments."""

    name: str
    template: str
    arguments: tuple[Expression, ...]


Expression: TypeAlias = Constant | Member | Calculation


def parts_of(expression: Expression) -> Iterator[Expression]:
    """An expression and all within it."""
    yield expression
    if isinstance(expression, Calculation):
        for each in expression.arguments:
            yield from parts_of(each)


@mutable
class QueryOptions:
    """The options of a request, or of a part of ``$expand``; ``text`` is what that says."""

    filter: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = ()
    """The expressions of ``$orderby``, and whether the greatest comes first."""
    select: tuple[Member, ...] = ()
    expand: dict[str, QueryOptions] = field(default_factory=dict)
    top: int | None = None
    skip: int = 0
    count: bool = False
    text: tuple[tuple[str, str], ...] = ()
    place: Position | None = None


def read_options(given: Sequence[tuple[str, str]]) -> QueryOptions:
    """The options of a request.

    Raises:
        QueryError: one is unknown, comes twice, or does not read, with the place in it.
        UnsupportedQuery: a function or an option that is not there.
    """
    options = QueryOptions(text=tuple(given))
    for name, text in given:
        reader = _OptionReader(name, text)
        reader.option(name, options)
        reader.end()
    _check_once(given)
    return options


def _check_once(given: Sequence[tuple[str, str]]) -> None:
    for name, times in Counter(name for name, _ in given).items():
        if times > 1:
            raise QueryError(f"{name}: expected once, not {times} times")


class _OptionReader:
    """Reads the text of an option."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._text = text
        self._depth = self._operators = 0
        self._next = 0
        self._begins = 0
        self._kind = ""
        self._token = ""
        self._advance()

    def option(self, name: str, options: QueryOptions) -> None:
        """Read what an option of this name says."""
        match name:
            case "$filter":
                options.filter = self._expression()
            case "$orderby":
                options.order = tuple(self._listed(self._ordered))
            case "$select":
                options.select = tuple(self._listed(self._member))
            case "$expand":
                for _ in self._listed(lambda: self._expanded(options)):
                    pass
            case "$top":
                options.top = self._whole()
            case "$skip":
                options.skip = self._whole()
            case "$count":
                told = self._take()
                if told not in ("true", "false"):
                    raise self._error("true or false", told)
                options.count = told == "true"
            case "$resultFormat" | "$search" | "$apply" | "$compute" | "$skiptoken":
                raise UnsupportedQuery(f"{name} is not supported: expected {_NAMED}")
            case _:
                raise QueryError(f"'{name[:40]}' is no query option: expected {_NAMED}")

    def end(self) -> None:
        """Check that nothing follows."""
        if self._kind:
            raise self._error("the end", self._token)

    def _advance(self) -> None:
        found = _TOKEN.match(self._text, self._next)
        if found is None:
            rest = self._text[self._next :].strip()
            self._begins = len(self._text) - len(self._text[self._next :].lstrip())
            if rest:
                raise self._error("a name, a number, a text in quotes or an operator", rest)
            self._kind = self._token = ""
            return
        self._kind = found.lastgroup or ""
        self._token = found[self._kind]
        self._begins, self._next = found.start(self._kind), found.end()

    def _take(self) -> str:
        token = self._token
        self._advance()
        return token

    def _place(self) -> Position:
        return Position(self._name, 1, self._begins + 1)

    def _error(self, expected: str, found: str) -> QueryError:
        shown = f"'{found[:40]}'" if found else "the end"
        return QueryError(f"{self._name}: expected {expected}, not {shown}", position=self._place())

    def _is(self, mark: str) -> bool:
        return self._token == mark and self._kind in ("mark", "name")

    def _mark(self, mark: str) -> None:
        if not self._is(mark):
            raise self._error(f"'{mark}'", self._token)
        self._advance()

    def _listed(self, read: Callable[[], _T]) -> Iterator[_T]:
        yield read()
        while self._is(","):
            self._advance()
            yield read()

    def _whole(self) -> int:
        if self._kind != "number" or not self._token.isdecimal() or len(self._token) > 9:
            raise self._error("a number from 0 to 999999999", self._token)
        return int(self._take())

    def _ordered(self) -> tuple[Expression, bool]:
        of = self._expression()
        last = self._kind == "name" and self._token in ("asc", "desc") and self._take()
        return of, last == "desc"

    def _expanded(self, options: QueryOptions) -> None:
        member, depth = self._member(), self._depth
        for name in member.path:
            self._deeper()
            options = options.expand.setdefault(name, QueryOptions(place=member.place))
        if self._is("("):
            given: list[tuple[str, str]] = []
            while self._is("(") or self._is(";"):
                self._advance()
                name, begun = self._take(), self._next
                self._mark("=")
                self.option(name, options)
                given.append((name, self._text[begun : self._begins].strip()))
            self._mark(")")
            _check_once(given)
            options.text = tuple(given)
        self._depth = depth

    def _member(self) -> Member:
        place, path = self._place(), []
        while True:
            if self._kind != "name" or self._token.startswith("$"):
                raise self._error("a name", self._token)
            path.append(self._take())
            if len(path) > _DEEPEST:
                raise self._error(f"at most {_DEEPEST} names", self._token)
            if not self._is("/"):
                return Member(tuple(path), place)
            self._advance()

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise QueryError(
                f"{self._name} is nested more than {_DEEPEST} deep", position=self._place()
            )

    def _expression(self, level: int = 0) -> Expression:
        if level == len(_OPERATORS):
            return self._operand()
        found = self._expression(level + 1)
        while self._kind == "name" and (template := _OPERATORS[level].get(self._token)):
            self._operators += 1
            if self._operators > _MOST_OPERATORS:
                raise self._error(f"at most {_MOST_OPERATORS} operators", self._token)
            name = self._take()
            found = Calculation(name, template, (found, self._expression(level + 1)))
        return found

    def _operand(self) -> Expression:
        self._deeper()
        try:
            if self._is("not"):
                self._advance()
                # It binds more tightly than a comparison, but FROST and others write it before one.
                return Calculation("not", _NOT, (self._expression(2),))
            if self._is("-"):
                self._advance()
                return Calculation("-", _MINUS, (self._operand(),))
            if self._is("("):
                self._advance()
                found = self._expression()
                self._mark(")")
                return found
            if self._kind == "name":
                return self._named()
            return self._constant()
        finally:
            self._depth -= 1

    def _named(self) -> Expression:
        if self._token in ("true", "false", "null"):
            return Constant({"null": ""}.get(token := self._take(), token))
        member = self._member()
        if not self._is("("):
            return member
        name = "/".join(member.path)
        forms = entity_model().functions.get(name)
        if forms is None:
            raise UnsupportedQuery(
                f"{self._name}: there is no function '{name[:40]}'", position=member.place
            )
        self._advance()
        arguments = () if self._is(")") else tuple(self._listed(self._expression))
        self._mark(")")
        by_count = {len(set(_ARGUMENT.findall(each))): each for each in forms}
        if len(arguments) not in by_count:
            told = " or ".join(map(str, by_count))
            raise QueryError(
                f"{self._name}: {name} has {told} arguments, not {len(arguments)}",
                position=member.place,
            )
        return Calculation(name, by_count[len(arguments)], arguments)

    def _constant(self) -> Constant:
        kind, token, place = self._kind, self._token, self._place()
        body = token.partition("'")[2][:-1].replace("''", "'")
        match kind:
            case "text":
                made = Literal(body)
            case "date" | "clock":
                made = Literal(token)
            case "number":
                self._advance()
                return Constant(token)
            case "moment" | "geography":
                told = (
                    (body, _GEO) if kind == "geography" else (_whole_moment(token), xsd.DATE_TIME)
                )
                try:
                    made = literal(*told)
                except TermError as error:
                    raise QueryError(f"{self._name}: {error.message}", position=place) from None
            case "duration":
                raise UnsupportedQuery(f"{self._name}: durations are not there", position=place)
            case _:
                raise self._error("a property, a constant or a function", token)
        self._advance()
        return Constant(made.n3)


def _whole_moment(text: str) -> str:
    """A moment with seconds, in UTC if it has no zone."""
    found = re.fullmatch(r"(.{16})(:[\d.]+)?(.*)", text)
    assert found is not None
    return f"{found[1]}{found[2] or ':00'}{found[3] or 'Z'}"
