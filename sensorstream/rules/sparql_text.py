"""SPARQL inside a rule file: its pieces, its variables, and where in the file they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyoxigraph as ox

from sensorstream.errors import LanguageError, Position, QueryError
from sensorstream.kb.query_text import refuse_service, syntax_error
from sensorstream.language import syntax

_TOKEN: Final = re.compile(
    r'(?P<quoted>"""(?:\\.|"{1,2}(?!")|[^"\\])*"""'
    r"|'''(?:\\.|'{1,2}(?!')|[^'\\])*'''"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'"
    r'|<[^<>"{}|^`\\\s]*>)'
    r"|(?P<comment>\#[^\n\r]*)"
    r"|[?$](?P<variable>\w+)"
    r"|(?P<name>[\w.-]*:[\w.:%\\-]*)"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<mark>\S)",
    re.S,
)


@dataclass(frozen=True, slots=True)
class Token:
    """``kind`` is quoted, variable (without its mark), name, word or mark."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SparqlText:
    """A block of SPARQL and the prefixes that its file declares."""

    text: str
    position: Position
    prefixes: Mapping[str, str]

    @classmethod
    def of(cls, node: syntax.Sparql, file: syntax.RuleFile) -> SparqlText:
        """The block with the prefixes of its file."""
        return cls(node.text, node.position, file.prefix_map)

    def place(self, offset: int) -> Position:
        """Where a character of the block stands in the file."""
        before = self.text[:offset]
        line = before.count("\n")
        column = offset - before.rfind("\n") if line else self.position.column + offset
        return Position(self.position.file, self.position.line + line, column)

    def error(self, offset: int, message: str) -> LanguageError:
        """What is wrong with a character of the block."""
        return LanguageError(message, position=self.place(offset))

    def tokens(self, start: int = 0, end: int | None = None) -> Iterator[Token]:
        """The tokens of a part, without comments."""
        for match in _TOKEN.finditer(self.text, start, len(self.text) if end is None else end):
            kind = match.lastgroup
            if kind is not None and kind != "comment":
                yield Token(kind, match.group(kind), match.start(), match.end())

    def variables(self, start: int = 0, end: int | None = None) -> frozenset[str]:
        """The names of the variables in a part."""
        return frozenset(t.text for t in self.tokens(start, end) if t.kind == "variable")

    def answer(
        self, head: str, start: int, end: int, tail: str
    ) -> ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples:
        """Let Oxigraph read and answer ``head + part + tail`` where there are no data.

        Raises:
            LanguageError: the text is not SPARQL, or calls a service or an unknown function.
        """
        text = f"{head}{self.text[start:end]}{tail}"
        try:
            refuse_service(text)
            return ox.Store().query(text, prefixes=dict(self.prefixes))
        except SyntaxError as error:
            offset, message = syntax_error(text, error)
            inside = min(max(offset - len(head), 0), end - start)
            raise self.error(start + inside, message) from None
        except QueryError as error:
            raise self.error(start, error.message) from None
        except (ValueError, RuntimeError, OSError) as error:
            raise self.error(start, str(error)) from None
