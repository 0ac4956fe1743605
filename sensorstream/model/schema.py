"""The names of an ontology: their kinds, hierarchies, domains, ranges and labels.

It is pure data, which mapping rules, views of the history and Spark read without a reasoner. It has
only the statements of the axioms (RDF Schema 1.1, section 2-3, and the named parts of OWL 2 class
axioms); a reasoner computes all that follows from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from itertools import chain
from typing import Final, TypeAlias

from sensorstream.model import owl, rdf, rdfs
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.model.xsd import DECIMAL, GEO_JSON, GEO_WKT, XSD

Closure: TypeAlias = Mapping[IRI, frozenset[IRI]]

_CLASS_KINDS: Final = frozenset({f"{OWL}Class", f"{RDFS}Class"})
_DATATYPE: Final = IRI(f"{RDFS}Datatype")
_LITERAL_TYPES: Final = frozenset(
    {
        *(f"{RDF}{name}" for name in ("langString", "PlainLiteral", "XMLLiteral", "HTML", "JSON")),
        *(f"{RDFS}Literal", GEO_WKT, GEO_JSON),
    }
)
# No text is a literal of these: OWL 2 Structural Specification, section 4.1.
_NUMBERS: Final = {f"{OWL}real": IRI(DECIMAL), f"{OWL}rational": IRI(DECIMAL)}
_NONE: Final[frozenset[IRI]] = frozenset()


@dataclass(frozen=True, slots=True)
class Schema:
    """The names of an ontology and the statements of its axioms about them.

    ``superclasses_of``, its inverse and ``superproperties_of`` are transitive and leave out the
    name itself and ``owl:Thing``; equivalent names are superclasses (or superproperties) of each
    other. ``domains_of`` and ``ranges_of`` are as stated, without those that are inherited. A
    schema can be the key of a cache: nobody changes its mappings.
    """

    classes: frozenset[IRI] = _NONE
    object_properties: frozenset[IRI] = _NONE
    datatype_properties: frozenset[IRI] = _NONE
    superclasses_of: Closure = field(default_factory=dict, hash=False)
    subclasses_of: Closure = field(default_factory=dict, hash=False)
    superproperties_of: Closure = field(default_factory=dict, hash=False)
    domains_of: Closure = field(default_factory=dict, hash=False)
    ranges_of: Closure = field(default_factory=dict, hash=False)
    labels_of: Mapping[IRI, str] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, triples: Iterable[Triple]) -> Schema:
        """Read the schema out of an ontology's triples.

        A cycle in a hierarchy makes its members equivalent. ``owl:equivalentClass``, named
        members of ``owl:intersectionOf``, the base of a datatype with facets, what a datatype is
        defined as, and the datatype of listed values are followed; every other class expression is
        left to the reasoner.
        """
        return _Reader(triples).schema()

    def superclasses(self, name: IRI) -> frozenset[IRI]:
        """Every class above ``name``, without ``name`` and ``owl:Thing``."""
        return self.superclasses_of.get(name, _NONE)

    def subclasses(self, name: IRI) -> frozenset[IRI]:
        """Every class below ``name``, without ``name``."""
        return self.subclasses_of.get(name, _NONE)

    def superproperties(self, name: IRI) -> frozenset[IRI]:
        """Every property above ``name``, without ``name``."""
        return self.superproperties_of.get(name, _NONE)

    def domains(self, name: IRI) -> frozenset[IRI]:
        """The classes stated as domain of a property or of a property above it."""
        return self._inherited(self.domains_of, name)

    def ranges(self, name: IRI) -> frozenset[IRI]:
        """The classes or datatypes stated as range of a property or of a property above it."""
        return self._inherited(self.ranges_of, name)

    def datatype_of(self, name: IRI) -> str | None:
        """The datatype of a property's values, or None if the ontology states none. The one stated
        nearest to the property wins, then the first by name, so that each run has the same.
        """
        if name in self.object_properties:
            return None
        # Nearer properties have more properties above them.
        above = sorted(self.superproperties(name), key=lambda p: -len(self.superproperties(p)))
        for each in (name, *above):
            told = [r for r in self.ranges_of.get(each, _NONE) if is_datatype(r)]
            if told:
                return min(told)
        return None

    def properties_of(self, name: IRI) -> frozenset[IRI]:
        """The properties whose stated domain is ``name`` or a class above it."""
        own = {name, *self.superclasses(name)}
        known = self.object_properties | self.datatype_properties
        return frozenset(p for p in known if not own.isdisjoint(self.domains(p)))

    def label(self, name: IRI) -> str:
        """The ``rdfs:label`` (English or without language first), else the local name."""
        return self.labels_of.get(name) or local_name(name)

    def _inherited(self, told: Closure, name: IRI) -> frozenset[IRI]:
        return told.get(name, _NONE).union(
            *(told.get(p, _NONE) for p in self.superproperties(name))
        )


def local_name(name: str) -> str:
    """The part of an IRI after the last ``#``, ``/`` or ``:``."""
    stripped = name.rstrip("#/")
    return stripped[max(stripped.rfind(mark) for mark in "#/:") + 1 :]


def transitive(edges: Mapping[IRI, Iterable[IRI]]) -> dict[IRI, frozenset[IRI]]:
    """Map each name to all names reachable from it, without itself; cycles are allowed."""
    closed: dict[IRI, frozenset[IRI]] = {}
    for start in edges:
        seen: set[IRI] = set()
        ahead = list(edges[start])
        while ahead:
            name = ahead.pop()
            if name not in seen:
                seen.add(name)
                # If the closure of the name is known, all of it is added at once.
                ahead.extend(closed.get(name) or edges.get(name, ()))
        seen.discard(start)
        closed[start] = frozenset(seen)
    return closed


def _inverted(closed: Closure) -> dict[IRI, frozenset[IRI]]:
    below: dict[IRI, set[IRI]] = {}
    for name, above in closed.items():
        for each in above:
            below.setdefault(each, set()).add(name)
    return {name: frozenset(names) for name, names in below.items()}


def is_datatype(name: str) -> bool:
    """Whether an IRI names a type of literals of XSD, RDF or GeoSPARQL."""
    return name.startswith(XSD) or name in _LITERAL_TYPES


def _is_user(name: Term) -> bool:
    """Whether a term is a name of the ontology itself, not of the vocabularies RDF or OWL."""
    return isinstance(name, IRI) and not name.startswith((RDF, RDFS, OWL, XSD))


class _Reader:
    """Indexes the triples in one pass, then answers from the index."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._objects: dict[tuple[Subject, IRI], dict[Term, None]] = {}
        self._pairs: dict[IRI, dict[tuple[Subject, Term], None]] = {}
        for s, p, o in triples:
            self._objects.setdefault((s, p), {})[o] = None
            self._pairs.setdefault(p, {})[s, o] = None

    def schema(self) -> Schema:
        classes = self._typed(*_CLASS_KINDS)
        super_edges = self._edges(rdfs.SUBCLASS_OF, owl.EQUIVALENT_CLASS)
        classes.update({*super_edges, *chain(*super_edges.values())} - self._data_names - classes)
        property_edges = self._edges(rdfs.SUBPROPERTY_OF, owl.EQUIVALENT_PROPERTY)
        ranges = self._named(rdfs.RANGE)
        of_objects = self._typed(
            f"{OWL}ObjectProperty",
            f"{OWL}SymmetricProperty",
            f"{OWL}TransitiveProperty",
            f"{OWL}InverseFunctionalProperty",
        )
        of_data = self._typed(f"{OWL}DatatypeProperty")
        for name in self._typed(f"{RDF}Property") - of_objects - of_data:
            # A property of plain RDF Schema is of data if its range is a datatype.
            told = ranges.get(name, _NONE)
            (of_data if any(map(is_datatype, told)) else of_objects).add(name)
        superclasses, superproperties = transitive(super_edges), transitive(property_edges)
        return Schema(
            classes=frozenset(classes),
            object_properties=frozenset(of_objects),
            datatype_properties=frozenset(of_data),
            superclasses_of=superclasses,
            subclasses_of=_inverted(superclasses),
            superproperties_of=superproperties,
            domains_of=self._named(rdfs.DOMAIN),
            ranges_of=ranges,
            labels_of=self._labels(),
        )

    def _typed(self, *kinds: str) -> set[IRI]:
        pairs = self._pairs.get(rdf.TYPE, {})
        return {s for s, o in pairs if o in kinds and isinstance(s, IRI) and _is_user(s)}

    @cached_property
    def _data_names(self) -> set[IRI]:
        """The names of datatypes; ``owl:equivalentClass`` defines them, too."""
        pairs = self._pairs.get(rdf.TYPE, {})
        equal = self._pairs.get(owl.EQUIVALENT_CLASS, {})
        defined = {s for s, o in equal if (o, _DATATYPE) in pairs and isinstance(s, IRI)}
        return defined | self._typed(_DATATYPE)

    def _edges(self, below: IRI, equal: IRI) -> dict[IRI, set[IRI]]:
        pairs: list[tuple[Term, Term]] = [*self._pairs.get(below, {})]
        for s, o in self._pairs.get(equal, {}):
            pairs += ((s, o), (o, s))
        edges: dict[IRI, set[IRI]] = {}
        for name, above in pairs:
            if isinstance(name, IRI) and _is_user(name):
                edges.setdefault(name, set()).update(n for n in self._names(above) if _is_user(n))
        return edges

    def _named(self, predicate: IRI) -> dict[IRI, frozenset[IRI]]:
        found: dict[IRI, set[IRI]] = {}
        for s, o in self._pairs.get(predicate, {}):
            if isinstance(s, IRI):
                names = (n for n in self._names(o) if _is_user(n) or is_datatype(n))
                found.setdefault(s, set()).update(names)
        return {name: frozenset(names) for name, names in found.items() if names}

    def _names(self, expression: Term) -> Iterator[IRI]:
        """The named classes, or datatypes, that an expression is stated to be a part of."""
        ahead: list[Term] = [expression]
        seen: set[Term] = set()
        while ahead:
            each = ahead.pop()
            if isinstance(each, Literal) or each in seen:
                continue
            seen.add(each)
            if isinstance(each, IRI):
                yield _NUMBERS.get(each, each)
                if each in self._data_names:
                    ahead += self._objects.get((each, owl.EQUIVALENT_CLASS), ())
                continue
            ahead += self._objects.get((each, owl.ON_DATATYPE), ())
            for members in self._objects.get((each, owl.INTERSECTION_OF), ()):
                ahead += self._list(members)
            for members in self._objects.get((each, owl.ONE_OF), ()):
                kinds = {v.datatype for v in self._list(members) if isinstance(v, Literal)}
                yield from map(IRI, kinds if len(kinds) == 1 else ())

    def _list(self, head: Term) -> Iterator[Term]:
        seen: set[Term] = set()
        while not isinstance(head, Literal) and head not in seen:
            seen.add(head)
            yield from self._objects.get((head, rdf.FIRST), ())
            head = next(iter(self._objects.get((head, rdf.REST), ())), Literal(""))

    def _labels(self) -> dict[IRI, str]:
        best: dict[IRI, tuple[int, str]] = {}
        for s, o in self._pairs.get(rdfs.LABEL, {}):
            if isinstance(s, IRI) and isinstance(o, Literal):
                language = (o.language or "en").partition("-")[0].lower()
                offer = (0 if language == "en" else 1, o.lexical)
                best[s] = min(best.get(s, offer), offer)
        return {name: text for name, (_, text) in best.items()}


def shortened(iri: str, prefixes: Mapping[str, str]) -> str:
    """An IRI with the longest prefix that fits, else in angle brackets."""
    fitting = [
        (len(start), name)
        for name, start in prefixes.items()
        if iri.startswith(start) and iri != start
    ]
    if not fitting:
        return f"<{iri}>"
    length, name = max(fitting)
    return f"{name}:{iri[length:]}"


def similar(name: IRI, known: Iterable[IRI], written: Callable[[str], str]) -> str | None:
    """The known name that is written most like another one, as ``written`` writes it."""
    names = {written(each): each for each in sorted(known)}
    close = get_close_matches(written(name), names, n=1) or [
        each for each, full in names.items() if local_name(full) == local_name(name)
    ]
    return close[0] if close else None


DESCRIBING: Final = frozenset(
    {owl.ON_PROPERTY, owl.INTERSECTION_OF, IRI(f"{OWL}unionOf"), owl.COMPLEMENT_OF, owl.ONE_OF}
)
"""A node with one of these properties is a class expression, or a data range."""


def missing_kinds(triples: Iterable[Triple]) -> Iterator[Triple]:
    """State the kind of nodes for which none is written: restrictions, classes, data ranges.

    Readers of OWL take a node without a kind for an annotation, and leave it out. A node with a
    literal or a datatype of XML Schema among its parts is a data range.
    """
    told: dict[BlankNode, dict[IRI, Term]] = {}
    for s, p, o in triples:
        if isinstance(s, BlankNode):
            told.setdefault(s, {})[p] = o
    for node, parts in told.items():
        if rdf.TYPE in parts or DESCRIBING.isdisjoint(parts):
            continue
        if owl.ON_PROPERTY in parts:
            yield node, rdf.TYPE, owl.RESTRICTION
        else:
            is_range = any(
                isinstance(each, Literal) or (isinstance(each, IRI) and each.startswith(XSD))
                for each in _parts(parts, told)
            )
            yield node, rdf.TYPE, _DATATYPE if is_range else owl.CLASS


def _parts(node: dict[IRI, Term], told: dict[BlankNode, dict[IRI, Term]]) -> Iterator[Term]:
    """The operands of a node, and the members of its list."""
    for p, value in node.items():
        if p not in DESCRIBING:
            continue
        yield value
        seen: set[Term] = set()
        while isinstance(value, BlankNode) and value not in seen:
            seen.add(value)
            cell = told.get(value, {})
            if rdf.FIRST in cell:
                yield cell[rdf.FIRST]
            value = cell.get(rdf.REST, value)
