"""Texts, names and triples with holes that a firing fills in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from html import escape
from typing import Final, TypeAlias

from lxml import etree

from sensorstream.errors import LanguageError, Position
from sensorstream.language import syntax
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.rules.conditions import Solution
from sensorstream.rules.rule_effects import RuleFiring
from sensorstream.rules.triggers import NOW
from sensorstream.sparql.algebra import TriplePattern, Variable


class Var(str):
    """The name of a variable in a text."""

    __slots__ = ()


def fill(template: Iterable[TriplePattern], solution: Solution) -> Iterator[Triple]:
    """The template's triples; one with an unbound variable or a literal subject is left out.

    Source: SPARQL 1.1 Query Language, section 16.2.
    """
    for each in template:
        s, p, o = (
            solution.get(part.name) if isinstance(part, Variable) else part
            for part in (each.subject, each.predicate, each.object)
        )
        if isinstance(s, IRI | BlankNode) and isinstance(p, IRI) and isinstance(o, Term):
            yield s, p, o


NEW: Final = "new"

# Not allowed in XML 1.0 even as a character reference (section 2.2).
_NOT_XML: Final = cache(
    partial(re.compile, r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
)


@frozen
class NewName:
    """The hole ``{new}``."""


Piece: TypeAlias = str | Var | NewName
Encode: TypeAlias = Callable[[str], str]


def plain(text: str) -> str:
    """The text unchanged."""
    return text


def in_xml(text: str) -> str:
    """The text escaped, for use between tags and in attributes."""
    return escape(_NOT_XML().sub("\ufffd", text))


@frozen
class CompiledTemplate:
    """A compiled template."""

    pieces: tuple[Piece, ...]

    @property
    def is_constant(self) -> bool:
        return all(type(piece) is str for piece in self.pieces)

    def fill(self, firing: RuleFiring, encode: Encode, *, unbound: str | None = None) -> str | None:
        """The text; a variable without a value gives ``unbound``, or makes all of it None."""
        filled: list[str] = []
        for piece in self.pieces:
            if isinstance(piece, Var):
                value = firing.solution.get(piece)
                if value is None:
                    if unbound is None:
                        return None
                    filled.append(unbound)
                else:
                    filled.append(encode(shown(value)))
            elif isinstance(piece, NewName):
                filled.append(encode(firing.new))
            else:
                filled.append(piece)
        return "".join(filled)


def shown(term: Term) -> str:
    """A term in a text: the IRI, ``_:label`` or the literal's lexical form."""
    return term.lexical if isinstance(term, Literal) else str(term)


def compile_parts(parts: Iterable[syntax.Part], bound: Iterable[str]) -> CompiledTemplate:
    """Compile a template whose variables must be among ``bound``.

    Raises LanguageError if no trigger or condition gives the variable of a hole a value.
    """
    pieces: list[Piece] = []
    for part in parts:
        if isinstance(part, str):
            pieces.append(part)
        elif part.text == NEW:
            pieces.append(NewName())
        else:
            pieces.append(check_bound(part.text.removeprefix("?"), bound, part.position))
    return CompiledTemplate(tuple(pieces))


def check_bound(name: str, bound: Iterable[str], position: Position) -> Var:
    """The variable of a name in ``bound``; raises LanguageError if it has no value."""
    given = frozenset(bound)
    if name in given:
        return Var(name)
    known = sorted(given - {NOW})
    choice = (
        f"expected {' or '.join(f'?{each}' for each in known)}"
        if known
        else "expected a trigger or select that gives it a value"
    )
    raise LanguageError(f"?{name} has no value here: {choice}", position=position)


def compile_xml(template: syntax.TextTemplate, bound: Iterable[str]) -> CompiledTemplate:
    """Compile a template of a well-formed XML document with holes in its text.

    Raises LanguageError if the document is not well-formed, or a hole stands where a name should.
    """
    text = compile_parts(template.parts, bound)
    # A value that breaks the document unless it stands in text.
    sample = "".join(piece if type(piece) is str else in_xml("1 <") for piece in text.pieces)
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        etree.fromstring(sample.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise LanguageError(
            f"the reply is not well-formed XML: {error.msg}", position=template.position
        ) from None
    return text
