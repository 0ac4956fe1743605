"""Compiles RML mappings to the same kind of plan as rules.

Source: RML-Core, "The Output Dataset". Intended differences are listed in ``docs/rml.md``: values
lose their outer white space, and an invalid term rejects the message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import cast

from sensorstream.errors import TermError
from sensorstream.language.syntax import Hole
from sensorstream.mapping.document import Element
from sensorstream.mapping.hint import Landmarks
from sensorstream.mapping.path_index import Nodes
from sensorstream.mapping.plan import Harvest, PlannedRule
from sensorstream.mapping.rml.model import (
    Expression,
    JoinCondition,
    ParentMap,
    PredicateObjects,
    RmlMapping,
    TriplesMap,
)
from sensorstream.mapping.rml.paths import absolute
from sensorstream.mapping.rml.rml_check import faults
from sensorstream.mapping.rml.rml_expressions import RmlExpressions, Row, Terms
from sensorstream.mapping.rml.term_maps import TermCompiler
from sensorstream.mapping.terms import SkipIndividual
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Subject, Term
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.vocabulary import RDF_TYPE


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


def compile_maps(mapping: RmlMapping, timeline: Timeline) -> tuple[PlannedRule, ...]:
    """Each triples map of a document without faults as a separate rule, to report its results."""
    shared = {each.rule: 0 for each in mapping.maps}
    for each in mapping.maps:
        shared[each.rule] += 1
    return tuple(
        _planned(
            each.rule if shared[each.rule] == 1 else f"{each.rule}, {each.key}",
            [each],
            mapping,
            timeline,
        )
        for each in mapping.maps
    )


def _planned(
    name: str, maps: Sequence[TriplesMap], mapping: RmlMapping, timeline: Timeline
) -> PlannedRule:
    parts = tuple(_MapCompiler(each, mapping, timeline).run() for each in maps)
    source = maps[0].source

    def run(root: Element, harvest: Harvest, nodes: Nodes | None) -> bool:
        found = [part(root, harvest) for part in parts]
        return any(found)

    path = absolute(source.iterator.text)
    return PlannedRule(name, run, Landmarks(name, path, dict(source.namespaces)))


class _MapCompiler:
    """Compiles one triples map; its methods return closures."""

    def __init__(self, triples_map: TriplesMap, mapping: RmlMapping, timeline: Timeline) -> None:
        self._map = triples_map
        self._mapping = mapping
        self._timeline = timeline
        self._expressions = RmlExpressions(triples_map)
        self._terms = TermCompiler(triples_map, self._expressions)

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
        find = self._expressions.xpath(Hole(absolute(hole.text), position=hole.position))

        def rows(start: Row) -> Iterator[Row]:
            for node in cast(Sequence[Element | str], find(start.at(start.root))):
                if not isinstance(node, Element):
                    raise self._expressions.error(
                        start, hole, "found no element: expected a path to elements"
                    )
                yield start.at(node)

        return rows

    def _time(self) -> Callable[[Row], Instant]:
        at = self._map.at
        if at is None:
            return lambda row: row.harvest.message.received
        find, read = self._expressions.texts(at), self._timeline.instant

        def time(row: Row) -> Instant:
            found = find(row)
            if len(found) != 1:
                count = f"{len(found)} values" if found else "nothing"
                raise self._expressions.error(row, at, f"found {count}, expected a time")
            try:
                return read(found[0])
            except TermError as error:
                raise self._expressions.error(row, at, error.message, found[0]) from None

        return time

    def subject(self) -> Callable[[Row], list[Subject]]:
        find = self._terms.term(self._map.subject)
        return lambda row: cast(list[Subject], list(find(row)))

    def _property(self, values: PredicateObjects) -> Callable[[Row], Iterable[tuple[IRI, Term]]]:
        predicates = tuple(self._terms.term(each) for each in values.predicates)
        objects = tuple(
            self._parent(each) if isinstance(each, ParentMap) else self._terms.term(each)
            for each in values.objects
        )

        def pairs(row: Row) -> Iterable[tuple[IRI, Term]]:
            found = [term for find in objects for term in find(row)]
            if not found:
                return ()
            names = [cast(IRI, name) for find in predicates for name in find(row)]
            return product(names, found)

        return pairs

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
        self, joins: Sequence[JoinCondition], side: Callable[[JoinCondition], Expression]
    ) -> Callable[[Row], Iterable[tuple[str, ...]]]:
        finds = tuple(self._expressions.values(side(join), str) for join in joins)
        return lambda row: product(*(find(row) for find in finds))
