"""The axioms of an ontology in the reasoner's form, and the way of assertions to it.

They are separated from its individuals. *Probing classes* are added, which turn questions about
links, values and equality into questions of type. Assert that individual b is in a new class
``Tag``, without any other axiom. In the models where only b is a ``Tag``, an individual is a
``Tag`` exactly if it is b. So a = b follows if and only if ``Tag(a)`` does, and ``R(a, b)`` if and
only if a is of ``∃R.Tag``; a value v of a property D follows if and only if ``∃D.{v}`` does. So one
question about types answers all of them.

Source: OWL 2 Mapping to RDF Graphs, section 3.2; OWL 2 Direct Semantics, section 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from sensorstream.model import owl, rdf, rdfs
from sensorstream.model.frozen import field, frozen, replace
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import OWL, RDF, RDFS
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
    values_of_rules,
    why_whole,
)
from sensorstream.reasoning.dl.datatypes import Datatypes, without_text_facets
from sensorstream.reasoning.dl.reasoner_messages import IS, PREFIX, TAG, IslandFacts
from sensorstream.reasoning.ontology import Ontology, to_ntriples

_WIDTH: Final = 8
"""How many individuals are tagged at a time; a bigger island takes several questions."""


@frozen
class MemberEntailments:
    """The entailments about one member of an island; members are numbers."""

    types: frozenset[IRI] = frozenset()
    links: frozenset[tuple[IRI, int]] = frozenset()
    values: frozenset[tuple[IRI, Literal]] = frozenset()
    same: frozenset[int] = frozenset()


@frozen
class Probes:
    """The probing classes of one terminology, each mapped to its meaning. ``roles`` are the object
    properties whose values are queried; ``equality``: whether axioms can make individuals equal.
    """

    roles: tuple[IRI, ...] = ()
    equality: bool = False
    axioms: tuple[Triple, ...] = ()
    tags: Mapping[str, int] = field(default_factory=dict)
    sights: Mapping[str, tuple[IRI, int]] = field(default_factory=dict)
    values: Mapping[str, tuple[IRI, Literal]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        roles: Iterable[IRI],
        equality: bool,
        values: Iterable[tuple[IRI, Literal]],
        named: Iterable[Subject],
    ) -> Probes:
        """Probes for these properties, values of datatype properties and named individuals."""
        asked = tuple(sorted(roles))
        tags: dict[str, int] = {}
        sights: dict[str, tuple[IRI, int]] = {}
        told: dict[str, tuple[IRI, Literal]] = {}
        axioms: list[Triple] = []

        def include(name: IRI, prop: IRI, kind: IRI, filler: Term) -> None:
            node = BlankNode(f"_:probe{len(axioms)}")
            axioms.extend(
                (
                    (name, rdf.TYPE, owl.CLASS),
                    (node, rdf.TYPE, owl.RESTRICTION),
                    (node, owl.ON_PROPERTY, prop),
                    (node, kind, filler),
                    (node, rdfs.SUBCLASS_OF, name),
                )
            )

        for number in range(_WIDTH if asked or equality else 0):
            tag = IRI(f"{TAG}{number}")
            tags[tag] = number
            axioms.append((tag, rdf.TYPE, owl.CLASS))
            for place, role in enumerate(asked):
                name = IRI(f"{PREFIX}sees-{place}-{number}")
                sights[name] = role, number
                include(name, role, owl.SOME_VALUES_FROM, tag)
        for place, (prop, value) in enumerate(values):
            name = IRI(f"{PREFIX}value-{place}")
            told[name] = prop, value
            include(name, prop, owl.HAS_VALUE, value)
        for individual in sorted(named):
            name = IRI(f"{IS}{individual}")
            axioms.extend(_is_one(name, individual, len(axioms)))
        return cls(asked, equality, tuple(axioms), tags, sights, told)

    def questions(self, facts: IslandFacts) -> list[IslandFacts]:
        """The questions to the reasoner about an island; only the first one is about all types."""
        if not self.tags:
            return [facts]
        names = list(self.tags)
        probing = [*names, *self.sights]
        return [
            replace(
                facts,
                types=[
                    *facts.types,
                    *(
                        (n, names[n - first])
                        for n in range(first, min(first + _WIDTH, len(facts.names)))
                    ),
                ],
                asked=probing if first else None,
            )
            for first in range(0, len(facts.names), _WIDTH)
        ]

    def read(self, answers: list[list[list[str]]], facts: IslandFacts) -> list[MemberEntailments]:
        """The entailments about every member, from the answers to :meth:`questions`."""
        equal = None if self.equality else _told_equal(facts)
        return [
            self._member([answer[n] for answer in answers], n, equal)
            for n in range(len(facts.names))
        ]

    def _member(
        self, answers: list[list[str]], number: int, equal: list[frozenset[int]] | None
    ) -> MemberEntailments:
        types = frozenset(IRI(each) for each in answers[0] if not each.startswith(PREFIX))
        if not self.tags and not self.values:
            return MemberEntailments(types, same=frozenset() if equal is None else equal[number])
        links: set[tuple[IRI, int]] = set()
        same: set[int] = set()
        values: set[tuple[IRI, Literal]] = set()
        for block, answer in enumerate(answers):
            for name in answer:
                if (tag := self.tags.get(name)) is not None:
                    same.add(block * _WIDTH + tag)
                elif sight := self.sights.get(name):
                    links.add((sight[0], block * _WIDTH + sight[1]))
                elif value := self.values.get(name):
                    values.add(value)
        if equal is None:
            same.discard(number)
        else:
            same = set(equal[number])
        return MemberEntailments(types, frozenset(links), frozenset(values), frozenset(same))


def _is_one(name: IRI, individual: Subject, number: int) -> Iterator[Triple]:
    nominal, members = BlankNode(f"_:probe{number}"), BlankNode(f"_:probes{number}")
    yield name, rdf.TYPE, owl.CLASS
    yield nominal, rdf.TYPE, owl.CLASS
    yield nominal, owl.ONE_OF, members
    yield members, rdf.FIRST, individual
    yield members, rdf.REST, rdf.NIL
    yield nominal, rdfs.SUBCLASS_OF, name


def _told_equal(facts: IslandFacts) -> list[frozenset[int]]:
    """The others that are stated to be the same as each member, directly or transitively."""
    group = {n: {n} for n in range(len(facts.names))}
    for one, other in facts.same:
        if group[one] is not group[other]:
            group[one] |= group[other]
            for each in group[other]:
                group[each] = group[one]
    return [frozenset(group[n] - {n}) for n in group]


def written_values(
    axioms: Axioms, roles: Roles, data: frozenset[IRI]
) -> Iterator[tuple[IRI, Literal]]:
    """The values that axioms can imply for a datatype property, each with the property.

    An implied value that is not asserted occurs in the axioms: in ``owl:hasValue`` of the property
    or a subproperty, in an enumeration, which other axioms may reduce to one member, or in the head
    of a rule.
    """
    found: dict[tuple[IRI, Literal], None] = {}
    for s, p, o in axioms.triples:
        if p == owl.HAS_VALUE and isinstance(o, Literal):
            role = axioms.value(s, owl.ON_PROPERTY)
            if isinstance(role, IRI):
                found.update(((each, o), None) for each in sorted(roles.above({role}) & data))
        elif p == owl.ONE_OF:
            for member in axioms.members(o):
                if isinstance(member, Literal):
                    found.update(((each, member), None) for each in sorted(data))
    for role, value in values_of_rules(axioms):
        found.update(((each, value), None) for each in sorted(roles.above({role}) & data))
    yield from found


def triples_of(
    entailed: MemberEntailments, number: int, members: tuple[Subject, ...]
) -> Iterator[Triple]:
    """The implied property values and equalities of one member."""
    node = members[number]
    for role, other in entailed.links:
        yield node, role, members[other]
    for prop, value in entailed.values:
        yield node, prop, value
    for other in entailed.same:
        yield node, owl.SAME_AS, members[other]


HELPER: Final = PREFIX
"""Prefix of the names given to class expressions that individuals are typed with."""

_AXIOM_SPACES: Final = (OWL, RDFS, RDF, XSD, SWRL.removesuffix("#"))
_DECLARATIONS: Final = frozenset(
    {f"{OWL}ObjectProperty", f"{OWL}DatatypeProperty", f"{RDF}Property", owl.NAMED_INDIVIDUAL}
)
_TOPMOST: Final = frozenset({f"{OWL}topObjectProperty", f"{OWL}topDataProperty"})
_LOWEST: Final = frozenset({f"{OWL}bottomObjectProperty", f"{OWL}bottomDataProperty"})
_NONE: Final[frozenset[IRI]] = frozenset()


@frozen
class PropertyEnds:
    """The classes of the ends of a property, if there are no other axioms about it."""

    subject: frozenset[IRI] = frozenset()
    object: frozenset[IRI] = frozenset()


@frozen
class Terminology:
    """Axioms for the reasoner, and the way of assertions about individuals to it.

    A *linking* property joins two individuals into one island. A *local* one has no axioms except
    named domains and ranges: its ends get these types instead, and stay in separate islands. Other
    properties have no effect. ``named`` are the individuals that axioms name, ``whole`` gives the
    reasons why islands would be unsound ("" if they are sound). ``probes`` are the classes for
    questions other than types; their axioms are among the others. ``datatypes`` say how values are
    told.
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
        """The axioms in the form for HermiT or Pellet, as N-Triples. Pellet fails on patterns of
        texts, and measures texts wrongly: it gets no such axiom; rules derive their effect on
        asserted values.
        """
        axioms = self.axioms if reasoner == "hermit" else without_text_facets(self.axioms)
        return to_ntriples(self.datatypes.rewritten(axioms))

    @classmethod
    def of(cls, ontology: Ontology) -> Terminology:
        """Separate the axioms from the assertions.

        Raises:
            OntologyError: HermiT and Pellet cannot be told an axiom.
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
            if o == owl.ONTOLOGY:
                continue
            if p in properties or p == rdf.TYPE or p in EQUALITY:
                individuals[s] = None
            if p in schema.object_properties and not isinstance(o, Literal):
                individuals[o] = None
            if p == rdf.TYPE and isinstance(o, BlankNode):
                helpers.setdefault(o, IRI(f"{HELPER}{len(helpers)}"))
        for expression, name in helpers.items():
            axioms.append((name, rdf.TYPE, IRI(f"{OWL}Class")))
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
    if p == rdf.TYPE:
        in_language = isinstance(o, IRI) and o.startswith(_AXIOM_SPACES)
        # The reasoner has a header of its own; Thing says nothing.
        return in_language and o not in {owl.NAMED_INDIVIDUAL, owl.ONTOLOGY, owl.THING}
    return p.startswith(_AXIOM_SPACES)


def _says_nothing(triple: Triple) -> bool:
    """Whether an axiom always holds; editors write that a property is below the topmost one."""
    s, p, o = triple
    if p == rdfs.SUBPROPERTY_OF:
        return o in _TOPMOST or s in _LOWEST
    return s in _TOPMOST | _LOWEST and p == rdf.TYPE and o in _DECLARATIONS


def mentions(axioms: Iterable[Triple]) -> tuple[set[IRI], dict[IRI, PropertyEnds]]:
    """The names with an axiom other than declaration and named ends; and those ends."""
    mentioned: set[IRI] = set()
    ends: dict[IRI, PropertyEnds] = {}
    for s, p, o in axioms:
        if isinstance(o, IRI) and p not in {rdfs.DOMAIN, rdfs.RANGE}:
            mentioned.add(o)
        if not isinstance(s, IRI) or (p == rdf.TYPE and o in _DECLARATIONS):
            continue
        if p in {rdfs.DOMAIN, rdfs.RANGE} and isinstance(o, IRI):
            told = ends.get(s, PropertyEnds())
            name = _NONE if o == owl.THING else frozenset({o})
            if p == rdfs.DOMAIN:
                ends[s] = PropertyEnds(told.subject | name, told.object)
            else:
                ends[s] = PropertyEnds(told.subject, told.object | name)
        else:
            mentioned.add(s)
    return mentioned, ends
