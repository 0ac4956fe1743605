"""What is done with the text of a query before and after Oxigraph sees it."""

from __future__ import annotations

import re
from typing import Final

from sensorstream.errors import Position, QueryError

_PLACE: Final = re.compile(r"error at (?P<line>\d+):(?P<column>\d+): (?P<rest>.*)\Z", re.S)

# Oxigraph lists whatever its grammar could have gone on with; only what it says in sentences
# of its own helps a reader.
_SENTENCES: Final = (
    ("IRI parsing failed", "the IRI before this place is none"),
    (
        "The SELECT contains a variable that is unbound",
        "the SELECT has a variable that is neither grouped by nor bound",
    ),
    ("is already", "the AS before this place names a variable that has a value already"),
)
_NAME_BEFORE: Final = re.compile(r"[\w.-]*:[^\s{}()<>\";,]*\Z")


def offset_of(text: str, line: int, column: int) -> int:
    """The offset of a place in a text; line and column count from 1."""
    lines = text.split("\n")
    return sum(len(each) + 1 for each in lines[: line - 1]) + column - 1


def syntax_error(text: str, error: SyntaxError) -> tuple[int, str]:
    """Where Oxigraph could not read on (an offset into ``text``), and what is wrong."""
    match = _PLACE.match(str(error.msg))
    if match is None:
        return 0, str(error.msg)
    offset = min(offset_of(text, int(match["line"]), int(match["column"])), len(text))
    if "Prefix not found" in match["rest"] and (name := _NAME_BEFORE.search(text, 0, offset)):
        return name.start(), f"the prefix of '{name.group()}' is not declared"
    for mark, sentence in _SENTENCES:
        if mark in match["rest"]:
            return offset, sentence
    while 0 < offset < len(text) and text[offset - 1].isalnum() and text[offset].isalnum():
        offset -= 1
    near = re.match(r"\s*(\w+|\S)?", text[offset:])
    found = near.group(1) if near is not None else None
    found = "the end" if found is None else f"'{found}'"
    return offset, f"not SPARQL 1.1: something else was expected at or before {found}"


_GAP: Final = r"(?:\s|#[^\n\r]*[\n\r])*"
_SERVICE: Final = re.compile(
    rf"(?<![\w:-])service{_GAP}(?:silent{_GAP})?(?:[<?$]|[\w.-]*:)", re.IGNORECASE
)


def refuse_service(text: str) -> None:
    """Refuse a query that would call out to another endpoint.

    Oxigraph fetches ``SERVICE`` over HTTP and cannot be told not to. Two checks must both
    pass, since a text that one of them misreads could still be read by Oxigraph: nothing may
    look like the clause, not even in a comment, and a second parser must find none. A name or
    a text that merely holds the word passes.

    Raises:
        QueryError: there is a SERVICE clause, or it cannot be ruled out.
    """
    if "service" not in text.lower():
        return
    if _SERVICE.search(text) or _has_service(text):
        raise QueryError("SERVICE is not allowed: a query cannot call other endpoints")


def _has_service(text: str) -> bool:
    from pyparsing.exceptions import ParseBaseException
    from rdflib.plugins.sparql.algebra import traverse
    from rdflib.plugins.sparql.parser import parseQuery
    from rdflib.plugins.sparql.parserutils import CompValue

    found: list[CompValue] = []

    def visit(node: object) -> None:
        if isinstance(node, CompValue) and node.name == "ServiceGraphPattern":
            found.append(node)

    try:
        # SPARQL ends a comment at a carriage return too, this parser does not.
        traverse(parseQuery(text.replace("\r", "\n")), visitPre=visit)
    except (ParseBaseException, RecursionError):
        raise QueryError("a query with the word SERVICE cannot be checked: leave it out") from None
    return bool(found)


def query_error(text: str, error: SyntaxError) -> QueryError:
    """The error of a query that stands by itself; its file is called ``query``."""
    offset, message = syntax_error(text, error)
    before = text[:offset]
    line = before.count("\n") + 1
    return QueryError(message, position=Position("query", line, offset - before.rfind("\n")))
