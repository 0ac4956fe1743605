"""Reads term maps.

Source: RML-Core, "Term Maps".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast, get_args

from sensorstream.mapping.rml.block import INVALID, MISSING, rml
from sensorstream.mapping.rml.executions import ONE_EXPRESSION, ExpressionReader
from sensorstream.mapping.rml.model import (
    ConstantTerm,
    Expression,
    FunctionValue,
    Missing,
    Reference,
    TermMap,
    TermType,
)
from sensorstream.model.terms import IRI, BlankNode, Literal, Term

_TERM_TYPES: Final = {
    "subject map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI", "BlankNode"),
    "predicate map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI"),
    "datatype map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI"),
    "graph map": ("IRI", "URI", "UnsafeIRI", "UnsafeURI"),
    "object map": get_args(TermType),
}


class TermReader(ExpressionReader):
    """Reads the term maps of one triples map."""

    def constant(self, term: Term, kind: str, where: str) -> TermMap:
        where = f"{where}, {kind}"
        if isinstance(term, BlankNode):
            raise self.error(
                where, "a blank node cannot be constant: expected rml:termType rml:BlankNode"
            )
        if isinstance(term, Literal) and kind != "object map":
            raise self.error(where, f"{self.graph.shown(term)} is a literal: expected an IRI")
        is_literal = isinstance(term, Literal)
        return TermMap(
            ConstantTerm(term),
            "Literal" if is_literal else "IRI",
            where=where,
            position=self.place,
        )

    def term_map(self, node: Term, kind: str, where: str) -> TermMap:
        graph = self.graph
        self.only(node, kind, where)
        expression = self.expression(node, where)
        datatype = self._inner(node, where, "datatype")
        language = self._inner(node, where, "language")
        written = graph.values(node, *rml("termType"))
        if isinstance(expression, ConstantTerm):
            made = self.constant(expression.term, kind, where.rpartition(",")[0])
            if made.type != "Literal" and (datatype or language):
                raise self.error(where, "a datatype or language belongs to literals")
            if datatype and language:
                raise self.error(where, "expected a datatype or a language, not both")
            return replace(made, datatype=datatype, language=language)
        if len(written) > 1:
            raise self.error(where, "two term types: expected one rml:termType")
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
            raise self.error(where, f"term type {wanted}: expected one of {listed}")
        if expression is None and term_type != "BlankNode":
            raise self.error(where, ONE_EXPRESSION)
        if term_type != "Literal" and (datatype or language):
            raise self.error(where, f"a datatype or language belongs to literals, not to {wanted}")
        if datatype and language:
            raise self.error(where, "expected a datatype or a language, not both")
        missing, if_valid = self._policies(node, where)
        return TermMap(
            expression, term_type, datatype, language, missing, if_valid, where, self.place
        )

    def each(self, node: Term, what: str, where: str) -> tuple[TermMap, ...]:
        """The maps of a node, constants first."""
        constants, maps = self.either(node, what)
        return (
            *(self.constant(each, f"{what} map", where) for each in constants),
            *(self.term_map(each, f"{what} map", f"{where}, {what} map") for each in maps),
        )

    def _policies(self, node: Term, where: str) -> tuple[Missing, bool]:
        missing = self.word(node, where, MISSING, get_args(Missing))
        invalid = self.word(node, where, INVALID, ("reject", "missing"))
        return cast(Missing, missing), invalid == "missing"

    def _inner(self, node: Term, where: str, what: str) -> TermMap | None:
        constants, maps = self.either(node, what)
        if len(constants) + len(maps) > 1:
            raise self.error(where, f"expected one rml:{what} or rml:{what}Map")
        if what == "datatype":
            return next(iter(self.each(node, what, where)), None)
        where = f"{where}, language map"
        for term in constants:
            return self._tag(ConstantTerm(term), where) if isinstance(term, Literal | IRI) else None
        for each in maps:
            self.only(each, "language map", where)
            expression = self.expression(each, where)
            if expression is None:
                raise self.error(where, ONE_EXPRESSION)
            return self._tag(expression, where)
        return None

    def _tag(self, expression: Expression, where: str) -> TermMap:
        if isinstance(expression, ConstantTerm) and not isinstance(expression.term, Literal):
            raise self.error(where, 'expected a language tag in quotes, such as "en"')
        return TermMap(expression, "Literal", where=where, position=self.place)
