"""The signature of the function whose arguments are being written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Final

from sensorstream.cli.editor.open_document import (
    Inside,
    OpenDocument,
    Span,
    cursor_in_rules,
    sparql_tokens,
)
from sensorstream.language.value_holes import split
from sensorstream.mapping.functions.function_definition import Definition
from sensorstream.mapping.xpath_tree import tokens_of
from sensorstream.model.frozen import frozen
from sensorstream.sparql.extensions import EXTENSIONS
from sensorstream.sparql.functions import FUNCTIONS
from sensorstream.sparql.query_lexer import AGGREGATES

_XPATH: Final = {
    **dict.fromkeys(("count", "sum"), "nodes"),
    **dict.fromkeys(("local-name", "namespace-uri", "name"), "[nodes]"),
    **dict.fromkeys(("string", "number"), "[value]"),
    **dict.fromkeys(("string-length", "normalize-space"), "[text]"),
    **dict.fromkeys(("floor", "ceiling", "round"), "number"),
    **dict.fromkeys(
        ("contains", "starts-with", "substring-before", "substring-after"), "text, part"
    ),
    **dict.fromkeys(("boolean", "not"), "value"),
    "concat": "text, text, …",
    "id": "value",
    "lang": "language",
    "substring": "text, first, [length]",
    "translate": "text, characters, replacements",
}
"""The arguments of XPath's functions (1.0, section 4)."""
_SPARQL: Final = {
    **dict.fromkeys(("CONTAINS", "STRSTARTS", "STRENDS", "STRBEFORE", "STRAFTER"), "text, part"),
    **dict.fromkeys(AGGREGATES, "[DISTINCT] expression"),
    "COUNT": "[DISTINCT] * or expression",
    "GROUP_CONCAT": '[DISTINCT] expression [; SEPARATOR = ","]',
    "BOUND": "?variable",
    "BNODE": "[text]",
    "IF": "condition, then, else",
    "CONCAT": "text, …",
    "COALESCE": "expression, …",
}
"""Those of SPARQL's whose bodies do not name them."""


@frozen
class CallHelp:
    """A call as it is written, the places of its parameters in that, and which is being written."""

    label: str
    meaning: str
    parameters: tuple[Span, ...]
    active: int

    @property
    def parameter(self) -> str:
        """The parameter that is being written; "" if all have been."""
        return next((self.label[slice(*each)] for each in self.parameters[self.active :]), "")


def call_help(document: OpenDocument, offset: int) -> CallHelp | None:
    """Help on the innermost call around a place; None outside of calls."""
    if document.is_query:
        return call_in_sparql(document.text[:offset], document.prefixes)
    cursor = cursor_in_rules(document.text, offset)
    if cursor.inside is Inside.SPARQL:
        return call_in_sparql(cursor.inner, document.prefixes)
    if cursor.inside is not Inside.HOLE:
        return None
    expression, *calls = split(cursor.inner)
    if not calls:
        words = [each.text for each in tokens_of(expression.text)]
        return _of_brackets(words, _XPATH.get)
    name, _, arguments = calls[-1].text.lstrip().partition(" ")
    known = document.functions.get(name)
    return None if known is None else _of_value_function(known, arguments)


def _of_value_function(known: Definition, arguments: str) -> CallHelp:
    """Help on a value function; words before and between arguments are part of its usage."""
    usage = known.usage
    found = [*re.finditer(r'"[^"]*"|\b[A-Z]{2,}\b', usage)][: len(known.parameters)]
    complete = re.findall(r"\"[^\"]*\"|'[^']*'|(?<!\S)[\w.+-]+(?=\s)", arguments)
    words = {word for each in known.parameters for word in (each.before, each.between)}
    active = sum(each not in words for each in complete)
    return CallHelp(usage, known.meaning, tuple(Span(*each.span()) for each in found), active)


def call_in_sparql(text: str, prefixes: Mapping[str, str]) -> CallHelp | None:
    """Help on the innermost call at the end of a text in SPARQL."""

    def arguments(name: str) -> str | None:
        prefix, colon, local = name.partition(":")
        iri = prefixes.get(prefix, "") + local if colon else name.strip("<>")
        if (extension := EXTENSIONS.get(iri)) is not None:
            return ", ".join(each.__name__.strip("_") for each in extension.readers)
        if (known := name.upper()) in _SPARQL:
            return _SPARQL[known]
        function = FUNCTIONS.get(known)
        if function is None or function.value is None:
            return None if function is None else ""
        parameters = signature(function.value).parameters.values()
        return ", ".join(
            each.name if each.default is Parameter.empty else f"[{each.name}]"
            for each in parameters
        )

    return _of_brackets([str(each.value) for each in sparql_tokens(text)], arguments)


def _of_brackets(words: Sequence[str], arguments: Callable[[str], str | None]) -> CallHelp | None:
    """Help on the innermost open bracket before which a function with known arguments stands."""
    depth = commas = 0
    for at in range(len(words) - 1, 0, -1):
        word = words[at]
        if word in (")", "}", "]"):
            depth += 1
        elif word in ("(", "{", "[") and depth:
            depth -= 1
        elif word == "(" and (told := arguments(words[at - 1])) is not None:
            label = f"{words[at - 1]}({told})"
            start = len(label) - len(told) - 1
            places = [
                Span(start + m.start(), start + m.end()) for m in re.finditer(r"[^\s,][^,]*", told)
            ]
            last = len(places) - 1 if told.endswith("…") else commas
            return CallHelp(label, "", tuple(places), min(commas, last))
        elif word in ("(", "[", "{"):
            commas = 0
        elif word == "," and not depth:
            commas += 1
    return None
