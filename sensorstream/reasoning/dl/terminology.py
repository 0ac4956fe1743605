"""The axioms of an ontology, separated from its individuals, and the conditions for islands.

Source: OWL 2 Mapping to RDF Graphs, section 3.2; OWL 2 Direct Semantics, section 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_NAMED_INDIVIDUAL,
    OWL_ONTOLOGY,
    OWL_THING,
    RDF,
    RDF_TYPE,
    RDFS,
    RDFS_DOMAIN,
    RDFS_RANGE,
    RDFS_SUBPROPERTY_OF,
)
from sensorstream.model.xsd import XSD
from sensorstream.reasoning.dl.axioms import (
    ANNOTATIONS,
    EQUALITY,
    SWRL,
    Axioms,
    Roles,
    check_rules,
    complex_roles,
    counts_individuals,
    has_keys,
    has_rules,
    leaves_a_choice,
    named_individuals,
    why_whole,
)
from sensorstream.reasoning.dl.datatypes import Datatypes, without_text_facets
from sensorstream.reasoning.dl.probes import PREFIX, Probes, written_values
from sensorstream.reasoning.ontology import Ontology, to_ntriples

HELPER: Final = PREFIX
"""Prefix of the names given to class expressions that individuals are typed with."""

_AXIOM_SPACES: Final = (OWL, RDFS, RDF, XSD, SWRL.removesuffix("#"))
_DECLARATIONS: Final = frozenset(
    {f"{OWL}ObjectProperty", f"{OWL}DatatypeProperty", f"{RDF}Property", OWL_NAMED_INDIVIDUAL}
)
_TOPMOST: Final = frozenset({f"{OWL}topObjectProperty", f"{OWL}topDataProperty"})
_LOWEST: Final = frozenset({f"{OWL}bottomObjectProperty", f"{OWL}bottomDataProperty"})
_NONE: Final[frozenset[IRI]] = frozenset()


@dataclass(frozen=True, slots=True)
class PropertyEnds:
    """The classes of the ends of a property, if there are no other axioms about it."""

    subject: frozenset[IRI] = frozenset()
    object: frozenset[IRI] = frozenset()


@dataclass(frozen=True, slots=True)
class Terminology:
    """Axioms for the reasoner, and how assertions about individuals reach it.

    A *linking* property joins two individuals into one island. A *local* one has no axioms except
    named domains and ranges: its ends get these types instead, and stay in separate islands. Other
    properties have no effect. ``named`` are the individuals that axioms name, ``whole`` gives the
    reasons why islands would be unsound ("" if they are sound).

    ``probes`` are the classes for what is no type;
    their axioms are among the others. ``datatypes`` say how values are told.
    """

    axioms: tuple[Triple, ...]
    schema: Schema
    individuals: tuple[Subject, ...]
    helpers: dict[Term, IRI]
    linking: frozenset[IRI]
    local: dict[IRI, PropertyEnds]
    data: frozenset[IRI]
    named: frozenset[Subject]
    whole: str
    probes: Probes
    datatypes: Datatypes

    @property
    def stated(self) -> tuple[Triple, ...]:
        """The axioms without those of the probes."""
        return self.axioms[: len(self.axioms) - len(self.probes.axioms)]

    def document(self, reasoner: str = "hermit") -> bytes:
        """The axioms in the form for HermiT or Pellet, as N-Triples.

        Pellet fails on patterns of texts, and measures them wrongly: it gets no axiom with them.
        What these say of asserted values the rules derive.
        """
        axioms = self.axioms if reasoner == "hermit" else without_text_facets(self.axioms)
        return to_ntriples(self.datatypes.rewritten(axioms))

    @classmethod
    def of(cls, ontology: Ontology) -> Terminology:
        """Separate the axioms from the assertions.

        Raises:
            OntologyError: an axiom is none that HermiT and Pellet can be told.
        """
        schema = ontology.schema
        properties = schema.object_properties | schema.datatype_properties
        axioms: list[Triple] = []
        individuals: dict[Subject, None] = {}
        helpers: dict[Term, IRI] = {}
        for triple in ontology.triples:
            s, p, o = triple
            if _is_axiom(triple):
                if not _says_nothing(triple):
                    axioms.append(triple)
                continue
            if o == OWL_ONTOLOGY:
                continue
            if p in properties or p == RDF_TYPE or p in EQUALITY:
                individuals[s] = None
            if p in schema.object_properties and not isinstance(o, Literal):
                individuals[o] = None
            if p == RDF_TYPE and isinstance(o, BlankNode):
                helpers.setdefault(o, IRI(f"{HELPER}{len(helpers)}"))
        for expression, name in helpers.items():
            axioms.append((name, RDF_TYPE, IRI(f"{OWL}Class")))
            axioms.append((name, IRI(f"{OWL}equivalentClass"), expression))
        mentioned, ends = mentions(axioms)
        linking = schema.object_properties & mentioned
        data = schema.datatype_properties & (mentioned | ends.keys())
        told = Axioms(axioms)
        check_rules(told)
        named = frozenset(named_individuals(told))
        if named or leaves_a_choice(told, data):
            # An individual that equals one of two others has the values that both have, even for
            # properties without any axiom.
            linking = schema.object_properties
        roles = Roles(told)
        probes = _probes(told, roles, linking, data, named)
        return cls(
            axioms=(*axioms, *probes.axioms),
            schema=schema,
            individuals=tuple(individuals),
            helpers=helpers,
            linking=linking,
            local={
                p: told
                for p, told in ends.items()
                if p in schema.object_properties and p not in linking
            },
            data=data,
            named=named,
            whole=", ".join(why_whole(told, schema.object_properties)),
            probes=probes,
            datatypes=Datatypes(axioms),
        )


def _probes(
    axioms: Axioms,
    roles: Roles,
    linking: frozenset[IRI],
    data: frozenset[IRI],
    named: frozenset[Subject],
) -> Probes:
    """The probes beside types: for everything that single triples do not imply."""
    equality = (
        bool(named) or has_keys(axioms) or has_rules(axioms) or counts_individuals(axioms, data)
    )
    asked = linking if equality else roles.above(complex_roles(axioms)) & linking
    return Probes.of(asked, equality, written_values(axioms, roles, data), named)


def _is_axiom(triple: Triple) -> bool:
    _, p, o = triple
    if p in ANNOTATIONS | EQUALITY:
        return False
    if p == RDF_TYPE:
        in_language = isinstance(o, IRI) and o.startswith(_AXIOM_SPACES)
        # The header is the reasoner's own; Thing says nothing.
        return in_language and o not in {OWL_NAMED_INDIVIDUAL, OWL_ONTOLOGY, OWL_THING}
    return p.startswith(_AXIOM_SPACES)


def _says_nothing(triple: Triple) -> bool:
    """Whether an axiom holds anyway; editors write that a property is below the topmost one."""
    s, p, o = triple
    if p == RDFS_SUBPROPERTY_OF:
        return o in _TOPMOST or s in _LOWEST
    return s in _TOPMOST | _LOWEST and p == RDF_TYPE and o in _DECLARATIONS


def mentions(axioms: Iterable[Triple]) -> tuple[set[IRI], dict[IRI, PropertyEnds]]:
    """The names with an axiom other than declaration and named ends; and those ends."""
    mentioned: set[IRI] = set()
    ends: dict[IRI, PropertyEnds] = {}
    for s, p, o in axioms:
        if isinstance(o, IRI) and p not in {RDFS_DOMAIN, RDFS_RANGE}:
            mentioned.add(o)
        if not isinstance(s, IRI) or (p == RDF_TYPE and o in _DECLARATIONS):
            continue
        if p in {RDFS_DOMAIN, RDFS_RANGE} and isinstance(o, IRI):
            told = ends.get(s, PropertyEnds())
            name = _NONE if o == OWL_THING else frozenset({o})
            if p == RDFS_DOMAIN:
                ends[s] = PropertyEnds(told.subject | name, told.object)
            else:
                ends[s] = PropertyEnds(told.subject, told.object | name)
        else:
            mentioned.add(s)
    return mentioned, ends
