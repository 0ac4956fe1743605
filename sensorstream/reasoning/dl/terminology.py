"""The axioms of an ontology, parted from its individuals, and what islands may rely on.

Source: OWL 2 Mapping to RDF Graphs, section 3.2; OWL 2 Direct Semantics, section 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from sensorstream.model.datatypes import XSD
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_DIFFERENT_FROM,
    OWL_NAMED_INDIVIDUAL,
    OWL_ONTOLOGY,
    OWL_SAME_AS,
    OWL_THING,
    RDF,
    RDF_FIRST,
    RDF_REST,
    RDF_TYPE,
    RDFS,
    RDFS_DOMAIN,
    RDFS_RANGE,
)
from sensorstream.reasoning.ontology import Ontology

HELPER: Final = "urn:sensorstream:class:"
"""Prefix of the names given to class expressions that individuals are typed with."""

_SWRL: Final = "http://www.w3.org/2003/11/swrl"
_AXIOM_SPACES: Final = (OWL, RDFS, RDF, XSD, _SWRL)
_ANNOTATIONS: Final = frozenset(
    {
        *(f"{RDFS}{word}" for word in ("label", "comment", "seeAlso", "isDefinedBy")),
        *(f"{OWL}{word}" for word in ("versionInfo", "deprecated", "versionIRI", "imports")),
        *(f"{OWL}{word}" for word in ("priorVersion", "incompatibleWith")),
        f"{OWL}backwardCompatibleWith",
    }
)
_DECLARATIONS: Final = frozenset(
    {f"{OWL}ObjectProperty", f"{OWL}DatatypeProperty", f"{RDF}Property", OWL_NAMED_INDIVIDUAL}
)
_NAMING_INDIVIDUALS: Final = {
    IRI(f"{OWL}hasValue"): "an individual as value (owl:hasValue)",
    IRI(f"{OWL}sourceIndividual"): "a negative property assertion",
    IRI(f"{OWL}targetIndividual"): "a negative property assertion",
}
_LISTING_INDIVIDUALS: Final = {
    IRI(f"{OWL}oneOf"): "an enumerated class (owl:oneOf)",
    IRI(f"{OWL}distinctMembers"): "individuals told different (owl:AllDifferent)",
}
_NONE: Final[frozenset[IRI]] = frozenset()


@dataclass(frozen=True, slots=True)
class Ends:
    """What a property implies for its ends, where that is all that is said of it."""

    subject: frozenset[IRI] = frozenset()
    object: frozenset[IRI] = frozenset()


@dataclass(frozen=True, slots=True)
class Terminology:
    """Axioms for the reasoner, and how assertions about individuals reach it.

    A *linking* property joins two individuals into one island. A *local* one has no axiom but
    named domains and ranges: its ends are told their types instead, and stay apart. One that
    is neither says nothing. ``whole`` is the reason why islands would be unsound here
    ("" where they are sound); ``named`` are the individuals that axioms name.
    """

    axioms: tuple[Triple, ...]
    schema: Schema
    individuals: tuple[Subject, ...]
    helpers: dict[Term, IRI]
    linking: frozenset[IRI]
    local: dict[IRI, Ends]
    data: frozenset[IRI]
    named: frozenset[Subject]
    whole: str

    @classmethod
    def of(cls, ontology: Ontology) -> Terminology:
        """Part the axioms from the rest."""
        schema = ontology.schema
        properties = schema.object_properties | schema.datatype_properties
        axioms: list[Triple] = []
        individuals: dict[Subject, None] = {}
        helpers: dict[Term, IRI] = {}
        for triple in ontology.triples:
            s, p, o = triple
            if _is_axiom(triple):
                axioms.append(triple)
                continue
            if o == OWL_ONTOLOGY:
                continue
            if p in properties or p in {RDF_TYPE, OWL_SAME_AS, OWL_DIFFERENT_FROM}:
                individuals[s] = None
            if p in schema.object_properties and not isinstance(o, Literal):
                individuals[o] = None
            if p == RDF_TYPE and isinstance(o, BlankNode):
                helpers.setdefault(o, IRI(f"{HELPER}{len(helpers)}"))
        for expression, name in helpers.items():
            axioms.append((name, RDF_TYPE, IRI(f"{OWL}Class")))
            axioms.append((name, IRI(f"{OWL}equivalentClass"), expression))
        mentioned, ends = mentions(axioms)
        named = dict(_named_individuals(axioms))
        return cls(
            axioms=tuple(axioms),
            schema=schema,
            individuals=tuple(individuals),
            helpers=helpers,
            linking=schema.object_properties & mentioned,
            local={
                p: told
                for p, told in ends.items()
                if p in schema.object_properties and p not in mentioned
            },
            data=schema.datatype_properties & (mentioned | ends.keys()),
            named=frozenset(named),
            whole=_why_whole(axioms, named),
        )


def _is_axiom(triple: Triple) -> bool:
    _, p, o = triple
    if p in _ANNOTATIONS or p in {OWL_SAME_AS, OWL_DIFFERENT_FROM}:
        return False
    if p == RDF_TYPE:
        in_language = isinstance(o, IRI) and o.startswith(_AXIOM_SPACES)
        # The header is the reasoner's own; Thing says nothing.
        return in_language and o not in {OWL_NAMED_INDIVIDUAL, OWL_ONTOLOGY, OWL_THING}
    return p.startswith(_AXIOM_SPACES)


def mentions(axioms: Iterable[Triple]) -> tuple[set[IRI], dict[IRI, Ends]]:
    """The names with an axiom beyond declaration and named ends; and those ends."""
    mentioned: set[IRI] = set()
    ends: dict[IRI, Ends] = {}
    for s, p, o in axioms:
        if isinstance(o, IRI) and p not in {RDFS_DOMAIN, RDFS_RANGE}:
            mentioned.add(o)
        if not isinstance(s, IRI) or (p == RDF_TYPE and o in _DECLARATIONS):
            continue
        if p in {RDFS_DOMAIN, RDFS_RANGE} and isinstance(o, IRI):
            told = ends.get(s, Ends())
            name = _NONE if o == OWL_THING else frozenset({o})
            if p == RDFS_DOMAIN:
                ends[s] = Ends(told.subject | name, told.object)
            else:
                ends[s] = Ends(told.subject, told.object | name)
        else:
            mentioned.add(s)
    return mentioned, ends


def _named_individuals(axioms: list[Triple]) -> Iterator[tuple[Subject, str]]:
    """The individuals that axioms name, each with the construct that does."""
    lists: dict[tuple[Term, IRI], Term] = {
        (s, p): o for s, p, o in axioms if p in (RDF_FIRST, RDF_REST)
    }
    for _, p, o in axioms:
        if (reason := _NAMING_INDIVIDUALS.get(p)) and not isinstance(o, Literal):
            yield o, reason
        elif reason := _LISTING_INDIVIDUALS.get(p):
            node: Term | None = o
            while node is not None:
                member = lists.pop((node, RDF_FIRST), None)
                if member is not None and not isinstance(member, Literal):
                    yield member, reason
                node = lists.get((node, RDF_REST)) if member is not None else None


def _why_whole(axioms: list[Triple], named: dict[Subject, str]) -> str:
    """The first construct that lets one island's facts reach another."""
    for reason in named.values():
        return reason
    for triple in axioms:
        if triple[1] == f"{OWL}hasKey":
            return "a key (owl:hasKey)"
        if f"{OWL}topObjectProperty" in triple:
            return "the universal role (owl:topObjectProperty)"
        if any(isinstance(term, IRI) and term.startswith(_SWRL) for term in triple):
            return "a SWRL rule"
    return ""
