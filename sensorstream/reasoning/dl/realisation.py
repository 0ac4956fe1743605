"""Everything that HermiT derives about the individuals of one document, in one new run.

Runs in a process with a Java virtual machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from sensorstream.model.terms import Literal, term
from sensorstream.model.vocabulary import OWL_SAME_AS, RDF_TYPE
from sensorstream.model.xsd import XSD_STRING
from sensorstream.reasoning.dl.owl_api import OwlApi
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
        except self._api.java("java.util.ConcurrentModificationException"):
            # HermiT's list of links fails for some equal individuals: then there is no list.
            return

    def holds(self, statement: Statement) -> bool:
        """Whether the document has no model in which the statement is false.

        :meth:`statements` reads some answers from one model. This method does not: each question is
        a search for a counter-model.
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
    return Literal(lexical, XSD_STRING if value.isRDFPlainLiteral() else kind)
