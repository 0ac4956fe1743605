"""Value functions over texts. Each maps one text to zero or more texts.

Regular expressions are RE2's: they take time linear in the text, whatever the expression, so no
message can block the engine. RE2 has no back-references and no look-around.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Final

from sensorstream.errors import LanguageError, TermError
from sensorstream.language.syntax import Argument, ValueCall
from sensorstream.mapping.functions.function_definition import (
    Definition,
    Function,
    Library,
    ValueKind,
    may,
    needs,
    whole,
)
from sensorstream.model.regex import Regex, re2_regex

_REFERENCE: Final = re.compile(r"\\(\d|.|\Z)", re.S)


def _title(text: str) -> str:
    """Each word's first letter as a capital, the others small; a word ends at white space."""
    return " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" "))


def _replace(call: ValueCall, _: Library) -> Function:
    r"""``\1`` to ``\9`` in the new text are the groups, ``\0`` is the match."""
    written, _by, new = call.arguments
    expression, by = _expression(written), new.text
    for reference in _REFERENCE.finditer(by):
        mark = reference.group(1)
        if mark != "\\" and not (mark.isdigit() and int(mark) <= expression.groups):
            raise LanguageError(
                rf"unknown reference '\{mark}' in '{by}': expected \0 to "
                rf"\{expression.groups}, or \\ for a backslash",
                position=written.position,
            )

    def written_out(match: Any) -> str:
        def one(reference: re.Match[str]) -> str:
            mark = reference.group(1)
            return mark if mark == "\\" else match.group(int(mark)) or ""

        return _REFERENCE.sub(one, by)

    return Function.on_texts(call, lambda text: (expression.replaced(text, written_out),))


def _extract(call: ValueCall, _: Library) -> Function:
    expression = _expression(call.arguments[0])
    group = min(1, expression.groups)

    def found(text: str) -> tuple[str, ...]:
        match = expression.search(text)
        return () if match is None else (match.group(group) or "",)

    return Function.on_texts(call, found)


def _match(call: ValueCall, _: Library) -> Function:
    (written,) = call.arguments
    expression = _expression(written)

    def checked(text: str) -> tuple[str, ...]:
        if expression.fullmatch(text) is None:
            raise TermError(f"'{text}' does not match {written.text}")
        return (text,)

    return Function.on_texts(call, checked)


def _split(call: ValueCall, _: Library) -> Function:
    separator = _separator(call.arguments[0])
    return Function.on_texts(call, lambda text: tuple(text.split(separator)))


def _join(call: ValueCall, _: Library) -> Function:
    (separator,) = call.arguments
    return Function.on_all(
        call,
        ValueKind,
        ValueKind.ANY,
        lambda values: [separator.text.join(values)] if values else [],
    )


def _part(call: ValueCall, _: Library) -> Function:
    number, _of, between = call.arguments
    place, separator = whole(number, zero=False), _separator(between)

    def piece(text: str) -> tuple[str, ...]:
        pieces = text.split(separator)
        index = place - 1 if place > 0 else len(pieces) + place
        return (pieces[index],) if 0 <= index < len(pieces) else ()

    return Function.on_texts(call, piece)


def _substring(call: ValueCall, _: Library) -> Function:
    first, *rest = call.arguments
    last = whole(rest[1], zero=False) if rest else None
    start = whole(first, zero=False)
    if start < 1 or (last is not None and last < start):
        raise LanguageError(
            "the characters are counted from 1: expected FIRST to LAST in that order",
            position=first.position,
        )
    return Function.on_texts(call, lambda text: (text[start - 1 : last],))


def _lookup(call: ValueCall, library: Library) -> Function:
    (name,) = call.arguments
    table = library.tables.get(name.text)
    if table is None:
        close = get_close_matches(name.text, library.tables, n=1)
        hint = (
            f"did you mean {close[0]}?"
            if close
            else f"expected 'table {name.text} from \"file.csv\" …' at the head of the file"
        )
        raise LanguageError(f"unknown table '{name.text}': {hint}", position=name.position)

    def found(text: str) -> tuple[str, ...]:
        value = table.get(text)
        return () if value is None else (value,)

    return Function.on_texts(call, found)


def _default(call: ValueCall, _: Library) -> Function:
    (given,) = call.arguments
    return Function(frozenset(ValueKind), ValueKind.ANY, lambda values: values or [given.text])


def _expression(argument: Argument) -> Regex:
    try:
        return re2_regex(argument.text)
    except TermError as error:
        raise LanguageError(str(error), position=argument.position) from None


def _separator(argument: Argument) -> str:
    if not argument.text:
        raise LanguageError("the separator is empty", position=argument.position)
    return argument.text


def _plain(name: str, meaning: str, one: Callable[[str], str]) -> Definition:
    def compiled(call: ValueCall, _: Library) -> Function:
        return Function.on_texts(call, lambda text: (one(text),))

    return Definition(name, name, meaning, "", (), compiled)


def _of_one_text(
    name: str, parameter: str, meaning: str, compiled: Callable[[ValueCall, Library], Function]
) -> Definition:
    usage = f'{name} "{parameter.upper()}"'
    return Definition(name, usage, meaning, '"', (needs(parameter, "text"),), compiled)


TEXT_CALLS: Final = (
    _plain("trim", "without white space at the ends", str.strip),
    _plain(
        "collapse",
        "with one space for every run of white space",
        lambda text: " ".join(text.split()),
    ),
    _plain("lower", "in small letters", str.lower),
    _plain("upper", "in capital letters", str.upper),
    _plain("title", "with a capital letter at the start of each word", _title),
    Definition(
        "replace",
        'replace "EXPRESSION" by "TEXT"',
        r"every match of a regular expression replaced; \1 is a group, \0 the match",
        '" by "',
        (needs("expression", "text"), needs("replacement", "text", "by")),
        _replace,
    ),
    _of_one_text("extract", "expression", "the first match, or its first group; or none", _extract),
    _of_one_text("match", "expression", "the value, if all of it matches; else invalid", _match),
    _of_one_text("split", "separator", "the pieces, as separate values", _split),
    _of_one_text("join", "separator", "all values as one, in the order found", _join),
    Definition(
        "part",
        'part NUMBER of "SEPARATOR"',
        "one piece, counted from 1, or from the end",
        '0 of "',
        (needs("number", "number"), needs("separator", "text", "of")),
        _part,
    ),
    Definition(
        "substring",
        "substring FIRST or substring FIRST to LAST",
        "the characters from there, to there, counted from 1",
        "0(?: to 0)?",
        (needs("first", "number"), may("last", "number", "to")),
        _substring,
    ),
    Definition(
        "lookup",
        "lookup TABLE",
        "the value in a table; missing if the table lacks the key",
        r"[^\W\d][\w-]*",
        (needs("table", "word"),),
        _lookup,
    ),
    Definition(
        "default",
        'default "TEXT" or default NUMBER',
        "the text if there is no value",
        '"|0',
        (needs("text", "text"),),
        _default,
    ),
)
