"""A mapping document as a graph, with positions for error messages, and the properties of a node.

No term of RML's own vocabulary is ignored: a property that is not listed here is an error. Turtle
parsers give no position of a triple, so positions are searched in the text afterwards: a triples
map at the line that begins with its name, an XPath at its quotes below that line.

Source of the names: RML-Core and RML-IO-Registry (W3C community group, http://w3id.org/rml/); the
first RML (http://semweb.mmlab.be/ns/rml#), which most files still use and which extends R2RML (W3C,
2012).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyoxigraph as ox

from sensorstream.errors import LanguageError, Position, TermError
from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.language.syntax import Hole
from sensorstream.mapping.functions.function_definition import Library
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term
from sensorstream.model.vocabulary import SENSORSTREAM

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
"""The beginning of a line: maybe the name of a block."""
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
        return (node for node, about in self._nodes.items() if kind in about.get(rdf.TYPE, ()))

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
        """The position of the block of a named node; the document's start if it is not found."""
        return self._position(self._offset_of(node))

    def position_of_text(self, text: str, within: Term) -> Position:
        """The position of a quoted text in the block of a named node."""
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


def rml(*names: str) -> tuple[IRI, ...]:
    """Names of RML's vocabulary."""
    return tuple(IRI(RML + name) for name in names)


AT: Final = IRI(f"{SENSORSTREAM}at")
UPDATE: Final = IRI(f"{SENSORSTREAM}update")
RULE: Final = IRI(f"{SENSORSTREAM}rule")
MISSING: Final = IRI(f"{SENSORSTREAM}missing")
INVALID: Final = IRI(f"{SENSORSTREAM}invalid")
XPATH, XPATH_CLASS, DEFAULT_GRAPH = rml("XPath", "XPathReferenceFormulation", "defaultGraph")

EXPRESSION: Final = rml("constant", "reference", "template")
FUNCTIONS: Final = rml("functionExecution", "functionValue", "return", "returnMap")
_GRAPHS: Final = rml("graph", "graphMap")
VALUES: Final = (*EXPRESSION, *FUNCTIONS)
TERM: Final = (*VALUES, *rml("termType"))
LITERALS: Final = rml("datatype", "datatypeMap", "language", "languageMap")
_ALLOWED: Final = {
    "triples map": (
        *rml("logicalSource", "subject", "subjectMap", "predicateObjectMap", "baseIRI"),
        RULE,
    ),
    "logical source": rml("source", "iterator", "referenceFormulation"),
    "source": rml("path", "root"),
    "reference formulation": rml("namespace"),
    "namespace": rml("namespacePrefix", "namespaceURL"),
    "subject map": (*TERM, *_GRAPHS, *rml("class"), AT, UPDATE, MISSING, INVALID),
    "predicate-object map": (
        *rml("predicate", "predicateMap", "object", "objectMap"),
        *_GRAPHS,
    ),
    "predicate map": TERM,
    "object map": (
        *(*TERM, *LITERALS, *rml("parentTriplesMap", "joinCondition")),
        *(MISSING, INVALID),
    ),
    "datatype map": TERM,
    "graph map": (*TERM, MISSING, INVALID),
    "language map": VALUES,
    "join condition": rml("child", "childMap", "parent", "parentMap"),
    "child map": VALUES,
    "parent map": VALUES,
    "function execution": rml("function", "functionMap", "input"),
    "input": rml("parameter", "parameterMap", "inputValue", "inputValueMap"),
    "input value map": VALUES,
    "function value": rml("predicateObjectMap", "logicalSource"),
}


class Block:
    """A reader of the part of a document that is a triples map; ``place`` is its beginning."""

    def __init__(self, graph: MappingGraph, node: Subject, library: Library) -> None:
        """Prepare the reader; ``library`` holds the functions that the document may name."""
        self.graph = graph
        self.node = node
        self.place = graph.position_of(node)
        self.library = library

    def either(self, node: Term, what: str) -> tuple[list[Term], list[Term]]:
        """The values of a shortcut, and the maps that may be in its place."""
        constants, maps = (self.graph.values(node, each) for each in rml(what, f"{what}Map"))
        return constants, maps

    def word(self, node: Term, where: str, name: IRI, words: Sequence[str]) -> str:
        """The value of a property that is one of some words; the first word if it is missing."""
        written = self.graph.values(node, name)
        if not written:
            return words[0]
        if len(written) == 1 and isinstance(written[0], Literal) and written[0].lexical in words:
            return written[0].lexical
        raise self.error(where, f"{short(name)}: expected one of {', '.join(words)}")

    def hole(self, text: str) -> Hole:
        return Hole(text.strip(), position=self.graph.position_of_text(text, self.node))

    def one(self, node: Term, where: str, name: str) -> Term:
        found = self.graph.values(node, *rml(name))
        if len(found) != 1:
            count = "more than one" if found else "no"
            raise self.error(where, f"{count} rml:{name}: expected one")
        return found[0]

    def text(self, node: Term, where: str, name: str) -> str:
        value = self.one(node, where, name)
        if isinstance(value, BlankNode):
            raise self.error(where, f"rml:{name}: expected a text in quotes")
        return value.lexical if isinstance(value, Literal) else str(value)

    def only(self, node: Term, kind: str, where: str) -> None:
        """Report all terms of RML's own vocabulary that are not supported here."""
        for predicate in self.graph.own_properties(node):
            if predicate not in _ALLOWED[kind]:
                listed = ", ".join(short(each) for each in _ALLOWED[kind])
                raise self.error(
                    where, f"{short(predicate)} is not supported here: expected one of {listed}"
                )

    def error(self, where: str, what: str) -> LanguageError:
        return LanguageError(f"{where}: {what}", position=self.place)
