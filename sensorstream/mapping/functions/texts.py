"""Value functions over texts. Each maps one text to zero or more texts.

Regular expressions are RE2's: they take time linear in the text, whatever the expression, so no
message can block the engine. RE2 has no back-references and no look-around.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from sensorstream.errors import LanguageError, Position, TermError
from sensorstream.model.regex import Regex, re2_regex

EachText: TypeAlias = Callable[[str], tuple[str, ...]]

_REFERENCE: Final = re.compile(r"\\(\d|.|\Z)", re.S)


def trim(text: str) -> tuple[str, ...]:
    """Without white space at the ends."""
    return (text.strip(),)


def collapse(text: str) -> tuple[str, ...]:
    """Every run of white space as one space."""
    return (" ".join(text.split()),)


def lower(text: str) -> tuple[str, ...]:
    """In small letters."""
    return (text.lower(),)


def upper(text: str) -> tuple[str, ...]:
    """In capital letters."""
    return (text.upper(),)


def title(text: str) -> tuple[str, ...]:
    """Each word's first letter as a capital, the others small; a word ends at white space."""
    return (" ".join(word[:1].upper() + word[1:].lower() for word in text.split(" ")),)


def replace(written: str, by: str, position: Position) -> EachText:
    r"""Every match replaced; ``\1`` to ``\9`` in ``by`` are the groups, ``\0`` the match.

    Raises:
        LanguageError: not an expression of RE2, or a reference to a missing group.
    """
    expression = _expression(written, position)
    for reference in _REFERENCE.finditer(by):
        mark = reference.group(1)
        if mark != "\\" and not (mark.isdigit() and int(mark) <= expression.groups):
            raise LanguageError(
                rf"unknown reference '\{mark}' in '{by}': expected \0 to "
                rf"\{expression.groups}, or \\ for a backslash",
                position=position,
            )

    def written_out(match: Any) -> str:
        def one(reference: re.Match[str]) -> str:
            mark = reference.group(1)
            return mark if mark == "\\" else match.group(int(mark)) or ""

        return _REFERENCE.sub(one, by)

    return lambda text: (expression.replaced(text, written_out),)


def extract(written: str, position: Position) -> EachText:
    """The first group of the first match, or the whole match if there is no group.

    Raises:
        LanguageError: not an expression of RE2.
    """
    expression = _expression(written, position)
    group = min(1, expression.groups)

    def found(text: str) -> tuple[str, ...]:
        match = expression.search(text)
        return () if match is None else (match.group(group) or "",)

    return found


def match(written: str, position: Position) -> EachText:
    """The text as it is, if all of it matches; else it is invalid.

    Raises:
        LanguageError: not an expression of RE2.
    """
    expression = _expression(written, position)

    def checked(text: str) -> tuple[str, ...]:
        if expression.fullmatch(text) is None:
            raise TermError(f"'{text}' does not match {written}")
        return (text,)

    return checked


def split(separator: str) -> EachText:
    """The pieces between separators, as separate values."""
    return lambda text: tuple(text.split(separator))


def part(number: int, separator: str) -> EachText:
    """The piece of a number, from 1; negative numbers count from the end."""

    def piece(text: str) -> tuple[str, ...]:
        pieces = text.split(separator)
        index = number - 1 if number > 0 else len(pieces) + number
        return (pieces[index],) if 0 <= index < len(pieces) else ()

    return piece


def substring(first: int, last: int | None) -> EachText:
    """The characters from ``first`` to ``last``, both included, counted from 1."""
    return lambda text: (text[first - 1 : last],)


def lookup(table: Mapping[str, str]) -> EachText:
    """The value of a table for the text; nothing if the table lacks the key."""

    def found(text: str) -> tuple[str, ...]:
        value = table.get(text)
        return () if value is None else (value,)

    return found


def _expression(written: str, position: Position) -> Regex:
    try:
        return re2_regex(written)
    except TermError as error:
        raise LanguageError(str(error), position=position) from None
