"""Text to algebra."""

from __future__ import annotations

from functools import cache
from typing import Final, cast

from lark.exceptions import UnexpectedToken, VisitError

from sensorstream.errors import QueryError
from sensorstream.grammars import Grammar
from sensorstream.sparql.algebra import Query, Update
from sensorstream.sparql.building.updates import UpdateBuilder
from sensorstream.sparql.lexer import KEYWORDS, MARKS, Source, SparqlLexer
from sensorstream.sparql.walk import depth


def parse_query(text: str, *, file: str = "query", base: str | None = None) -> Query:
    """The query that a text means.

    ``file`` names the text in errors. Relative IRIs are resolved against BASE, or ``base``;
    without either they are kept as they are written.

    Raises:
        QueryError: at the first token that does not fit (with what was expected there), or
            where a rule beyond the grammar is broken (section 19.8, the notes).
    """
    return cast(Query, _parse(text, "query", file, base))


def parse_update(text: str, *, file: str = "update", base: str | None = None) -> Update:
    """The operations that a text means; see :func:`parse_query`.

    Raises:
        QueryError: as for a query.
    """
    return cast(Update, _parse(text, "update", file, base))


_DEEPEST: Final = 200
"""What works on the algebra recurses: this keeps well inside Python's limit."""


def _parse(text: str, start: str, file: str, base: str | None) -> object:
    source = Source(text, file)
    try:
        tree = _lark().parse(cast(str, source), start=start)
        meaning = UpdateBuilder(source, base).transform(tree)
    except UnexpectedToken as error:
        raise _unexpected(source, error) from None
    except RecursionError:
        raise _too_deep(source) from None
    except VisitError as error:
        if isinstance(error.orig_exc, QueryError):
            raise error.orig_exc from None
        if isinstance(error.orig_exc, RecursionError):
            raise _too_deep(source) from None
        raise
    if depth(meaning) > _DEEPEST:
        raise _too_deep(source)
    return meaning


def _too_deep(source: Source) -> QueryError:
    return QueryError(
        f"the text is nested too deeply: expected at most {_DEEPEST} parts one in the other "
        "(each UNION, || or && of a row counts)",
        position=source.position(0),
    )


GRAMMAR: Final = Grammar(
    "sensorstream.sparql", SparqlLexer, start=("query", "update"), positions=True
)
_lark = cache(GRAMMAR.parser)


_PLAIN: Final = {
    "IRIREF": "an <iri>",
    "PREFIXED": "a name such as ex:name",
    "NAMESPACE": "a prefix such as ex:",
    "VARIABLE": "a ?variable",
    "BLANK": "a blank node",
    "TEXT": 'a "text"',
    "LANGUAGE": "a language such as @en",
    "INTEGER": "a whole number",
    "DECIMAL": "a number",
    "DOUBLE": "a number",
    "SIGNED": "a number with a sign",
    "DURATION": "a duration such as PT10S",
    "FUNCTION": "a function",
    "AGGREGATE": "an aggregate",
    "NAME": "a name",
    "_A": "'a'",
    "$END": "the end of the text",
    **{kind: f"'{mark}'" for mark, kind in MARKS.items()},
    **{kind: word for word, kind in KEYWORDS.items()},
}
_LITERALS: Final = frozenset(("TEXT", "LONG_TEXT", "INTEGER", "DECIMAL", "DOUBLE", "TRUE", "FALSE"))
_NAMES: Final = frozenset(("IRIREF", "PREFIXED", "NAMESPACE"))
# Many kinds of token that begin the same thing are named by that thing; the larger sets first.
_TOGETHER: Final = (
    (
        "an expression",
        _LITERALS
        | _NAMES
        | {"VARIABLE", "SIGNED", "FUNCTION", "AGGREGATE", "COUNT", "_GROUP_CONCAT", "_EXISTS"}
        | {"NOT", "_BANG", "PLUS", "MINUS_SIGN", "_PAREN"},
    ),
    (
        'a term such as ?x, ex:name or "text"',
        _LITERALS | _NAMES | {"VARIABLE", "SIGNED", "BLANK", "_BRACKET", "_PAREN"},
    ),
    ("a value", _LITERALS | _NAMES | {"SIGNED"}),
    ("a function", frozenset(("FUNCTION", "AGGREGATE", "COUNT", "_GROUP_CONCAT", "_EXISTS"))),
    ("a comparison", frozenset(("UNEQUAL", "AT_MOST", "AT_LEAST", "LESS", "MORE", "EQUAL"))),
    ("an operator", frozenset(("PLUS", "MINUS_SIGN", "STAR", "SLASH"))),
    ("a verb", _NAMES | {"_A", "CARET", "_BANG", "_PAREN", "VARIABLE"}),
    ("an IRI", _NAMES),
    ("a text", frozenset(("TEXT", "LONG_TEXT"))),
    ("a number", frozenset(("INTEGER", "DECIMAL", "DOUBLE"))),
)


def _unexpected(source: Source, error: UnexpectedToken) -> QueryError:
    expected = _expectation(set(error.accepts or error.expected))
    token = error.token
    if token.type == "$END":
        end = len(source.text.rstrip())
        return QueryError(f"the text ends here: expected {expected}", position=source.position(end))
    shown = token.value if len(token.value) <= 40 else f"{token.value[:40]}…"
    return QueryError(
        f"unexpected '{shown}': expected {expected}",
        position=source.position(token.start_pos or 0),
    )


def _expectation(kinds: set[str]) -> str:
    said: list[str] = []
    for name, together in _TOGETHER:
        if together <= kinds:
            said.append(name)
            kinds = kinds - together
    # Words first, then marks, then the end: the order people read best.
    end = _PLAIN["$END"]
    words = sorted(
        {_PLAIN[kind] for kind in kinds - {"LONG_TEXT"}},
        key=lambda word: (word == end, word[0] == "'", word),
    )
    said += words
    return " or ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)
