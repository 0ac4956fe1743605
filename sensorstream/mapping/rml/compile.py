"""RML mappings to the same plan that rules become.

Source: RML-Core, "The Output Dataset". What differs on purpose is in ``docs/rml.md``: values lose
their outer white space, and an invalid term rejects the message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias, cast

from lxml import etree

from sensorstream.errors import MappingError, TermError
from sensorstream.language.syntax import Hole, Part
from sensorstream.mapping import xpath
from sensorstream.mapping.document import Element
from sensorstream.mapping.hint import Landmarks
from sensorstream.mapping.plan import Harvest, PlannedRule
from sensorstream.mapping.rml.check import faults
from sensorstream.mapping.rml.model import (
    Constant,
    Expression,
    Join,
    ParentMap,
    PredicateObjects,
    Reference,
    RmlMapping,
    Template,
    TermMap,
    TriplesMap,
)
from sensorstream.mapping.rml.paths import absolute, from_document
from sensorstream.mapping.terms import SkipIndividual
from sensorstream.mapping.values import encode_segment, literal_maker
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Subject, Term, iri
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.vocabulary import RDF_TYPE

_CACHED_IRIS: Final = 1024


def compile_rml(
    mappings: Iterable[RmlMapping], schema: Schema, timeline: Timeline
) -> tuple[PlannedRule, ...]:
    """The triples maps of several documents; maps that share a rule's name are one rule.

    Raises:
        LanguageError: the first of the faults that ``check.faults`` lists.
    """
    rules: list[PlannedRule] = []
    for mapping in mappings:
        for fault in faults(mapping, schema):
            raise fault
        named: dict[str, list[TriplesMap]] = {}
        for each in mapping.maps:
            named.setdefault(each.rule, []).append(each)
        rules += (_planned(name, maps, mapping, timeline) for name, maps in named.items())
    return tuple(rules)


def _planned(
    name: str, maps: Sequence[TriplesMap], mapping: RmlMapping, timeline: Timeline
) -> PlannedRule:
    parts = tuple(_MapCompiler(each, mapping, timeline).run() for each in maps)
    source = maps[0].source

    def run(root: Element, harvest: Harvest) -> bool:
        found = [part(root, harvest) for part in parts]
        return any(found)

    path = absolute(source.iterator.text)
    return PlannedRule(name, None, run, Landmarks(name, path, dict(source.namespaces)))


@dataclass(slots=True)
class Row:
    """One iteration: the node that the iterator found, in its document."""

    node: Element
    root: Element
    harvest: Harvest
    # The subjects of parent maps by the values they are joined on, built when first asked for.
    parents: dict[ParentMap, dict[tuple[str, ...], list[Subject]]] = field(default_factory=dict)

    def at(self, node: Element) -> Row:
        """Another iteration of the same message."""
        return Row(node, self.root, self.harvest, self.parents)


Texts: TypeAlias = Callable[[Row], list[str]]
Terms: TypeAlias = Callable[[Row], Iterable[Term]]


class _MapCompiler:
    """Compiles one triples map; its methods return closures."""

    def __init__(self, triples_map: TriplesMap, mapping: RmlMapping, timeline: Timeline) -> None:
        self._map = triples_map
        self._mapping = mapping
        self._timeline = timeline
        self._namespaces = dict(triples_map.source.namespaces)

    def run(self) -> Callable[[Element, Harvest], bool]:
        rows, subject = self.rows(), self.subject()
        time, classes = self._time(), self._map.classes
        properties = tuple(self._property(each) for each in self._map.properties)
        update = self._map.update

        def run(root: Element, harvest: Harvest) -> bool:
            found = False
            start = Row(root, root, harvest)
            for row in rows(start):
                found = True
                subjects = subject(row)
                if not subjects:
                    continue
                statements = harvest.at(time(row))
                try:
                    pairs = [pair for each in properties for pair in each(row)]
                except SkipIndividual:
                    continue
                if not pairs and not classes:
                    continue
                for one in subjects:
                    for each_class in classes:
                        statements.triples[one, RDF_TYPE, each_class] = None
                    for predicate, value in pairs:
                        statements.triples[one, predicate, value] = None
                        if update:
                            statements.replaces.add((one, predicate))
                    if isinstance(one, IRI):
                        harvest.individuals[one] = None
            return found

        return run

    # Iterations

    def rows(self) -> Callable[[Row], Iterator[Row]]:
        """All iterations of a message."""
        hole = self._map.source.iterator
        if hole.text == "/":
            return lambda start: iter((start,))
        find = self._xpath(Hole(absolute(hole.text), position=hole.position))

        def rows(start: Row) -> Iterator[Row]:
            for node in cast(Sequence[Element | str], find(start.at(start.root))):
                if not isinstance(node, Element):
                    raise self._error(start, hole, "found no element: expected a path to elements")
                yield start.at(node)

        return rows

    def _time(self) -> Callable[[Row], Instant]:
        at = self._map.at
        if at is None:
            return lambda row: row.harvest.message.received
        find, read = self._texts(at), self._timeline.instant

        def time(row: Row) -> Instant:
            found = find(row)
            if len(found) != 1:
                count = f"{len(found)} values" if found else "nothing"
                raise self._error(row, at, f"found {count}, expected a time")
            try:
                return read(found[0])
            except TermError as error:
                raise self._error(row, at, error.message, found[0]) from None

        return time

    # Terms

    def subject(self) -> Callable[[Row], list[Subject]]:
        find = self._term(self._map.subject)
        return lambda row: cast(list[Subject], list(find(row)))

    def _property(self, values: PredicateObjects) -> Callable[[Row], Iterable[tuple[IRI, Term]]]:
        predicates = tuple(self._term(each) for each in values.predicates)
        objects = tuple(
            self._parent(each) if isinstance(each, ParentMap) else self._term(each)
            for each in values.objects
        )

        def pairs(row: Row) -> Iterable[tuple[IRI, Term]]:
            found = [term for find in objects for term in find(row)]
            if not found:
                return ()
            names = [cast(IRI, name) for find in predicates for name in find(row)]
            return product(names, found)

        return pairs

    def _term(self, term_map: TermMap) -> Terms:
        find = self._terms(term_map)
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

    def _terms(self, term_map: TermMap) -> Terms:
        expression = term_map.expression
        if isinstance(expression, Constant):
            constant = (expression.term,)
            return lambda row: constant
        if term_map.type == "Literal":
            return self._literals(term_map)
        if term_map.type == "BlankNode":
            return self._blank_nodes(term_map)
        return self._iris(term_map)

    def _iris(self, term_map: TermMap) -> Terms:
        assert term_map.expression is not None
        change = _ENCODERS[term_map.type]
        find, base = self._values(term_map.expression, change), self._map.base or ""
        is_uri = term_map.type in ("URI", "UnsafeURI")

        @lru_cache(maxsize=_CACHED_IRIS)
        def make(text: str) -> IRI:
            try:
                made = iri(text)
            except TermError:
                made = iri(base + text)
            if is_uri and not made.isascii():
                raise TermError(f"'{made}' is not a URI: expected ASCII characters only")
            return made

        return self._made(term_map, find, lambda row, text: (make(text),))

    def _blank_nodes(self, term_map: TermMap) -> Terms:
        expression = term_map.expression
        if expression is None:
            # A label of its own for every iteration, the same whenever that iteration is asked.
            inner = term_map.where

            def new(row: Row) -> Iterable[Term]:
                path = row.root.getroottree().getpath(row.node)
                return (row.harvest.named_node(f"{inner} {path}"),)

            return new
        find = self._values(expression, str)
        return lambda row: [row.harvest.named_node(text) for text in find(row)]

    def _literals(self, term_map: TermMap) -> Terms:
        assert term_map.expression is not None
        find = self._values(term_map.expression, str)
        kinds, tags = self._kinds(term_map.datatype), self._tags(term_map.language)

        def make(row: Row, text: str) -> Iterable[Term]:
            return [
                _literal_maker(datatype, language)(text)
                for datatype, language in product(kinds(row), tags(row))
            ]

        return self._made(term_map, find, make)

    def _made(
        self, term_map: TermMap, find: Texts, make: Callable[[Row, str], Iterable[Term]]
    ) -> Terms:
        """The terms that the texts make.

        An invalid one rejects the message, or takes the others with it: as with ``if valid``.
        """

        def terms(row: Row) -> Iterable[Term]:
            made: list[Term] = []
            for text in find(row):
                try:
                    made += make(row, text)
                except TermError as error:
                    if term_map.if_valid:
                        return ()
                    raise self._term_error(row, term_map, error.message, text) from None
            return made

        return terms

    def _kinds(self, datatype: TermMap | None) -> Callable[[Row], Iterable[str | None]]:
        if datatype is None:
            return lambda row: (None,)
        find = self._term(datatype)
        return lambda row: [str(term) for term in find(row)]

    def _tags(self, language: TermMap | None) -> Callable[[Row], Iterable[str | None]]:
        if language is None:
            return lambda row: (None,)
        assert language.expression is not None
        if isinstance(language.expression, Constant):
            constant = language.expression.term
            assert isinstance(constant, Literal)
            tags = (constant.lexical,)
            return lambda row: tags
        return self._values(language.expression, str)

    # Other triples maps

    def _parent(self, value: ParentMap) -> Terms:
        parent = self._mapping.named(value.parent)
        assert parent is not None
        other = _MapCompiler(parent, self._mapping, self._timeline)
        subject = other.subject()
        if not value.joins:
            return subject
        child_key = self._key(value.joins, lambda join: join.child)
        parent_key = other._key(value.joins, lambda join: join.parent)
        parent_rows = other.rows()

        def joined(row: Row) -> Iterable[Term]:
            index = row.parents.get(value)
            if index is None:
                index = row.parents[value] = {}
                for each in parent_rows(row):
                    for key in parent_key(each):
                        index.setdefault(key, []).extend(subject(each))
            found: dict[Subject, None] = {}
            for key in child_key(row):
                found.update(dict.fromkeys(index.get(key, ())))
            return found

        return joined

    def _key(
        self, joins: Sequence[Join], side: Callable[[Join], Expression]
    ) -> Callable[[Row], Iterable[tuple[str, ...]]]:
        finds = tuple(self._values(side(join), str) for join in joins)
        return lambda row: product(*(find(row) for find in finds))

    # Values

    def _values(self, expression: Expression, change: Callable[[str], str]) -> Texts:
        """The texts of an expression; ``change`` is applied to what fills a template."""
        match expression:
            case Constant(term=term):
                constant = [term.lexical if isinstance(term, Literal) else str(term)]
                return lambda row: constant
            case Reference(xpath=hole):
                return self._texts(hole)
            case Template(parts=parts):
                return self._template(parts, change)

    def _template(self, parts: Sequence[Part], change: Callable[[str], str]) -> Texts:
        """Every combination of the values of the references; one written twice is one value."""
        written: dict[str, Hole] = {}
        for part in parts:
            if isinstance(part, Hole):
                written.setdefault(part.text, part)
        index = {text: number for number, text in enumerate(written)}
        finds = tuple(self._texts(hole) for hole in written.values())
        pieces = tuple(part if isinstance(part, str) else index[part.text] for part in parts)

        def filled(row: Row) -> list[str]:
            values = [[change(text) for text in find(row)] for find in finds]
            return [
                "".join(piece if isinstance(piece, str) else chosen[piece] for piece in pieces)
                for chosen in product(*values)
            ]

        return filled

    def _texts(self, hole: Hole) -> Texts:
        find = self._xpath(hole)
        return lambda row: xpath.texts(find(row))

    def _xpath(self, hole: Hole) -> Callable[[Row], object]:
        text = hole.text
        if self._map.source.iterator.text == "/":
            text = from_document(text)
        evaluate = xpath.compile_xpath(text, self._namespaces)

        def find(row: Row) -> object:
            try:
                return evaluate(row.node, {})
            except etree.XPathError as error:
                raise self._error(row, hole, f"not possible on this message: {error}") from None

        return find

    # Errors

    def _term_error(self, row: Row, term_map: TermMap, what: str, found: str) -> MappingError:
        hole = _first_hole(term_map.expression) or self._map.source.iterator
        where = term_map.where.partition(", ")[2]
        return self._error(row, hole, f"{where}: {what}", found)

    def _error(self, row: Row, hole: Hole, what: str, found: str = "") -> MappingError:
        line = xpath.line_of(hole, self._namespaces, row.node, {}, found) or row.node.sourceline
        return MappingError(
            f"rule {self._map.rule}, {{{hole.text}}}, message line {line}: {what}",
            position=hole.position,
        )


def _first_hole(expression: Expression | None) -> Hole | None:
    match expression:
        case Reference(xpath=hole):
            return hole
        case Template(parts=parts):
            return next((part for part in parts if isinstance(part, Hole)), None)
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
