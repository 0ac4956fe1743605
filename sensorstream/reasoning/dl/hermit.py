"""HermiT, resident: the axioms are classified once, individuals are slots used again and again.

An IRI that HermiT has not seen makes it clausify everything anew, so individuals are asked
about under the names of slots that exist from the start. Idle slots cost a little; therefore
there are reasoners with 1, 4, 16, … slots, each made when first needed.
"""

from __future__ import annotations

from typing import Any

from sensorstream.reasoning.dl.protocol import IslandFacts, Types

_SLOT = "urn:sensorstream:slot:"
_GROWTH = 4


class Hermit:
    """HermiT over one ontology; needs a running JVM."""

    def __init__(self, axioms: bytes) -> None:
        import jpype

        self._jpype = jpype
        java = jpype.JClass
        self._manager = java("org.semanticweb.owlapi.apibinding.OWLManager")
        self._factory = self._manager.getOWLDataFactory()
        self._iri = java("org.semanticweb.owlapi.model.IRI")
        self._add = java("org.semanticweb.owlapi.model.AddAxiom")
        self._remove = java("org.semanticweb.owlapi.model.RemoveAxiom")
        self._changes = java("java.util.ArrayList")
        self._axioms = axioms
        self._classes: dict[str, Any] = {}
        self._object_properties: dict[str, Any] = {}
        self._data_properties: dict[str, Any] = {}
        self._datatypes: dict[str, Any] = {}
        self._slots: dict[int, _Slots] = {}

    def is_consistent(self) -> bool:
        """Whether the axioms have a model."""
        return bool(self._with_slots(1).reasoner.isConsistent())

    def types(self, island: IslandFacts) -> Types | None:
        """The named classes of each member; None when there is no model."""
        slots = self._with_slots(len(island.names))
        try:
            return self._types(slots, island)
        except BaseException:
            # A change that HermiT refused stays pending in it: such a reasoner is spent.
            self._slots = {size: each for size, each in self._slots.items() if each is not slots}
            raise

    def _types(self, slots: _Slots, island: IslandFacts) -> Types | None:
        members = [
            slots.individuals[number] if name is None else self._individual(name)
            for number, name in enumerate(island.names)
        ]
        asserted = self._assertions(island, members)
        changes = self._changes()
        for axiom in slots.asserted:
            changes.add(self._remove(slots.ontology, axiom))
        for axiom in asserted:
            changes.add(self._add(slots.ontology, axiom))
        slots.asserted = asserted
        slots.manager.applyChanges(changes)
        slots.reasoner.flush()
        if not slots.reasoner.isConsistent():
            return None
        return [self._types_of(slots, member) for member in members]

    def _types_of(self, slots: _Slots, member: Any) -> list[str]:
        classes = slots.reasoner.getTypes(member, False).getFlattened()
        return [str(c.getIRI()) for c in classes if not c.isOWLThing()]

    def _assertions(self, island: IslandFacts, members: list[Any]) -> list[Any]:
        factory = self._factory
        made: dict[Any, None] = {}
        for number, name in island.types:
            of_class = self._named(self._classes, factory.getOWLClass, name)
            made[factory.getOWLClassAssertionAxiom(of_class, members[number])] = None
        for one, name, other in island.links:
            link = self._named(self._object_properties, factory.getOWLObjectProperty, name)
            axiom = factory.getOWLObjectPropertyAssertionAxiom(link, members[one], members[other])
            made[axiom] = None
        for number, name, lexical, datatype, language in island.values:
            link = self._named(self._data_properties, factory.getOWLDataProperty, name)
            value = self._literal(lexical, datatype, language)
            axiom = factory.getOWLDataPropertyAssertionAxiom(link, members[number], value)
            made[axiom] = None
        for one, other in island.same:
            if one != other:
                pair = self._jpype.java.util.HashSet([members[one], members[other]])
                made[factory.getOWLSameIndividualAxiom(pair)] = None
        for one, other in island.different:
            pair = self._jpype.java.util.HashSet([members[one], members[other]])
            made[factory.getOWLDifferentIndividualsAxiom(pair)] = None
        return list(made)

    def _literal(self, lexical: str, datatype: str, language: str | None) -> Any:
        if language is not None:
            return self._factory.getOWLLiteral(lexical, language)
        kind = self._named(self._datatypes, self._factory.getOWLDatatype, datatype)
        return self._factory.getOWLLiteral(lexical, kind)

    def _named(self, known: dict[str, Any], make: Any, name: str) -> Any:
        found = known.get(name)
        if found is None:
            found = known[name] = make(self._iri.create(name))
        return found

    def _individual(self, name: str) -> Any:
        return self._factory.getOWLNamedIndividual(self._iri.create(name))

    def _with_slots(self, count: int) -> _Slots:
        size = 1
        while size < count:
            size *= _GROWTH
        if size not in self._slots:
            self._slots[size] = self._make(size)
        return self._slots[size]

    def _make(self, size: int) -> _Slots:
        java = self._jpype.JClass
        manager = self._manager.createOWLOntologyManager()
        stream = java("java.io.ByteArrayInputStream")(self._axioms)
        ontology = manager.loadOntologyFromOntologyDocument(
            self._jpype.JObject(stream, "java.io.InputStream")
        )
        factory = self._factory
        individuals = [self._individual(f"{_SLOT}{number}") for number in range(size)]
        for each in individuals:
            thing = factory.getOWLClassAssertionAxiom(factory.getOWLThing(), each)
            manager.addAxiom(ontology, thing)
        configuration = java("org.semanticweb.HermiT.Configuration")()
        # Values of such datatypes are left out by the owner; axioms may still speak of them.
        configuration.ignoreUnsupportedDatatypes = True
        reasoner = java("org.semanticweb.HermiT.Reasoner")(configuration, ontology)
        inference = java("org.semanticweb.owlapi.reasoner.InferenceType")
        if reasoner.isConsistent():
            reasoner.precomputeInferences(inference.CLASS_HIERARCHY)
        return _Slots(manager, ontology, reasoner, individuals)


class _Slots:
    """One reasoner and the individuals it knows."""

    def __init__(self, manager: Any, ontology: Any, reasoner: Any, individuals: list[Any]) -> None:
        self.manager = manager
        self.ontology = ontology
        self.reasoner = reasoner
        self.individuals = individuals
        self.asserted: list[Any] = []
