"""The value functions over texts, as rules call them."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Final

from sensorstream.errors import LanguageError
from sensorstream.language.syntax import Argument, Call
from sensorstream.mapping.functions import texts
from sensorstream.mapping.functions.definition import Definition, Function, Library, ValueKind
from sensorstream.mapping.functions.lift import may, needs, on_all, on_texts, whole


def _replace(call: Call, _: Library) -> Function:
    expression, _by, by = call.arguments
    return on_texts(call, texts.replace(expression.text, by.text, expression.position))


def _extract(call: Call, _: Library) -> Function:
    (expression,) = call.arguments
    return on_texts(call, texts.extract(expression.text, expression.position))


def _match(call: Call, _: Library) -> Function:
    (expression,) = call.arguments
    return on_texts(call, texts.match(expression.text, expression.position))


def _split(call: Call, _: Library) -> Function:
    return on_texts(call, texts.split(_separator(call.arguments[0])))


def _join(call: Call, _: Library) -> Function:
    (separator,) = call.arguments
    return on_all(
        call,
        ValueKind,
        ValueKind.ANY,
        lambda values: [separator.text.join(values)] if values else [],
    )


def _part(call: Call, _: Library) -> Function:
    number, _of, separator = call.arguments
    return on_texts(call, texts.part(whole(number, zero=False), _separator(separator)))


def _substring(call: Call, _: Library) -> Function:
    first, *rest = call.arguments
    last = whole(rest[1], zero=False) if rest else None
    start = whole(first, zero=False)
    if start < 1 or (last is not None and last < start):
        raise LanguageError(
            "the characters are counted from 1: expected FIRST to LAST in that order",
            position=first.position,
        )
    return on_texts(call, texts.substring(start, last))


def _lookup(call: Call, library: Library) -> Function:
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
    return on_texts(call, texts.lookup(table))


def _default(call: Call, _: Library) -> Function:
    (given,) = call.arguments
    return Function(frozenset(ValueKind), ValueKind.ANY, lambda values: values or [given.text])


def _separator(argument: Argument) -> str:
    if not argument.text:
        raise LanguageError("the separator is empty", position=argument.position)
    return argument.text


def _plain(name: str, meaning: str, one: texts.EachText) -> Definition:
    return Definition(name, name, meaning, "", (), lambda call, _: on_texts(call, one))


def _of_one_text(
    name: str, parameter: str, meaning: str, compiled: Callable[[Call, Library], Function]
) -> Definition:
    usage = f'{name} "{parameter.upper()}"'
    return Definition(name, usage, meaning, '"', (needs(parameter, "text"),), compiled)


TEXT_CALLS: Final = (
    _plain("trim", "without white space at the ends", texts.trim),
    _plain("collapse", "with one space for every run of white space", texts.collapse),
    _plain("lower", "in small letters", texts.lower),
    _plain("upper", "in capital letters", texts.upper),
    _plain("title", "with a capital letter at the start of each word", texts.title),
    Definition(
        "replace",
        'replace "EXPRESSION" by "TEXT"',
        "every match of a regular expression replaced",
        '" by "',
        (needs("expression", "text"), needs("replacement", "text", "by")),
        _replace,
    ),
    _of_one_text("extract", "expression", "the first match, or its first group", _extract),
    _of_one_text("match", "expression", "the value itself, if all of it matches", _match),
    _of_one_text("split", "separator", "the pieces, as separate values", _split),
    _of_one_text("join", "separator", "all values as one", _join),
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
