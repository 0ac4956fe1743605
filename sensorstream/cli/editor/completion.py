"""Completions at a place of a file, help on the word there, and the place of its declaration."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import takewhile
from typing import Final

from lark import Token
from lsprotocol.types import CompletionItemKind

from sensorstream.app.control.file_texts import is_over_time, is_rule_set
from sensorstream.cli.editor.call_help import call_in_sparql
from sensorstream.cli.editor.open_document import (
    Inside,
    OpenDocument,
    Span,
    TextCursor,
    cursor_in_rules,
    cursor_in_sparql,
    symbols_of_rule_set,
)
from sensorstream.cli.editor.sample_messages import last_path, next_steps, scope_of, shown_values
from sensorstream.cli.editor.shown_names import Kind
from sensorstream.language.ontology_names import XSD_TYPES
from sensorstream.language.rule_lexer import KEYWORDS
from sensorstream.language.rule_parser import GRAMMAR as RULES
from sensorstream.language.value_holes import split
from sensorstream.mapping.functions.number_functions import unit_names
from sensorstream.mapping.xpath import FUNCTIONS as XPATH_FUNCTIONS
from sensorstream.model.events import SEVERITIES
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.schedules import DAYS
from sensorstream.model.schema import local_name, shortened
from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.model.xsd import XSD
from sensorstream.sparql.functions import FUNCTIONS as SPARQL_FUNCTIONS
from sensorstream.sparql.place_functions import UNITS as PLACE_UNITS
from sensorstream.sparql.query_lexer import AGGREGATES
from sensorstream.sparql.query_lexer import KEYWORDS as SPARQL_KEYWORDS
from sensorstream.sparql.query_parser import expected_after as expected_in_sparql


class NameRole(Enum):
    """The role of a name at a place, with the kinds of names of the ontology that have it."""

    _value_: tuple[Kind, ...]
    """The kinds of names of the ontology that may stand there."""
    CLASS = ("class",)
    PROPERTY = ("object property", "datatype property")
    DATATYPE = ()
    INDIVIDUAL = ("individual", "class")


_BEFORE_CLASSES: Final = frozenset(("_A", "EXISTS", "COUNT", "_OF"))
_OPEN: Final = frozenset(("OPEN", "OPEN_LIST"))
_CLOSE: Final = frozenset(("_CLOSE", "_CLOSE_LIST"))


def role_in_rules(tokens: Sequence[Token]) -> NameRole:
    """The role of a name behind some tokens of a rule."""
    depth = 0
    for index in range(len(tokens) - 1, -1, -1):
        kind = tokens[index].type
        before = tokens[index - 1].type if index else ""
        is_last = index == len(tokens) - 1
        if kind in _CLOSE:
            depth += 1
        elif kind in _OPEN and depth:
            depth -= 1
        elif depth:
            continue
        elif kind == "_DATATYPE" and is_last:
            return NameRole.DATATYPE
        elif kind in _BEFORE_CLASSES or (before == "_ON" and kind in ("INSERT", "EXPIRE")):
            return NameRole.CLASS
        elif before == "_ON" and kind == "UPDATE":
            return NameRole.PROPERTY
        elif kind == "KNOWN" or (is_last and kind == "_GRAPH"):
            return NameRole.INDIVIDUAL
        elif is_last and kind in ("_SEMICOLON", "_WITH", "OPEN"):
            return NameRole.PROPERTY
        elif kind in ("_SEMICOLON", "_INDIVIDUAL", "OPEN"):
            return NameRole.INDIVIDUAL
    return NameRole.INDIVIDUAL


def role_in_sparql(tokens: Sequence[Token], expected: Collection[str]) -> NameRole:
    """The role of a name behind some tokens of a query, which expects these kinds of token."""
    last = tokens[-1] if tokens else None
    if last is not None and (last.type == "_A" or last.value in ("rdf:type", "rdfs:subClassOf")):
        return NameRole.CLASS
    if last is not None and last.type == "_DATATYPE":
        return NameRole.DATATYPE
    return NameRole.PROPERTY if "_A" in expected else NameRole.INDIVIDUAL


WORDS: Final = (
    "rule", "mode", "instant", "window", "define", "from", "and", "each", "first", "last", "not",
    "within", "between", "where", "with", "consuming", "alert", "info", "warning", "critical",
    "key", "as", "distinct",
    "count", "sum", "avg", "min", "max", "ms", "s", "h", "d", "PREFIX", "BASE", "SELECT",
)  # fmt: skip
"""The words of the language, and units of time."""


def selector_start(tokens: Sequence[Token]) -> int | None:
    """The index at which the selector's query around the last token begins; None: in none."""
    depth, after = 0, ""
    for index in range(len(tokens) - 1, -1, -1):
        value = tokens[index].value
        if value in (")", "}"):
            depth += 1
        elif value in ("(", "{") and depth:
            depth -= 1
        elif value == "(" and after.lower() == "select":
            return index + 1
        after = value
    return None


def labels_of(tokens: Sequence[Token]) -> list[str]:
    """The labels of selectors, from the ``from`` of the rule in which the last token stands."""
    found: dict[str, None] = {}
    for name, bracket, word in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if name.value.lower() == "define":
            found.clear()
        elif bracket.value == "(" and word.value.lower() == "select":
            found[str(name.value)] = None
    return list(found)


MOST: Final = 500
"""Completions that are offered at a time."""


class CompletionSort(Enum):
    """The kind of a completion, and the sign that editors show for it."""

    KEYWORD = CompletionItemKind.Keyword
    CLASS = CompletionItemKind.Class
    PROPERTY = CompletionItemKind.Property
    INDIVIDUAL = CompletionItemKind.Value
    PREFIX = CompletionItemKind.Module
    FUNCTION = CompletionItemKind.Function
    VARIABLE = CompletionItemKind.Variable
    STEP = CompletionItemKind.Field
    VALUE = CompletionItemKind.Constant


_NOWHERE: Final = Span(0, 0)


@frozen
class CompletionItem:
    """A text that may replace the word before the place; ``span`` is that word."""

    text: str
    sort: CompletionSort
    detail: str = ""
    documentation: str = ""
    span: Span = _NOWHERE


_NAME_SORTS: Final[Mapping[Kind, CompletionSort]] = {
    "class": CompletionSort.CLASS,
    "object property": CompletionSort.PROPERTY,
    "datatype property": CompletionSort.PROPERTY,
    "individual": CompletionSort.INDIVIDUAL,
}
COMMON_PREFIXES: Final = {
    "rdf": RDF,
    "rdfs": RDFS,
    "owl": OWL,
    "xsd": XSD,
    "sosa": "http://www.w3.org/ns/sosa/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "geof": "http://www.opengis.net/def/function/geosparql/",
}
_PREFIXES: Final = tuple(
    CompletionItem(f"{prefix}: <{iri}>", CompletionSort.PREFIX)
    for prefix, iri in COMMON_PREFIXES.items()
)
_TIMES: Final = {
    "s": "seconds",
    "m": "minutes",
    "h": "hours",
    "d": "days",
    "ms": "milliseconds",
    "ns": "nanoseconds",
}
_NUMBER: Final = re.compile(r"(?<![\w.:?$])[0-9]+\Z")
_OPEN_UNIT: Final = re.compile(
    r"""(?:\A|["'](?P<source>[^"']*)["']\s*to\s*|\Ato\s*)["'](?P<word>[^"']*)\Z"""
)
_LOCAL: Final = re.compile(r"[\w-]+(?:\.[\w-]+)*")


def completions(document: OpenDocument, offset: int) -> list[CompletionItem]:
    """Completions at a place; at most :data:`MOST`, those that begin as the word first."""
    if is_over_time(document.path):
        word, offers = _over_time(document, document.text[:offset])
    elif document.is_query:
        start = "rules" if is_rule_set(document.path) else "query"
        word, offers = _in_sparql(document, document.text[:offset], {}, start)
    else:
        cursor = cursor_in_rules(document.text, offset)
        match cursor.inside:
            case Inside.RULES:
                word, offers = cursor.word, _in_rules(document, cursor)
            case Inside.HOLE:
                word, offers = _in_hole(document, cursor)
            case Inside.SPARQL:
                start = {"SPARQL": "update", "DELETE": "deletion"}.get(cursor.last, "query")
                word, offers = _in_sparql(document, cursor.inner, document.prefixes, start)
            case Inside.TEXT:
                return []
    span = Span(offset - len(word), offset)
    typed = word.lower()
    fitting: dict[str, CompletionItem] = {}
    for offer in offers:
        if typed in offer.text.lower():
            fitting.setdefault(offer.text, offer)
    best = sorted(fitting.values(), key=lambda offer: not offer.text.lower().startswith(typed))
    return [replace(each, span=span) for each in best[:MOST]]


# In rules


def _in_rules(document: OpenDocument, cursor: TextCursor) -> Iterator[CompletionItem]:
    expected = RULES.expected_after(cursor.tokens)
    for word, kind in KEYWORDS.items():
        if kind in expected:
            yield CompletionItem(word, CompletionSort.KEYWORD)
    if cursor.last == "ALERT":
        yield from (CompletionItem(word, CompletionSort.VALUE) for word in SEVERITIES)
    if cursor.last == "EVERY":
        yield from (CompletionItem(word, CompletionSort.VALUE) for word in DAYS)
    if cursor.last == "_PREFIX":
        yield from _PREFIXES
    if "VARIABLE" in expected and any(token.type == "_RULE" for token in cursor.tokens):
        yield from _variables(cursor.tokens)
    if "LOCAL_NAME" in expected or not expected:
        yield from _names(document, role_in_rules(cursor.tokens), document.prefixes)


def _variables(tokens: Iterable[Token]) -> Iterator[CompletionItem]:
    """The variables of a semantic rule: those of its trigger, and of its queries."""
    for token in tokens:
        if token.type in ("VARIABLE", "SPARQL_TEXT"):
            yield from _variables_of(token.value)


def _variables_of(text: str) -> Iterator[CompletionItem]:
    return (
        CompletionItem(name, CompletionSort.VARIABLE)
        for name in dict.fromkeys(re.findall(r"\?\w+", text))
    )


def _names(
    document: OpenDocument, role: NameRole, prefixes: Mapping[str, str]
) -> Iterator[CompletionItem]:
    known = document.names
    for name, kind in known.of_kind(*role.value):
        written = shortened(name, prefixes)
        if not written.startswith("<") and not _LOCAL.fullmatch(written.partition(":")[2]):
            written = f"<{name}>"
        label = known.schema.label(name)
        detail = kind if label == local_name(name) else f"{kind}: {label}"
        yield CompletionItem(written, _NAME_SORTS[kind], detail, known.comments.get(name, ""))
    if role is NameRole.PROPERTY and prefixes.get("rdfs") == RDFS:
        yield CompletionItem("rdfs:label", CompletionSort.PROPERTY)
    if role is NameRole.DATATYPE:
        for local in XSD_TYPES:
            yield CompletionItem(shortened(f"{XSD}{local}", prefixes), CompletionSort.CLASS)
    for prefix, iri in prefixes.items():
        yield CompletionItem(f"{prefix}:", CompletionSort.PREFIX, iri)


# In holes


def _in_hole(document: OpenDocument, cursor: TextCursor) -> tuple[str, Iterable[CompletionItem]]:
    if any(token.type == "_RULE" for token in cursor.tokens):
        word = re.search(r"[?\w]*\Z", cursor.inner)
        assert word is not None
        return word.group(), (
            *_variables(cursor.tokens),
            CompletionItem("new", CompletionSort.KEYWORD),
        )
    expression, *calls = split(cursor.inner)
    if calls:
        return _in_call(document, calls[-1].text)
    path = last_path(expression.text)
    if path is None:
        return "", ()
    return path.step, _steps(document, cursor, expression.text)


def _in_call(document: OpenDocument, written: str) -> tuple[str, Iterable[CompletionItem]]:
    name, _, argument = written.lstrip().partition(" ")
    if not argument and not (name and written.endswith(" ")):
        return name, (
            CompletionItem(each, CompletionSort.FUNCTION, info.usage, info.meaning)
            for each, info in document.functions.items()
        )
    if name == "lookup":
        return argument.strip(), (
            CompletionItem(table.name, CompletionSort.VALUE, table.path)
            for table in document.head.tables
        )
    opened = _OPEN_UNIT.search(argument) if name == "unit" else None
    if opened is not None:
        known = unit_names(opened["source"] or "")
        return opened["word"], (CompletionItem(each, CompletionSort.VALUE) for each in known)
    return "", ()


def _steps(document: OpenDocument, cursor: TextCursor, expression: str) -> Iterator[CompletionItem]:
    path = last_path(expression)
    assert path is not None
    scope = scope_of(cursor.tokens, document.samples, document.head)
    if not path.base:
        for variable in _node_variables(cursor.tokens):
            yield CompletionItem(f"${variable}", CompletionSort.VARIABLE)
    for step in next_steps(path, scope):
        detail = f"{step.count} in the sample messages"
        yield CompletionItem(step.name, CompletionSort.STEP, detail, ", ".join(step.values))
    if not path.base:
        for name in sorted(XPATH_FUNCTIONS):
            yield CompletionItem(f"{name}(", CompletionSort.FUNCTION, "XPath")


def _node_variables(tokens: Sequence[Token]) -> Iterator[str]:
    """The variables whose own path is closed."""
    names: list[str] = []
    for token in tokens:
        if token.type == "NODE_VARIABLE":
            names.append(token.value[1:])
        elif token.type == "HOLE":
            yield from names
            names.clear()


# In rules over time


def _over_time(document: OpenDocument, before: str) -> tuple[str, Iterable[CompletionItem]]:
    cursor = cursor_in_sparql(before)
    if cursor.inside is Inside.TEXT:
        return "", ()
    opened = selector_start(cursor.tokens)
    if opened is not None:
        return cursor.word, _sparql_offers(
            document, cursor.tokens[opened:], document.prefixes, "query"
        )
    return cursor.word, _clause_offers(document, cursor.tokens)


def _clause_offers(document: OpenDocument, tokens: Sequence[Token]) -> Iterator[CompletionItem]:
    yield from (CompletionItem(word, CompletionSort.KEYWORD) for word in WORDS)
    yield from (
        CompletionItem(label, CompletionSort.VALUE, "a label") for label in labels_of(tokens)
    )
    yield from _variables_of(document.text)
    yield from _names(document, NameRole.CLASS, document.prefixes)
    yield from _names(document, NameRole.PROPERTY, document.prefixes)


# In SPARQL


def _in_sparql(
    document: OpenDocument, before: str, prefixes: Mapping[str, str], start: str
) -> tuple[str, Iterable[CompletionItem]]:
    cursor = cursor_in_sparql(before)
    if cursor.inside is Inside.TEXT:
        return "", ()
    known = {**prefixes, **(document.prefixes if document.is_query else {})}
    number = _NUMBER.search(before)
    if number is not None and "DURATION" in expected_in_sparql(cursor.tokens[:-1], start):
        return number.group(), (
            CompletionItem(f"{number.group()}{unit}", CompletionSort.VALUE, of)
            for unit, of in _TIMES.items()
        )
    call = call_in_sparql(before, known)
    if call is not None and call.parameter == "unit":
        names = (shortened(IRI(each), known) for each in PLACE_UNITS)
        return cursor.word, (CompletionItem(each, CompletionSort.VALUE, "a unit") for each in names)
    return cursor.word, _sparql_offers(document, cursor.tokens, known, start)


def _sparql_offers(
    document: OpenDocument, tokens: Sequence[Token], prefixes: Mapping[str, str], start: str
) -> Iterator[CompletionItem]:
    expected = expected_in_sparql(tokens, start)
    if "PREFIXED" in expected or not expected:
        role = role_in_sparql(tokens, expected)
        yield from _names(document, role, prefixes)
    if "VARIABLE" in expected:
        yield from _variables_of(" ".join(t.value for t in tokens if t.type == "VARIABLE"))
        if document.is_query:
            yield from _variables_of(document.text)
    for word, kind in SPARQL_KEYWORDS.items():
        if kind in expected:
            yield CompletionItem(word, CompletionSort.KEYWORD)
    if "_A" in expected:
        yield CompletionItem("a", CompletionSort.KEYWORD)
    if "FUNCTION" in expected:
        yield from (
            CompletionItem(f"{word}(", CompletionSort.FUNCTION) for word in SPARQL_FUNCTIONS
        )
    if "AGGREGATE" in expected:
        yield from (
            CompletionItem(f"{word}(", CompletionSort.FUNCTION) for word in sorted(AGGREGATES)
        )
    if tokens and tokens[-1].type == "_PREFIX":
        yield from _PREFIXES


_REST_OF_WORD: Final = re.compile(r"(?:[\w:%-]|\.(?=\w))*")
_START_OF_WORD: Final = re.compile(r"[@?$]?(?:[\w:%-]|\.(?=\w))*\Z")
_FUNCTION: Final = re.compile(r"\s*([\w-]+|[-+*/])")


@frozen
class Hover:
    """Markdown about the word of ``span``."""

    text: str
    span: Span


@frozen
class _Word:
    """The word around a place, and the cursor before its end."""

    span: Span
    text: str
    cursor: TextCursor


def hover(document: OpenDocument, offset: int) -> Hover | None:
    """The help on the word at a place; None if nothing is known."""
    word = _word_at(document, offset)
    if word is None:
        return None
    match word.cursor.inside:
        case Inside.HOLE:
            text = _known_in_hole(document, word)
        case Inside.SPARQL:
            query = cursor_in_sparql(word.cursor.inner)
            text = _of_name(document, query.word, document.prefixes)
            if text is None and is_rule_set(document.path):
                text = _of_rule(document, word.span.start)
        case _:
            text = _of_name(document, word.cursor.word, document.prefixes)
    return None if text is None else Hover(text, word.span)


def _word_at(document: OpenDocument, offset: int) -> _Word | None:
    rest = _REST_OF_WORD.match(document.text, offset)
    assert rest is not None
    end = rest.end()
    before = _START_OF_WORD.search(document.text, max(0, offset - 200), end)
    if before is None or before.start() == end:
        return None
    span = Span(before.start(), end)
    if document.is_query:
        cursor = TextCursor(Inside.SPARQL, (), inner=document.text[:end])
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
    """The name of the rule around a place, and the text of its comment."""
    for rule in symbols_of_rule_set(document.text):
        if rule.whole.start <= offset < rule.whole.end and rule.name:
            lines = document.text[rule.name_at.end : offset].split("\n")[1:]
            comment = takewhile(lambda line: line.lstrip().startswith("#"), lines)
            remarks = "\n".join(line.lstrip().lstrip("#").strip() for line in comment)
            return f"rule `{rule.name}`\n\n{remarks}".strip()
    return None


def _known_in_hole(document: OpenDocument, word: _Word) -> str | None:
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
