"""The entailments about the names of an ontology: hierarchies, domains, ranges, disjoint classes.

Classes with a description, and no name, get a name first. A reasoner of individuals tells the rest:
C is below D if and only if an individual of which nothing is known but that it is a C is a D; C is
in the domain of p if and only if one of which nothing is known but that it has a value of p is a C.
Such individuals enter the window, one question after the other, and leave it again.

Source: OWL 2 Direct Semantics, section 2.3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import Final

from sensorstream.errors import Inconsistent, QueryError
from sensorstream.model import owl, rdf, rdfs
from sensorstream.model.events import Delta
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Term, Triple
from sensorstream.model.vocabulary import OWL, RDFS
from sensorstream.reasoning.ontology import Ontology
from sensorstream.reasoning.reasoner import Aside
from sensorstream.sparql.described import NAMES, DescribedClass, name_of

_LITERAL = IRI(f"{RDFS}Literal")


def with_classes(ontology: Ontology, classes: Iterable[DescribedClass]) -> Ontology:
    """The ontology with a definition of each class: its name is equivalent to its description. Such
    a definition is conservative: nothing new follows about other names.

    Raises:
        QueryError: a description has a property that the ontology does not declare.
    """
    triples = dict.fromkeys(ontology.triples)
    for each in classes:
        _check(each, ontology.schema)
        triples.update(dict.fromkeys(_definition(each)))
    return replace(ontology, triples=tuple(triples), schema=Schema.of(triples))


def having(name: IRI) -> DescribedClass:
    """The class of all that have a value of a datatype property."""
    node = BlankNode("_:having")
    description = (
        (node, rdf.TYPE, owl.RESTRICTION),
        (node, owl.ON_PROPERTY, name),
        (node, owl.SOME_VALUES_FROM, _LITERAL),
    )
    return DescribedClass(name_of(f"having {name.n3}"), node, description)


def _definition(each: DescribedClass) -> Iterator[Triple]:
    yield each.name, rdf.TYPE, owl.CLASS
    yield each.name, owl.EQUIVALENT_CLASS, _apart(each.node, each)
    for s, p, o in each.description:
        subject = _apart(s, each)
        assert not isinstance(subject, str) or isinstance(subject, IRI | BlankNode)
        yield subject, p, _apart(o, each)


def _apart(part: Term, each: DescribedClass) -> Term:
    """A term of a description, with blank nodes that no other description has."""
    if not isinstance(part, BlankNode):
        return part
    return BlankNode(f"_:described{each.name.removeprefix(NAMES)}{part[2:]}")


def _check(each: DescribedClass, schema: Schema) -> None:
    declared = schema.object_properties | schema.datatype_properties
    for _, p, o in each.description:
        if p == owl.ON_PROPERTY and isinstance(o, IRI) and not o.startswith(OWL):
            if o in declared:
                continue
            raise QueryError(
                f"the query describes a class by <{o}>, which the ontology does not declare: "
                "expected an owl:ObjectProperty or owl:DatatypeProperty of the ontology",
                part=o,
            )


_ONE: Final = IRI("urn:sensorstream:fresh:1")
_OTHER: Final = IRI("urn:sensorstream:fresh:2")
ENTAILED: Final = frozenset(
    {
        rdfs.SUBCLASS_OF,
        owl.EQUIVALENT_CLASS,
        owl.DISJOINT_WITH,
        rdfs.DOMAIN,
        rdfs.RANGE,
        rdfs.SUBPROPERTY_OF,
        owl.EQUIVALENT_PROPERTY,
        owl.INVERSE_OF,
    }
)
"""The predicates of the statements that are told."""


@dataclass(slots=True)
class EntailedSchema:
    """Answers about the entailments for classes and object properties; each answer is found once.

    ``aside`` has an empty window, and a reasoner that finds all classes and values of an
    individual, as HermiT and Pellet do. ``classes`` are the names that answers may have besides
    ``owl:Thing`` and ``owl:Nothing``. ``with_value`` has, for datatype properties, the class of all
    that have a value. The hierarchy and the ranges of datatype properties are left out.
    """

    aside: Aside
    schema: Schema
    classes: Collection[IRI]
    with_value: Mapping[IRI, IRI]
    _above: dict[IRI, frozenset[IRI]] = field(default_factory=dict)
    _linked: dict[IRI, frozenset[Triple] | None] = field(default_factory=dict)

    def statements(self, predicate: IRI) -> Iterator[Triple]:
        """The statements between names that follow, with one of :data:`ENTAILED`.

        Raises:
            ReasonerError: the reasoner's process failed.
        """
        names, links = self._names(), sorted(self.schema.object_properties)
        return {
            rdfs.SUBCLASS_OF: _pairs(predicate, names, self.superclasses),
            owl.EQUIVALENT_CLASS: _pairs(predicate, names, self.superclasses, mutual=True),
            owl.DISJOINT_WITH: self._disjoint_classes(),
            rdfs.DOMAIN: chain(
                _pairs(predicate, links, lambda each: self._types(self._ends(each), _ONE)),
                self._domains_of_values(),
            ),
            rdfs.RANGE: _pairs(
                predicate, links, lambda each: self._types(self._ends(each), _OTHER)
            ),
            rdfs.SUBPROPERTY_OF: _pairs(predicate, links, self._above_property),
            owl.EQUIVALENT_PROPERTY: _pairs(predicate, links, self._above_property, mutual=True),
            owl.INVERSE_OF: _pairs(predicate, links, self._leading_back, mutual=True),
        }[predicate]

    def _names(self) -> list[IRI]:
        return sorted({*self.classes, owl.THING, owl.NOTHING})

    def superclasses(self, name: IRI) -> frozenset[IRI]:
        """The classes above a class, itself included."""
        if name not in self._above:
            told = None if name == owl.NOTHING else self._follow((_ONE, rdf.TYPE, name))
            self._above[name] = self._types(told, _ONE) | {name}
        return self._above[name]

    def _types(self, told: frozenset[Triple] | None, node: IRI) -> frozenset[IRI]:
        """The classes that an individual is said to have; all of them if there can be none."""
        if told is None:
            return frozenset(self._names())
        types = {o for s, p, o in told if s == node and p == rdf.TYPE and isinstance(o, IRI)}
        return frozenset(types & set(self.classes)) | {owl.THING}

    def _ends(self, name: IRI) -> frozenset[Triple] | None:
        if name not in self._linked:
            self._linked[name] = self._follow((_ONE, name, _OTHER))
        return self._linked[name]

    def _follow(self, *told: Triple) -> frozenset[Triple] | None:
        """The entailments if nothing else is known of the individuals; None: they cannot exist."""
        there = Delta(0, added=told)
        try:
            inferred = self.aside.change(there)
        except Inconsistent:
            return None
        self.aside.change(there.inverse())
        return frozenset((*told, *inferred.added))

    def _disjoint_classes(self) -> Iterator[Triple]:
        for name in self._names():
            if owl.NOTHING in self.superclasses(name):
                yield name, owl.DISJOINT_WITH, name
        for one, other in combinations(self._names(), 2):
            empty = owl.NOTHING in self.superclasses(one) | self.superclasses(other)
            if empty or self._follow((_ONE, rdf.TYPE, one), (_ONE, rdf.TYPE, other)) is None:
                yield one, owl.DISJOINT_WITH, other
                yield other, owl.DISJOINT_WITH, one

    def _domains_of_values(self) -> Iterator[Triple]:
        for name, holders in self.with_value.items():
            for each in sorted(self.superclasses(holders) - {holders}):
                yield name, rdfs.DOMAIN, each

    def _above_property(self, name: IRI) -> frozenset[IRI]:
        return self._linking(name, _ONE, _OTHER)

    def _leading_back(self, name: IRI) -> frozenset[IRI]:
        return self._linking(name, _OTHER, _ONE)

    def _linking(self, name: IRI, subject: IRI, object_: IRI) -> frozenset[IRI]:
        """The properties of two individuals of whom only a link by the first one is known."""
        told = self._ends(name)
        if told is None:
            return self.schema.object_properties
        return frozenset(p for p in self.schema.object_properties if (subject, p, object_) in told)


def _pairs(
    predicate: IRI,
    names: Iterable[IRI],
    others: Callable[[IRI], Iterable[IRI]],
    *,
    mutual: bool = False,
) -> Iterator[Triple]:
    """The statement about each name and each of its others; ``mutual``: both ways."""
    for name in names:
        for other in sorted(others(name)):
            if not mutual or name in others(other):
                yield name, predicate, other
