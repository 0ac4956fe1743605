"""Continuous queries over HTTP, on a whole application."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import rdflib

from sensorstream.app.application import Application
from sensorstream.settings.settings import (
    HistorySettings,
    OntologySettings,
    RuleSettings,
    Settings,
    WindowSettings,
)
from tests.waiting import eventually

EX = "http://example.org/"
SPARQL = {"content-type": "application/sparql-query"}
XML = {"content-type": "application/xml"}
PREFIX = f"PREFIX : <{EX}> "
ONTOLOGY = f"""@prefix : <{EX}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Thing a owl:Class . :Reading a owl:Class ; rdfs:subClassOf :Thing .
:value a owl:DatatypeProperty . :room a owl:DatatypeProperty .
"""
RULES = f"""prefix : <{EX}>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping reading
on message {{/r}}
then insert individual :r-{{@id}} a :Reading at {{@t}}
  ; :value {{@v}}^^xsd:integer ; :room {{@room}} .
"""
WIDE = "SELECT ?r { ?r :value ?v }"
WINDOWED = (
    PREFIX
    + """REGISTER RSTREAM :mean AS SELECT ?room (AVG(?v) AS ?mean)
    FROM NAMED WINDOW :w ON <urn:sensorstream:source:cellar%20one> [RANGE PT10S STEP PT5S]
    WHERE { WINDOW :w { ?r :room ?room ; :value ?v } } GROUP BY ?room"""
)


def readings(folder: Path, database: str, size: str) -> Settings:
    """A deployment whose window has so many readings."""
    (folder / "o.ttl").write_text(ONTOLOGY)
    (folder / "r.rules").write_text(RULES)
    return Settings(
        path=folder / "sensorstream.toml",
        ontology=OntologySettings((folder / "o.ttl",)),
        rules=RuleSettings((folder / "r.rules",)),
        window=WindowSettings(size=size),
        history=HistorySettings(url=database),
    )


@pytest.fixture
def url(
    tmp_path: Path, database: str, listen: Callable[[Application], Iterator[str]]
) -> Iterator[str]:
    with Application.open(readings(tmp_path, database, "3")) as application:
        yield from listen(application)


@pytest.fixture
def web(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=300) as client:
        yield client


def register(web: httpx.Client, text: str, **params: str) -> dict[str, Any]:
    answer = web.post("/queries", content=text.encode(), headers=SPARQL, params=params)
    assert answer.status_code == 201, answer.text
    told: dict[str, Any] = answer.json()
    return told


def say(web: httpx.Client, number: int, time: int, value: object, source: str = "") -> None:
    content = f"<r id='{number}' t='{time}' v='{value}' room='hall'/>"
    answer = web.post("/messages", content=content, headers=XML, params={"source": source})
    assert answer.status_code == 200, answer.text


def test_an_expression_of_exponential_time_does_not_hold_the_server(web: httpx.Client) -> None:
    register(web, f'{PREFIX}SELECT ?r {{ ?r :room ?n FILTER REGEX(STR(?n), "^(a+)+$") }}', name="q")
    content = f"<r id='1' t='10' v='1' room='{'a' * 60}!'/>"
    assert web.post("/messages", content=content, headers=XML).status_code == 200
    say(web, 2, 11, 2)
    assert rows(web, "/queries/q/results") == []
    refused = web.post(
        "/queries",
        content=f"{PREFIX}SELECT ?r {{ ?r :room ?n FILTER REGEX(?n, '(a)\\\\1') }}",
        headers=SPARQL,
    )
    assert refused.status_code == 422
    assert "no back-references" in refused.json()["detail"]


def rows(web: httpx.Client, path: str) -> list[dict[str, str]]:
    found = web.get(path).json()
    return [{k: v["value"] for k, v in each.items()} for each in found["results"]["bindings"]]


class Follower:
    """Reads server-sent events of one query in a thread."""

    def __init__(self, url: str, name: str, headers: dict[str, str] | None = None) -> None:
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        self.listening = False
        self._address = f"{url}/queries/{quote(name, safe='')}/results"
        self._headers = {"accept": "text/event-stream", **(headers or {})}
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        fields: dict[str, str] = {}
        with httpx.stream("GET", self._address, headers=self._headers, timeout=120) as answer:
            for line in answer.iter_lines():
                if line.startswith(":"):
                    self.listening = True
                elif line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "data" in fields:
                    data = json.loads(fields["data"])
                    self.events.append((fields.get("event", ""), fields.get("id", ""), data))
                    if fields["event"] == "end":
                        return
                    fields = {}

    def done(self) -> None:
        self._thread.join(120)
        assert not self._thread.is_alive()


def test_a_query_over_the_knowledge_base_follows_every_message(web: httpx.Client) -> None:
    told = register(web, PREFIX + "SELECT ?r ?v WHERE { ?r a :Thing ; :value ?v }", name="all")
    assert told["name"] == "all"
    assert told["variables"] == ["r", "v"]
    assert told["anew"] is None
    for number in range(1, 6):
        say(web, number, number, number * 10)
    # The knowledge base's window holds three; the class is inferred.
    assert sorted(each["v"] for each in rows(web, "/queries/all/results")) == ["30", "40", "50"]
    # The fifth is made when time moves on: another message of that time may come. If the machine
    # is slow, silence has moved it on already.
    assert web.get("/queries/all").json()["reports"] in (4, 5)
    say(web, 6, 6, 60)
    assert web.get("/queries/all").json()["reports"] in (5, 6)
    csv = web.get("/queries/all/results", headers={"accept": "text/csv"}).text
    assert csv.splitlines()[0] == "r,v"
    assert len(csv.splitlines()) == 4


def test_a_window_reads_the_stream_of_its_source(web: httpx.Client) -> None:
    told = register(web, WINDOWED)
    assert told["name"] == f"{EX}mean"
    assert told["relation"] == "RSTREAM"
    say(web, 1, 1, 10, "cellar one")
    say(web, 2, 2, 99, "attic")
    say(web, 3, 4, 20, "cellar one")
    say(web, 4, 6, 60, "cellar one")
    path = f"/queries/{quote(told['name'], safe='')}"
    assert rows(web, f"{path}/results") == [{"room": "hall", "mean": "15"}]
    found = web.get(path).json()
    assert (found["last_report"], found["next_report"]) == (5, 10)


def test_followers_get_reports_as_they_come_and_catch_up(web: httpx.Client, url: str) -> None:
    told = register(web, WINDOWED)
    follower = Follower(url, told["name"])
    eventually(lambda: follower.listening)
    for number, time in enumerate((1, 4, 6, 11, 16), 1):
        say(web, number, time, time, "cellar one")
    eventually(lambda: len(follower.events) == 3)
    kinds, ids, reports = zip(*follower.events, strict=True)
    assert set(kinds) == {"report"}
    assert ids == tuple(f"{told['registered']}-{n}" for n in (1, 2, 3))
    assert [(each["time"], each["op"]) for each in reports] == [(5, "="), (10, "="), (15, "=")]
    means = [each["bindings"][0]["mean"]["value"] for each in reports]
    assert [float(each) for each in means] == [2.5, 11 / 3, 8.5]
    late = Follower(url, told["name"], {"last-event-id": ids[0]})
    eventually(lambda: len(late.events) == 2)
    assert late.events == follower.events[1:]
    web.delete(f"/queries/{quote(told['name'], safe='')}")
    follower.done()
    assert follower.events[-1][0] == "end"
    late.done()


def test_a_pattern_in_time_is_followed_with_its_intervals(web: httpx.Client, url: str) -> None:
    register(
        web,
        PREFIX + "CONSTRUCT { ?s :above ?r } WHERE { { ?r a :Thing ; :value ?v } "
        "SEQ { ?s a :Thing ; :value ?w } FILTER(?w > ?v) }",
        name="above",
    )
    register(web, PREFIX + "SELECT ?t WHERE { { ?s :above ?r } SEQ { ?t :value ?v } }", name="q")
    follower = Follower(url, "q")
    eventually(lambda: follower.listening)
    for number, (time, value) in enumerate(((1, 5), (2, 7), (3, 1), (9, 0)), 1):
        say(web, number, time, value)
    # What ends at 9 comes as soon as silence has ended that time.
    eventually(lambda: len(follower.events) >= 1)
    report = follower.events[0][2]
    assert (report["time"], report["op"], report["intervals"]) == (3, "+", [[1, 3]])
    assert [each["t"]["value"] for each in report["bindings"]] == [f"{EX}r-3"]
    kept = [each["memory"] for each in web.get("/queries/q/graph").json()["nodes"]]
    assert sum(kept) == 1
    assert web.get("/queries/q/step").status_code == 200
    web.delete("/queries/q")
    follower.done()


def test_queries_are_listed_and_removed(web: httpx.Client) -> None:
    names = [register(web, PREFIX + "ASK { ?r :value 7 }")["name"] for _ in range(2)]
    names.append(register(web, PREFIX + "ASK { ?r :value 7 }", name="a/b %2F ü")["name"])
    assert [each["name"] for each in web.get("/queries").json()["queries"]] == names
    path = f"/queries/{quote(names[2], safe='')}"
    assert web.get(f"{path}/results").json()["boolean"] is False
    say(web, 1, 1, 7)
    assert web.get(f"{path}/results").json()["boolean"] is True
    assert web.delete(path).status_code == 204
    gone = web.get(path)
    assert (gone.status_code, gone.json()["type"]) == (404, "urn:sensorstream:error:unknown-query")
    assert web.delete(path).status_code == 404
    assert len(web.get("/queries").json()["queries"]) == 2


def first_report(web: httpx.Client, entry: str, path: str) -> str:
    """The data of the first report of an entry, in the format that a path asks for."""
    headers = {"accept": "text/event-stream", "last-event-id": f"{entry}-0"}
    data: list[str] = []
    with web.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        for line in answer.iter_lines():
            if line.startswith("data: "):
                data.append(line.removeprefix("data: "))
            elif not line and data:
                break
    return "\n".join(data).rstrip()


# rdflib's reader of TriG uses its own deprecated names.
@pytest.mark.filterwarnings("ignore:.* is deprecated:DeprecationWarning")
def test_reports_are_followed_in_the_format_that_is_asked_for(web: httpx.Client) -> None:
    rows_of = register(web, PREFIX + "SELECT ?r ?v WHERE { ?r :value ?v }", name="s")
    graph_of = register(web, PREFIX + "CONSTRUCT { ?r :is ?v } WHERE { ?r :value ?v }", name="c")
    say(web, 1, 1, 7)
    eventually(lambda: web.get("/queries/c").json()["reports"] == 1)
    table = first_report(web, rows_of["registered"], "/queries/s/results?format=csv")
    assert table == f"@time,@op,r,v\n1,+,{EX}r-1,7"
    (line,) = first_report(
        web, rows_of["registered"], "/queries/s/results?format=ndjson"
    ).splitlines()
    assert json.loads(line)["bindings"]["v"]["value"] == "7"
    dataset = rdflib.Dataset()
    trig = first_report(web, graph_of["registered"], "/queries/c/results?format=trig")
    dataset.parse(data=trig, format="trig")
    name = rdflib.URIRef(f"urn:sensorstream:report:{graph_of['registered']}-1")
    made = dataset.default_graph.value(name, rdflib.PROV.generatedAtTime)
    assert made == rdflib.Literal(1)
    said = (rdflib.URIRef(f"{EX}r-1"), rdflib.URIRef(f"{EX}is"), rdflib.Literal(7))
    assert list(dataset.graph(name)) == [said]
    stream = {"accept": "text/event-stream"}
    for path, told in (
        ("/queries/s/results?format=trig", "SELECT cannot be written as trig: expected json, nd"),
        ("/queries/c/results?format=csv", "CONSTRUCT cannot be written as csv: expected json, nd"),
    ):
        refused = web.get(path, headers=stream)
        assert (refused.status_code, told in refused.json()["detail"]) == (400, True)
    assert web.get("/queries/s/results?format=x", headers=stream).status_code == 422
    assert "only with 'Accept: text/event-stream'" in web.get("/queries/s/results?format=csv").text
    webhook = {"url": "https://hooks.example.org", "queries": ["s"], "format": "jsonld"}
    refused = web.post("/webhooks", json=webhook)
    assert (refused.status_code, refused.json()["type"]) == (400, "urn:sensorstream:error:query")
    assert "the reports of SELECT cannot be written as jsonld" in refused.json()["detail"]


def test_constructed_graphs_are_read_as_rdf(web: httpx.Client) -> None:
    register(web, PREFIX + "CONSTRUCT { ?r :is ?v } WHERE { ?r :value ?v }", name="c")
    say(web, 1, 1, 7)
    turtle = web.get("/queries/c/results")
    assert turtle.headers["content-type"].startswith("text/turtle")
    triples = web.get("/queries/c/results", headers={"accept": "application/n-triples"}).text
    number = "http://www.w3.org/2001/XMLSchema#integer"
    assert triples == f'<{EX}r-1> <{EX}is> "7"^^<{number}> .\n'


@pytest.mark.parametrize(
    ("text", "params", "status", "code", "told"),
    [
        ("SELECT ?x WHERE { ?x }", {}, 400, "query", "unexpected '}'"),
        *(
            (text, {}, 422, "unsupported-query", told)
            for text, told in (
                ("SELECT ?x FROM NAMED <urn:g> WHERE { ?x ?p ?y }", "FROM <urn:g>"),
                ("SELECT ?x FROM <urn:g> WHERE { ?x ?p ?y }", "leave the clause out"),
                ("SELECT ?x WHERE { GRAPH <urn:g> { ?x ?p ?y } }", "GRAPH"),
                ("DESCRIBE ?x WHERE { ?x ?p ?y }", "CONSTRUCT"),
                ("SELECT ?x WHERE { ?x ?p ?y FILTER(<urn:f>(?y)) }", "<urn:f>()"),
                ("SELECT ?x WHERE { ?x ?p ?y FILTER(REGEX(?y, '(')) }", "'('"),
            )
        ),
        (
            "SELECT ?x WHERE { SERVICE <http://x.org/> { ?x ?p ?y } }",
            {},
            422,
            "unsupported-query",
            "SERVICE",
        ),
        ("ASK { ?x ?p 1 }", {"name": "taken"}, 409, "query-conflict", "'taken' runs already"),
        ("ASK { ?x ?p 1 }", {"name": "a\nb"}, 400, "query", "printable"),
        ("ASK { ?x ?p 1 }", {"name": ".."}, 400, "query", "meaning in addresses"),
    ],
)
def test_what_cannot_run_is_a_problem(
    web: httpx.Client, text: str, params: dict[str, str], status: int, code: str, told: str
) -> None:
    register(web, "ASK { ?x ?p 1 }", name="taken")
    answer = web.post("/queries", content=text, headers=SPARQL, params=params)
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (status, f"urn:sensorstream:error:{code}")
    assert told in problem["detail"]
    if "unexpected" in told:
        assert problem["position"] == {"file": "query", "line": 1, "column": 22}
    assert len(web.get("/queries").json()["queries"]) == 1


def test_a_registration_tells_what_is_remarkable_in_the_query(web: httpx.Client) -> None:
    plain = register(web, PREFIX + "ASK { ?r a :Thing }", name="plain")
    assert plain["notes"] == []
    say(web, 1, 1, 7, "cellar two")
    odd = register(
        web,
        PREFIX.rstrip()
        + "\nSELECT ?r FROM NAMED WINDOW :w ON <urn:sensorstream:source:celar%20two> "
        "[RANGE 5s]\nWHERE { ?r a :Thingg WINDOW :w { ?r :value ?v FILTER(?v > 'a' + 1) } }",
        name="odd",
    )
    assert [(each["code"], each["position"]["line"]) for each in odd["notes"]] == [
        ("silent-stream", 2),
        ("unknown-class", 3),
        ("filter-never-true", 3),
    ]
    assert odd["notes"][0]["text"].endswith("did you mean <urn:sensorstream:source:cellar%20two>?")
    assert odd["notes"][1]["text"] == "the ontology has no class :Thingg: did you mean :Thing?"
    # They belong to the answer to the registration.
    assert web.get("/queries/odd").json()["notes"] == []


def test_a_registration_tells_what_a_pattern_beside_it_waits_for(web: httpx.Client) -> None:
    making = PREFIX + "CONSTRUCT { ?r :high ?v } WHERE { ?r :value ?v }"
    reading = PREFIX + "SELECT ?r WHERE { { ?r :high ?v } EQUALS { ?r :high ?v } }"

    def codes(text: str, name: str) -> list[str]:
        return [each["code"] for each in register(web, text, name=name)["notes"]]

    assert "feeds-nothing" not in codes(making, "making")
    assert "feeds-nothing" in codes(reading, "reading")
    assert "feeds-nothing" in codes(making, "another")
    answer = web.put("/queries/making", content=reading)
    assert answer.is_success, answer.text
    told = [each["text"] for each in answer.json()["notes"] if each["code"] == "feeds-nothing"]
    assert [text.partition(" adds")[0] for text in told] == ["the CONSTRUCT query another"]


def test_a_body_of_another_type_is_refused(web: httpx.Client) -> None:
    answer = web.post("/queries", content=b"{}", headers={"content-type": "application/json"})
    assert answer.status_code == 415


def test_operators_are_told_with_counters(web: httpx.Client) -> None:
    register(web, WINDOWED, name="w")
    say(web, 1, 1, 10, "cellar one")
    say(web, 2, 6, 20, "cellar one")
    graph = web.get("/queries/w/graph").json()
    nodes = {each["id"]: each for each in graph["nodes"]}
    assert nodes[graph["root"]]["added"] == 1
    assert {each["from"] for each in graph["edges"]} <= nodes.keys()
    reached = {graph["root"]} | {each["from"] for each in graph["edges"]}
    assert reached == nodes.keys()
    assert graph["next_report"] == 10
    assert [each["triples"] for each in graph["windows"]] == [3]


def test_each_window_is_told_with_the_operators_that_read_it(web: httpx.Client) -> None:
    text = (
        PREFIX
        + """REGISTER RSTREAM :both AS SELECT ?a ?b
    FROM NAMED WINDOW :v ON <urn:sensorstream:source:cellar%20one> [RANGE PT10S STEP PT5S]
    FROM NAMED WINDOW :w ON <urn:sensorstream:source:cellar%20two> [RANGE PT20S]
    FROM NAMED WINDOW :x ON <urn:sensorstream:source:cellar%20two> [TRIPLES 3]
    WHERE { WINDOW :v { ?r :value ?a } WINDOW :w { ?s :value ?b } WINDOW :x { ?t :room ?c } }"""
    )
    register(web, text, name="both")
    graph = web.get("/queries/both/graph").json()
    named = {each["id"]: each["operator"] for each in graph["nodes"]}
    # Windows on one stream share the operators that read it.
    read = [sorted(named[each] for each in window["feeds"]) for window in graph["windows"]]
    assert len(read) == 3
    assert all(len(each) >= 1 for each in read)
    assert all("value" in each[0] for each in read[:2])
    assert any("room" in each for each in read[2])
    first, second, third = (set(window["feeds"]) for window in graph["windows"])
    assert not first & (second | third)


def test_the_last_instants_can_be_stepped_through(web: httpx.Client) -> None:
    register(web, PREFIX + "SELECT (SUM(?v) AS ?sum) WHERE { ?r :value ?v }", name="sum")
    assert web.get("/queries/sum/step").json() == {"instants": []}
    for number in (1, 2, 3):
        say(web, number, number, number)
    instants = web.get("/queries/sum/step", params={"last": 2}).json()["instants"]
    assert [each["time"] for each in instants] == [2, 3]
    (graph,) = instants[-1]["graphs"]
    assert any(f"<{EX}value>" in each for each in graph["added"])
    sums = [each for each in instants[-1]["steps"] if "sum" in str(each["out"])]
    assert sums[0]["out"]["added"][0]["sum"]["value"] == "6"
    assert sums[0]["out"]["removed"][0]["sum"]["value"] == "3"
    assert sums[0]["in"][0]["added_count"] == 1
    assert web.delete("/queries/sum/step").status_code == 204
    assert web.get("/queries/sum/step").json() == {"instants": []}


def test_the_clock_closes_a_window_when_its_stream_falls_silent(web: httpx.Client) -> None:
    text = WINDOWED.replace("[RANGE PT10S STEP PT5S]", "[RANGE PT10S STEP PT2S]")
    register(web, text, name="w")
    say(web, 1, 1, 10, "cellar one")
    assert web.get("/queries/w").json()["reports"] == 0
    eventually(lambda: web.get("/queries/w").json()["last_report"] == 2)
    assert rows(web, "/queries/w/results") == [{"room": "hall", "mean": "10"}]


def test_the_example_of_the_documentation_runs(web: httpx.Client) -> None:
    page = (Path(__file__).parents[3] / "docs" / "use" / "stream-sparql.md").read_text("utf-8")
    text = page.partition("--data-binary '")[2].partition("'\n```")[0]
    told = register(web, text)
    assert told["name"] == "http://sensorstream.example/tracking#crowd"
    assert quote(told["name"], safe="") in page
    assert (told["relation"], told["variables"]) == ("RSTREAM", ["people"])
    assert told["group_keys"] == []


def test_a_query_is_put_tried_replaced_and_its_versions_are_kept(web: httpx.Client) -> None:
    path, first, second = "/queries/all", PREFIX + "ASK { ?r :value 1 }", PREFIX + WIDE
    for number in (1, 2):
        say(web, number, number, number)

    def put(text: str, **headers: str) -> httpx.Response:
        return web.put(path, content=text.encode(), headers={**SPARQL, **headers})

    made = put(first, **{"if-none-match": "*"})
    assert (made.status_code, made.json()["form"]) == (200, "ASK")
    assert put(second, **{"if-none-match": "*"}).status_code == 412
    tag = web.get(path).headers["etag"]

    tried = web.put(path, content=second, headers=SPARQL, params={"dry-run": "1"}).json()
    assert (tried["messages"], tried["faults"], tried["stopped"]) == (2, [], None)
    assert (tried["count"], [each["op"] for each in tried["reports"]]) == (1, ["+"])
    wrong = web.put(path, content="SELECT", headers=SPARQL, params={"dry-run": "1"}).json()
    assert [each["code"] for each in wrong["faults"]] == ["query"]
    assert (web.get(path).json()["query"], put("SELECT").status_code) == (first, 400)

    replaced = put(second, **{"if-match": tag})
    assert replaced.json()["variables"] == ["r"]
    again = put(second).json()
    assert again["registered"] == replaced.json()["registered"]
    lost = put(first, **{"if-match": tag})
    assert (lost.status_code, lost.json()["type"]) == (412, "urn:sensorstream:error:changed")
    refused = put(first + " GROUP BY ?none HAVING (AVG(?x) > 1) LIMIT x")
    assert (refused.status_code, rows(web, f"{path}/results")) == (
        400,
        rows(web, f"{path}/results"),
    )
    assert len(rows(web, f"{path}/results")) == 2

    assert web.delete(path, headers={"if-match": tag}).status_code == 412
    assert web.delete(path).status_code == 204
    versions = web.get(f"{path}/versions").json()["versions"]
    assert [each["by"] for each in versions] == ["anonymous"] * 3
    assert versions[2]["digest"] is None
    old = web.get(f"{path}/versions/{versions[0]['change']}")
    assert (old.text, old.headers["etag"]) == (first, tag)
    assert put(old.text).json()["form"] == "ASK"
    assert web.get("/queries/none/versions").status_code == 404
