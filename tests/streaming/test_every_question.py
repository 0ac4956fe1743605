"""Every question has the same answer from a server with an engine of its own, and on Spark.

A row of the table is a question. The messages are processed when it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from sensorstream.app.application import Application
from sensorstream.settings.settings_file import load_settings
from tests.asking import asking
from tests.streaming.conftest import ONTOLOGY, RULES, seen, write_deployment
from tests.streaming.test_spark_stream import finished, started

T = "http://example.org/t#"
PREFIXES = (
    f"PREFIX : <{T}> PREFIX geo: <http://www.opengis.net/ont/geosparql#> "
    "PREFIX geof: <http://www.opengis.net/def/function/geosparql/> "
    "PREFIX uom: <http://www.opengis.net/def/uom/OGC/1.0/> "
)
MORE_ONTOLOGY = """
@prefix geo: <http://www.opengis.net/ont/geosparql#> .
@prefix sosa: <http://www.w3.org/ns/sosa/> .
sosa:Observation a owl:Class . sosa:Sensor a owl:Class . sosa:ObservableProperty a owl:Class .
sosa:madeBySensor a owl:ObjectProperty . sosa:observedProperty a owl:ObjectProperty .
sosa:hasSimpleResult a owl:DatatypeProperty . geo:asWKT a owl:DatatypeProperty .
:Room a owl:Class ; rdfs:subClassOf :Place . :Place a owl:Class .
:warmth a sosa:ObservableProperty ; rdfs:label "warmth" .
:north a sosa:Sensor ; rdfs:label "North" . :south a sosa:Sensor ; rdfs:label "South" .
"""
RULE_PREFIXES = """\
prefix sosa: <http://www.w3.org/ns/sosa/>
prefix geo: <http://www.opengis.net/ont/geosparql#>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
"""
MORE_RULES = """
mapping measured
on message {/measured}
then
  insert individual :m-{@by}-{@at} a sosa:Observation at {@at} ; sosa:madeBySensor :{@by}
    ; sosa:observedProperty :warmth ; sosa:hasSimpleResult {@value}^^xsd:integer
    ; geo:asWKT {@where}^^geo:wktLiteral .
"""
SHAPES = f"""@prefix : <{T}> . @prefix sh: <http://www.w3.org/ns/shacl#> .
:Near a sh:NodeShape ; sh:targetClass :Actor ;
  sh:property [ sh:path :x ; sh:maxInclusive 80 ; sh:message "too far" ] ."""
MORE_SETTINGS = """
[history]
url = "{url}"
[shapes]
files = ["s.ttl"]
live = false
[spark]
master = "local[2]"
[pipeline]
runner = "{runner}"
folder = "{folder}/state"
"""


def measured(camera: str, time: int, value: int) -> bytes:
    where = f"POINT(24.9{time} 60.1)"
    return f"<measured by='{camera}' at='{time}' value='{value}' where='{where}'/>".encode()


# Some have left the windows of five, one is said twice; two keys, each its own window.
MESSAGES = [
    *((f, seen(f, n, (n % 8, 9 * n))) for n, f in enumerate(("north", "south") * 5, 1)),
    *((f, measured(f, n, 3 * n)) for n, f in enumerate(("south", "south", "north"), 11)),
    ("north", seen("north", 14, (9, 1))),
    ("north", b"<unknown/>"),
]


@dataclass(frozen=True)
class Question:
    """A question over HTTP. ``shown`` is what must be equal of its answer; ``of_batch``: on Spark
    the answer names its batch.
    """

    path: str
    body: Any = None
    shown: Callable[[Any], Any] = lambda answer: answer
    of_batch: bool = True
    status: int = 200

    @classmethod
    def sparql(cls, text: str, on: str = "cache", **more: Any) -> Question:
        return cls(f"/sparql?on={on}&query={quote(PREFIXES + text)}", **more)

    @classmethod
    def sql(cls, text: str, **more: Any) -> Question:
        return cls("/sql", {"query": text}, **more)

    def __str__(self) -> str:
        return f"{self.path} {self.body or ''}"[:60]


def rows(answer: Any) -> Any:
    """The solutions of an answer in any order."""
    return sorted(map(repr, answer["results"]["bindings"]))


def lines(answer: str) -> Any:
    return sorted(answer.splitlines())


def but(*names: str) -> Callable[[Any], Any]:
    """All members of an answer but some, whose values belong to a server."""
    return lambda answer: {k: v for k, v in answer.items() if k not in names}


HUMAN = quote(f"{T}Human", safe="")
PLACE = "'POINT(24.9 60.1)'^^geo:wktLiteral"
NEAR = f"{{ ?s geo:asWKT ?w FILTER(geof:distance(?w, {PLACE}, uom:metre) < 60000) }}"
QUESTIONS = [
    # What holds now.
    Question.sparql("SELECT ?s ?p ?o { ?s ?p ?o }", shown=rows),
    Question.sparql("SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g", shown=rows),
    Question.sparql("SELECT ?s { GRAPH <urn:sensorstream:inferred> { ?s a :Actor } }", shown=rows),
    Question.sparql("CONSTRUCT { ?s :at ?x } { ?s a :Actor ; :x ?x }", shown=lines),
    Question.sparql(f"SELECT ?s {NEAR}", shown=rows),
    Question.sparql("ASK { :north-1 a :Human }"),
    Question("/sparql/plan?query=ASK{}", of_batch=False),
    Question("/sparql", shown=lines),
    Question("/graphs/window", shown=lines),
    Question("/graphs?graph=urn:sensorstream:static", shown=lines),
    # What holds now, and what has.
    Question.sparql("SELECT ?s ?p ?o { ?s ?p ?o }", "all", shown=rows),
    Question.sparql("SELECT ?s ?x { ?s :x ?x }", "all&at=6", shown=rows),
    Question.sparql("SELECT ?s ?x { ?s a :Actor ; :x ?x }", "all&during=2/4", shown=rows),
    Question.sparql(f"SELECT ?s {NEAR}", "all", shown=rows),
    Question("/sparql/plan?on=all&query=ASK{}", shown=but("plan")),
    Question.sql("select iri, x, time from live.human order by 1"),
    Question.sql(
        "select subject, predicate, object, valid_from, inferred, message_id "
        "from live.statements order by 1, 2, 3, 5"
    ),
    Question.sql("select count(*) from live.individuals"),
    # Individuals.
    Question("/window"),
    Question("/window?limit=2&offset=3"),
    *(
        Question(f"/individuals{way}{quote(f'{T}{name}', safe='')}")
        for way in ("/", "?iri=")
        for name in ("north-1", "south-4", "m-south-12")
    ),
    Question("/individuals?iri=http://example.org/nobody", status=404),
    Question(f"/latest?class={HUMAN}"),
    Question(f"/latest?class={HUMAN}&limit=2"),
    Question(f"/latest?class={HUMAN}&limit=2&after={quote(f'window:{T}north-3', safe='')}"),
    Question("/shapes/report", shown=lambda answer: sorted(map(repr, answer["results"]))),
    Question("/messages/m7", shown=but("received_at", "facts", "deliveries")),
    # SensorThings.
    *(
        Question(f"/sensorthings/v1.1/{path}")
        for path in (
            "Sensors?$orderby=name",
            "Datastreams?$expand=ObservedProperty",
            "Observations?$orderby=result&$filter=result%20gt%2033",
            "FeaturesOfInterest",
        )
    ),
]


class Asked:
    """The two servers."""

    def __init__(self, engine: Application, spark: Application) -> None:
        self.of_engine, self.of_spark = map(self._client, (engine, spark))

    @staticmethod
    def _client(server: Application) -> Callable[[Question], httpx.Response]:
        ask = asking(server)
        head = {
            "accept": "application/json, application/sparql-results+json, "
            "application/n-triples;q=0.9, */*;q=0.1"
        }
        return lambda question: ask(
            question.path,
            "GET" if question.body is None else "POST",
            json=question.body,
            headers=head,
        )


@pytest.fixture(scope="module")
def asked(
    tmp_path_factory: pytest.TempPathFactory, new_database: Callable[[], str]
) -> Iterator[Asked]:
    with ExitStack() as stack:
        servers = []
        for runner in ("engine", "spark"):
            folder, url = tmp_path_factory.mktemp(runner), new_database()
            write_deployment(folder, MORE_SETTINGS.format(url=url, runner=runner, folder=folder))
            (folder / "s.ttl").write_text(SHAPES)
            (folder / "t.ttl").write_text(ONTOLOGY + MORE_ONTOLOGY)
            (folder / "t.rules").write_text(RULE_PREFIXES + RULES + MORE_RULES)
            settings = load_settings(folder / "sensorstream.toml", {})
            server = stack.enter_context(Application.open(settings))
            for source, content in MESSAGES:
                server.submit(content, source).result(300)
            servers.append(server)
        finished(started(settings, "--once"))
        yield Asked(*servers)


def plain(answer: httpx.Response) -> Any:
    return answer.json() if "json" in answer.headers["content-type"] else answer.text


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_it_has_the_same_answer(asked: Asked, question: Question) -> None:
    expected, found = asked.of_engine(question), asked.of_spark(question)
    assert expected.status_code == question.status, expected.text
    assert found.status_code == question.status, found.text
    assert question.shown(plain(found)) == question.shown(plain(expected))
    assert "sensorstream-batch" not in expected.headers
    assert ("sensorstream-batch" in found.headers) == question.of_batch
    if question.of_batch:
        assert found.headers["sensorstream-batch"].startswith(f"{len(MESSAGES)}; 20")
