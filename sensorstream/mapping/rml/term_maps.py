"""Compiles term maps to functions from iterations to terms.

Source: RML-Core, "Generated RDF Term of a Term Map".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import Final, cast

from sensorstream.errors import MappingError, TermError
from sensorstream.language.syntax import Hole
from sensorstream.mapping.rml.block import DEFAULT_GRAPH
from sensorstream.mapping.rml.model import (
    ConstantTerm,
    Expression,
    FunctionValue,
    Reference,
    StringTemplate,
    TermMap,
    TriplesMap,
)
from sensorstream.mapping.rml.rml_expressions import RmlExpressions, Row, Terms, Texts
from sensorstream.mapping.terms import SkipIndividual
from sensorstream.mapping.values import check_graph_name, encode_segment, literal_maker
from sensorstream.model.terms import IRI, Literal, Term, iri

_CACHED_IRIS: Final = 1024
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


class TermCompiler:
    """Compiles the term maps of one triples map; its methods return closures."""

    def __init__(self, triples_map: TriplesMap, expressions: RmlExpressions) -> None:
        self._base = triples_map.base
        self._iterator = triples_map.source.iterator
        self._expressions = expressions

    def term(self, term_map: TermMap, check: Callable[[IRI], IRI] | None = None) -> Terms:
        """A function to the terms of a map; an IRI that ``check`` refuses is invalid."""
        find = self._terms(term_map, check)
        if term_map.missing == "skip":
            return find
        skip = term_map.missing == "skip individual"

        def needed(row: Row) -> Iterable[Term]:
            found = list(find(row))
            if found:
                return found
            if skip:
                raise SkipIndividual
            raise self._term_error(row, term_map, "found nothing, but ss:missing says reject", "")

        return needed

    def graphs(self, term_maps: Sequence[TermMap]) -> Callable[[Row], list[IRI | None]]:
        """The graphs that graph maps name in an iteration; None is the default graph."""
        finds = tuple(self.term(each, check=check_graph_name) for each in term_maps)

        def graphs(row: Row) -> list[IRI | None]:
            return [
                None if name == DEFAULT_GRAPH else cast(IRI, name)
                for find in finds
                for name in find(row)
            ]

        return graphs

    def _terms(self, term_map: TermMap, check: Callable[[IRI], IRI] | None) -> Terms:
        expression = term_map.expression
        if isinstance(expression, ConstantTerm) and not (term_map.datatype or term_map.language):
            constant = (expression.term,)
            return lambda row: constant
        if term_map.type == "Literal":
            return self._literals(term_map)
        if term_map.type == "BlankNode":
            return self._blank_nodes(term_map)
        return self._iris(term_map, check)

    def _iris(self, term_map: TermMap, check: Callable[[IRI], IRI] | None) -> Terms:
        assert term_map.expression is not None
        change = _ENCODERS[term_map.type]
        find, base = self._values(term_map, change), self._base or ""
        is_uri = term_map.type in ("URI", "UnsafeURI")

        @lru_cache(maxsize=_CACHED_IRIS)
        def make(text: str) -> IRI:
            # An absolute IRI stays as it is; a value with other errors keeps its own error.
            made = iri(text if _SCHEME.match(text) else base + text)
            if is_uri and not made.isascii():
                raise TermError(f"'{made}' is not a URI: expected ASCII characters only")
            return made if check is None else check(made)

        return self._made(term_map, find, lambda row, text: (make(text),))

    def _blank_nodes(self, term_map: TermMap) -> Terms:
        expression = term_map.expression
        if expression is None:
            # Each iteration has its own label, the same at every evaluation.
            inner = term_map.where

            def new(row: Row) -> Iterable[Term]:
                path = row.root.getroottree().getpath(row.node)
                return (row.harvest.named_node(f"{inner} {path}"),)

            return new
        find = self._values(term_map, str)
        return lambda row: [row.harvest.named_node(text) for text in find(row)]

    def _literals(self, term_map: TermMap) -> Terms:
        assert term_map.expression is not None
        find = self._values(term_map, str)
        kinds, tags = self._kinds(term_map.datatype), self._tags(term_map.language)

        def make(row: Row, text: str) -> Iterable[Term]:
            return [
                _literal_maker(datatype, language)(text)
                for datatype, language in product(kinds(row), tags(row))
            ]

        return self._made(term_map, find, make)

    def _values(self, term_map: TermMap, change: Callable[[str], str]) -> Texts:
        assert term_map.expression is not None
        return self._expressions.values(term_map.expression, change, valid=term_map.if_valid)

    def _made(
        self, term_map: TermMap, find: Texts, make: Callable[[Row, str], Iterable[Term]]
    ) -> Terms:
        """The terms of the texts.

        An invalid text rejects the message or, with ``if valid``, is left out.
        """

        def terms(row: Row) -> Iterable[Term]:
            made: list[Term] = []
            for text in find(row):
                try:
                    made += make(row, text)
                except TermError as error:
                    if term_map.if_valid:
                        continue
                    raise self._term_error(row, term_map, error.message, text) from None
            return made

        return terms

    def _kinds(self, datatype: TermMap | None) -> Callable[[Row], Iterable[str | None]]:
        if datatype is None:
            return lambda row: (None,)
        find = self.term(datatype)
        return lambda row: [str(term) for term in find(row)]

    def _tags(self, language: TermMap | None) -> Callable[[Row], Iterable[str | None]]:
        if language is None:
            return lambda row: (None,)
        assert language.expression is not None
        if isinstance(language.expression, ConstantTerm):
            constant = language.expression.term
            assert isinstance(constant, Literal)
            tags = (constant.lexical,)
            return lambda row: tags
        return self._expressions.values(language.expression, str)

    def _term_error(self, row: Row, term_map: TermMap, what: str, found: str) -> MappingError:
        hole = _first_hole(term_map.expression) or self._iterator
        where = term_map.where.partition(", ")[2]
        return self._expressions.error(row, hole, f"{where}: {what}", found)


def _first_hole(expression: Expression | None) -> Hole | None:
    match expression:
        case Reference(xpath=hole):
            return hole
        case StringTemplate(parts=parts):
            return next((part for part in parts if isinstance(part, Hole)), None)
        case FunctionValue(value=value):
            return _first_hole(value)
        case _:
            return None


@lru_cache(maxsize=256)
def _literal_maker(datatype: str | None, language: str | None) -> Callable[[str], Literal]:
    return literal_maker(datatype, language)


def _encode_uri(text: str) -> str:
    """The URI-safe version: like the IRI-safe one, with ASCII only (RFC 3986, unreserved)."""
    return re.sub(
        r"[^A-Za-z0-9\-._~]+",
        lambda match: "".join(f"%{byte:02X}" for byte in match.group().encode()),
        text,
    )


_ENCODERS: Final[dict[str, Callable[[str], str]]] = {
    "IRI": encode_segment,
    "URI": _encode_uri,
    "UnsafeIRI": str,
    "UnsafeURI": str,
}
