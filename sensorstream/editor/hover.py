"""What is known about the word at a place, and where it is declared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from sensorstream.app.control.file_texts import is_rule_set
from sensorstream.editor.cursor import Cursor, Inside, cursor_in_rules, cursor_in_sparql
from sensorstream.editor.document import OpenDocument, Span, symbols_of_rule_set
from sensorstream.editor.samples import last_path, scope_of, shown_values
from sensorstream.language.hole import split
from sensorstream.model.terms import IRI

_REST_OF_WORD: Final = re.compile(r"(?:[\w:%-]|\.(?=\w))*")
_START_OF_WORD: Final = re.compile(r"[@?$]?(?:[\w:%-]|\.(?=\w))*\Z")
_FUNCTION: Final = re.compile(r"\s*([\w-]+|[-+*/])")


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown about the word of ``span``."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class _Word:
    """The word around a place, and what stands before its end."""

    span: Span
    text: str
    cursor: Cursor


def hover(document: OpenDocument, offset: int) -> Hover | None:
    """What is known about the word at a place; None if that is nothing."""
    word = _word(document, offset)
    if word is None:
        return None
    match word.cursor.inside:
        case Inside.HOLE:
            text = _in_hole(document, word)
        case Inside.SPARQL:
            query = cursor_in_sparql(word.cursor.inner)
            text = _of_name(document, query.word, document.prefixes)
            if text is None and is_rule_set(document.path):
                text = _of_rule(document, word.span.start)
        case _:
            text = _of_name(document, word.cursor.word, document.prefixes)
    return None if text is None else Hover(text, word.span)


def definition(document: OpenDocument, offset: int) -> Span | None:
    """Where a prefix, a table or a variable of the word at a place is declared in the file."""
    word = _word(document, offset)
    if word is None or document.is_query:
        return None
    for name, place in _declarations(document, word):
        if name == word.text or name == word.text.partition(":")[0] + ":":
            return place
    return None


def _declarations(document: OpenDocument, word: _Word) -> Iterator[tuple[str, Span]]:
    for token in word.cursor.tokens:
        if token.type == "NODE_VARIABLE" or (
            token.type == "VARIABLE" and word.text.startswith("?")
        ):
            start = token.start_pos or 0
            yield token.value, Span(start, start + len(token.value))
    head = document.head
    declared = (
        *((f"{prefix.name}:", prefix.position) for prefix in head.prefixes),
        *((table.name, table.position) for table in head.tables),
        *((f"{space.name}:", space.position) for space in head.xml_namespaces),
    )
    for name, position in declared:
        start = document.source.offset_of(position)
        yield name, Span(start, start + len(name))


def _word(document: OpenDocument, offset: int) -> _Word | None:
    rest = _REST_OF_WORD.match(document.text, offset)
    assert rest is not None
    end = rest.end()
    before = _START_OF_WORD.search(document.text, max(0, offset - 200), end)
    if before is None or before.start() == end:
        return None
    span = Span(before.start(), end)
    if document.is_query:
        cursor = Cursor(Inside.SPARQL, (), 0, inner=document.text[:end])
    else:
        cursor = cursor_in_rules(document.text, end)
    return _Word(span, document.text[span.start : span.end], cursor)


def _of_name(document: OpenDocument, word: str, prefixes: Mapping[str, str]) -> str | None:
    prefix, colon, local = word.partition(":")
    if not colon or prefix not in prefixes:
        return None
    described = document.names.description(IRI(prefixes[prefix] + local), prefixes)
    return described or f"`{prefix}:` is <{prefixes[prefix]}>"


def _of_rule(document: OpenDocument, offset: int) -> str | None:
    """The name of the rule around a place, and what its comment says."""
    for rule in symbols_of_rule_set(document.text):
        if rule.whole.start <= offset < rule.whole.end and rule.name:
            lines = document.text[rule.name_at.end : offset].split("\n")[1:]
            comment = takewhile(lambda line: line.lstrip().startswith("#"), lines)
            remarks = "\n".join(line.lstrip().lstrip("#").strip() for line in comment)
            return f"rule `{rule.name}`\n\n{remarks}".strip()
    return None


def _in_hole(document: OpenDocument, word: _Word) -> str | None:
    expression, *calls = split(word.cursor.inner)
    if not calls:
        return _of_path(document, word, expression.text)
    called = _FUNCTION.match(calls[-1].text)
    if called is None:
        return None
    if word.text == called.group(1):
        if word.text not in document.functions:
            return None
        function = document.functions[word.text]
        return f"```\n{function.usage}\n```\n{function.meaning}".strip()
    if called.group(1) == "lookup":
        for table in document.head.tables:
            if table.name == word.text:
                return f"table `{table.path}`: from `{table.key}` to `{table.value}`"
    return None


def _of_path(document: OpenDocument, word: _Word, expression: str) -> str | None:
    path = last_path(expression)
    if path is None or not path.step or not document.samples:
        return None
    outside = scope_of(word.cursor.tokens, document.samples, document.head)
    written = path.base + path.step
    found = path.scope(outside).find(written)
    if not found:
        return f"`{written}` finds nothing in the sample messages"
    values = "".join(f"\n- `{value}`" for value in shown_values(found))
    return f"`{written}` finds {len(found)} in the sample messages, such as\n{values}"
