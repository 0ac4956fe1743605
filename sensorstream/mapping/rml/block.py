"""The properties that each node of a mapping document may have, and access to them.

No term of RML's own vocabulary is ignored: a property that is not listed here is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sensorstream.errors import LanguageError
from sensorstream.language.syntax import Hole
from sensorstream.mapping.functions.definition import Library
from sensorstream.mapping.rml.turtle import RML, MappingGraph, short
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term
from sensorstream.model.vocabulary import SENSORSTREAM


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
    """Reads the part of a document that a triples map is; ``place`` is where it begins."""

    def __init__(self, graph: MappingGraph, node: Subject, library: Library) -> None:
        """``library`` holds the functions that the document may name."""
        self.graph = graph
        self.node = node
        self.place = graph.position_of(node)
        self.library = library

    def either(self, node: Term, what: str) -> tuple[list[Term], list[Term]]:
        """The values of a shortcut, and the maps that may stand in its place."""
        constants, maps = (self.graph.values(node, each) for each in rml(what, f"{what}Map"))
        return constants, maps

    def word(self, node: Term, where: str, name: IRI, words: Sequence[str]) -> str:
        """One of some words; the first one if the property is missing."""
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
