"""The results of the expressions of one triples map in an iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from lxml import etree

from sensorstream.errors import InvalidValue, MappingError, TermError
from sensorstream.language.syntax import Hole, Part
from sensorstream.language.walk import nodes
from sensorstream.mapping import xpath
from sensorstream.mapping.document import Element
from sensorstream.mapping.function_chain import compile_calls
from sensorstream.mapping.functions import Library
from sensorstream.mapping.moved_paths import from_document
from sensorstream.mapping.plan import Harvest
from sensorstream.mapping.rml.model import (
    ConstantTerm,
    Expression,
    FunctionValue,
    ParentMap,
    Reference,
    StringTemplate,
    TriplesMap,
)
from sensorstream.model.terms import Literal, Subject, Term


@dataclass(slots=True)
class Row:
    """One iteration: the node that the iterator found, in its document."""

    node: Element
    root: Element
    harvest: Harvest
    # The subjects of parent maps by the values they are joined on, built at the first use.
    parents: dict[ParentMap, dict[tuple[str, ...], list[Subject]]] = field(default_factory=dict)

    def at(self, node: Element) -> Row:
        """Another iteration of the same message."""
        return Row(node, self.root, self.harvest, self.parents)


Texts: TypeAlias = Callable[[Row], list[str]]
Terms: TypeAlias = Callable[[Row], Iterable[Term]]


class RmlExpressions:
    """Compiles the expressions of one triples map; its methods return closures."""

    def __init__(self, triples_map: TriplesMap, library: Library) -> None:
        self._library = library
        self._map = triples_map
        self._namespaces = dict(triples_map.source.namespaces)

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
        run = compile_calls((expression.call,), self._library, valid=valid)
        hole = next(nodes(expression, Hole), self._map.source.iterator)

        def called(row: Row) -> list[str]:
            found = find(row)
            try:
                return run(found)
            except TermError as error:
                fault = self.error(row, hole, error.message, ", ".join(found))
                raise InvalidValue(fault.message, position=fault.position) from None

        return called

    def template(self, parts: Sequence[Part], change: Callable[[str], str]) -> Texts:
        """Every combination of values of the references; equal references have the same value."""
        written: dict[str, Hole] = {}
        for part in parts:
            if isinstance(part, Hole):
                written.setdefault(part.text, part)
        index = {text: number for number, text in enumerate(written)}
        finds = tuple(self.texts(hole) for hole in written.values())
        pieces = tuple(part if isinstance(part, str) else index[part.text] for part in parts)

        def filled(row: Row) -> list[str]:
            values = [[change(text) for text in find(row)] for find in finds]
            return [
                "".join(piece if isinstance(piece, str) else chosen[piece] for piece in pieces)
                for chosen in product(*values)
            ]

        return filled

    def texts(self, hole: Hole) -> Texts:
        find = self.xpath(hole)

        def texts(row: Row) -> list[str]:
            found = xpath.texts(find(row))
            sought = row.harvest.sought
            if sought is not None:
                sought[hole.text] = sought.get(hole.text, False) or bool(found)
            return found

        return texts

    def xpath(self, hole: Hole) -> Callable[[Row], object]:
        text = hole.text
        if self._map.source.iterator.text == "/":
            text = from_document(text)
        evaluate = xpath.compile_xpath(text, self._namespaces)

        def find(row: Row) -> object:
            try:
                return evaluate(row.node, {})
            except etree.XPathError as error:
                raise self.error(row, hole, f"not possible on this message: {error}") from None

        return find

    def error(self, row: Row, hole: Hole, what: str, found: str = "") -> MappingError:
        line = (
            xpath.line_of(hole.text, self._namespaces, row.node, {}, found) or row.node.sourceline
        )
        return MappingError(
            f"rule {self._map.rule}, {{{hole.text}}}, message line {line}: {what}",
            position=hole.position,
        )
