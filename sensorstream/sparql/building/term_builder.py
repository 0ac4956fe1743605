"""Terms, triples and paths from the parse tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import reduce
from itertools import chain
from typing import Any, Final, NoReturn, TypeVar

from lark import Discard, Token, Tree
from lark.visitors import Transformer_NonRecursive

from sensorstream.errors import Position, QueryError
from sensorstream.model import rdf, xsd
from sensorstream.model.frozen import field, frozen, mutable
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import PatternTerm, TriplePattern, Variable
from sensorstream.sparql.iris import resolve
from sensorstream.sparql.query_lexer import QueryText

NO_PREFIXES: Final[Mapping[str, str]] = {}

_Written = TypeVar("_Written")
_ESCAPE: Final = re.compile(r"\\(.)", re.S)
_ESCAPES: Final = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_LABEL: Final = re.compile(r"_:(\w+)")
_REPEATS: Final[dict[str, type[algebra.ZeroOrOne | algebra.ZeroOrMore | algebra.OneOrMore]]] = {
    "?": algebra.ZeroOrOne,
    "*": algebra.ZeroOrMore,
    "+": algebra.OneOrMore,
}


@mutable
class BracketedNode:
    """A blank node or list written in brackets, with the triples inside them."""

    term: PatternTerm
    triples: list[TriplePattern] = field(default_factory=list)


@frozen
class Triples:
    """A block of triples, not yet part of a pattern."""

    patterns: tuple[TriplePattern, ...]


def rule(make: Callable[..., Any], *, by_value: bool = False) -> Any:
    """A rule of the grammar: builds a node from its parts, placed where its text begins."""

    def built(self: TermBuilder, children: list[Any]) -> Any:
        return (self.at if by_value else self.operation)(self.here, make(*children))

    return built


def plain(make: Callable[..., Any]) -> Any:
    """A rule of the grammar: builds a value from its parts, without a place."""
    return lambda _, children: make(*children)


class TermBuilder(Transformer_NonRecursive[Token, Any]):
    """A transformer with a method for each grammar rule, bottom up, from left to right."""

    def __init__(
        self, source: QueryText, base: str | None, prefixes: Mapping[str, str] = NO_PREFIXES
    ) -> None:
        super().__init__()
        self.here = 0
        """Where the text begins of the rule that is built."""
        self.source = source
        self.base_iri = base
        self.prefixes = {f"{name}:": iri for name, iri in prefixes.items()}
        # The last position of each part. A grammar rule is built as soon as its text has been read,
        # so the last position of a part is the one within the rule.
        self._places: dict[object, int] = {}
        self._first: dict[object, int] = {}
        # By identity: to hash each part of a long sum would take the square of its length.
        self._operations: list[tuple[object, int]] = []
        self._labels = set(_LABEL.findall(source.text))
        self._fresh = 0

    def _call_userfunc(self, tree: Tree[Token], new_children: list[Any] | None = None) -> Any:
        if not tree.meta.empty:
            self.here = tree.meta.start_pos
        return super()._call_userfunc(tree, new_children)  # type: ignore[no-untyped-call]

    # Faults

    def fail(self, offset: int, message: str) -> NoReturn:
        raise QueryError(message, position=self.source.position(offset))

    def fail_at(self, thing: object, message: str) -> NoReturn:
        self.fail(self._places.get(thing, 0), message)

    def at(self, offset: int, thing: _Written) -> _Written:
        """Record the position of ``thing`` and return it."""
        self._places[thing] = offset
        self._first.setdefault(thing, offset)
        return thing

    def declared(self) -> dict[str, str]:
        """The prefixes at the end of the text, without their colons."""
        return {name[:-1]: iri for name, iri in self.prefixes.items()}

    def places(self) -> dict[object, Position]:
        """The first position of each part."""
        return {thing: self.source.position(offset) for thing, offset in self._first.items()}

    def operation(self, offset: int, node: _Written) -> _Written:
        """Record the place of the operator, function or keyword of ``node`` and return it."""
        self._operations.append((node, offset))
        return node

    def operations(self) -> dict[int, tuple[object, Position]]:
        """The nodes of operators, functions and clauses, with their places, by identity."""
        return {id(node): (node, self.source.position(offset)) for node, offset in self._operations}

    # Prologue

    prologue = plain(lambda *_: Discard)

    def base(self, children: list[Token]) -> None:
        self.base_iri = self._resolved(children[0].value[1:-1])

    def prefix(self, children: list[Token]) -> None:
        self.prefixes[children[0].value] = self._resolved(children[1].value[1:-1])

    def _resolved(self, written: str) -> str:
        return written if self.base_iri is None else resolve(self.base_iri, written)

    # Terms

    def variable(self, children: list[Token]) -> Variable:
        token = children[0]
        return self.at(token.start_pos or 0, Variable(token.value[1:]))

    def iri(self, children: list[Token]) -> IRI:
        token = children[0]
        offset = token.start_pos or 0
        if token.type == "IRIREF":
            return self.at(offset, IRI(self._resolved(token.value[1:-1])))
        namespace, local = token.value.split(":", 1)
        start = self.prefixes.get(f"{namespace}:")
        if start is None:
            self.fail(offset, f"the prefix of '{token.value}' is not declared")
        return self.at(offset, IRI(start + _ESCAPE.sub(r"\1", local)))

    a = plain(lambda *_: rdf.TYPE)
    nil = plain(lambda *_: rdf.NIL)

    def blank(self, children: list[Token]) -> BlankNode:
        node = BlankNode(children[0].value) if children else self._fresh_blank()
        return self.at(self.here, node)

    def _fresh_blank(self) -> BlankNode:
        while f"b{self._fresh}" in self._labels:
            self._fresh += 1
        self._fresh += 1
        return BlankNode(f"_:b{self._fresh - 1}")

    def text(self, children: list[Token]) -> str:
        token = children[0]
        quotes = 3 if token.type == "LONG_TEXT" else 1
        inner: str = token.value[quotes:-quotes]
        if "\\" not in inner:
            return inner
        return _ESCAPE.sub(lambda match: _ESCAPES.get(match.group(1), match.group(1)), inner)

    def rdf_literal(self, children: list[Any]) -> Literal:
        lexical, *rest = children
        if not rest:
            return Literal(lexical)
        if isinstance(rest[0], IRI):
            return Literal(lexical, rest[0])
        return Literal(lexical, language=rest[0].value[1:])

    number = plain(lambda token: number(token.value))
    boolean = plain(lambda token: Literal(token.value.lower(), xsd.BOOLEAN))

    # Triples

    def triples(self, children: list[list[TriplePattern]]) -> Triples:
        return Triples(tuple(chain.from_iterable(children)))

    def same_subject(self, children: list[Any]) -> list[TriplePattern]:
        subject = _node(children[0])
        if len(children) > 1:
            _describe(subject, children[1])
        return subject.triples

    def property_list(self, children: list[Any]) -> list[Any]:
        return children

    property = object_list = property_list

    def blank_properties(self, children: list[Any]) -> BracketedNode:
        node = BracketedNode(self.at(self.here, self._fresh_blank()))
        _describe(node, children[0])
        return node

    def collection(self, children: list[Any]) -> BracketedNode:
        cells = [self.at(self.here, self._fresh_blank()) for _ in children]
        list_of = BracketedNode(cells[0])
        rests: list[PatternTerm] = [*cells[1:], rdf.NIL]
        for cell, rest, member in zip(cells, rests, children, strict=True):
            node = _node(member)
            list_of.triples.append(TriplePattern(cell, rdf.FIRST, node.term))
            list_of.triples += node.triples
            list_of.triples.append(TriplePattern(cell, rdf.REST, rest))
        return list_of

    # Paths

    alternative = rule(lambda *paths: reduce(algebra.Alternative, paths), by_value=True)
    sequence = rule(lambda *parts: reduce(algebra.Sequence, parts[::2]), by_value=True)
    inverse = rule(lambda *parts: algebra.Inverse(parts[-1]), by_value=True)
    repeated = rule(lambda path, mark: _REPEATS[mark.value](path), by_value=True)
    negated_set = rule(lambda negated: negated, by_value=True)

    def negated(self, children: list[tuple[bool, IRI]]) -> algebra.NegatedSet:
        return algebra.NegatedSet(
            tuple(iri for backward, iri in children if not backward),
            tuple(iri for backward, iri in children if backward),
        )

    one_in_set = plain(lambda *of: (len(of) == 2, of[-1]))

    def refuse_paths(self, triples: tuple[TriplePattern, ...], where: str) -> None:
        """Fail at the first path that is more than a property."""
        for triple in triples:
            if not isinstance(triple.predicate, Variable | IRI):
                self.fail_at(triple.predicate, f"a path cannot stand in {where}")


def number(written: str) -> Literal:
    """The literal of a number without quotes."""
    if "e" in written or "E" in written:
        return Literal(written, xsd.DOUBLE)
    return Literal(written, xsd.DECIMAL if "." in written else xsd.INTEGER)


def _node(written: Any) -> BracketedNode:
    return written if isinstance(written, BracketedNode) else BracketedNode(written)


def _describe(node: BracketedNode, properties: list[tuple[Any, list[Any]]]) -> None:
    for verb, objects in properties:
        for each in map(_node, objects):
            node.triples.append(TriplePattern(node.term, verb, each.term))
            node.triples += each.triples
