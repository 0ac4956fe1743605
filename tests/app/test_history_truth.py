"""Window and history of a whole application say of every instant what held then."""

from __future__ import annotations

import random
from dataclasses import replace
from hashlib import sha256

import pytest

from sensorstream.app.application import Application
from sensorstream.history.asking.checked_question import read_question
from sensorstream.history.asking.query_answer import GraphAnswer
from sensorstream.kb.graph_index import Origin
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import GRAPH_INFERRED
from sensorstream.settings.settings import Settings
from tests.app.conftest import Deploy, Open
from tests.effort import rounds
from tests.history.ends import stays_told_wrong
from tests.prefixes import TURTLE

ONTOLOGY = f"""{TURTLE}
:Actor a owl:Class . :Human a owl:Class ; rdfs:subClassOf :Actor . :Guide a owl:Class .
:near a owl:ObjectProperty ; rdfs:domain :Actor ; rdfs:range :Actor .
:level a owl:DatatypeProperty ; rdfs:range xsd:integer .
"""
MORE = ONTOLOGY + ":leads a owl:ObjectProperty . :near rdfs:domain :Guide .\n"
RULES = """
prefix : <http://example.org/>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping person on message {/p}
then update individual :{@id} a :{@kind} at {@t} ; :level {@level}^^xsd:integer ; :near :{@near} .
"""


@pytest.fixture
def people(deploy: Deploy) -> Settings:
    return deploy(ONTOLOGY, RULES, "3")


def send(application: Application, **values: object) -> None:
    told = " ".join(f"{name}='{value}'" for name, value in values.items())
    status = application.submit(f"<p {told}/>".encode(), "test").result(60).status
    assert status.value == "accepted"


def at(application: Application, time: int, graph: IRI | None = None) -> set[Triple]:
    where = "?s ?p ?o" if graph is None else f"GRAPH {graph.n3} {{ ?s ?p ?o }}"
    text = f"CONSTRUCT {{ ?s ?p ?o }} {{ {where} }}"
    question = read_question(text, Timeline.INTEGER, at=str(time))
    with application.asking.history(question, live=True) as answer:
        assert isinstance(answer, GraphAnswer)
        return set(answer.triples)


def held(application: Application, *origins: Origin) -> set[Triple]:
    kb = application.engine.kb
    return {triple for origin in origins for triple in kb.triples(origin)}


SETS = """PREFIX : <http://example.org/>
# far
INSERT { ?x :near ?z } WHERE { ?x :near ?y . ?y :near ?z } ;
# lonely
INSERT { ?x a :Lonely } WHERE { ?x a :Human FILTER NOT EXISTS { ?x :near ?y } } ;
# pair
INSERT { [] :of ?x , ?y } WHERE { ?x :near ?y . ?y :near ?x } ;
"""


@pytest.mark.parametrize(
    ("seed", "profile"),
    [(seed, profile) for profile in ("plain", "rhodf, mine.ru") for seed in rounds(2)],
)
def test_all_as_of_an_instant_is_what_the_engine_held_then(
    people: Settings, open_application: Open, seed: int, profile: str
) -> None:
    (people.folder / "mine.ru").write_text(SETS)
    people = replace(people, reasoning=replace(people.reasoning, profile=profile))
    chance = random.Random(seed)
    application = open_application(people)
    inferred: dict[int, set[Triple]] = {}
    asserted: dict[int, set[Triple]] = {}
    now = 100
    for number in range(36):
        if number == 12:
            application.close()
            application = open_application(people)
        elif number == 24:
            application.ontologies.put(MORE.encode(), "text/turtle")
        elif number == 30 and profile != "plain":
            application.rulebook.put("mine.ru", SETS.replace("# lonely\nINSERT", "INSERT"), "me")
            application.rulebook.put("mine.ru", SETS.partition("# pair")[0], "me")
        else:
            now += chance.choice((0, 1, 1, 2, 4))
            told = {"level": chance.randint(0, 2), "near": chance.choice("abc")}
            if chance.random() < 0.3:
                del told["near"]
            kind = chance.choice(("Human", "Actor"))
            send(application, id=chance.choice("abcde"), t=now, kind=kind, **told)
        inferred[now] = held(application, Origin.INFERRED)
        asserted[now] = held(application, Origin.WINDOW)
    static = held(application, Origin.STATIC, Origin.STATIC_INFERRED)
    derived = held(application, Origin.STATIC_INFERRED)
    then: set[Triple] = set()
    said: set[Triple] = set()
    for time in range(99, now + 2):
        then, said = inferred.get(time, then), asserted.get(time, said)
        assert at(application, time, GRAPH_INFERRED) - derived == then - derived, time
        assert at(application, time) - static == (then | said) - static, time
    having, wrong = stays_told_wrong(people.history.url)
    assert having > 0
    assert wrong == []


def test_what_is_asserted_and_inferred_is_one_triple(
    people: Settings, open_application: Open
) -> None:
    application = open_application(people)
    send(application, id="a", t=1, kind="Actor", near="b")
    send(application, id="a", t=2, kind="Actor", near="b", level=1)
    count = "SELECT (COUNT(*) AS ?n) { <http://example.org/a> a <http://example.org/Actor> }"

    def counted(live: bool) -> list[str]:
        with application.asking.history(
            read_question(count, Timeline.INTEGER), live=live
        ) as answer:
            assert not isinstance(answer, bool | GraphAnswer)
            return [row[0].n3 for row in answer.rows if row[0] is not None]

    one = '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
    assert counted(live=True) == [one]
    for number, name in enumerate("xyz"):
        send(application, id=name, t=3 + number, kind="Human")
    rows = application.asking.sql(
        f"select inferred from statements where predicate = '{rdf.TYPE}' "
        "and subject like '%/a' and object like '%/Actor'"
    ).rows
    assert sorted(rows) == [(False,), (True,)]
    assert counted(live=True) == counted(live=False) == [one]
    for view in ("actor", "individuals where class like '%Actor'"):
        assert application.asking.sql(f"select iri from {view}").rows == (
            ("http://example.org/a",),
        )


def test_the_files_ontology_is_recorded_when_it_is_another(
    people: Settings, open_application: Open
) -> None:
    def versions(application: Application) -> list[tuple[object, ...]]:
        with application.database.connect() as connection:
            rows = connection.exec_driver_sql(
                "select seq, valid_from, media_type, digest, content from store.ontologies "
                "order by seq"
            )
            found = [tuple(row) for row in rows]
        assert [sha256(row[4]).hexdigest() for row in found] == [row[3] for row in found]
        return [row[:3] for row in found]

    triples = "application/n-triples"
    application = open_application(people)
    send(application, id="a", t=5, kind="Actor")
    application.close()
    application = open_application(people)
    assert versions(application) == [(0, None, triples)]
    send(application, id="a", t=7, kind="Actor")
    application.close()
    people.ontology.files[0].write_text(ONTOLOGY + "# The same.\n")
    application = open_application(people)
    assert versions(application) == [(0, None, triples)]
    application.close()
    for text in (ONTOLOGY + ":Robot a owl:Class .\n", MORE):
        people.ontology.files[0].write_text(text)
        application = open_application(people)
        assert versions(application) == [(0, None, triples), (2, 7, triples)]
        application.close()
    application = open_application(people)
    application.ontologies.put(ONTOLOGY.encode(), "text/turtle")
    application.close()
    application = open_application(people)
    assert versions(application)[2:] == [(3, 7, "text/turtle")]
