"""Rule sets as reasoners: triples a second that come and go, and what a change of two costs.

Run it with ``python -m benchmarks.rule_sets [RULE_SET …]``. The schema is like that of the Lehigh
University Benchmark (classes, properties, domains, ranges, an inverse and a transitive property),
the stream departments that come and go whole. It is processor time: first that of the reasoner with
its writing to the inferred graph, then together with the window's writing. *eight rules* is a set
with just what the schema uses.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.reasoning.ontology import Ontology, parse_ontology
from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.reasoning.rulesets.library import bundled_rules
from sensorstream.reasoning.rulesets.reader import read
from sensorstream.reasoning.rulesets.reasoner import RuleReasoner
from sensorstream.reasoning.schema_closure import SchemaClosure

DEPARTMENTS: Final = 8
HELD: Final = 32
"""Departments in the window while two triples change."""
CHANGES: Final = 500
_EX: Final = "http://example.org/"
_PREFIXES: Final = (
    "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
    "PREFIX owl: <http://www.w3.org/2002/07/owl#>\n"
)
_SUBCLASSES: Final = {
    "Employee": "Person",
    "Faculty": "Employee",
    "Professor": "Faculty",
    "Lecturer": "Faculty",
    "FullProfessor": "Professor",
    "AssistantProfessor": "Professor",
    "Student": "Person",
    "UndergraduateStudent": "Student",
    "GraduateStudent": "Student",
    "Department": "Organization",
    "University": "Organization",
    "ResearchGroup": "Organization",
}
_PROPERTIES: Final = {
    "degreeFrom": ("Person", "University", ""),
    "doctoralDegreeFrom": ("Person", "University", "degreeFrom"),
    "memberOf": ("Person", "Organization", ""),
    "worksFor": ("Person", "Organization", "memberOf"),
    "takesCourse": ("Student", "Course", ""),
    "teacherOf": ("Faculty", "Course", ""),
    "subOrganizationOf": ("Organization", "Organization", ""),
}
_EIGHT: Final = f"""{_PREFIXES}
# sco
INSERT {{ ?x a ?d }} WHERE {{ ?c rdfs:subClassOf ?d . ?x a ?c }} ;
# sco of sco
INSERT {{ ?x rdfs:subClassOf ?z }} WHERE {{ ?x rdfs:subClassOf ?y . ?y rdfs:subClassOf ?z }} ;
# spo
INSERT {{ ?x ?q ?y }} WHERE {{ ?p rdfs:subPropertyOf ?q . ?x ?p ?y }} ;
# dom
INSERT {{ ?x a ?c }} WHERE {{ ?p rdfs:domain ?c . ?x ?p ?y }} ;
# rng
INSERT {{ ?y a ?c }} WHERE {{ ?p rdfs:range ?c . ?x ?p ?y }} ;
# inv1
INSERT {{ ?y ?q ?x }} WHERE {{ ?p owl:inverseOf ?q . ?x ?p ?y }} ;
# inv2
INSERT {{ ?y ?p ?x }} WHERE {{ ?p owl:inverseOf ?q . ?x ?q ?y }} ;
# trp
INSERT {{ ?x ?p ?z }} WHERE {{ ?p a owl:TransitiveProperty . ?x ?p ?y . ?y ?p ?z }} ;
"""


def ontology() -> Ontology:
    """The schema."""
    lines = [_PREFIXES, f"PREFIX : <{_EX}>"]
    for name, above in _SUBCLASSES.items():
        lines.append(f":{name} a owl:Class ; rdfs:subClassOf :{above} . :{above} a owl:Class .")
    lines.append(":Course a owl:Class .")
    for name, (domain, range_, above) in _PROPERTIES.items():
        lines.append(
            f":{name} a owl:ObjectProperty ; rdfs:domain :{domain} ; rdfs:range :{range_} ."
        )
        if above:
            lines.append(f":{name} rdfs:subPropertyOf :{above} .")
    lines.append(":subOrganizationOf a owl:TransitiveProperty .")
    lines.append(":member a owl:ObjectProperty ; owl:inverseOf :memberOf .")
    lines.append(":name a owl:DatatypeProperty . :email a owl:DatatypeProperty .")
    return parse_ontology("\n".join(lines).encode(), "text/turtle")


def department(number: int) -> tuple[Triple, ...]:
    """About 2,400 statements of one department."""
    draw = random.Random(number)
    here = _named(f"department{number}")
    said: list[Triple] = [
        (here, RDF_TYPE, _named("Department")),
        (here, _named("subOrganizationOf"), _named("university")),
        (_named(f"group{number}"), _named("subOrganizationOf"), here),
    ]
    courses = [_named(f"course{number}-{each}") for each in range(30)]
    for each, course in enumerate(courses):
        who = _named(f"faculty{number}-{each}")
        rank = draw.choice(["FullProfessor", "AssistantProfessor", "Lecturer"])
        said += [
            (who, RDF_TYPE, _named(rank)),
            (who, _named("worksFor"), here),
            (who, _named("name"), Literal(f"faculty {each}")),
            (who, _named("doctoralDegreeFrom"), _named(f"university{draw.randrange(50)}")),
            (who, _named("teacherOf"), course),
        ]
    for each in range(300):
        who = _named(f"student{number}-{each}")
        said += [
            (who, RDF_TYPE, _named("UndergraduateStudent")),
            (who, _named("memberOf"), here),
            (who, _named("name"), Literal(f"student {each}")),
            (who, _named("email"), Literal(f"{each}@{number}.example")),
            *((who, _named("takesCourse"), course) for course in draw.sample(courses, 3)),
        ]
    return tuple(said)


def rates(reasoner: Reasoner, known: Ontology) -> tuple[float, float]:
    """Triples a second that come or go: of the reasoner, and with the window's writing."""
    kb = _started(reasoner, known)
    reasoned = together = count = 0.0
    for number in range(DEPARTMENTS):
        said = department(number)
        for delta in (Delta(0, added=said), Delta(0, removed=said)):
            begun = time.process_time()
            kb.apply(Origin.WINDOW, delta)
            written = time.process_time()
            reasoner.react(kb, delta)
            ended = time.process_time()
            reasoned, together = reasoned + ended - written, together + ended - begun
            count += len(said)
    return count / reasoned, count / together


def change_of_two(reasoner: Reasoner, known: Ontology) -> tuple[int, float]:
    """The statements of the window, and milliseconds for two of one individual to come or go."""
    kb = _started(reasoner, known)
    said = tuple(dict.fromkeys(t for number in range(HELD) for t in department(number)))
    _change(kb, reasoner, Delta(0, added=said))
    begun = time.process_time()
    for number in range(CHANGES):
        who = _named(f"new{number}")
        two = (
            (who, RDF_TYPE, _named("Lecturer")),
            (who, _named("worksFor"), _named("department1")),
        )
        _change(kb, reasoner, Delta(0, added=two))
        _change(kb, reasoner, Delta(0, removed=two))
    return len(said), (time.process_time() - begun) / (2 * CHANGES) * 1000


def main(names: list[str]) -> None:
    known = ontology()
    print(f"{'':28} {'reasoner/s':>11} {'together/s':>11} {'statements':>11} {'ms for two':>11}")
    made: dict[str, Callable[[], Reasoner]] = {
        "plain": lambda: SchemaClosure(known.schema),
        "eight rules": lambda: RuleReasoner(read(_EIGHT, "eight.ru")),
    }
    for name in names:
        made[name] = partial(RuleReasoner, bundled_rules(name))
    for name, make in made.items():
        gc.collect()
        alone, together = rates(make(), known)
        held, two = change_of_two(make(), known)
        print(f"{name:28} {alone:11,.0f} {together:11,.0f} {held:11,} {two:11.3f}", flush=True)


def _started(reasoner: Reasoner, known: Ontology) -> KnowledgeBase:
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, known.triples)
    reasoner.start(kb)
    return kb


def _change(kb: KnowledgeBase, reasoner: Reasoner, delta: Delta) -> None:
    kb.apply(Origin.WINDOW, delta)
    reasoner.react(kb, delta)


def _named(name: str) -> IRI:
    return IRI(f"{_EX}{name}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["rdfs", "owl2rl"])
