"""Names that axioms use and nothing declares, and the kinds that their use shows.

Source: OWL 2 Mapping to RDF Graphs, section 3.2.1: a reader must know the kind of each name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from sensorstream.model import owl, rdf, rdfs
from sensorstream.model.frozen import frozen
from sensorstream.model.schema import Schema, is_datatype
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.model.xsd import XSD
from sensorstream.reasoning.dl.axioms import Axioms

OBJECT_PROPERTY: Final = IRI(f"{OWL}ObjectProperty")
DATATYPE_PROPERTY: Final = IRI(f"{OWL}DatatypeProperty")
_DATATYPE: Final = IRI(f"{RDFS}Datatype")
_CHAIN: Final = IRI(f"{OWL}propertyChainAxiom")
_FILLERS: Final = frozenset({owl.SOME_VALUES_FROM, IRI(f"{OWL}allValuesFrom")})
_HAS_VALUE: Final = IRI(f"{OWL}hasValue")
_ON_CLASS: Final = IRI(f"{OWL}onClass")
_OF_OBJECTS: Final = frozenset({_ON_CLASS, IRI(f"{OWL}hasSelf")})
_OF_DATA: Final = IRI(f"{OWL}onDataRange")
_BETWEEN_CLASSES: Final = frozenset(
    {rdfs.SUBCLASS_OF, owl.EQUIVALENT_CLASS, IRI(f"{OWL}disjointWith"), owl.COMPLEMENT_OF}
)
_LISTED_CLASSES: Final = frozenset(
    {owl.INTERSECTION_OF, IRI(f"{OWL}unionOf"), IRI(f"{OWL}disjointUnionOf")}
)
_BETWEEN_PROPERTIES: Final = frozenset(
    {rdfs.SUBPROPERTY_OF, owl.EQUIVALENT_PROPERTY, IRI(f"{OWL}propertyDisjointWith")}
)
_RANGE_SIGNS: Final = frozenset(
    {owl.ON_DATATYPE, IRI(f"{OWL}datatypeComplementOf"), IRI(f"{OWL}withRestrictions")}
)


@frozen
class Undeclared:
    """Undeclared names, each in the order in which it is met. ``classes`` are used as classes;
    ``properties`` have the kind that their use shows, None if it shows none or both.
    """

    classes: tuple[IRI, ...]
    properties: dict[IRI, IRI | None]

    def declarations(self) -> Iterator[Triple]:
        """Triples that declare the names whose kind is known."""
        for name in self.classes:
            yield name, rdf.TYPE, owl.CLASS
        for prop, kind in self.properties.items():
            if kind is not None:
                yield prop, rdf.TYPE, kind


def undeclared(triples: Sequence[Triple], schema: Schema) -> Undeclared:
    """The names that axioms use and nothing declares."""
    return _Uses(triples, schema).found()


class _Uses:
    """The uses of properties and classes in the axioms, by name."""

    def __init__(self, triples: Sequence[Triple], schema: Schema) -> None:
        self._triples = triples
        self._schema = schema
        self._axioms = Axioms(triples)
        self._typed = {s for s, p, _ in triples if p == rdf.TYPE}
        self._kinds: defaultdict[IRI, set[IRI]] = defaultdict(set)
        for known, kind in (
            (schema.object_properties, OBJECT_PROPERTY),
            (schema.datatype_properties, DATATYPE_PROPERTY),
        ):
            for name in known:
                self._kinds[name].add(kind)

    def found(self) -> Undeclared:
        properties: dict[IRI, None] = {}
        classes: dict[IRI, None] = {}
        for s, p, o in self._triples:
            shown: set[IRI] = set()
            met: list[IRI] = []
            if p == owl.ON_PROPERTY:
                met, shown = list(self._new(o)), self._shown(s)
            elif p == owl.INVERSE_OF:
                met, shown = list(self._new(s, o)), {OBJECT_PROPERTY}
            elif p == _CHAIN:
                met, shown = list(self._new(s, *self._axioms.members(o))), {OBJECT_PROPERTY}
            elif p in _BETWEEN_PROPERTIES:
                met = list(self._new(s, o))
            elif p == rdfs.DOMAIN:
                met = list(self._new(s))
            elif p == rdfs.RANGE:
                met, shown = list(self._new(s)), {self._kind_of_filler(o)}
            for name in met:
                properties[name] = None
                self._kinds[name] |= shown
            classes.update(dict.fromkeys(self._used_as_classes(s, p, o)))
        self._spread()
        kinds = {name: self._kinds[name] for name in properties}
        return Undeclared(
            tuple(c for c in classes if c not in self._schema.classes),
            {name: next(iter(k)) if len(k) == 1 else None for name, k in kinds.items()},
        )

    def _new(self, *names: Term) -> Iterator[IRI]:
        """The names among these that are the ontology author's and have no kind."""
        for name in names:
            if (
                isinstance(name, IRI)
                and not name.startswith((RDF, RDFS, OWL, XSD))
                and name not in self._typed
            ):
                yield name

    def _shown(self, restriction: Term) -> set[IRI]:
        """The kinds of property that a restriction can be on."""
        shown = set()
        for _, p, o in self._axioms.about(restriction):
            if p in _FILLERS:
                shown.add(self._kind_of_filler(o))
            elif p == _HAS_VALUE:
                shown.add(DATATYPE_PROPERTY if isinstance(o, Literal) else OBJECT_PROPERTY)
            elif p in _OF_OBJECTS:
                shown.add(OBJECT_PROPERTY)
            elif p == _OF_DATA:
                shown.add(DATATYPE_PROPERTY)
        return shown

    def _kind_of_filler(self, filler: Term) -> IRI:
        if isinstance(filler, IRI) and is_datatype(filler):
            return DATATYPE_PROPERTY
        for _, p, o in self._axioms.about(filler):
            if p in _RANGE_SIGNS or (p == rdf.TYPE and o in (_DATATYPE, f"{OWL}DataRange")):
                return DATATYPE_PROPERTY
            if p == owl.ONE_OF and any(isinstance(m, Literal) for m in self._axioms.members(o)):
                return DATATYPE_PROPERTY
        return OBJECT_PROPERTY

    def _used_as_classes(self, s: Term, p: IRI, o: Term) -> Iterator[IRI]:
        names: Sequence[Term] = ()
        if p in _BETWEEN_CLASSES:
            names = (s, o)
        elif p in (rdfs.DOMAIN, _ON_CLASS):
            names = (o,)
        elif p == rdfs.RANGE or p in _FILLERS:
            of = {s, *(o for _, link, o in self._axioms.about(s) if link == owl.ON_PROPERTY)}
            if self._schema.datatype_properties.isdisjoint(of) and not is_datatype(o):
                names = (o,)
        elif p in _LISTED_CLASSES:
            names = self._axioms.members(o)
        return self._new(*names)

    def _spread(self) -> None:
        """Give properties the kinds of those above, below and equal to them, until nothing new."""
        links = [(s, o) for s, p, o in self._triples if p in _BETWEEN_PROPERTIES]
        around: defaultdict[IRI, set[IRI]] = defaultdict(set)
        for one, other in links:
            if isinstance(one, IRI) and isinstance(other, IRI):
                around[one].add(other)
                around[other].add(one)
        ahead = [name for name in around if self._kinds.get(name)]
        while ahead:
            name = ahead.pop()
            for other in around[name]:
                if other not in self._typed and not self._kinds[name] <= self._kinds[other]:
                    self._kinds[other] |= self._kinds[name]
                    ahead.append(other)
