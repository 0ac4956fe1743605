from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import httpx

TURTLE = {"content-type": "text/turtle"}


class Served(Protocol):
    """What of the application in memory these tests change."""

    ontologies: Any


def test_an_ontology_that_was_put_is_what_is_read(
    client: httpx.Client, application: Served
) -> None:
    application.ontologies.text = replace(application.ontologies.text, origin="settings")
    before = client.get("/ontology")
    assert before.headers["sensorstream-origin"] == "settings"
    answer = client.put("/ontology", content=b"# another", headers=TURTLE)
    assert (answer.status_code, answer.json()) == (200, {"change": "m9"})
    after = client.get("/ontology")
    assert after.content == b"# another"
    assert after.headers["content-type"].startswith("text/turtle")
    assert after.headers["sensorstream-origin"] == "m9"


def test_the_charset_of_the_header_wins_over_the_declaration(client: httpx.Client) -> None:
    text = '<?xml version="1.0" encoding="UTF-8"?><Ontology name="Käthe"/>'
    headers = {"content-type": "application/owl+xml; charset=latin-1"}
    assert client.put("/ontology", content=text.encode("latin-1"), headers=headers).is_success
    assert client.get("/ontology").content.decode() == '<Ontology name="Käthe"/>'


def test_a_window_that_contradicts_it_is_a_conflict_with_its_explanation(
    client: httpx.Client,
) -> None:
    answer = client.put("/ontology", content=b"clash", headers=TURTLE)
    assert answer.status_code == 409
    problem = answer.json()
    assert problem["type"] == "urn:sensorstream:error:ontology-conflict"
    assert problem["contradiction"] == {
        "triples": ["<urn:x:a> <urn:x:p> <urn:x:b> ."],
        "axioms": ["A DisjointWith B"],
        "limits": "",
    }


def test_a_format_that_is_none_of_ontologies_is_refused(client: httpx.Client) -> None:
    answer = client.put("/ontology", content=b"{}", headers={"content-type": "application/json"})
    assert answer.status_code == 415
    assert "text/turtle" in answer.json()["detail"]
