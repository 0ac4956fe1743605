"""The names in an open file: where each is written, what it stands for, and its new spelling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from lark import Token

from sensorstream.app.control.file_texts import DATALOG, is_rule_set
from sensorstream.cli.editor.open_document import (
    QUOTED,
    OpenDocument,
    Span,
    declared_prefixes,
    read_tokens,
    sparql_tokens,
)
from sensorstream.errors import LanguageError, Position, QueryError
from sensorstream.language import rule_lexer
from sensorstream.language.rule_parser import rule_starts
from sensorstream.language.value_holes import split
from sensorstream.mapping.xpath_tree import TOKEN
from sensorstream.model.frozen import frozen
from sensorstream.sparql import query_lexer

NODE_VARIABLE: Final = "node variable"
PREFIX: Final = "prefix"
XML_PREFIX: Final = "prefix of an XML namespace"
TABLE: Final = "table"
RULE: Final = "rule"
VARIABLE: Final = "variable"
LABEL: Final = "label of a selector"
TERM: Final = "name of the ontology"
FUNCTION: Final = "value function"
EVERYWHERE: Final = -2
"""The scope of names that mean the same in all files."""
_FILE: Final = -1
_NEW_NAMES: Final[Mapping[str, re.Pattern[str]]] = {
    NODE_VARIABLE: re.compile(r"\$?([^\W\d][\w-]*)"),
    PREFIX: re.compile(r"((?:[^\W\d_][\w-]*)?):?"),
    **dict.fromkeys((XML_PREFIX, TABLE, RULE), re.compile(r"([^\W\d][\w-]*):?")),
    **dict.fromkeys((VARIABLE, LABEL), re.compile(r"[?$]?([^\W\d]\w*)")),
}
_DECLARING: Final = {"_XMLNS": XML_PREFIX, "_TABLE": TABLE, "_MAPPING": RULE, "_RULE": RULE}


@frozen
class NamePlace:
    """A name where it is written; places with the same ``key`` mean the same.

    ``scope`` is the offset of the rule around it, or says that the whole file, or all files, are
    meant. ``span`` has the name without its mark (``?``, ``$``, the colon).
    """

    kind: str
    name: str
    scope: int
    span: Span
    is_declared: bool = False

    @property
    def key(self) -> tuple[str, str, int]:
        return self.kind, self.name, self.scope

    @property
    def whole(self) -> Span:
        """The name with its mark."""
        return Span(self.span.start - (self.kind in (VARIABLE, NODE_VARIABLE)), self.span.end)


def name_places(document: OpenDocument) -> Iterator[NamePlace]:
    """The names of a file in their order, as far as it can be read; none of Datalog's rules."""
    text = document.text
    if document.path.suffix.lower() == DATALOG:
        return
    if document.is_query:
        begins = "INSERT" if is_rule_set(document.path) else "define"
        yield from _in_query(text, 0, {}, _FILE, begins)
        return
    for begin, end in pairwise(dict.fromkeys((0, *rule_starts(text), len(text)))):
        found: list[Token] = []
        read_tokens(text[begin:end], begin, found)
        before = ""
        for token in found:
            yield from _of_token(document, token, before, begin)
            before = token.type


def _of_token(document: OpenDocument, token: Token, before: str, scope: int) -> Iterator[NamePlace]:
    start, written = token.start_pos or 0, str(token.value)
    end = start + len(written)
    match token.type:
        case "NODE_VARIABLE" | "VARIABLE":
            kind = NODE_VARIABLE if token.type == "NODE_VARIABLE" else VARIABLE
            # Loops and triggers declare them, as they come first.
            yield NamePlace(kind, written[1:], scope, Span(start + 1, end), True)
        case "NAME" if before in _DECLARING:
            yield NamePlace(_DECLARING[before], written, _FILE, Span(start, end), True)
        case "NAMESPACE" | "LOCAL_NAME":
            declares = before == "_PREFIX"
            yield from _prefixed(written, start, document.prefixes, _FILE, declares=declares)
            yield from _in_holes(written, start, scope)
        case "SPARQL_TEXT":
            yield from _in_query(written[1:-1], start + 1, document.prefixes, scope)
        case "IRI" if "{" not in written and before != "NAMESPACE":
            yield NamePlace(TERM, written[1:-1], EVERYWHERE, Span(start, end))
        case "HOLE" | "TEXT" | "IRI" | "BLANK_NAME" | "LANGUAGE_HOLE":
            yield from _in_holes(written, start, scope)


def _prefixed(
    written: str, start: int, prefixes: Mapping[str, str], scope: int, *, declares: bool = False
) -> Iterator[NamePlace]:
    prefix, _, local = written.partition(":")
    yield NamePlace(PREFIX, prefix, scope, Span(start, start + len(prefix)), declares)
    if local and "{" not in written and prefix in prefixes:
        span = Span(start, start + len(written))
        yield NamePlace(TERM, prefixes[prefix] + local, EVERYWHERE, span)


def _in_holes(written: str, start: int, scope: int) -> Iterator[NamePlace]:
    for match in QUOTED.finditer(written):
        if match.group().startswith("{") and len(match.group()) > 2:
            yield from _in_hole(match.group()[1:-1], start + match.start() + 1, scope)


def _in_hole(inner: str, start: int, scope: int) -> Iterator[NamePlace]:
    expression, *calls = split(inner)
    for token in TOKEN.finditer(expression.text):
        at = start + token.start()
        if token["variable"]:
            span = Span(at + 1, at + len(token.group()))
            yield NamePlace(NODE_VARIABLE, token["variable"], scope, span)
        elif (name := token["name"]) and expression.text[: token.start()].endswith("?"):
            yield NamePlace(VARIABLE, name, scope, Span(at, at + len(name)))
        elif name and ":" in name:
            prefix = name.partition(":")[0]
            yield NamePlace(XML_PREFIX, prefix, _FILE, Span(at, at + len(prefix)))
    for call in calls:
        words = [*re.finditer(r"\S+", call.text)][:2]
        kinds = (FUNCTION, TABLE) if words and words[0].group() == "lookup" else (FUNCTION,)
        for kind, word in zip(kinds, words, strict=False):
            at = start + call.offset + word.start()
            where = EVERYWHERE if kind == FUNCTION else _FILE
            yield NamePlace(kind, word.group(), where, Span(at, at + len(word.group())))


def _in_query(
    text: str, start: int, prefixes: Mapping[str, str], scope: int, begins: str = ""
) -> Iterator[NamePlace]:
    """The names of a text in SPARQL, in which the word ``begins`` begins a scope of its own.

    Variables of a selector of a rule over time are its own, and have its label before their name.
    """
    tokens = sparql_tokens(text)
    own = declared_prefixes(text)
    known = {**prefixes, **own}
    # Text of a rule file may declare prefixes for itself.
    place = _FILE if scope == _FILE else start
    triples = zip(tokens, tokens[1:], tokens[2:], strict=False) if begins == "define" else ()
    labels = {
        str(name.value)
        for name, bracket, word in triples
        if (name.type, bracket.type, word.type) == ("NAME", "_PAREN", "_SELECT")
    }
    label, depth, kinds = "", 0, ("", "")
    for token in tokens:
        at, written = start + (token.start_pos or 0), str(token.value)
        end = at + len(written)
        kinds = kinds[1], token.type
        if written.lower() == begins.lower():
            scope = at
        if label:
            depth += {"_PAREN": 1, "_END_PAREN": -1}.get(token.type, 0)
        match token.type:
            case "VARIABLE":
                is_own = depth or kinds[0] == "_DOT"
                name = f"{label}.{written[1:]}" if is_own and label else written[1:]
                yield NamePlace(VARIABLE, name, scope, Span(at + 1, end))
            case "PREFIXED" | "NAMESPACE":
                where = place if written.partition(":")[0] in own else _FILE
                declares = kinds[0] == "_PREFIX"
                yield from _prefixed(written, at, known, where, declares=declares)
            case "IRIREF" if kinds[0] != "NAMESPACE":
                yield NamePlace(TERM, written[1:-1], EVERYWHERE, Span(at, end))
            case "NAME" if written in labels and not depth:
                yield NamePlace(LABEL, written, scope, Span(at, end))
        if not depth and token.type not in ("_PAREN", "_DOT"):
            label = written if written in labels else ""


def place_at(document: OpenDocument, offset: int) -> NamePlace | None:
    """The name at a place; its prefix, if the place is in that."""
    found = [
        each
        for each in name_places(document)
        if each.whole.start <= offset <= each.span.end + (each.kind == PREFIX and each.is_declared)
        and (each.kind != PREFIX or each.name or each.is_declared)
    ]
    return min(found, key=lambda each: each.span.end - each.span.start, default=None)


def places_of(document: OpenDocument, place: NamePlace) -> list[NamePlace]:
    """The places in a file that mean the same as a place of it, or of another file."""
    return [each for each in name_places(document) if each.key == place.key]


def definition(document: OpenDocument, offset: int) -> Span | None:
    """The place in the file where the name at a place, or its prefix, is declared or comes first.

    What the ontology or Python declares has none.
    """
    asked = place_at(document, offset)
    if asked is not None and asked.kind == TERM:
        prefixes = (each for each in name_places(document) if each.kind == PREFIX)
        start = asked.span.start
        asked = next((each for each in prefixes if each.span.start == start), None)
    if asked is None or asked.kind == FUNCTION:
        return None
    found = places_of(document, asked)
    return next((each for each in found if each.is_declared), found[0]).whole


def renamable(document: OpenDocument, offset: int) -> NamePlace:
    """The name at a place, which can have another one.

    Raises:
        LanguageError: there is none, or it is declared outside of rules and queries, or a fault
            hides names of the file.
    """
    place = place_at(document, offset)
    if place is None:
        raise LanguageError("here is no name: expected a variable, prefix, table, label or rule")
    if place.kind not in _NEW_NAMES:
        raise LanguageError(f"a {place.kind} is not renamed here, but where it is defined")
    try:
        if document.is_query:
            _read_whole(document.text)
        else:
            for token in rule_lexer.tokens(rule_lexer.LexedText(document.text, "")):
                if token.type == "SPARQL_TEXT":
                    _read_whole(token.value[1:-1])
    except (LanguageError, QueryError) as error:
        raise LanguageError(f"a fault hides names, mend it first: {error.message}") from None
    return place


def _read_whole(text: str) -> None:
    source = query_lexer.QueryText(text, Position("", 1, 1))
    if source.text != text:
        raise QueryError("places behind \\u escapes are not known")
    for _ in query_lexer.tokens(source):
        pass


def renaming(document: OpenDocument, offset: int, new: str) -> tuple[str, list[Span]]:
    """The new name of the name at a place, without its mark, and all places to write it.

    Raises:
        LanguageError: as :func:`renamable`; or the new name is not one, or means something else.
    """
    place = renamable(document, offset)
    match = _NEW_NAMES[place.kind].fullmatch(new)
    if match is None:
        raise LanguageError(f"'{new}' cannot name a {place.kind}: expected letters and digits")
    label, dot, _ = place.name.rpartition(".")
    name = f"{label}{dot}{match[1]}"
    places = list(name_places(document))
    if name != place.name and any(each.key == (place.kind, name, place.scope) for each in places):
        raise LanguageError(f"'{match[1]}' names another {place.kind} already: expected a new name")
    return match[1], [each.span for each in places if each.key == place.key]
