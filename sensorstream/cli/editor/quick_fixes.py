"""Changes of a text that mend a fault in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from sensorstream.cli.editor.completion import COMMON_PREFIXES
from sensorstream.cli.editor.open_document import OpenDocument, Span
from sensorstream.model.frozen import frozen

_MEANT: Final = re.compile(r"did you mean '?([^\s?(']+)'?(?:\(\))?\?")
_UNDECLARED: Final = re.compile(
    r"(?:(?:undeclared|unknown) prefix|the prefix of) '([\w.-]*):[^']*'"
)
_NO_NAMESPACE: Final = re.compile(r"undeclared XML namespace prefix '([^']*)'")
_QUOTED: Final = re.compile(r"'([^'\"\n]*)'")
_DECLARATION: Final = re.compile(r"^[ \t]*(?:prefix|xmlns)\b", re.MULTILINE | re.IGNORECASE)


@frozen
class QuickFix:
    """A change of the text that mends a fault, and what an editor says it does."""

    title: str
    span: Span
    text: str


def quick_fixes(
    document: OpenDocument, message: str, word: Span, others: Iterable[OpenDocument]
) -> Iterator[QuickFix]:
    """The changes that may mend a fault or note with this message at a word.

    Prefixes that no table knows are taken from the ``others``, files of the same deployment.
    """
    text = document.text
    if meant := _MEANT.search(message):
        quote = text[word.start] if text[word.start : word.start + 1] in ('"', "'") else ""
        yield QuickFix(f"Change to {meant[1]}", word, f"{quote}{meant[1]}{quote}")
    elif (found := _UNDECLARED.search(message)) is not None:
        known = [COMMON_PREFIXES, *(each.prefixes for each in others)]
        for iri in dict.fromkeys(each[found[1]] for each in known if found[1] in each):
            keyword = "PREFIX" if document.is_query else "prefix"
            yield _declared(text, f"{keyword} {found[1]}: <{iri}>")
    elif (found := _NO_NAMESPACE.search(message)) is not None:
        spaces = {
            uri
            for root in document.samples
            for each in root.iter("*")
            for uri in each.nsmap.values()
        }
        for uri in sorted(spaces):
            yield _declared(text, f'xmlns {found[1]} = "{uri}"')
    elif "write names with double quotes" in message and (
        quoted := _QUOTED.match(text, word.start)
    ):
        yield QuickFix("Write it with double quotes", Span(*quoted.span()), f'"{quoted[1]}"')


def _declared(text: str, line: str) -> QuickFix:
    first = _DECLARATION.search(text)
    at = first.start() if first else 0
    return QuickFix(f"Declare {line}", Span(at, at), f"{line}\n")
