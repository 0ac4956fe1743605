"""What clients of linked data find: the description of the service, its graphs, and streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import rdflib
from rdflib.plugins.stores.sparqlstore import SPARQLStore

from sensorstream.kb.graph_index import Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Literal
from sensorstream.sparql.extensions import EXTENSIONS

SD = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")
FORMATS = rdflib.Namespace("http://www.w3.org/ns/formats/")
SAID = (IRI("urn:s"), IRI("urn:p"), Literal("said"))
OWN = [f"urn:sensorstream:{name}" for name in ("static", "window", "inferred")]
# rdflib's reader of JSON-LD uses its own deprecated class.
pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")


def parsed(answer: httpx.Response) -> rdflib.Graph:
    assert answer.status_code == 200, answer.text
    media_type = answer.headers["content-type"].partition(";")[0]
    return rdflib.Graph().parse(data=answer.content, format=media_type)


@pytest.fixture
def of_messages(application: Any) -> Iterator[str]:
    """A graph of messages, with one statement."""
    kb = application.kb
    kb.add(Origin.WINDOW, [SAID])
    kb.place(SAID, [IRI("urn:of-messages")])
    yield "urn:of-messages"
    kb.place(SAID, [])
    kb.apply(Origin.WINDOW, Delta(0, (), (SAID,)))


def described(answer: httpx.Response) -> tuple[rdflib.Graph, Any]:
    found = parsed(answer)
    (service,) = found.subjects(rdflib.RDF.type, SD.Service)
    return found, service


def names_in(found: rdflib.Graph, service: Any) -> set[str]:
    dataset = found.value(service, SD.defaultDataset)
    assert (found.value(dataset, SD.defaultGraph), rdflib.RDF.type, SD.Graph) in found
    return {str(found.value(each, SD.name)) for each in found.objects(dataset, SD.namedGraph)}


def test_without_a_query_the_service_is_described(client: httpx.Client, of_messages: str) -> None:
    found, service = described(client.get("/sparql"))
    assert str(found.value(service, SD.endpoint)) == str(client.base_url.join("/sparql"))
    assert set(found.objects(service, SD.supportedLanguage)) == {SD.SPARQL11Query}
    assert set(found.objects(service, SD.feature)) == {SD.UnionDefaultGraph}
    assert set(map(str, found.objects(service, SD.extensionFunction))) == set(EXTENSIONS)
    formats = set(found.objects(service, SD.resultFormat))
    assert formats > {FORMATS.SPARQL_Results_JSON, FORMATS["N-Triples"], FORMATS.TriG}
    assert names_in(found, service) == {*OWN, of_messages}


@pytest.mark.parametrize(
    "accept", ["text/turtle", "application/rdf+xml", "application/ld+json", "application/trig"]
)
def test_the_description_comes_in_the_formats_of_rdf(client: httpx.Client, accept: str) -> None:
    answer = client.get("/sparql", headers={"accept": accept})
    assert answer.headers["content-type"].startswith(accept)
    if accept != "application/trig":
        described(answer)
    assert client.get("/sparql", headers={"accept": "text/csv"}).status_code == 406


def test_history_has_another_description(client: httpx.Client) -> None:
    found, service = described(client.get("/sparql?on=history"))
    assert str(found.value(service, SD.endpoint)).endswith("/sparql?on=history")
    assert not list(found.objects(service, SD.extensionFunction))
    assert names_in(found, service) == {"urn:sensorstream:persistent"}
    found, service = described(client.get("/sparql?on=all"))
    assert len(names_in(found, service)) == 4
    assert client.get("/sparql?on=nowhere").status_code == 400


def test_a_graph_is_read_by_its_name_or_its_path(client: httpx.Client, of_messages: str) -> None:
    window = parsed(client.get("/graphs", params={"graph": "urn:sensorstream:window"}))
    assert set(window) == set(parsed(client.get("/graphs/window")))
    static = parsed(client.get("/graphs/static"))
    assert (len(window), len(static), len(set(window) | set(static))) == (2, 1, 3)
    assert set(parsed(client.get("/graphs?default"))) == set(window) | set(static)
    said = parsed(client.get("/graphs", params={"graph": of_messages}))
    assert list(said) == [(rdflib.URIRef("urn:s"), rdflib.URIRef("urn:p"), rdflib.Literal("said"))]
    linked = client.get("/graphs/static", headers={"accept": "application/ld+json"})
    assert set(parsed(linked)) == set(static)


def test_a_graph_may_be_asked_for_its_head(client: httpx.Client) -> None:
    answer = client.head("/graphs/static", headers={"accept": "application/rdf+xml"})
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "application/rdf+xml"
    assert client.head("/graphs/nothing").status_code == 404


def test_history_is_a_graph_too(client: httpx.Client, application: Any) -> None:
    for path in ("/graphs/persistent", "/graphs?graph=urn:sensorstream:persistent&at=3"):
        assert rdflib.Literal("Ada") in set(parsed(client.get(path)).objects())
    (early, live), (late, _) = application.asking.asked[-2:]
    assert (early.time, live) == (None, False)
    assert late.time.at == 3


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/graphs", 400, "expected one of the parameters 'graph' and 'default'"),
        ("/graphs?default&graph=urn:x", 400, "expected one of the parameters"),
        ("/graphs?graph=urn:x&graph=urn:y", 400, "expected one of the parameters"),
        ("/graphs?graph=window", 400, "'window' is not an absolute IRI"),
        ("/graphs?graph=urn:a b", 400, "' ' must be percent-encoded"),
        ("/graphs?graph=urn:nothing", 404, "no graph <urn:nothing>: expected urn:sensorstream:st"),
        ("/graphs?graph=urn:sensorstream:x", 404, "there is no graph <urn:sensorstream:x>"),
        ("/graphs?graph=urn:x&on=history", 404, "expected urn:sensorstream:persistent"),
        ("/graphs/other", 404, "there is no graph <urn:sensorstream:other>"),
        ("/graphs/static?at=1", 400, "cache knows the present only"),
        ("/graphs/static?on=moon", 400, "expected cache, history, all or archive"),
        ("/graphs/static?graph=urn:x", 422, "no such parameter"),
    ],
)
def test_what_is_no_graph_is_told(client: httpx.Client, path: str, status: int, told: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, told in answer.json()["detail"]) == (status, True), answer.text


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH"])
def test_graphs_are_not_written(client: httpx.Client, method: str) -> None:
    for path in ("/graphs?default", "/graphs/window"):
        answer = client.request(method, path, content="<urn:a> <urn:p> 1 .")
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET, HEAD"
        assert "updates are refused: the cache changes by messages" in answer.json()["detail"]


def test_rdflib_reads_it_as_a_store(client: httpx.Client, of_messages: str) -> None:
    url = str(client.base_url.join("/sparql"))
    graph = rdflib.Graph(SPARQLStore(url))
    said = (rdflib.URIRef("urn:s"), rdflib.URIRef("urn:p"), rdflib.Literal("said"))
    assert said in graph
    assert list(graph.objects(said[0], said[1])) == [said[2]]
    assert [str(row.o) for row in graph.query("SELECT ?o { <urn:s> ?p ?o }")] == ["said"]  # type: ignore[union-attr]
    assert bool(graph.query("ASK { ?s ?p 'said' }"))
    assert set(graph.query("CONSTRUCT WHERE { <urn:s> ?p ?o }")) == {said}
    assert list(rdflib.Graph(SPARQLStore(url), rdflib.URIRef(of_messages))) == [said]
    assert list(rdflib.Graph().parse(f"{url[:-6]}graphs?graph={of_messages}")) == [said]
