"""The compiler of RML mappings to the same kind of plan as rules.

Source: RML-Core, "The Output Dataset". ``docs/use/rml-and-xslt.md`` lists intended differences:
values lose their outer white space, and an invalid term rejects the message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final, TypeAlias, cast

from sensorstream.errors import LanguageError, MappingError
from sensorstream.language.syntax import Hole, MappingRule, ValueCall
from sensorstream.mapping.functions.function_definition import NO_LIBRARY, Library
from sensorstream.mapping.location_path import any_of, lookup_of
from sensorstream.mapping.mapped_values import append, check_graph_name, iri_maker
from sensorstream.mapping.mapping_expressions import HoleCompiler
from sensorstream.mapping.mapping_plan import Harvest, PlannedRule, Terms, Turn
from sensorstream.mapping.moved_paths import absolute, from_document
from sensorstream.mapping.path_index import Nodes
from sensorstream.mapping.rml.rml_check import faults
from sensorstream.mapping.rml.rml_model import (
    JoinCondition,
    LogicalSource,
    ParentMap,
    PredicateObjects,
    RmlMapping,
    TriplesMap,
)
from sensorstream.mapping.rml.rml_turtle import DEFAULT_GRAPH
from sensorstream.mapping.rule_cost import Steep, cost_of, steep_of
from sensorstream.mapping.term_maps import SkipIndividual, TermCompiler
from sensorstream.mapping.term_recipe import Expression, TermMap
from sensorstream.mapping.xml_document import Document, Element
from sensorstream.model import rdf
from sensorstream.model.events import Message
from sensorstream.model.frozen import field, frozen
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Subject, Term
from sensorstream.model.timeline import Timeline
from sensorstream.sparql.walk import nodes


def steep_of_map(
    triples_map: TriplesMap, mapping: RmlMapping, own: Container[str]
) -> Iterator[Steep]:
    """The expressions of a triples map that are not linear in the message; those whose values
    multiply count at the iterator. ``own`` are the user's own functions.
    """
    iterator = triples_map.source.iterator
    holes = set(nodes(triples_map, Hole)) - {iterator}
    path = Hole(absolute(iterator.text), position=iterator.position)
    yield from steep_of(MappingRule(triples_map.rule, path, (), tuple(holes), ()), own)
    subject = _several([triples_map.subject])
    for each in triples_map.properties:
        objects = max(_several_of(value, mapping) for value in each.objects)
        graphs = _several([*triples_map.graphs, *each.graphs])
        degree = subject + _several(each.predicates) + objects + graphs
        if degree > 1:
            yield Steep(degree, iterator)
    if any(call.function in own for call in nodes(triples_map, ValueCall)):
        yield Steep(2, iterator)


def _several(term_maps: Iterable[TermMap]) -> int:
    """The most values that one of them multiplies, each as many as a message has nodes."""
    return max((_references(each) for each in term_maps), default=0)


def _several_of(value: TermMap | ParentMap, mapping: RmlMapping) -> int:
    if isinstance(value, TermMap):
        return _several([value])
    parent = mapping.named(value.parent)
    assert parent is not None, "the reader has looked for it"
    own = _several([parent.subject])
    if not value.joins:
        return own
    # All rows of one may meet all rows of the other.
    return 1 + own + max(_joined(value.joins, "child"), _joined(value.joins, "parent"))


def _joined(joins: Iterable[JoinCondition], side: str) -> int:
    return sum(_references(getattr(each, side)) for each in joins)


def _references(value: object) -> int:
    holes = {hole.text for hole in nodes(value, Hole)}
    return sum(cost_of(text).many for text in holes)


Files: TypeAlias = Mapping[str, Document]


@frozen
class Surroundings:
    """The data that a mapping uses besides the message: ``library`` holds the functions, ``files``
    the documents of the sources that :func:`joined_files` names.
    """

    library: Library = NO_LIBRARY
    files: Files = field(default_factory=dict)


ALONE: Final = Surroundings()
_Index: TypeAlias = dict[tuple[str, ...], list[Subject]]
_Said: TypeAlias = tuple[Sequence[tuple[IRI, Term]], Sequence[IRI | None]]
"""Predicates with objects, and the graphs that they are said in."""
_DEFAULT: Final = (None,)
_NOTHING: Final[_Said] = ((), ())


def compile_rml(
    mappings: Iterable[RmlMapping],
    schema: Schema,
    timeline: Timeline,
    surroundings: Surroundings = ALONE,
) -> tuple[PlannedRule, ...]:
    """The triples maps of several documents; maps that share a rule's name are one rule.

    Raises:
        LanguageError: the first of the faults that ``rml_check.faults`` lists, or a value of a file
            that gives no term.
    """
    rules: list[PlannedRule] = []
    for mapping in mappings:
        for fault in faults(mapping, schema, surroundings.library):
            raise fault
        named: dict[str, list[TriplesMap]] = {}
        for each in mapping.maps:
            named.setdefault(each.rule, []).append(each)
        rules += (
            _planned(name, maps, mapping, timeline, surroundings) for name, maps in named.items()
        )
    return tuple(rules)


def joined_files(mapping: RmlMapping) -> tuple[LogicalSource, ...]:
    """The files that triples maps of another source are joined with."""
    found: dict[str, LogicalSource] = {}
    for each in mapping.maps:
        for parent in (mapping.named(value.parent) for value in each.parents):
            if parent is not None and parent.source.name != each.source.name:
                found[parent.source.name] = parent.source
    return tuple(found.values())


def compile_maps(
    mapping: RmlMapping, timeline: Timeline, surroundings: Surroundings = ALONE
) -> tuple[PlannedRule, ...]:
    """The triples maps of a document without faults as a rule each, to report their results."""
    shared = Counter(each.rule for each in mapping.maps)
    return tuple(
        _planned(
            each.rule if shared[each.rule] == 1 else f"{each.rule}, {each.key}",
            [each],
            mapping,
            timeline,
            surroundings,
        )
        for each in mapping.maps
    )


def _index_of_file(
    value: ParentMap, parent: TriplesMap, index_of: Callable[[Turn], _Index], files: Files
) -> _Index:
    """The subjects of a file, which stays the same for all messages."""
    root = files[parent.source.name].getroot()
    try:
        return index_of(Turn(root, Harvest(Message("", b"", 0, parent.source.name))))
    except MappingError as error:
        raise LanguageError(
            f"{value.where}: {parent.source.name}: {error.message}", position=value.position
        ) from None


def _planned(
    name: str,
    maps: Sequence[TriplesMap],
    mapping: RmlMapping,
    timeline: Timeline,
    surroundings: Surroundings,
) -> PlannedRule:
    parts = tuple(
        (each.source.name, _MapCompiler(each, mapping, timeline, surroundings).run())
        for each in maps
    )
    logical = maps[0].source
    sources = frozenset(each.source.name for each in mapping.maps)

    def run(root: Element, harvest: Harvest, nodes: Nodes | None) -> bool:
        # A message of one source of the document is not for the maps of other sources.
        source = harvest.message.source
        only = source if source in sources else ""
        found = [part(root, harvest) for name, part in parts if not only or name == only]
        return any(found)

    iterators = [
        lookup_of(absolute(each.source.iterator.text), dict(each.source.namespaces))
        for each in maps
    ]
    own = surroundings.library.own
    return PlannedRule(
        name,
        absolute(logical.iterator.text),
        dict(logical.namespaces),
        run,
        any_of(iterators, "each map finds its own rows"),
        steep=tuple(steep for each in maps for steep in steep_of_map(each, mapping, own)),
    )


def _note(hole: Hole, row: Turn, found: Sequence[str]) -> None:
    """Tell a report whether an XPath has found anything."""
    sought = row.harvest.sought
    if sought is not None:
        sought[hole.text] = sought.get(hole.text, False) or bool(found)


class _MapCompiler(TermCompiler):
    """A compiler of one triples map; its methods return closures."""

    def __init__(
        self,
        triples_map: TriplesMap,
        mapping: RmlMapping,
        timeline: Timeline,
        surroundings: Surroundings,
    ) -> None:
        source = triples_map.source
        placed = from_document if source.iterator.text == "/" else str
        spaces = dict(source.namespaces)
        holes = HoleCompiler(triples_map.rule, spaces, surroundings.library, placed, _note)
        make = iri_maker(triples_map.base or "", append)
        super().__init__(holes, source.iterator, make, make, multiply=True)
        self._surroundings = surroundings
        self._map = triples_map
        self._mapping = mapping
        self._timeline = timeline

    def run(self) -> Callable[[Element, Harvest], bool]:
        rows, subject = self.rows(), self.subject()
        time, update = self.holes.time(self._map.at, self._timeline), self._map.update
        classes = tuple((rdf.TYPE, each) for each in self._map.classes)
        properties = tuple(self._property(each) for each in self._map.properties)
        graphs_of = self._graphs(())

        def run(root: Element, harvest: Harvest) -> bool:
            found = False
            start = Turn(root, harvest)
            for row in rows(start):
                found = True
                subjects = subject(row)
                if not subjects:
                    continue
                statements = harvest.at(time(row))
                try:
                    said = [each(row) for each in properties]
                    kinds = (classes, graphs_of(row)) if classes else _NOTHING
                except SkipIndividual:
                    continue
                for pairs, graphs in (kinds, *said):
                    if not pairs or not graphs:
                        continue
                    for graph in graphs:
                        triples = statements.graph(graph)
                        for one in subjects:
                            for predicate, value in pairs:
                                triples[one, predicate, value] = None
                    if update and pairs is not classes:
                        statements.replace(
                            {(one, predicate) for one in subjects for predicate, _ in pairs}
                        )
                    for one in subjects:
                        if isinstance(one, IRI):
                            harvest.individuals[one] = None
            return found

        return run

    # Iterations

    def rows(self) -> Callable[[Turn], Iterator[Turn]]:
        """A function to all iterations of a message."""
        hole = self._map.source.iterator
        if hole.text == "/":
            return lambda start: iter((start,))
        find = self.holes.xpath(Hole(absolute(hole.text), position=hole.position))

        def rows(start: Turn) -> Iterator[Turn]:
            root = start.context.getroottree().getroot()
            at_root = Turn(root, start.harvest)
            for node in cast(Sequence[Element | str], find(at_root)):
                if not isinstance(node, Element):
                    raise self.holes.error(
                        start, hole, "found no element: expected a path to elements"
                    )
                yield Turn(node, start.harvest, fixed=start.fixed)

        return rows

    def subject(self) -> Callable[[Turn], list[Subject]]:
        find = self.term(self._map.subject)
        return lambda row: cast(list[Subject], list(find(row)))

    def _graphs(self, more: Sequence[TermMap]) -> Callable[[Turn], Sequence[IRI | None]]:
        """The graphs of the subject map and of ``more``, together (output.md, "target graphs")."""
        term_maps = (*self._map.graphs, *more)
        if not term_maps:
            return lambda row: _DEFAULT
        finds = tuple(self.term(each, check=check_graph_name) for each in term_maps)
        return lambda row: [
            None if name == DEFAULT_GRAPH else cast(IRI, name)
            for find in finds
            for name in find(row)
        ]

    def _property(self, values: PredicateObjects) -> Callable[[Turn], _Said]:
        predicates = tuple(self.term(each) for each in values.predicates)
        objects = tuple(
            self._parent(each) if isinstance(each, ParentMap) else self.term(each)
            for each in values.objects
        )

        graphs = self._graphs(values.graphs)

        def pairs(row: Turn) -> _Said:
            found = [term for find in objects for term in find(row)]
            if not found:
                return _NOTHING
            names = [cast(IRI, name) for find in predicates for name in find(row)]
            return tuple(product(names, found)), graphs(row)

        return pairs

    # Other triples maps

    def _parent(self, value: ParentMap) -> Terms:
        parent = self._mapping.named(value.parent)
        assert parent is not None
        other = _MapCompiler(parent, self._mapping, self._timeline, self._surroundings)
        if not value.joins:
            return other.subject()
        child_key = self._key(value.joins, lambda join: join.child)
        index_of = other.index(value.joins)
        fixed: _Index | None = None
        if parent.source.name != self._map.source.name:
            fixed = _index_of_file(value, parent, index_of, self._surroundings.files)

        def joined(row: Turn) -> Sequence[Term]:
            index = row.fixed.get(value) if fixed is None else fixed
            if index is None:
                index = row.fixed[value] = index_of(row)
            found: dict[Subject, None] = {}
            for key in child_key(row):
                found.update(dict.fromkeys(index.get(key, ())))
            return tuple(found)

        return joined

    def index(self, joins: Sequence[JoinCondition]) -> Callable[[Turn], _Index]:
        """The subjects of all iterations of a document, by the parents' side of the joins."""
        keys = self._key(joins, lambda join: join.parent)
        rows, subject = self.rows(), self.subject()

        def index(row: Turn) -> _Index:
            found: _Index = {}
            for each in rows(row):
                for key in keys(each):
                    found.setdefault(key, []).extend(subject(each))
            return found

        return index

    def _key(
        self, joins: Sequence[JoinCondition], side: Callable[[JoinCondition], Expression]
    ) -> Callable[[Turn], Iterable[tuple[str, ...]]]:
        finds = tuple(self.values(side(join)) for join in joins)
        return lambda row: product(*(find(row) for find in finds))
