"""Terms, triples and alerts as a story writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

from sensorstream.model.events import Alert
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.model.xsd import XSD_BOOLEAN, XSD_INTEGER

_LOCAL: Final = re.compile(r"\w[\w-]*\Z")
_PLAIN: Final = {
    XSD_BOOLEAN: re.compile("true|false"),
    XSD_INTEGER: re.compile("[+-]?[0-9]+"),
}
"""The literals that Turtle writes without quotes and whose datatype everybody guesses."""


def term_text(term: Term, prefixes: Mapping[str, str]) -> str:
    """A term in Turtle, as short as the prefixes allow."""
    if isinstance(term, IRI):
        for name, start in prefixes.items():
            if start and term.startswith(start) and _LOCAL.match(term[len(start) :]):
                return f"{name}:{term[len(start) :]}"
    if isinstance(term, Literal) and term.language is None:
        plain = _PLAIN.get(term.datatype)
        if plain is not None and plain.fullmatch(term.lexical):
            return term.lexical
        if "^^" in term:
            text, _, _ = term.n3.rpartition("^^")
            return f"{text}^^{term_text(IRI(term.datatype), prefixes)}"
    return term.n3


def triple_text(triple: Triple, prefixes: Mapping[str, str]) -> str:
    """A triple in Turtle, with its full stop."""
    subject, predicate, value = triple
    verb = "a" if predicate == RDF_TYPE else term_text(predicate, prefixes)
    return f"{term_text(subject, prefixes)} {verb} {term_text(value, prefixes)} ."


def triple_texts(triples: Iterable[Triple], prefixes: Mapping[str, str]) -> tuple[str, ...]:
    """Triples in Turtle, sorted."""
    return tuple(sorted(triple_text(each, prefixes) for each in triples))


def alert_text(alert: Alert) -> str:
    """An alert of a rule as ``then alert`` takes it."""
    return written_alert(alert.severity, alert.text, alert.key)


def written_alert(severity: str, text: str, key: str) -> str:
    """The parts of an alert as ``then alert`` takes them."""
    written = f"{severity} {json.dumps(text, ensure_ascii=False)}"
    return written if key == text else f"{written} key {json.dumps(key, ensure_ascii=False)}"
