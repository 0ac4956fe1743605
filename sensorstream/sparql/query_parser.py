"""Parsing: from text to algebra."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

from lark import Token
from lark.exceptions import UnexpectedToken

from sensorstream.errors import Position, QueryError
from sensorstream.grammars import Grammar, one_of, unexpected
from sensorstream.model.frozen import frozen, replace
from sensorstream.sparql.algebra import Query, Update
from sensorstream.sparql.building.query_builder import QueryBuilder
from sensorstream.sparql.building.term_builder import NO_PREFIXES
from sensorstream.sparql.query_lexer import (
    DEEPEST,
    KEYWORDS,
    MARKS,
    QueryText,
    SparqlLexer,
    check_tokens,
    too_deep,
)
from sensorstream.sparql.text_bounds import check_bounds, check_length
from sensorstream.sparql.text_places import Places
from sensorstream.sparql.walk import depth

_Meaning = TypeVar("_Meaning", Query, Update)


@frozen
class Parsed(Generic[_Meaning]):
    """The meaning of a text, and the places of its parts."""

    meaning: _Meaning
    places: Places
    prefixes: Mapping[str, str]
    """The prefixes without the colon, those of the file included."""

    @property
    def start(self) -> Position:
        """The place where the text begins."""
        return self.places.start

    def position(self, part: object) -> Position:
        """The place where a term, variable, path or filter was first written, or of a clause.

        For other parts, and parts that are not in the text: the start of the text.
        """
        return self.places.first.get(part) or self.operation(part, self.start)

    def operation(self, node: object, otherwise: Position) -> Position:
        """The place of an operator or the name of a function."""
        return self.places.each.get(id(node), (node, otherwise))[1]


def parse_query(text: str, *, file: str = "query", base: str | None = None) -> Query:
    """The query that a text means.

    ``file`` names the text in errors. Relative IRIs are resolved against BASE, or ``base``;
    without either they are kept as they are written.

    Raises:
        QueryError: at the first token that does not fit (with what was expected there), where a
            rule beyond the grammar is broken (section 19.8, the notes), or where more than 200
            parts are nested; at the start where it is too long or wide (:mod:`.text_bounds`).
    """
    return read_query(text, start=Position(file, 1, 1), base=base).meaning


def parse_update(text: str, *, file: str = "update", base: str | None = None) -> Update:
    """The operations of a text; parameters and errors are those of :func:`parse_query`."""
    return read_update(text, start=Position(file, 1, 1), base=base).meaning


def read_query(
    text: str,
    *,
    start: Position,
    prefixes: Mapping[str, str] = NO_PREFIXES,
    base: str | None = None,
    most_tokens: int | None = None,
) -> Parsed[Query]:
    """A query that may stand inside a file, with the places of its parts.

    ``start`` is the place of the text's first character. ``prefixes`` (without the colon) need no
    declaration. Raises QueryError as :func:`parse_query` does, also above ``most_tokens``.
    """
    source = _source(text, start)
    if most_tokens is not None:
        check_tokens(source, most_tokens)
    parsed: Parsed[Query] = _read(source, "query", QueryBuilder(source, base, prefixes))
    return replace(parsed, meaning=replace(parsed.meaning, places=parsed.places))


def read_update(
    text: str,
    *,
    start: Position,
    prefixes: Mapping[str, str] = NO_PREFIXES,
    base: str | None = None,
    given: Collection[str] | None = None,
) -> Parsed[Update]:
    """An update that may stand inside a file; see :func:`read_query`.

    Variables of the names ``given`` have a value from outside, as in a rule: they may stand in
    INSERT DATA and DELETE DATA. Raises QueryError as :func:`parse_query` does.
    """
    source = _source(text, start)
    return _read(source, "update", QueryBuilder(source, base, prefixes, given))


def read_deletion(
    text: str,
    *,
    start: Position,
    prefixes: Mapping[str, str] = NO_PREFIXES,
    base: str | None = None,
) -> Parsed[Update]:
    """The update ``DELETE WHERE { text }``; see :func:`read_update`."""
    source = _source(text, start)
    return _read(source, "deletion", QueryBuilder(source, base, prefixes))


def read_rule_set(text: str, *, start: Position) -> Parsed[Update]:
    """The updates of a rule set, in which EACH may stand; see :func:`read_update`.

    The width of the whole is not bounded, only its length; the caller bounds each update.
    """
    source = _source(text, start)
    builder = QueryBuilder(source, None)
    builder.of_rules = True
    return _read(source, "update", builder, bounded=False)


def _read(
    source: QueryText, grammar: str, builder: QueryBuilder, *, bounded: bool = True
) -> Parsed[Any]:
    start = source.position(0)
    try:
        meaning = GRAMMAR.read(source, builder, grammar)
    except UnexpectedToken as error:
        raise _unexpected(source, error, builder.of_rules) from None
    except RecursionError:
        raise too_deep(start) from None
    if depth(meaning) > DEEPEST:
        raise too_deep(start)
    if bounded:
        check_bounds(meaning, start)
    places = Places(start, builder.places(), builder.operations())
    return Parsed(meaning, places, builder.declared())


def _source(text: str, start: Position) -> QueryText:
    check_length(text, start)
    return QueryText(text, start)


def expected_after(before: Iterable[Token], start: str) -> frozenset[str]:
    """The kinds of token that may follow the first tokens of a text; none if these do not fit.

    ``start`` is ``query``, ``update``, ``deletion``, or ``rules`` for a rule set.
    """
    of_rules = start == "rules"
    accepted = GRAMMAR.expected_after(before, "update" if of_rules else start)
    return accepted if of_rules else accepted - _OF_RULES


GRAMMAR: Final = Grammar(
    "sensorstream.sparql", SparqlLexer, start=("query", "update", "deletion"), positions=True
)


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
    "NOW": "NOW",
    "_A": "'a'",
    "$END": "the end of the text",
    **{kind: f"'{mark}'" for mark, kind in MARKS.items()},
    **{kind: word for word, kind in KEYWORDS.items()},
}
_LITERALS: Final = frozenset(("TEXT", "LONG_TEXT", "INTEGER", "DECIMAL", "DOUBLE", "TRUE", "FALSE"))
_NAMES: Final = frozenset(("IRIREF", "PREFIXED", "NAMESPACE"))
_INSTEAD: Final = {
    "AGGREGATE": "instead of AGGREGATE { (?n, COUNT, { ?x }) FILTER (?n > 1) } write in WHERE "
    "{ SELECT ?x (COUNT(*) AS ?n) WHERE { … } GROUP BY ?x HAVING (COUNT(*) > 1) }, beside the "
    "pattern itself if its other variables are asked for",
    "COMPUTE": "write COMPUTED EVERY 5m",
}
"""Words of other languages, and the words to write for them."""
_OF_RULES: Final = frozenset(("_EACH",))
"""Tokens of rule sets only: they are not expected elsewhere."""
# Token kinds that begin the same construct have the name of that construct; larger sets first.
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


def _unexpected(source: QueryText, error: UnexpectedToken, of_rules: bool) -> QueryError:
    accepted = set(error.accepts or error.expected)
    expected = _expectation(accepted if of_rules else accepted - _OF_RULES)
    hint = _INSTEAD.get(error.token.value.upper()) or f"expected {expected}"
    message, position = unexpected(source, error, "the text", hint)
    return QueryError(message, position=position)


def _expectation(kinds: set[str]) -> str:
    names: list[str] = []
    for name, together in _TOGETHER:
        if together <= kinds:
            names.append(name)
            kinds = kinds - together
    # Words first, then marks, then the end: the most readable order.
    end = _PLAIN["$END"]
    words = sorted(
        {_PLAIN[kind] for kind in kinds - {"LONG_TEXT"}},
        key=lambda word: (word == end, word[0] == "'", word),
    )
    names += words
    return one_of(names)
