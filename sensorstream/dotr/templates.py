"""Queries that differ only in the constants that they compare with are parsed once.

In ``?v > 30`` the number is cut out and another one of its kind, which stands nowhere else, is
parsed in its place. Where that one is found in the meaning, the constants of all such texts have
their place. If it is not found as a term, or more than once, what was cut out may have been part of
a text or of a comment: then each such text is parsed by itself.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from sensorstream.errors import QueryError, TermError
from sensorstream.model.terms import IRI, Literal, iri
from sensorstream.model.xsd import XSD_DECIMAL, XSD_INTEGER
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.walk import children, renewed

Constant: TypeAlias = IRI | Literal
_Places: TypeAlias = "dict[int, _Places | int]"
"""By the number of a child the places below it, or the number of the constant that it is."""
_CONSTANT: Final = re.compile(
    r"(?<=[<>=])(?P<space>[ \t]*)(?:"
    r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,15})?)(?![\w.+-])"
    r"|(?P<text>\"[^\"\\\r\n]{0,99}\")(?![\"@^])"
    r"|(?P<prefix>(?:[A-Za-z][\w-]{0,99})?):(?P<local>[A-Za-z0-9_]{1,99})(?![\w:.%\\-])"
    r")"
)
_SECRET: Final = 10**30 + secrets.randbelow(10**30)
_PREFIX: Final = re.compile(r"\bprefix\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Template:
    query: Query
    places: _Places


class Templates:
    """What has been read, by the text without its constants."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, object], _Template | None] = {}

    def query(
        self,
        text: str,
        prefixes: Mapping[str, str],
        base: object,
        read: Callable[[str], Query],
    ) -> Query:
        """The meaning of a text, which ``read`` finds if no such text is known.

        Raises:
            QueryError: the text is not valid.
        """
        constants: list[Constant] = []
        kinds: list[str] = []

        def cut(match: re.Match[str]) -> str:
            constant = _constant(match, prefixes)
            if constant is None:
                return match.group()
            kind = constant.datatype if isinstance(constant, Literal) else ""
            constants.append(constant)
            kinds.append(kind)
            return f"{match['space']}\x00"

        # With prefixes of its own a name may mean something else.
        plain = "\x00" in text or _PREFIX.search(text)
        without = text if plain else _CONSTANT.sub(cut, text)
        if not constants:
            return read(text)
        key = without, (tuple(kinds), base, tuple(prefixes.items()))
        if key not in self._known:
            self._known[key] = _template(without, kinds, read)
        template = self._known[key]
        if template is None:
            return read(text)
        return _filled(template.query, template.places, constants)


def _constant(match: re.Match[str], prefixes: Mapping[str, str]) -> Constant | None:
    if match["number"]:
        return Literal(match["number"], XSD_DECIMAL if "." in match["number"] else XSD_INTEGER)
    if match["text"]:
        return Literal(match["text"][1:-1])
    try:
        return iri(f"{prefixes[match['prefix']]}{match['local']}")
    except (KeyError, TermError):
        return None


def _template(without: str, kinds: list[str], read: Callable[[str], Query]) -> _Template | None:
    marks: dict[Constant, int] = {}
    written: list[str] = []
    for number, kind in enumerate(kinds):
        mark, text = _mark(number, kind)
        marks[mark] = number
        written.append(text)
    pieces = without.split("\x00")
    text = "".join(piece for pair in zip(pieces, [*written, ""], strict=True) for piece in pair)
    try:
        query = read(text)
    except QueryError:
        # The error has to be told of the text as it is written.
        return None
    found: list[int] = []
    places = _places(query, marks, found)
    return _Template(query, places) if sorted(found) == list(range(len(kinds))) else None


def _mark(number: int, kind: str) -> tuple[Constant, str]:
    """A constant of a kind that no text has, as nobody can know it, and how it is written."""
    if kind == "":
        name = f"urn:{_SECRET}:{number}"
        return IRI(name), f"<{name}>"
    if kind in (XSD_INTEGER, XSD_DECIMAL):
        digits = f"{_SECRET + number}{'.1' if kind == XSD_DECIMAL else ''}"
        return Literal(digits, kind), digits
    return Literal(f"{_SECRET}:{number}"), f'"{_SECRET}:{number}"'


def _places(node: object, marks: Mapping[Constant, int], found: list[int]) -> _Places:
    """Where the constants are below a node; each that is found is noted in ``found``."""
    places: _Places = {}
    for place, child in enumerate(children(node)):
        if isinstance(child, IRI | Literal) and child in marks:
            places[place] = marks[child]
            found.append(marks[child])
        elif below := _places(child, marks, found):
            places[place] = below
    return places


def _filled(node: Query, places: _Places, constants: list[Constant]) -> Query:
    new = list(children(node))
    for place, below in places.items():
        new[place] = (
            constants[below] if isinstance(below, int) else _filled(new[place], below, constants)  # type: ignore[arg-type]
        )
    return renewed(node, new)
