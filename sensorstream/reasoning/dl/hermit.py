"""HermiT and the OWL API, in a process with a Java virtual machine.

Types of islands, resident (:class:`Hermit`); minimal sets of axioms that contradict assertions
(:class:`Justifier`); all that follows from one document, in one new run (:class:`Realisation`).

Source: M. Horridge, Justification Based Explanation in Ontologies (2011), chapter 3.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from sensorstream.model import owl, rdf, xsd
from sensorstream.model.terms import Literal, term
from sensorstream.reasoning.dl.quickxplain import minimal_conflict
from sensorstream.reasoning.dl.reasoner_messages import (
    IS,
    PREFIX,
    TAG,
    Explained,
    IslandFacts,
    Statement,
    Types,
)


class OwlApi:
    """Documents, names and reasoners; each name is made once."""

    def __init__(self) -> None:
        import jpype

        self.java = jpype.JClass
        self._jpype = jpype
        self.manager = self.java("org.semanticweb.owlapi.apibinding.OWLManager")
        self.factory = self.manager.getOWLDataFactory()
        self._iri = self.java("org.semanticweb.owlapi.model.IRI")
        self._known: dict[tuple[str, str], Any] = {}

    def read(self, document: bytes) -> tuple[Any, Any]:
        """The ontology of an N-Triples document, and its manager, which changes it."""
        manager = self.manager.createOWLOntologyManager()
        stream = self._jpype.JObject(
            self.java("java.io.ByteArrayInputStream")(document), "java.io.InputStream"
        )
        return manager.loadOntologyFromOntologyDocument(stream), manager

    def reasoner(self, ontology: Any, *, tells_contradiction: bool = True) -> Any:
        """HermiT over an ontology. Without ``tells_contradiction`` it raises none, and saves
        another search for a model.
        """
        configuration = self.java("org.semanticweb.HermiT.Configuration")()
        # The owner leaves values of such datatypes out; axioms may still use them.
        configuration.ignoreUnsupportedDatatypes = True
        configuration.throwInconsistentOntologyException = tells_contradiction
        return self.java("org.semanticweb.HermiT.Reasoner")(configuration, ontology)

    def named(self, kind: str, name: str) -> Any:
        """An entity by its kind and name: ``Class``, ``ObjectProperty``, ``Datatype``, …"""
        found = self._known.get((kind, name))
        if found is None:
            make = getattr(self.factory, f"getOWL{kind}")
            found = self._known[kind, name] = make(self._iri.create(name))
        return found

    def individual(self, name: str) -> Any:
        """A named individual; those of messages are too many to keep."""
        return self.factory.getOWLNamedIndividual(self._iri.create(name))

    def literal(self, lexical: str, datatype: str, language: str | None) -> Any:
        """A value; one with a language has no datatype here."""
        if language is not None:
            return self.factory.getOWLLiteral(lexical, language)
        return self.factory.getOWLLiteral(lexical, self.named("Datatype", datatype))

    def set_of(self, *members: Any) -> Any:
        """A set of Java's."""
        return self._jpype.java.util.HashSet(members)

    def tested(self, name: str) -> Any:
        """A class as an expression, negated twice: HermiT tests it and does not look it up."""
        negated = self.named("Class", name).getObjectComplementOf()
        return self.factory.getOWLObjectComplementOf(negated)


_SLOT = "urn:sensorstream:slot:"
_GROWTH = 4
_NAME = re.compile("<([^>]+)>")
_Fact: TypeAlias = tuple[Any, ...]
"""Kind of assertion, individual, and the assertion about it."""


class Hermit:
    """HermiT, resident: the axioms are classified once, individuals are slots that are reused.

    A new IRI makes HermiT clausify everything anew, so individuals get the names of slots that
    exist from the start. Unused slots cost a little time; therefore there are reasoners with 1, 4,
    16, … slots, each made at its first use.

    HermiT reads types from one model and marks those that may hold only there, to test them. The
    mark is lost if two names are one individual in that model only: HermiT then gives each the
    types of the other, although they are different in other models. The probing classes of equality
    (:mod:`.terminology`) detect that this may have happened, and then every type is tested.
    """

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
            # OWLAPI makes it a set of one individual, which states nothing.
            return None
        slots = self._with_slots(len(island.names))
        try:
            return self._types(slots, island)
        except BaseException:
            # A change that HermiT refused stays pending in it, so the reasoner cannot be used any
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
        """The members of each of a few classes: the other classes of a member cost nothing."""
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
        # Two individuals without tags may be equal without a sign of it.
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
    """A reasoner and the individuals it knows."""

    manager: Any
    ontology: Any
    reasoner: Any
    individuals: list[Any]
    asserted: dict[_Fact, Any] = field(default_factory=dict)


_REMEMBERED: Final = 64
"""Justifications tried first when another contradiction uses the same names."""


class Justifier:
    """An explainer of contradictions with one ontology.

    The contraction is black-box: a new HermiT decides whether a set of axioms has a model with the
    assertions. ``axioms`` are the whole ontology in N-Triples, its individuals included.
    """

    def __init__(self, axioms: str) -> None:
        self.axioms = axioms
        self._api = OwlApi()
        self._renderer = self._api.java(
            "uk.ac.manchester.cs.owl.owlapi.mansyntaxrenderer.ManchesterOWLSyntaxOWLObjectRendererImpl"
        )()
        # Sorted: the same contradiction is explained the same way in every run.
        self._logical = sorted(self._read(axioms), key=self._written)
        self._names = {axiom: _names(axiom) for axiom in self._logical}
        self._found: dict[frozenset[str], list[Any]] = {}

    def justify(self, triples: str, seconds: float, candidates: Sequence[str] = ()) -> Explained:
        """A minimal set of axioms without a model together with the triples.

        ``triples`` declare the properties and classes that they use. ``candidates`` are assertions,
        each with its declarations, that may be in the set as well. After the time limit there is
        no answer: a set that is not minimal would name axioms that are not involved.
        """
        asserted = self._read(triples)
        end = time.monotonic() + seconds
        numbers: dict[Any, int] = {}
        for number, text in enumerate(candidates):
            for axiom in self._read(text):
                numbers.setdefault(axiom, number)
        logical = [*numbers, *self._logical]

        def conflicts(axioms: Sequence[Any]) -> bool:
            if time.monotonic() > end:
                raise TimeoutError
            return not self._is_consistent([*asserted, *axioms])

        names = frozenset[str]().union(*map(_names, asserted or numbers))
        known = None if candidates else self._found.get(names)
        try:
            if known is None or not conflicts(known):
                known = self._suspects(names, logical, conflicts)
            if known is None:
                return Explained(None, consistent=True)
            found = minimal_conflict(known, conflicts)
        except TimeoutError:
            return Explained(None)
        if not candidates:
            self._remember(names, found)
        return Explained(
            [self._written(axiom) for axiom in found if axiom not in numbers],
            chosen=sorted({numbers[axiom] for axiom in found if axiom in numbers}),
        )

    def _remember(self, names: frozenset[str], found: list[Any]) -> None:
        self._found.pop(names, None)
        self._found[names] = found
        if len(self._found) > _REMEMBERED:
            del self._found[next(iter(self._found))]

    def _suspects(
        self, names: frozenset[str], logical: list[Any], conflicts: Callable[[Sequence[Any]], bool]
    ) -> list[Any] | None:
        """A few axioms that conflict, near the names used."""
        named = {axiom: self._names.get(axiom) or _names(axiom) for axiom in logical}
        near: list[Any] = []
        reached = set(names)
        left = logical
        while left:
            step = [a for a in left if not reached or not named[a] or named[a] & reached]
            if not step:
                break
            near += step
            if conflicts(near):
                return near
            taken = set(step)
            left = [a for a in left if a not in taken]
            for axiom in step:
                reached |= named[axiom]
        # An axiom that shares no name with the others may still limit the number of individuals.
        return logical if conflicts(logical) else None

    def _is_consistent(self, axioms: Sequence[Any]) -> bool:
        manager = self._api.manager.createOWLOntologyManager()
        reasoner = self._api.reasoner(manager.createOntology(self._api.set_of(*axioms)))
        try:
            return bool(reasoner.isConsistent())
        finally:
            reasoner.dispose()

    def _read(self, triples: str) -> list[Any]:
        ontology, _ = self._api.read(triples.encode())
        return list(ontology.getLogicalAxioms())

    def _written(self, axiom: Any) -> str:
        return " ".join(str(self._renderer.render(axiom)).split())


def _names(axiom: Any) -> frozenset[str]:
    """The classes, properties and individuals in an axiom; datatypes do not connect axioms."""
    return frozenset(
        str(each.getIRI())
        for each in axiom.getSignature()
        if not each.isOWLDatatype() and not each.isTopEntity()
    )


_VALUE: Final = f"{PREFIX}value-"
_TYPE: Final = f"<{rdf.TYPE}>"
_SAME: Final = f"<{owl.SAME_AS}>"


class Realisation:
    """HermiT over one N-Triples document. :attr:`consistent`: whether the document has a model;
    only then other questions are allowed.
    """

    def __init__(self, document: str, values: Iterable[tuple[str, str]]) -> None:
        """Read it; ``values`` are (property, literal) as N-Triples, tested for every individual."""
        self._api = OwlApi()
        self._ontology, manager = self._api.read(document.encode())
        self._links = [p for p in self._ontology.getObjectPropertiesInSignature() if _is_named(p)]
        self._data = [p for p in self._ontology.getDataPropertiesInSignature() if _is_named(p)]
        # A superclass of all individuals with a value turns the question into one about types.
        self._values: dict[str, tuple[str, str]] = {}
        for number, (prop, value) in enumerate(values):
            name = f"{_VALUE}{number}"
            self._values[name] = prop, value
            holders, of_class = self._having(prop, value), self._api.named("Class", name)
            axiom = self._api.factory.getOWLSubClassOfAxiom(holders, of_class)
            manager.addAxiom(self._ontology, axiom)
        self._reasoner = self._api.reasoner(self._ontology)
        self.consistent = bool(self._reasoner.isConsistent())

    def statements(self) -> Iterator[Statement]:
        """HermiT's lists for every named individual: types, values and equalities. If individuals
        can be equal, it may list too much (see :meth:`holds`), or no values of object properties.
        """
        reasoner = self._reasoner
        individuals = [*self._ontology.getIndividualsInSignature()]
        for one in individuals:
            name = _name(one)
            for each in reasoner.getTypes(one, False).getFlattened():
                if value := self._values.get(str(each.getIRI())):
                    yield name, *value
                elif not each.isOWLThing():
                    yield name, _TYPE, _name(each)
            for each in reasoner.getSameIndividuals(one).getEntities():
                yield name, _SAME, _name(each)
            for role in self._data:
                for value in reasoner.getDataPropertyValues(one, role):
                    yield name, _name(role), _written(value)
        try:
            for one in individuals:
                for role in self._links:
                    for other in reasoner.getObjectPropertyValues(one, role).getFlattened():
                        yield _name(one), _name(role), _name(other)
        except self._api.java("java.util.ConcurrentModificationException"):
            # HermiT's list of links fails for some equal individuals: then there is no list.
            return

    def holds(self, statement: Statement) -> bool:
        """Whether the document has no model in which the statement is false. Each question is a
        search for a counter-model, while :meth:`statements` reads some answers from one model.
        """
        subject, predicate, value = statement
        if predicate == _TYPE:
            expression = self._api.tested(value[1:-1])
        elif predicate == _SAME:
            others = self._api.set_of(self._api.individual(value[1:-1]))
            expression = self._api.factory.getOWLObjectOneOf(others)
        else:
            expression = self._having(predicate, value)
        return bool(self._reasoner.hasType(self._api.individual(subject[1:-1]), expression, False))

    def _having(self, prop: str, value: str) -> Any:
        """The class of all that have a value, an individual or a literal, by a property."""
        api, name, written = self._api, prop[1:-1], term(value)
        if not isinstance(written, Literal):
            other = api.individual(written)
            return api.factory.getOWLObjectHasValue(api.named("ObjectProperty", name), other)
        literal = api.literal(written.lexical, written.datatype, written.language)
        return api.factory.getOWLDataHasValue(api.named("DataProperty", name), literal)


def _is_named(role: Any) -> bool:
    return not role.isTopEntity() and not role.isBottomEntity()


def _name(entity: Any) -> str:
    return f"<{entity.getIRI()}>"


def _written(value: Any) -> str:
    lexical = str(value.getLiteral())
    if value.hasLang():
        return Literal(lexical, language=str(value.getLang()))
    kind = str(value.getDatatype().getIRI())
    return Literal(lexical, xsd.STRING if value.isRDFPlainLiteral() else kind)
