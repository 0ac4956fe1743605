"""Compiles term maps to functions from iterations to terms.

Source: RML-Core, "Generated RDF Term of a Term Map".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias, cast

from sensorstream.errors import MappingError, TermError
from sensorstream.language.syntax import Hole, Part
from sensorstream.language.walk import nodes
from sensorstream.mapping.expressions import HoleCompiler
from sensorstream.mapping.functions.definition import Library
from sensorstream.mapping.moved_paths import from_document
from sensorstream.mapping.plan import Texts, Turn
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
from sensorstream.mapping.terms import SkipIndividual
from sensorstream.mapping.values import check_graph_name, encode_segment, literal_maker
from sensorstream.model.terms import IRI, Literal, Term, iri

_CACHED_IRIS: Final = 1024
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


Terms: TypeAlias = Callable[[Turn], Iterable[Term]]


class TermCompiler(HoleCompiler):
    """Compiles the term maps of one triples map; its methods return closures."""

    def __init__(self, triples_map: TriplesMap, library: Library) -> None:
        self._base = triples_map.base
        self._iterator = triples_map.source.iterator
        namespaces = dict(triples_map.source.namespaces)
        placed = from_document if self._iterator.text == "/" else str
        super().__init__(triples_map.rule, namespaces, library, placed)

    def term(self, term_map: TermMap, check: Callable[[IRI], IRI] | None = None) -> Terms:
        """A function to the terms of a map; an IRI that ``check`` refuses is invalid."""
        find = self._terms(term_map, check)
        if term_map.missing == "skip":
            return find
        skip = term_map.missing == "skip individual"

        def needed(row: Turn) -> Iterable[Term]:
            found = list(find(row))
            if found:
                return found
            if skip:
                raise SkipIndividual
            raise self._term_error(row, term_map, "found nothing, but ss:missing says reject", "")

        return needed

    def graphs(self, term_maps: Sequence[TermMap]) -> Callable[[Turn], list[IRI | None]]:
        """The graphs that graph maps name in an iteration; None is the default graph."""
        finds = tuple(self.term(each, check=check_graph_name) for each in term_maps)

        def graphs(row: Turn) -> list[IRI | None]:
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

            def new(row: Turn) -> Iterable[Term]:
                path = row.context.getroottree().getpath(row.context)
                return (row.harvest.named_node(f"{inner} {path}"),)

            return new
        find = self._values(term_map, str)
        return lambda row: [row.harvest.named_node(text) for text in find(row)]

    def _literals(self, term_map: TermMap) -> Terms:
        assert term_map.expression is not None
        find = self._values(term_map, str)
        kinds, tags = self._kinds(term_map.datatype), self._tags(term_map.language)

        def make(row: Turn, text: str) -> Iterable[Term]:
            return [
                literal_maker(datatype, language)(text)
                for datatype, language in product(kinds(row), tags(row))
            ]

        return self._made(term_map, find, make)

    def _values(self, term_map: TermMap, change: Callable[[str], str]) -> Texts:
        assert term_map.expression is not None
        return self.values(term_map.expression, change, valid=term_map.if_valid)

    def _made(
        self, term_map: TermMap, find: Texts, make: Callable[[Turn, str], Iterable[Term]]
    ) -> Terms:
        """The terms of the texts.

        An invalid text rejects the message or, with ``if valid``, is left out.
        """

        def terms(row: Turn) -> Iterable[Term]:
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

    def _kinds(self, datatype: TermMap | None) -> Callable[[Turn], Iterable[str | None]]:
        if datatype is None:
            return lambda row: (None,)
        find = self.term(datatype)
        return lambda row: [str(term) for term in find(row)]

    def _tags(self, language: TermMap | None) -> Callable[[Turn], Iterable[str | None]]:
        if language is None:
            return lambda row: (None,)
        assert language.expression is not None
        if isinstance(language.expression, ConstantTerm):
            constant = language.expression.term
            assert isinstance(constant, Literal)
            tags = (constant.lexical,)
            return lambda row: tags
        return self.values(language.expression, str)

    def _term_error(self, row: Turn, term_map: TermMap, what: str, found: str) -> MappingError:
        hole = next(nodes(term_map.expression, Hole), self._iterator)
        where = term_map.where.partition(", ")[2]
        return self.error(row, hole, f"{where}: {what}", found)

    # Texts

    def values(
        self, expression: Expression, change: Callable[[str], str], *, valid: bool = False
    ) -> Texts:
        """The texts of an expression; ``change`` is applied to what fills a template.

        With ``valid`` the values that a function refuses are left out.
        """
        match expression:
            case ConstantTerm(term=term):
                constant = [term.lexical if isinstance(term, Literal) else str(term)]
                return lambda row: constant
            case Reference(xpath=hole):
                return self.texts(hole)
            case StringTemplate(parts=parts):
                return self.template(parts, change)
            case FunctionValue():
                return self._called(expression, valid)

    def _called(self, expression: FunctionValue, valid: bool) -> Texts:
        """The values of a function; only templates encode what fills them."""
        find = self.values(expression.value, str, valid=valid)
        hole = next(nodes(expression, Hole), self._iterator)
        return self.called(hole, find, (expression.call,), valid=valid)

    def template(self, parts: Sequence[Part], change: Callable[[str], str]) -> Texts:
        """Every combination of values of the references; equal references have the same value."""
        written: dict[str, Hole] = {}
        for part in parts:
            if isinstance(part, Hole):
                written.setdefault(part.text, part)
        index = {text: number for number, text in enumerate(written)}
        finds = tuple(self.texts(hole) for hole in written.values())
        pieces = tuple(part if isinstance(part, str) else index[part.text] for part in parts)

        def filled(row: Turn) -> list[str]:
            values = [[change(text) for text in find(row)] for find in finds]
            return [
                "".join(piece if isinstance(piece, str) else chosen[piece] for piece in pieces)
                for chosen in product(*values)
            ]

        return filled

    def texts(self, hole: Hole) -> Texts:
        find = self.plain(hole)

        def texts(row: Turn) -> list[str]:
            found = find(row)
            sought = row.harvest.sought
            if sought is not None:
                sought[hole.text] = sought.get(hole.text, False) or bool(found)
            return found

        return texts


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
