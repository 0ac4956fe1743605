"""Graphs as text: Turtle, and N-Triples, which is a subset of it.

Most graphs that arrive are N-Triples, and most of their terms have occurred before. Such text is
split, at its spaces if it is written as N-Triples usually is, else by a regular expression, and
each term is made once. pyoxigraph reads any other text as a whole; all ways accept the same texts
with the same meaning.

Source: RDF 1.1 N-Triples, sections 2 and 7; RDF 1.1 Turtle, section 6.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeVar, cast

import pyoxigraph as ox

from sensorstream.errors import TermError
from sensorstream.kb.oxigraph_terms import OxigraphTerm, from_oxigraph
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.xsd import XSD

_T = TypeVar("_T", bound=Term)
MOST_TERMS: Final = 20_000
"""The most terms in the cache; a full cache is emptied."""

_BRACKET: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.S)
_DEEPEST: Final = 256
_IRI: Final = r'<[^<>"{}|^`\\\x00-\x20]*>'
_LITERAL: Final = rf'"[^"\\\r\n]*(?:\\.[^"\\\r\n]*)*"(?:\^\^{_IRI}|@[A-Za-z]+(?:-[A-Za-z0-9]+)*)?'
_NAME: Final = re.compile(rf"({_IRI})")
_END: Final = re.compile(rf"({_IRI}|{_LITERAL})[ \t\r]*\.[ \t\r]*")
"""The last of a statement's three terms, and what ends the statement."""
_TRIPLE: Final = re.compile(
    rf"""[ \t\r\n]*(?:
        ({_IRI}|_:[A-Za-z0-9]+(?=[ \t\r\n]))[ \t\r\n]*
        ({_IRI})[ \t\r\n]*
        ({_IRI}
        |_:[A-Za-z0-9]+(?=[ \t\r\n])
        |{_LITERAL}
        )[ \t\r\n]*\.
        |([^ \t\r\n][\s\S]*)
    )""",
    re.VERBOSE,
)
"""Subject, predicate and object of a statement; or the rest of the text, if it is no statement."""
_SAFE: Final = r"A-Za-z0-9._~!$&'()*+,;=:@/\-"
# Certainly an absolute IRI (RFC 3986): the full syntax is left to pyoxigraph.
_PLAIN_IRI: Final = re.compile(
    rf"<([A-Za-z][A-Za-z0-9+.\-]*:(?://[A-Za-z0-9.\-]+(?::[0-9]+)?(?=[/?\#>]))?(?!//)"
    rf"[{_SAFE}]*(?:\?[{_SAFE}?]*)?(?:\#[{_SAFE}?]*)?)>\Z"
)
_PLAIN_LITERAL: Final = re.compile(
    rf'"([^"\\\r\n\ud800-\udfff]*)"(?:\^\^<({re.escape(XSD)}[A-Za-z]+)>|@([A-Za-z]{{2,3}}))?\Z'
)


class GraphReader:
    """Reads graphs; keeps a cache of terms between them."""

    __slots__ = ("_ends", "_names", "_terms")

    def __init__(self) -> None:
        self._terms = _Terms()
        self._names = _Parts[IRI](_NAME, self._terms)
        self._ends = _Parts[Term](_END, self._terms)

    def read(self, text: str, blank: str) -> tuple[Triple, ...]:
        """The triples of a Turtle text, each once, in order; ``blank`` is put before blank labels.

        Raises SyntaxError if the text is not Turtle, TermError if a term is not one of RDF 1.1.
        """
        if len(self._terms) > MOST_TERMS or len(self._ends) > MOST_TERMS:
            for cache in (self._terms, self._names, self._ends):
                cache.clear()
        found = self._lines(text)
        if found is None:
            found = self._statements(text, blank)
        if found is None:
            found = [
                cast(
                    Triple,
                    tuple(
                        renamed(term, blank) for term in (each.subject, each.predicate, each.object)
                    ),
                )
                for each in _parsed(text)
            ]
        return tuple(dict.fromkeys(found))

    def _lines(self, text: str) -> list[Triple] | None:
        """The triples of a text of one statement a line without blank nodes; None if it is not."""
        names, ends = self._names, self._ends
        lines = text.split("\n")
        if not lines[-1]:
            del lines[-1]
        parts = [line.split(" ", 2) for line in lines]
        try:
            return [(names[s], names[p], ends[o]) for s, p, o in parts]
        except (ValueError, SyntaxError, TermError):
            return None

    def _statements(self, text: str, blank: str) -> list[Triple] | None:
        """The triples of a text that is plain N-Triples; None if it is not."""
        rows = _TRIPLE.findall(text)
        if rows and rows[-1][3]:
            return None
        terms = self._terms
        try:
            if "_:" not in text:
                return [(terms[s], terms[p], terms[o]) for s, p, o, _ in rows]  # type: ignore[misc]
            prefix = f"_:{blank}"
            return [
                (
                    BlankNode(prefix + s[2:]) if s[0] == "_" else terms[s],
                    terms[p],
                    BlankNode(prefix + o[2:]) if o[0] == "_" else terms[o],
                )  # type: ignore[misc]
                for s, p, o, _ in rows
            ]
        except (SyntaxError, TermError):
            # pyoxigraph refuses the text as a whole, too, and its error has the position.
            return None


class _Terms(dict[str, Term]):
    """Terms by their text in N-Triples."""

    def __missing__(self, text: str) -> Term:
        term: Term
        is_iri = text[0] == "<"
        plain = (_PLAIN_IRI if is_iri else _PLAIN_LITERAL).match(text)
        if plain is None:
            (triple,) = _parsed(f"<x:> <x:> {text} .")
            term = from_oxigraph(triple.object)
        elif is_iri:
            term = IRI(plain[1])
        else:
            term = Literal(plain[1], plain[2] or xsd.STRING, plain[3])
        self[text] = term
        return term


class _Parts(dict[str, _T]):
    """Terms by a part of a line, in which a pattern finds their text."""

    def __init__(self, pattern: re.Pattern[str], terms: _Terms) -> None:
        super().__init__()
        self._pattern = pattern
        self._terms = terms

    def __missing__(self, text: str) -> _T:
        found = self._pattern.fullmatch(text)
        if found is None:
            raise ValueError(text)
        term = self[text] = cast(_T, self._terms[found[1]])
        return term


def _parsed(text: str) -> list[ox.Quad]:
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise SyntaxError(f"half of a surrogate pair at character {error.start}") from None
    return list(ox.parse(encoded, ox.RdfFormat.TURTLE))


def syntax_of(media_type: str) -> ox.RdfFormat:
    """The format of pyoxigraph for a media type of :data:`.RDF_FORMATS`."""
    found = ox.RdfFormat.from_media_type(media_type)
    assert found is not None
    return found


def quads_in(content: bytes, syntax: ox.RdfFormat, base: str | None = None) -> Iterator[ox.Quad]:
    """The statements of a text. JSON may not be nested deeper than XML: contexts in contexts cost
    their square, and graphs in graphs the whole stack.

    Raises:
        SyntaxError: it is not in this syntax.
    """
    depth = 0
    for found in _BRACKET.finditer(content) if syntax == ox.RdfFormat.JSON_LD else ():
        at, sign = found.start(), found[0]
        depth += (sign in b"[{") - (sign in b"]}")
        if depth > _DEEPEST:
            place = content.count(b"\n", 0, at) + 1, at - content.rfind(b"\n", 0, at)
            raise SyntaxError(f"nested deeper than {_DEEPEST}", (None, *place, None))
    yield from ox.parse(content, format=syntax, base_iri=base)


def renamed(term: OxigraphTerm, blank: str) -> Term:
    """Convert a term to ours; ``blank`` comes before the labels of blank nodes."""
    found = from_oxigraph(term)
    return BlankNode(f"_:{blank}{found[2:]}") if isinstance(found, BlankNode) else found
