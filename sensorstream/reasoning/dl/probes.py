"""Fresh classes that turn questions about links, values and equality into questions of type.

Assert that individual b is in a new class ``Tag``, without any other axiom. In the models where
only b is a ``Tag``, an individual is a ``Tag`` exactly if it is b. So a = b follows if
and only if ``Tag(a)`` does, and ``R(a, b)`` if and only if a is of ``∃R.Tag``; a value v of a
property D follows if and only if ``∃D.{v}`` does. So one question about types answers all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import (
    OWL_CLASS,
    OWL_HAS_VALUE,
    OWL_ON_PROPERTY,
    OWL_ONE_OF,
    OWL_RESTRICTION,
    OWL_SAME_AS,
    OWL_SOME_VALUES_FROM,
    RDF_FIRST,
    RDF_NIL,
    RDF_REST,
    RDF_TYPE,
    RDFS_SUBCLASS_OF,
)
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.gate import Roles, values_of_rules
from sensorstream.reasoning.dl.protocol import IslandFacts

PREFIX: Final = "urn:sensorstream:class:"
"""Prefix of the names of probing classes."""

TAG: Final = f"{PREFIX}tag-"
"""Prefix of the classes that stand for one member of an island."""

IS: Final = f"{PREFIX}is:"
"""Prefix of the classes that stand for an individual that axioms name; its IRI follows."""

_WIDTH: Final = 8
"""How many individuals are tagged at a time; a bigger island takes several questions."""


@dataclass(frozen=True, slots=True)
class Entailed:
    """The entailments about one member of an island; members are numbers."""

    types: frozenset[IRI] = frozenset()
    links: frozenset[tuple[IRI, int]] = frozenset()
    values: frozenset[tuple[IRI, Literal]] = frozenset()
    same: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Probes:
    """The probing classes of one terminology.

    ``roles`` are the object properties whose values are queried; ``equality``: whether axioms can
    make individuals equal. The mappings give the meaning of each class.
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
                    (name, RDF_TYPE, OWL_CLASS),
                    (node, RDF_TYPE, OWL_RESTRICTION),
                    (node, OWL_ON_PROPERTY, prop),
                    (node, kind, filler),
                    (node, RDFS_SUBCLASS_OF, name),
                )
            )

        for number in range(_WIDTH if asked or equality else 0):
            tag = IRI(f"{TAG}{number}")
            tags[tag] = number
            axioms.append((tag, RDF_TYPE, OWL_CLASS))
            for place, role in enumerate(asked):
                name = IRI(f"{PREFIX}sees-{place}-{number}")
                sights[name] = role, number
                include(name, role, OWL_SOME_VALUES_FROM, tag)
        for place, (prop, value) in enumerate(values):
            name = IRI(f"{PREFIX}value-{place}")
            told[name] = prop, value
            include(name, prop, OWL_HAS_VALUE, value)
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

    def read(self, answers: list[list[list[str]]], facts: IslandFacts) -> list[Entailed]:
        """The entailments about every member, from the answers to :meth:`questions`."""
        equal = None if self.equality else _told_equal(facts)
        return [
            self._member([answer[n] for answer in answers], n, equal)
            for n in range(len(facts.names))
        ]

    def _member(
        self, answers: list[list[str]], number: int, equal: list[frozenset[int]] | None
    ) -> Entailed:
        types = frozenset(IRI(each) for each in answers[0] if not each.startswith(PREFIX))
        if not self.tags and not self.values:
            return Entailed(types, same=frozenset() if equal is None else equal[number])
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
        return Entailed(types, frozenset(links), frozenset(values), frozenset(same))


def _is_one(name: IRI, individual: Subject, number: int) -> Iterator[Triple]:
    nominal, members = BlankNode(f"_:probe{number}"), BlankNode(f"_:probes{number}")
    yield name, RDF_TYPE, OWL_CLASS
    yield nominal, RDF_TYPE, OWL_CLASS
    yield nominal, OWL_ONE_OF, members
    yield members, RDF_FIRST, individual
    yield members, RDF_REST, RDF_NIL
    yield nominal, RDFS_SUBCLASS_OF, name


def _told_equal(facts: IslandFacts) -> list[frozenset[int]]:
    """For each member the others that are stated to be the same, directly or transitively."""
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
        if p == OWL_HAS_VALUE and isinstance(o, Literal):
            role = axioms.value(s, OWL_ON_PROPERTY)
            if isinstance(role, IRI):
                found.update(((each, o), None) for each in sorted(roles.above({role}) & data))
        elif p == OWL_ONE_OF:
            for member in axioms.members(o):
                if isinstance(member, Literal):
                    found.update(((each, member), None) for each in sorted(data))
    for role, value in values_of_rules(axioms):
        found.update(((each, value), None) for each in sorted(roles.above({role}) & data))
    yield from found


def triples_of(entailed: Entailed, number: int, members: tuple[Subject, ...]) -> Iterator[Triple]:
    """The implied property values and equalities of one member."""
    node = members[number]
    for role, other in entailed.links:
        yield node, role, members[other]
    for prop, value in entailed.values:
        yield node, prop, value
    for other in entailed.same:
        yield node, OWL_SAME_AS, members[other]
