"""The part of XPath's location paths that can be looked up: names, ``//``, ``*`` and comparisons.

Source: XPath 1.0, section 2. What a path holds beyond it is left out here, so that what is read
finds nodes wherever the path does: it can tell which messages a rule need not look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sensorstream.mapping.xpath import TOKEN, clark

ANY: Final = "*"
TEXT: Final = "text()"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a condition looks, from an element: down ``steps``, then there.

    ``there`` is ``@name`` for an attribute, ``text()`` for the texts, empty for the element's own
    string value.
    """

    steps: tuple[str, ...]
    there: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """Something at a place must be ``value``; None: there must be something."""

    place: Place
    value: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """A child with this name, in lxml's notation (``*``: any); ``deep``: a descendant."""

    name: str
    deep: bool
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class LocationPath:
    """Steps from the document, then ``@name``, ``text()`` or (empty) the elements themselves."""

    steps: tuple[Step, ...]
    there: str = ""


_SELF: Final = Place(())


@dataclass(frozen=True, slots=True)
class Lookup:
    """What of a path can be looked up.

    Wherever the path finds a node, one of ``paths`` does. ``left_out`` is the first part of the
    path that they lack; empty: the only path finds exactly the same nodes. Without ``paths``
    every message must be looked at.
    """

    paths: tuple[LocationPath, ...]
    left_out: str = ""

    @property
    def exact(self) -> bool:
        return not self.left_out


EVERY_MESSAGE: Final = Lookup((), "/")
"""The lookup of what every message may match."""


def lookup_of(path: str, namespaces: Mapping[str, str]) -> Lookup:
    """What of an XPath that finds nodes can be looked up; its context is the root element."""
    tokens = tokens_of(path)
    if tokens is None:
        return Lookup((), path)
    read = [_Reader(path, each, namespaces).read() for each in _split(tokens, "|")]
    return read[0] if len(read) == 1 else any_of(read, path)


def any_of(lookups: Sequence[Lookup], left_out: str) -> Lookup:
    """What may match where one of several may, for a reason that must not be empty."""
    if not all(each.paths for each in lookups):
        return Lookup((), left_out)
    return Lookup(tuple(path for each in lookups for path in each.paths), left_out)


def only_root(lookup: Lookup) -> Lookup:
    """The same for the root element alone, without conditions."""
    roots = tuple(
        LocationPath((Step(path.steps[0].name, path.steps[0].deep),)) for path in lookup.paths
    )
    return Lookup(roots, "all but the root element")


class Token(NamedTuple):
    """``kind`` is a group of ``TOKEN``, or the operator; ``(`` and ``::`` carry their name."""

    kind: str
    text: str
    start: int


def tokens_of(path: str) -> list[Token] | None:
    """The tokens of an expression without white space; None if it is not XPath."""
    found: list[Token] = []
    offset = 0
    while offset < len(path):
        match = TOKEN.match(path, offset)
        if match is None:
            return None
        start, offset = offset, match.end()
        if match["space"] is not None:
            continue
        kind, text = match.lastgroup or "", match.group()
        if kind == "operator":
            kind = text
        elif kind == "use":
            # An operator may stand before a bracket: `a and (b)`.
            if match["name"] in OPERATORS and found and found[-1].kind in _ENDS:
                offset = match.end("name")
                kind, text = "name", match["name"]
            else:
                kind = "(" if text.endswith("(") else "::"
                text = match["name"]
        found.append(Token(kind, text, start))
    return found


OPERATORS: Final = frozenset(("and", "or", "div", "mod"))
_ENDS: Final = frozenset(("name", "literal", "number", "variable", ")", "]", ".", "..", "*"))
_DEPTH: Final = {"(": 1, "[": 1, ")": -1, "]": -1}


def _split(tokens: Sequence[Token], separator: str) -> list[Sequence[Token]]:
    """The parts between the separators that stand outside brackets."""
    parts: list[Sequence[Token]] = []
    begun = depth = 0
    for index, token in enumerate(tokens):
        depth += _DEPTH.get(token.kind, 0)
        # A name is an operator if an operand is before it.
        if (
            depth == 0
            and token.text == separator
            and token.kind in ("name", separator)
            and index
            and tokens[index - 1].kind in _ENDS
        ):
            parts.append(tokens[begun:index])
            begun = index + 1
    parts.append(tokens[begun:])
    return parts


_LONGEST: Final = 100
"""More steps are not looked up: they would need a deep stack, and tell no message apart."""


class _Reader:
    """Reads one path without alternatives, as far as it can be looked up."""

    def __init__(self, path: str, tokens: Sequence[Token], namespaces: Mapping[str, str]) -> None:
        self._path = path
        self._tokens = tokens
        self._namespaces = namespaces
        self._at = 0
        self._left_out = ""

    def read(self) -> Lookup:
        steps, there = self._steps()
        if self._at < len(self._tokens):
            self._leave_out(self._tokens[self._at :])
        if not steps or self._at == 0:
            return Lookup((), self._path)
        return Lookup((LocationPath(tuple(steps), there),), self._left_out)

    def _steps(self) -> tuple[list[Step], str]:
        steps: list[Step] = []
        if self._kind() not in ("/", "//"):
            # A relative path begins at the root element.
            steps.append(Step(ANY, deep=False))
            if self._kind() == ".":
                self._at += 1
        while self._at < len(self._tokens) and len(steps) < _LONGEST:
            before = self._at
            deep = self._kind() == "//"
            self._at += self._kind() in ("/", "//")
            # The attributes and texts of `//@a` are those of the element before it, too.
            if not (deep and steps) and (there := self._end()):
                return ([*steps, Step(ANY, deep=True)] if deep else steps), there
            step = self._step(deep=deep)
            if step is None:
                self._at = before
                break
            steps.append(step)
            if self._kind() not in ("/", "//"):
                break
        return steps, ""

    def _step(self, *, deep: bool) -> Step | None:
        kind = self._kind()
        if kind not in ("name", "*"):
            return None
        name = ANY if kind == "*" else self._name(self._tokens[self._at])
        if name is None:
            return None
        self._at += 1
        conditions: dict[Condition, None] = {}
        while self._kind() == "[":
            end = self._closing()
            conditions |= dict.fromkeys(self._predicate(self._tokens[self._at + 1 : end]))
            self._at = end + 1
        # Rules whose conditions are the same share them: the order has no meaning.
        return Step(name, deep, tuple(sorted(conditions, key=_order)))

    def _end(self) -> str:
        """``@name`` or ``text()`` at the end of the path; empty if it is something else."""
        rest = self._tokens[self._at :]
        there = self._value(rest)
        if there:
            self._at += len(rest)
        return there

    def _value(self, tokens: Sequence[Token]) -> str:
        match [token.kind for token in tokens]:
            case ["@", "name"]:
                name = self._name(tokens[1])
                return "" if name is None else f"@{name}"
            case ["(", ")"] if tokens[0].text == "text":
                return TEXT
        return ""

    def _predicate(self, tokens: Sequence[Token]) -> Iterator[Condition]:
        if len(_split(tokens, "or")) > 1:
            self._leave_out(tokens)
            return
        for part in _split(tokens, "and"):
            condition = self._condition(part)
            if condition is None:
                self._leave_out(part)
            else:
                yield condition

    def _condition(self, tokens: Sequence[Token]) -> Condition | None:
        if len(tokens) > 2:
            if tokens[-2].kind == "=" and tokens[-1].kind == "literal":
                place = self._place(tokens[:-2])
                return None if place is None else Condition(place, tokens[-1].text[1:-1])
            if tokens[1].kind == "=" and tokens[0].kind == "literal":
                place = self._place(tokens[2:])
                return None if place is None else Condition(place, tokens[0].text[1:-1])
        place = self._place(tokens)
        return None if place is None or place == _SELF else Condition(place, None)

    def _place(self, tokens: Sequence[Token]) -> Place | None:
        if [token.kind for token in tokens] == ["."]:
            return _SELF
        steps: list[str] = []
        parts = _split_path(tokens)
        for index, part in enumerate(parts):
            if index == len(parts) - 1 and (there := self._value(part)):
                return Place(tuple(steps), there)
            if len(part) != 1 or part[0].kind != "name":
                return None
            name = self._name(part[0])
            if name is None:
                return None
            steps.append(name)
        return Place(tuple(steps))

    # Tokens

    def _kind(self) -> str:
        return self._tokens[self._at].kind if self._at < len(self._tokens) else ""

    def _closing(self) -> int:
        depth = 0
        for index in range(self._at, len(self._tokens)):
            depth += _DEPTH.get(self._tokens[index].kind, 0)
            if depth == 0:
                return index
        raise AssertionError("the check finds brackets that are not closed")

    def _name(self, token: Token) -> str | None:
        prefix, colon, local = token.text.partition(":")
        if local == "*" or (colon and prefix != "xml" and prefix not in self._namespaces):
            return None
        return clark(token.text, self._namespaces)

    def _leave_out(self, tokens: Sequence[Token]) -> None:
        if not self._left_out:
            begun = tokens[0].start if tokens else 0
            ends = [each.start for each in self._tokens if tokens and each.start > tokens[-1].start]
            self._left_out = self._path[begun : min(ends, default=len(self._path))].strip()


def _split_path(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    parts: list[Sequence[Token]] = []
    begun = 0
    for index, token in enumerate(tokens):
        if token.kind == "/":
            parts.append(tokens[begun:index])
            begun = index + 1
    parts.append(tokens[begun:])
    return parts


def _order(condition: Condition) -> tuple[bool, tuple[str, ...], str, str]:
    """Comparisons first: they tell most rules apart."""
    place = condition.place
    return condition.value is None, place.steps, place.there, condition.value or ""
