"""Entailment by its definition, in a Java process of its own: ``python naive_oracle.py HOME``.

A knowledge base entails a statement if it has no model together with the statement's negation.
Every single question gets a fresh ontology and a fresh HermiT: nothing is kept, nothing is cut
into islands. Requests and answers are lines of JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sensorstream.reasoning.dl.reasoner_worker import start_java


def main() -> None:
    start_java(Path(sys.argv[1]), 512)
    import jpype

    oracle = Oracle(jpype)
    for line in sys.stdin:
        try:
            answer: Any = oracle.answer(json.loads(line))
        except Exception as error:
            answer = {"error": " ".join(str(error).split()) or type(error).__name__}
        print(json.dumps(answer), flush=True)


class Oracle:
    def __init__(self, jpype: Any) -> None:
        self.jpype = jpype
        java = jpype.JClass
        self.managers = java("org.semanticweb.owlapi.apibinding.OWLManager")
        self.factory = self.managers.getOWLDataFactory()
        self.iri = java("org.semanticweb.owlapi.model.IRI").create
        self.reasoner = java("org.semanticweb.HermiT.Reasoner")
        self.configuration = java("org.semanticweb.HermiT.Configuration")

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Everything that follows, of what the request's vocabulary can say."""
        manager = self.managers.createOWLOntologyManager()
        stream = self.jpype.JClass("java.io.ByteArrayInputStream")(request["triples"].encode())
        ontology = manager.loadOntologyFromOntologyDocument(
            self.jpype.JObject(stream, "java.io.InputStream")
        )
        if not self.consistent(ontology):
            return {"consistent": False}
        entailed = []
        for statement, negation in self.statements(request):
            if ontology.containsAxiom(negation):
                continue
            manager.addAxiom(ontology, negation)
            if not self.consistent(ontology):
                entailed.append(statement)
            manager.removeAxiom(ontology, negation)
        return {"consistent": True, "entailed": entailed}

    def consistent(self, ontology: Any) -> bool:
        reasoner = self.reasoner(self.configuration(), ontology)
        try:
            return bool(reasoner.isConsistent())
        finally:
            reasoner.dispose()

    def statements(self, request: dict[str, Any]) -> Iterator[tuple[list[Any], Any]]:
        factory = self.factory
        individuals = {
            name: factory.getOWLNamedIndividual(self.iri(name)) for name in request["individuals"]
        }
        for name in request["classes"]:
            other = factory.getOWLObjectComplementOf(factory.getOWLClass(self.iri(name)))
            for one, a in individuals.items():
                yield [one, "type", name], factory.getOWLClassAssertionAxiom(other, a)
        for name in request["roles"]:
            role = factory.getOWLObjectProperty(self.iri(name))
            for one, a in individuals.items():
                for two, b in individuals.items():
                    yield (
                        [one, name, two],
                        factory.getOWLNegativeObjectPropertyAssertionAxiom(role, a, b),
                    )
        for name in request["data"]:
            role = factory.getOWLDataProperty(self.iri(name))
            for one, a in individuals.items():
                for value in request["values"]:
                    literal = factory.getOWLLiteral(
                        value, factory.getOWLDatatype(self.iri(request["datatype"]))
                    )
                    # HermiT compares negative assertions by text: "04" would not be 4.
                    having = factory.getOWLDataSomeValuesFrom(
                        role, factory.getOWLDataOneOf(literal)
                    )
                    other = factory.getOWLObjectComplementOf(having)
                    yield [one, name, value], factory.getOWLClassAssertionAxiom(other, a)
        for one, a in individuals.items():
            for two, b in individuals.items():
                if one != two:
                    pair = self.jpype.java.util.HashSet([a, b])
                    yield [one, "same", two], factory.getOWLDifferentIndividualsAxiom(pair)


if __name__ == "__main__":
    main()
