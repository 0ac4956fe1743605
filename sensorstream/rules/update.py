"""SPARQL Update in a rule: split into operations that delete and insert triples.

Source: SPARQL 1.1 Update, sections 3.1.1-3.1.3. Graph management and loading are left out: a
rule changes the window graph, and calls nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from sensorstream.errors import LanguageError
from sensorstream.rules.conditions import Query
from sensorstream.rules.patterns import Pattern, triple_patterns, variables_of
from sensorstream.rules.queries import pattern_query
from sensorstream.rules.sparql_text import SparqlText, Token

_EXPECTED: Final = "expected INSERT or DELETE"
_REFUSED: Final = frozenset(
    ("LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH", "USING", "BASE")
)


@dataclass(frozen=True, slots=True)
class Operation:
    """Delete, then insert, for each solution of ``where`` (None: once)."""

    where: Query | None
    deletes: tuple[Pattern, ...]
    inserts: tuple[Pattern, ...]


def operations(source: SparqlText, given: Iterable[str]) -> tuple[Operation, ...]:
    """The operations of an update; ``given`` are the variables with a value from outside.

    Raises:
        LanguageError: not SPARQL Update, or a part of it that rules cannot use.
    """
    return _Reader(source, frozenset(given)).read()


def deletion(source: SparqlText, given: Iterable[str]) -> Operation:
    """``delete { pattern }``: delete each triple that matches, as DELETE WHERE does.

    Raises:
        LanguageError: the pattern is no set of triples.
    """
    braced = replace(source, text=f"{{{source.text}}}")
    patterns = triple_patterns(source, 0, len(source.text))
    names = variables_of(patterns)
    query = pattern_query(braced, 0, len(braced.text), given, names)
    return Operation(query, patterns, ())


class _Reader:
    """Recursive descent over the tokens; Oxigraph reads what stands between the braces."""

    def __init__(self, source: SparqlText, given: frozenset[str]) -> None:
        self._source = source
        self._given = given
        self._tokens = list(source.tokens())
        self._next = 0

    def read(self) -> tuple[Operation, ...]:
        found: list[Operation] = []
        while True:
            self._prologue()
            if self._peek() is None and found:
                return tuple(found)
            found.append(self._operation())
            if self._peek() is None:
                return tuple(found)
            self._expect(";", "expected ';' or the end")

    def _prologue(self) -> None:
        while self._word() == "PREFIX":
            self._next += 1
            name, value = self._take("expected a prefix"), self._take("expected an IRI")
            if name.kind != "name" or value.kind != "quoted" or value.text[:1] != "<":
                raise self._source.error(name.start, "expected 'PREFIX name: <iri>'")
            known = {**self._source.prefixes, name.text.rstrip(":"): value.text[1:-1]}
            self._source = replace(self._source, prefixes=known)

    def _operation(self) -> Operation:
        word = self._word()
        if word in _REFUSED:
            raise self._error(f"{word} has no place in a rule: {_EXPECTED}")
        if word not in ("INSERT", "DELETE"):
            raise self._error(_EXPECTED)
        self._next += 1
        follow = self._word()
        if follow == "DATA":
            return self._data(insert=word == "INSERT")
        if word == "DELETE" and follow == "WHERE":
            self._next += 1
            start, end = self._group()
            patterns = triple_patterns(self._source, start + 1, end - 1)
            where = self._where(start, end, patterns)
            return Operation(where, patterns, ())
        deletes: tuple[Pattern, ...] = ()
        inserts: tuple[Pattern, ...] = ()
        if word == "DELETE":
            deletes = self._template()
            if self._word() == "INSERT":
                self._next += 1
                inserts = self._template()
        else:
            inserts = self._template()
        if self._word() in _REFUSED:
            raise self._error(f"{self._word()} has no place in a rule: expected WHERE")
        if self._word() != "WHERE":
            raise self._error("expected WHERE")
        self._next += 1
        start, end = self._group()
        return Operation(self._where(start, end, (*deletes, *inserts)), deletes, inserts)

    def _data(self, *, insert: bool) -> Operation:
        self._next += 1
        offset = self._tokens[self._next - 1].start
        patterns = self._template()
        unbound = sorted(variables_of(patterns) - self._given)
        if unbound:
            raise self._source.error(offset, f"?{unbound[0]} has no value: expected a WHERE")
        return Operation(None, () if insert else patterns, patterns if insert else ())

    def _where(self, start: int, end: int, patterns: tuple[Pattern, ...]) -> Query:
        return pattern_query(self._source, start, end, self._given, variables_of(patterns))

    def _template(self) -> tuple[Pattern, ...]:
        start, end = self._group()
        return triple_patterns(self._source, start + 1, end - 1)

    def _group(self) -> tuple[int, int]:
        """The offsets of a brace and behind its partner."""
        start = self._expect("{", "expected '{'").start
        depth = 1
        while depth:
            token = self._take("expected '}'")
            depth += {"{": 1, "}": -1}.get(token.text, 0) if token.kind == "mark" else 0
        return start, token.end

    def _peek(self) -> Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _word(self) -> str:
        token = self._peek()
        return token.text.upper() if token is not None and token.kind == "word" else ""

    def _take(self, expected: str) -> Token:
        token = self._peek()
        if token is None:
            raise self._error(expected)
        self._next += 1
        return token

    def _expect(self, mark: str, expected: str) -> Token:
        token = self._peek()
        if token is None or token.text != mark:
            raise self._error(expected)
        self._next += 1
        return token

    def _error(self, expected: str) -> LanguageError:
        token = self._peek()
        if token is None:
            return self._source.error(len(self._source.text), f"the update ends here: {expected}")
        return self._source.error(token.start, f"unexpected '{token.text}': {expected}")
