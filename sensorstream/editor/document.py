"""An open file: places in its text, its outline, and what is known around it.

The Language Server Protocol (3.17, "Position") counts lines and columns from 0, and columns in
units of UTF-16; errors count lines and columns from 1, and columns in characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, NamedTuple

from sensorstream.app.control.file_texts import is_query_file, is_rule_set
from sensorstream.editor.cursor import cursor_in_sparql
from sensorstream.editor.samples import read_samples, sample_files
from sensorstream.editor.vocabulary import Vocabulary
from sensorstream.errors import LanguageError, Position
from sensorstream.language.parser import rule_starts, syntax_tree
from sensorstream.language.syntax import RuleFile
from sensorstream.mapping.document import Element
from sensorstream.mapping.functions.definition import Definition

_NAMED: Final = re.compile(r"[ \t]*(mapping|rule)[ \t]+([^\W\d][\w-]*)")
_OF_RULE_SET: Final = re.compile(
    r"(?:^[ \t]*#+[ \t]*([^\s#][^\n]*?)[ \t]*\n(?:[ \t]*#[^\n]*\n)*)?"
    r"^[ \t]*(INSERT)\b(?:(?!\n[ \t]*(?:#|INSERT\b))[\s\S])*",
    re.MULTILINE | re.IGNORECASE,
)
"""A rule ends before the next comment that begins a line, or the next rule."""
_OVER_TIME: Final = re.compile(r"^[ \t]*rule[ \t]+[^\W\d]", re.MULTILINE)
_WORD: Final = re.compile(r'[\w:?$@.%-]*[\w:?$@%-]|"[^"\n]*"|<[^<>\s]*>|\S', re.U)


class Place(NamedTuple):
    """A position of the protocol."""

    line: int
    character: int


class Span(NamedTuple):
    """A piece of a text: the offset of its first character, and the one behind it."""

    start: int
    end: int


class SourceText:
    """A text with its lines."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in re.finditer(r"\n", text))]

    def offset(self, line: int, character: int) -> int:
        """The offset of a position of the protocol; one outside the text is the nearest inside."""
        if line >= len(self._starts):
            return len(self.text)
        written = self._line(max(line, 0))
        units = 0
        for index, each in enumerate(written):
            if units >= character:
                return self._starts[line] + index
            units += _units(each)
        return self._starts[line] + len(written)

    def place(self, offset: int) -> Place:
        """The position of a character in the protocol."""
        line = bisect_right(self._starts, offset) - 1
        return Place(line, sum(map(_units, self.text[self._starts[line] : offset])))

    def offset_of(self, position: Position) -> int:
        """The offset of an error."""
        if position.line > len(self._starts):
            return len(self.text)
        start = self._starts[position.line - 1]
        return min(start + position.column - 1, start + len(self._line(position.line - 1)))

    def word_at(self, offset: int) -> Span:
        """The word that begins at an offset, such as a name or a text in quotes."""
        found = _WORD.match(self.text, offset)
        return Span(offset, found.end() if found else offset)

    def _line(self, line: int) -> str:
        """A line without its end."""
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[line] : end].rstrip("\r\n")


def _units(character: str) -> int:
    return 1 if character <= "\uffff" else 2


@dataclass(frozen=True, slots=True)
class Symbol:
    """A rule: ``whole`` is its text, ``name_at`` its name in it."""

    name: str
    kind: Literal["mapping", "rule"]
    whole: Span
    name_at: Span


def symbols(text: str) -> list[Symbol]:
    """The rules of a file, also those with faults."""
    return _symbols(text, rule_starts(text))


def symbols_over_time(text: str) -> list[Symbol]:
    """The rules over time of a file that have a name."""
    return _symbols(text, [each.start() for each in _OVER_TIME.finditer(text)])


def symbols_of_rule_set(text: str) -> list[Symbol]:
    """The rules of a rule set with the comment directly above each, whose first line is its name.

    The name of one without a comment is empty.
    """
    return [
        Symbol(
            match[1] or "",
            "rule",
            Span(match.start(), match.end()),
            Span(*(match.span(1) if match[1] else match.span(2))),
        )
        for match in _OF_RULE_SET.finditer(text)
    ]


def _symbols(text: str, begins: Iterable[int]) -> list[Symbol]:
    found: list[Symbol] = []
    starts = [*begins, len(text)]
    for start, end in pairwise(starts):
        match = _NAMED.match(text, start)
        assert match is not None
        whole = Span(start, start + len(text[start:end].rstrip()))
        kind: Literal["mapping", "rule"] = "mapping" if match[1] == "mapping" else "rule"
        found.append(Symbol(match[2], kind, whole, Span(*match.span(2))))
    return found


@dataclass(frozen=True)
class OpenDocument:
    """A rule file, a query, rules over time or a rule set as they stand in the editor.

    ``folder`` is that of the settings; ``names`` are those of the deployment's ontology,
    ``functions`` the value functions that rules may call.
    """

    path: Path
    text: str
    folder: Path
    names: Vocabulary = field(default_factory=Vocabulary)
    functions: Mapping[str, Definition] = field(default_factory=dict)

    @property
    def is_query(self) -> bool:
        """Whether it is a query, a rule set, or has rules over time."""
        return is_query_file(self.path) or is_rule_set(self.path)

    @cached_property
    def source(self) -> SourceText:
        return SourceText(self.text)

    @cached_property
    def head(self) -> RuleFile:
        """The declarations of a rule file; if one has a fault, the lines that can be read."""
        end = min(rule_starts(self.text), default=len(self.text))
        try:
            return syntax_tree(self.text[:end], str(self.path))
        except LanguageError:
            pass
        good = ""
        for line in self.text[:end].splitlines(keepends=True):
            try:
                syntax_tree(line)
            except LanguageError:
                good += "\n"
            else:
                good += line
        return syntax_tree(good, str(self.path))

    @cached_property
    def prefixes(self) -> Mapping[str, str]:
        """The declared prefixes, without the colon."""
        if not self.is_query:
            return self.head.prefix_map
        return declared_prefixes(self.text)

    @cached_property
    def samples(self) -> list[Element]:
        """The sample messages."""
        return read_samples(sample_files(self.path, self.text, self.folder))


def declared_prefixes(query: str) -> dict[str, str]:
    """The prefixes that a query declares, as far as it can be read."""
    tokens = cursor_in_sparql(query).tokens
    return {
        name.value[:-1]: iri.value[1:-1]
        for word, name, iri in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if (word.type, name.type, iri.type) == ("_PREFIX", "NAMESPACE", "IRIREF")
    }
