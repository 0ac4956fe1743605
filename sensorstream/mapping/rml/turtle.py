"""A mapping document as a graph, with positions for error messages.

Turtle parsers give no position of a triple, so positions are searched in the text afterwards: a
triples map at the line that begins with its name, an XPath at its quotes below that line.

Source of the names: RML-Core and RML-IO-Registry (W3C community group, http://w3id.org/rml/); the
first RML (http://semweb.mmlab.be/ns/rml#), which most files still use and which extends R2RML (W3C,
2012).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

import pyoxigraph as ox

from sensorstream.errors import LanguageError, Position, TermError
from sensorstream.kb.oxigraph import from_oxigraph
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term
from sensorstream.model.vocabulary import RDF_TYPE, SENSORSTREAM

RML: Final = "http://w3id.org/rml/"

_R2RML: Final = "http://www.w3.org/ns/r2rml#"
_OLDER: Final = (
    _R2RML,
    "http://semweb.mmlab.be/ns/rml#",
    "http://semweb.mmlab.be/ns/ql#",
    "http://semweb.mmlab.be/ns/fnml#",
    "http://w3id.org/rml/ql/",
)
OWN: Final = (RML, SENSORSTREAM)


def modern(iri: str) -> IRI:
    """The RML-Core name for a name of the older vocabularies; other names are unchanged."""
    for older in _OLDER:
        if iri.startswith(older):
            local = iri.removeprefix(older)
            # A table of R2RML has columns where other sources have references.
            return IRI(RML + ("reference" if older == _R2RML and local == "column" else local))
    return IRI(iri)


def short(iri: str) -> str:
    """A name of RML or SensorStream with its usual prefix."""
    for prefix, namespace in (("rml", RML), ("ss", SENSORSTREAM)):
        if iri.startswith(namespace):
            return f"{prefix}:{iri.removeprefix(namespace)}"
    return f"<{iri}>"


_BLOCK: Final = re.compile(r"^[ \t]*(<[^>\n]*>|[^\s;\[<]+)(?=[\s;\[])", re.M)
"""What a line begins with: maybe the name of a block."""
# Names need a base; it is removed again in messages.
_NO_BASE: Final = "urn:sensorstream:document"


class MappingGraph:
    """The triples of a document; older names of RML's vocabulary are replaced."""

    def __init__(self, text: str, file: str) -> None:
        """Parse Turtle.

        Raises:
            LanguageError: the text is not Turtle.
        """
        self.file = file
        self._text = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._blocks: dict[str, int] = {}
        for match in _BLOCK.finditer(text):
            self._blocks.setdefault(match[1], match.start(1))
        self._nodes: dict[Subject, dict[IRI, list[Term]]] = {}
        parser = ox.parse(text, format=ox.RdfFormat.TURTLE, base_iri=_NO_BASE)
        try:
            for quad in parser:
                subject, predicate, value = map(
                    from_oxigraph, (quad.subject, quad.predicate, quad.object)
                )
                assert not isinstance(subject, Literal)
                value = modern(value) if isinstance(value, IRI) else value
                self._nodes.setdefault(subject, {}).setdefault(modern(predicate), []).append(value)
        except SyntaxError as error:
            place = Position(file, error.lineno or 1, error.offset or 1)
            reason = str(error.args[0]).rpartition(": ")[2]
            raise LanguageError(f"not Turtle: {reason}", position=place) from None
        except TermError as error:
            raise LanguageError(error.message, position=Position(file, 1, 1)) from None
        base = parser.base_iri
        self.base = None if base is None or base.startswith(_NO_BASE) else base
        self.prefixes = tuple(parser.prefixes.items())

    def subjects(self, predicate: IRI) -> Iterator[Subject]:
        """The nodes that have a property, in the order of the document."""
        return (node for node, about in self._nodes.items() if predicate in about)

    def instances(self, kind: IRI) -> Iterator[Subject]:
        """The nodes of a class, in the order of the document."""
        return (node for node, about in self._nodes.items() if kind in about.get(RDF_TYPE, ()))

    def values(self, node: Term, *predicates: IRI) -> list[Term]:
        """The values of a node for some properties, in the order of the document."""
        about = self._nodes.get(node, {}) if isinstance(node, IRI | BlankNode) else {}
        return [value for predicate in predicates for value in about.get(predicate, ())]

    def own_properties(self, node: Term) -> Iterable[IRI]:
        """The properties of a node in RML's or SensorStream's vocabulary."""
        about = self._nodes.get(node, {}) if isinstance(node, IRI | BlankNode) else {}
        return [predicate for predicate in about if predicate.startswith(OWN)]

    # Names and places for people

    def shown(self, node: Term) -> str:
        """A node in the notation of the document."""
        if isinstance(node, Literal):
            return f'"{node.lexical}"'
        if isinstance(node, BlankNode):
            return "[ … ]"
        if node.startswith(OWN):
            return short(node)
        for base in (self.base, _NO_BASE):
            if base is not None and node.startswith(base):
                return f"<{node.removeprefix(base)}>"
        for prefix, namespace in self.prefixes:
            if namespace and node.startswith(namespace):
                return f"{prefix}:{node.removeprefix(namespace)}"
        return f"<{node}>"

    def position_of(self, node: Term) -> Position:
        """Where the block of a named node begins; the document's start if that is not found."""
        return self._position(self._offset_of(node))

    def position_of_text(self, text: str, within: Term) -> Position:
        """Where a quoted text begins, in the block of a named node."""
        start = self._offset_of(within)
        escaped = text.replace("\\", "\\\\")
        for quote in ('"', "'"):
            for written in (text, escaped.replace(quote, "\\" + quote)):
                if (found := self._text.find(f"{quote}{written}{quote}", start)) >= 0:
                    return self._position(found + 1)
        return self._position(start)

    def _offset_of(self, node: Term) -> int:
        if not isinstance(node, IRI):
            return 0
        found = (self._blocks.get(name) for name in (f"<{node}>", self.shown(node)))
        return min((each for each in found if each is not None), default=0)

    def _position(self, offset: int) -> Position:
        line = bisect_right(self._lines, offset)
        return Position(self.file, line, offset - self._lines[line - 1] + 1)
