"""HermiT, resident: the axioms are classified once, individuals are slots that are reused.

A new IRI makes HermiT clausify everything anew, so individuals get the names of slots that exist
from the start. Unused slots cost a little time; therefore there are reasoners with 1, 4, 16, …
slots, each made at its first use.

HermiT reads types from one model and marks those that may hold only there, to test them. The mark
is lost if two names are one individual in that model only: HermiT then gives each the types of the
other, although they are different in other models. The probing classes of equality
(:mod:`.probes`) detect that this may have happened, and then every type is tested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sensorstream.reasoning.dl.owl_api import OwlApi
from sensorstream.reasoning.dl.probes import IS, TAG
from sensorstream.reasoning.dl.protocol import IslandFacts, Types

_SLOT = "urn:sensorstream:slot:"
_GROWTH = 4
_NAME = re.compile("<([^>]+)>")
_Fact: TypeAlias = tuple[Any, ...]
"""Kind of assertion, individual, and the assertion about it."""


class Hermit:
    """HermiT over one ontology; needs a running JVM."""

    def __init__(self, axioms: bytes) -> None:
        self._api = OwlApi()
        self._add = self._api.java("org.semanticweb.owlapi.model.AddAxiom")
        self._remove = self._api.java("org.semanticweb.owlapi.model.RemoveAxiom")
        self._changes = self._api.java("java.util.ArrayList")
        self._axioms = axioms
        self._tags = TAG.encode() in axioms
        self._slots: dict[int, _Slots] = {}

    def is_consistent(self) -> bool:
        """Whether the axioms have a model."""
        return bool(self._with_slots(1).reasoner.isConsistent())

    def types(self, island: IslandFacts) -> Types | None:
        """The named classes of each member; None if there is no model."""
        if any(one == other for one, other in island.different):
            # For OWLAPI that is a set of one individual, which states nothing.
            return None
        slots = self._with_slots(len(island.names))
        try:
            return self._types(slots, island)
        except BaseException:
            # A change that HermiT refused stays pending in it: the reasoner cannot be used any
            # more.
            self._slots = {size: each for size, each in self._slots.items() if each is not slots}
            raise

    def _types(self, slots: _Slots, island: IslandFacts) -> Types | None:
        before, wanted = slots.asserted, dict.fromkeys(_facts(island))
        gone = before.keys() - wanted.keys()
        # Messages are similar: assertions that stay need not be removed and added again. But two
        # notations of one value are one axiom for OWLAPI, so assertions that stay beside a removed
        # one are asserted again.
        beside = {fact[:3] for fact in gone}
        slots.asserted = {
            fact: before.get(fact) or self._axiom(fact, slots.individuals) for fact in wanted
        }
        changes = self._changes()
        for fact in gone:
            changes.add(self._remove(slots.ontology, before[fact]))
        for fact, axiom in slots.asserted.items():
            if fact not in before or fact[:3] in beside:
                changes.add(self._add(slots.ontology, axiom))
        slots.manager.applyChanges(changes)
        slots.reasoner.flush()
        told: list[set[str]] = [set() for _ in island.names]
        for number, of_class in island.types:
            told[number].add(of_class)
        try:
            if island.asked is None:
                answer = [
                    self._types_of(slots, number, name, told[number])
                    for number, name in enumerate(island.names)
                ]
            else:
                answer = self._members_of(slots, island.asked, island.names, told)
        except self._api.java("java.lang.NullPointerException"):
            # HermiT raises an error when asked for types where there is no model.
            if slots.reasoner.isConsistent():
                raise
        # One search for a model answers both questions, if this one comes last.
        return answer if slots.reasoner.isConsistent() else None

    def _types_of(self, slots: _Slots, number: int, name: str | None, told: set[str]) -> list[str]:
        member = self._member(number if name is None else name, slots.individuals)
        # One call for all names; owl:Thing is written without brackets, if at all.
        listed = str(slots.reasoner.getTypes(member, False).getFlattened().toString())
        types = _NAME.findall(listed)
        if not self._may_be_another(types, name, told):
            return types
        return [each for each in types if each in told or self._holds(slots, member, each)]

    def _members_of(
        self, slots: _Slots, asked: list[str], names: list[str | None], told: list[set[str]]
    ) -> Types:
        """Which of a few classes each member is in: the other classes of a member cost nothing."""
        numbers = {
            f"{_SLOT}{number}" if name is None else name: number
            for number, name in enumerate(names)
        }
        answer: Types = [[] for _ in names]
        for name in asked:
            of_class = self._api.named("Class", name)
            listed = str(slots.reasoner.getInstances(of_class, False).getFlattened().toString())
            for found in _NAME.findall(listed):
                number = numbers.get(found)
                if number is not None and (
                    name in told[number] or self._holds(slots, self._api.individual(found), name)
                ):
                    answer[number].append(name)
        return answer

    def _holds(self, slots: _Slots, member: Any, name: str) -> bool:
        return bool(slots.reasoner.hasType(member, self._api.tested(name), False))

    def _may_be_another(self, types: list[str], name: str | None, told: set[str]) -> bool:
        """Whether HermiT's present model makes an individual equal to another named individual."""
        if not self._tags:
            return False
        own = {each for each in told if each.startswith(TAG)}
        if name is not None:
            own.add(IS + name)
        # Two individuals without tags may be equal, and nothing would show it.
        return not told.intersection(own) or any(
            each.startswith((TAG, IS)) and each not in own for each in types
        )

    def _axiom(self, fact: _Fact, slots: list[Any]) -> Any:
        api, factory = self._api, self._api.factory
        kind, one, *rest = fact
        subject = self._member(one, slots)
        if kind == "type":
            return factory.getOWLClassAssertionAxiom(api.named("Class", rest[0]), subject)
        if kind == "link":
            link, other = api.named("ObjectProperty", rest[0]), self._member(rest[1], slots)
            return factory.getOWLObjectPropertyAssertionAxiom(link, subject, other)
        if kind == "value":
            link, value = api.named("DataProperty", rest[0]), api.literal(*rest[1:])
            return factory.getOWLDataPropertyAssertionAxiom(link, subject, value)
        pair = api.set_of(subject, self._member(rest[0], slots))
        if kind == "same":
            return factory.getOWLSameIndividualAxiom(pair)
        return factory.getOWLDifferentIndividualsAxiom(pair)

    def _member(self, who: str | int, slots: list[Any]) -> Any:
        return slots[who] if isinstance(who, int) else self._api.individual(who)

    def _with_slots(self, count: int) -> _Slots:
        size = 1
        while size < count:
            size *= _GROWTH
        if size not in self._slots:
            self._slots[size] = self._make(size)
        return self._slots[size]

    def _make(self, size: int) -> _Slots:
        ontology, manager = self._api.read(self._axioms)
        factory = self._api.factory
        individuals = [self._api.individual(f"{_SLOT}{number}") for number in range(size)]
        for each in individuals:
            thing = factory.getOWLClassAssertionAxiom(factory.getOWLThing(), each)
            manager.addAxiom(ontology, thing)
        reasoner = self._api.reasoner(ontology, tells_contradiction=False)
        inference = self._api.java("org.semanticweb.owlapi.reasoner.InferenceType")
        if reasoner.isConsistent():
            reasoner.precomputeInferences(inference.CLASS_HIERARCHY)
        return _Slots(manager, ontology, reasoner, individuals)


def _facts(island: IslandFacts) -> Iterator[_Fact]:
    """The assertions with individuals by slot or, where axioms name them, by IRI."""
    who = [number if name is None else name for number, name in enumerate(island.names)]
    for number, name in island.types:
        yield "type", who[number], name
    for one, name, other in island.links:
        yield "link", who[one], name, who[other]
    for number, *value in island.values:
        yield "value", who[number], *value
    for kind, pairs in (("same", island.same), ("different", island.different)):
        for one, other in pairs:
            # Both are symmetric, and each individual is the same as itself.
            if kind != "same" or one != other:
                yield kind, who[min(one, other)], who[max(one, other)]


@dataclass(slots=True, eq=False)
class _Slots:
    """One reasoner and the individuals it knows."""

    manager: Any
    ontology: Any
    reasoner: Any
    individuals: list[Any]
    asserted: dict[_Fact, Any] = field(default_factory=dict)
