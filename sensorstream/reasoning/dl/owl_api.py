"""The OWL API, and HermiT over it, in a process with a Java virtual machine."""

from __future__ import annotations

from typing import Any


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
        """The ontology of an N-Triples document, and what changes it."""
        manager = self.manager.createOWLOntologyManager()
        stream = self._jpype.JObject(
            self.java("java.io.ByteArrayInputStream")(document), "java.io.InputStream"
        )
        return manager.loadOntologyFromOntologyDocument(stream), manager

    def reasoner(self, ontology: Any, *, tells_contradiction: bool = True) -> Any:
        """HermiT over an ontology.

        Without ``tells_contradiction`` it raises none: it would search for a model once more.
        """
        configuration = self.java("org.semanticweb.HermiT.Configuration")()
        # The owner leaves values of such datatypes out; axioms may still use them.
        configuration.ignoreUnsupportedDatatypes = True
        configuration.throwInconsistentOntologyException = tells_contradiction
        return self.java("org.semanticweb.HermiT.Reasoner")(configuration, ontology)

    def named(self, kind: str, name: str) -> Any:
        """What has a name: ``Class``, ``ObjectProperty``, ``DataProperty``, ``Datatype``, …"""
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
        """A class as an expression: negated twice, so that HermiT does not look it up.

        It tests expressions by refutation.
        """
        negated = self.named("Class", name).getObjectComplementOf()
        return self.factory.getOWLObjectComplementOf(negated)
