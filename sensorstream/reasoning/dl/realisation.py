"""Everything that HermiT derives about the individuals of one document, in one new run.

Runs in a process with a Java virtual machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from sensorstream.model.terms import Literal, term
from sensorstream.model.vocabulary import OWL_SAME_AS, RDF_TYPE
from sensorstream.model.xsd import XSD_STRING
from sensorstream.reasoning.dl.probes import PREFIX
from sensorstream.reasoning.dl.protocol import Statement

_VALUE: Final = f"{PREFIX}value-"
_TYPE: Final = f"<{RDF_TYPE}>"
_SAME: Final = f"<{OWL_SAME_AS}>"


class Realisation:
    """HermiT over one N-Triples document.

    :attr:`consistent`: whether the document has a model; only then other questions are allowed.
    """

    def __init__(self, document: str, values: Iterable[tuple[str, str]]) -> None:
        """``values`` are (property, literal), both as N-Triples: tested for every individual."""
        import jpype

        self._jpype = jpype
        java = jpype.JClass
        managers = java("org.semanticweb.owlapi.apibinding.OWLManager")
        manager = managers.createOWLOntologyManager()
        self._factory = manager.getOWLDataFactory()
        self._iri = java("org.semanticweb.owlapi.model.IRI")
        stream = java("java.io.ByteArrayInputStream")(document.encode())
        self._ontology = manager.loadOntologyFromOntologyDocument(
            jpype.JObject(stream, "java.io.InputStream")
        )
        self._links = [p for p in self._ontology.getObjectPropertiesInSignature() if _is_named(p)]
        self._data = [p for p in self._ontology.getDataPropertiesInSignature() if _is_named(p)]
        # A superclass of all individuals with a value turns the question into one about types.
        self._values: dict[str, tuple[str, str]] = {}
        for number, (prop, value) in enumerate(values):
            name = f"{_VALUE}{number}"
            self._values[name] = prop, value
            of_class = self._factory.getOWLClass(self._iri.create(name))
            holders = self._having(prop, value)
            axiom = self._factory.getOWLSubClassOfAxiom(holders, of_class)
            manager.addAxiom(self._ontology, axiom)
        configuration = java("org.semanticweb.HermiT.Configuration")()
        configuration.ignoreUnsupportedDatatypes = True
        self._reasoner = java("org.semanticweb.HermiT.Reasoner")(configuration, self._ontology)
        self.consistent = bool(self._reasoner.isConsistent())

    def statements(self) -> Iterator[Statement]:
        """HermiT's lists for every named individual: types, values and equalities.

        If individuals can be equal, it may list too much (see :meth:`holds`), or no values of
        object properties.
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
        except self._jpype.JClass("java.util.ConcurrentModificationException"):
            # HermiT's list of links fails for some equal individuals: then there is no list.
            return

    def holds(self, statement: Statement) -> bool:
        """Whether the document has no model in which the statement is false.

        :meth:`statements` reads some answers from one model. This method does not: each question is
        a search for a counter-model.
        """
        subject, predicate, value = statement
        individual = self._factory.getOWLNamedIndividual(self._iri.create(subject[1:-1]))
        if predicate == _TYPE:
            of_class = self._factory.getOWLClass(self._iri.create(value[1:-1]))
            # HermiT looks a class up but tests an expression: a class negated twice is an
            # expression.
            negated = of_class.getObjectComplementOf()
            expression = self._factory.getOWLObjectComplementOf(negated)
        elif predicate == _SAME:
            other = self._factory.getOWLNamedIndividual(self._iri.create(value[1:-1]))
            expression = self._factory.getOWLObjectOneOf(self._jpype.java.util.HashSet([other]))
        else:
            expression = self._having(predicate, value)
        return bool(self._reasoner.hasType(individual, expression, False))

    def _having(self, prop: str, value: str) -> Any:
        """The class of all that have a value, an individual or a literal, by a property."""
        factory, name = self._factory, self._iri.create(prop[1:-1])
        written = term(value)
        if not isinstance(written, Literal):
            other = factory.getOWLNamedIndividual(self._iri.create(written))
            return factory.getOWLObjectHasValue(factory.getOWLObjectProperty(name), other)
        if written.language is not None:
            literal = factory.getOWLLiteral(written.lexical, written.language)
        else:
            kind = factory.getOWLDatatype(self._iri.create(written.datatype))
            literal = factory.getOWLLiteral(written.lexical, kind)
        return factory.getOWLDataHasValue(factory.getOWLDataProperty(name), literal)


def _is_named(role: Any) -> bool:
    return not role.isTopEntity() and not role.isBottomEntity()


def _name(entity: Any) -> str:
    return f"<{entity.getIRI()}>"


def _written(value: Any) -> str:
    lexical = str(value.getLiteral())
    if value.hasLang():
        return Literal(lexical, language=str(value.getLang()))
    kind = str(value.getDatatype().getIRI())
    return Literal(lexical, XSD_STRING if value.isRDFPlainLiteral() else kind)
