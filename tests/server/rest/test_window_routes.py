from __future__ import annotations

import httpx
import pytest
import rdflib


def test_the_window_tells_its_definition_totals_and_individuals(client: httpx.Client) -> None:
    answer = client.get("/window", params={"limit": 2}).json()
    individuals = answer.pop("individuals")
    assert answer == {
        "kind": "sliding",
        "unit": "individuals",
        "elements": "individuals",
        "size": "5",
        "step": "1",
        "start": "",
        "partition": "",
        "partitions": 1,
        "total": 5,
        "pending": 0,
        "held": 2,
        "statements": 25,
        "inferred": 10,
        "now": 4,
        "next": "/window?limit=2&offset=2",
    }
    assert individuals[0] == {
        "iri": "http://example.org/human-0",
        "types": ["http://example.org/Human"],
        "entered": 0,
        "time": 1,
        "statements": 5,
        "message_id": "m0",
    }


def test_pages_follow_one_another_to_the_end(client: httpx.Client) -> None:
    place, seen = "/window?limit=2", []
    while place:
        page = client.get(place).json()
        seen += [each["iri"] for each in page["individuals"]]
        place = page["next"]
    assert seen == [f"http://example.org/human-{n}" for n in range(5)]


def test_the_totals_alone_can_be_asked_for(client: httpx.Client) -> None:
    answer = client.get("/window", params={"limit": 0}).json()
    assert (answer["total"], answer["individuals"], answer["next"]) == (5, [], None)


# rdflib's reader of JSON-LD uses its own deprecated class.
@pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")
def test_the_report_of_shapes_is_json_or_turtle(client: httpx.Client) -> None:
    assert client.get("/shapes/report").json() == {"conforms": True, "results": []}
    answer = client.get("/shapes/report", headers={"Accept": "text/turtle"})
    assert answer.headers["content-type"].startswith("text/turtle")
    assert "sh:conforms true" in answer.text
    linked = client.get("/shapes/report", headers={"Accept": "application/ld+json"})
    graph = rdflib.Graph().parse(data=linked.text, format="json-ld")
    assert graph.value(predicate=rdflib.SH.conforms, object=rdflib.Literal(True))
    assert client.get("/shapes/report", headers={"Accept": "text/html"}).status_code == 406
