"""Reads term maps and expression maps.

Source: RML-Core, "Term Maps" and "Generating values with expressions".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast, get_args

from sensorstream.errors import LanguageError
from sensorstream.mapping.functions import Library
from sensorstream.mapping.rml.block import EXPRESSION, GRAPHS, INVALID, MISSING, Block, rml
from sensorstream.mapping.rml.executions import ExecutionReader
from sensorstream.mapping.rml.model import (
    ConstantTerm,
    Expression,
    FunctionValue,
    Missing,
    Reference,
    StringTemplate,
    TermMap,
    TermType,
)
from sensorstream.mapping.rml.template import parse_template
from sensorstream.model.terms import IRI, BlankNode, Literal, Term

ONE_EXPRESSION: Final = (
    "expected one of rml:constant, rml:reference, rml:template and rml:functionExecution"
)
_TERM_TYPES: Final = {
    "subject map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI", "BlankNode"),
    "predicate map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI"),
    "datatype map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI"),
    "graph map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI"),
    "object map": get_args(TermType),
}


class TermReader:
    """Reads the term maps of one triples map."""

    def __init__(self, block: Block, library: Library) -> None:
        self._block = block
        self._executions = ExecutionReader(block, library, self.expression)

    def constant(self, term: Term, kind: str, where: str) -> TermMap:
        where = f"{where}, {kind}"
        if isinstance(term, BlankNode):
            raise self._block.error(
                where, "a blank node cannot be constant: expected rml:termType rml:BlankNode"
            )
        if isinstance(term, Literal) and kind != "object map":
            raise self._block.error(
                where, f"{self._block.graph.shown(term)} is a literal: expected an IRI"
            )
        is_literal = isinstance(term, Literal)
        return TermMap(
            ConstantTerm(term),
            "Literal" if is_literal else "IRI",
            where=where,
            position=self._block.place,
        )

    def term_map(self, node: Term, kind: str, where: str) -> TermMap:
        graph = self._block.graph
        self._block.only(node, kind, where)
        expression = self.expression(node, where)
        datatype = self._inner(node, where, "datatype")
        language = self._inner(node, where, "language")
        written = graph.values(node, *rml("termType"))
        if isinstance(expression, ConstantTerm):
            made = self.constant(expression.term, kind, where.rpartition(",")[0])
            if made.type != "Literal" and (datatype or language):
                raise self._block.error(where, "a datatype or language belongs to literals")
            if datatype and language:
                raise self._block.error(where, "expected a datatype or a language, not both")
            return replace(made, datatype=datatype, language=language)
        if len(written) > 1:
            raise self._block.error(where, "two term types: expected one rml:termType")
        is_literal = kind == "object map" and (
            isinstance(expression, Reference | FunctionValue)
            or datatype is not None
            or language is not None
        )
        wanted = graph.shown(written[0]) if written else "rml:Literal" if is_literal else "rml:IRI"
        allowed = _TERM_TYPES[kind]
        term_type = next((each for each in allowed if f"rml:{each}" == wanted), None)
        if term_type is None:
            listed = ", ".join(f"rml:{each}" for each in allowed)
            raise self._block.error(where, f"term type {wanted}: expected one of {listed}")
        if expression is None and term_type != "BlankNode":
            raise self._block.error(where, ONE_EXPRESSION)
        if term_type != "Literal" and (datatype or language):
            raise self._block.error(
                where, f"a datatype or language belongs to literals, not to {wanted}"
            )
        if datatype and language:
            raise self._block.error(where, "expected a datatype or a language, not both")
        missing, if_valid = self._policies(node, where)
        return TermMap(
            expression, term_type, datatype, language, missing, if_valid, where, self._block.place
        )

    def graphs(self, node: Term, where: str) -> tuple[TermMap, ...]:
        """The graph maps of a subject map or predicate-object map."""
        constants, maps = (self._block.graph.values(node, each) for each in GRAPHS)
        return (
            *(self.constant(each, "graph map", where) for each in constants),
            *(self.term_map(each, "graph map", f"{where}, graph map") for each in maps),
        )

    def _policies(self, node: Term, where: str) -> tuple[Missing, bool]:
        missing = self._block.word(node, where, MISSING, get_args(Missing))
        invalid = self._block.word(node, where, INVALID, ("reject", "missing"))
        return cast(Missing, missing), invalid == "missing"

    def _inner(self, node: Term, where: str, what: str) -> TermMap | None:
        constants = self._block.graph.values(node, *rml(what))
        maps = self._block.graph.values(node, *rml(f"{what}Map"))
        if len(constants) + len(maps) > 1:
            raise self._block.error(where, f"expected one rml:{what} or rml:{what}Map")
        if what == "datatype":
            for term in constants:
                return self.constant(term, "datatype map", where)
            for each in maps:
                return self.term_map(each, "datatype map", f"{where}, datatype map")
            return None
        where = f"{where}, language map"
        for term in constants:
            return self._tag(ConstantTerm(term), where) if isinstance(term, Literal | IRI) else None
        for each in maps:
            self._block.only(each, "language map", where)
            expression = self.expression(each, where)
            if expression is None:
                raise self._block.error(where, ONE_EXPRESSION)
            return self._tag(expression, where)
        return None

    def _tag(self, expression: Expression, where: str) -> TermMap:
        if isinstance(expression, ConstantTerm) and not isinstance(expression.term, Literal):
            raise self._block.error(where, 'expected a language tag in quotes, such as "en"')
        return TermMap(expression, "Literal", where=where, position=self._block.place)

    def expression(self, node: Term, where: str) -> Expression | None:
        constant, reference, template = (
            self._block.graph.values(node, each) for each in EXPRESSION
        )
        executed = self._executions.value(node, where)
        if len(constant) + len(reference) + len(template) + (executed is not None) > 1:
            raise self._block.error(where, ONE_EXPRESSION)
        if executed is not None:
            return executed
        for term in constant:
            if isinstance(term, BlankNode):
                raise self._block.error(
                    where, "a blank node cannot be constant: expected rml:termType rml:BlankNode"
                )
            return ConstantTerm(term)
        for term in (*reference, *template):
            if not isinstance(term, Literal):
                shown = self._block.graph.shown(term)
                raise self._block.error(where, f"{shown}: expected an XPath or template in quotes")
            if reference:
                return Reference(self._block.hole(term.lexical))
            place = self._block.graph.position_of_text(term.lexical, self._block.node)
            try:
                return StringTemplate(parse_template(term.lexical, place))
            except LanguageError as error:
                raise LanguageError(f"{where}: {error.message}", position=error.position) from None
        return None
