"""Why an alert was raised, and why a statement holds, over HTTP and on the command line."""

from __future__ import annotations

import httpx
from click.testing import CliRunner

from sensorstream.cli.alerts_command import why as command
from sensorstream.cli.alerts_command import why_not as unmet


def test_an_alert_tells_why_it_was_raised(client: httpx.Client) -> None:
    told = client.get("/alerts/m42-1/why").json()
    assert told["alert"]["id"] == "m42-1"
    assert (told["rule"]["version"], told["rule"]["position"]["line"]) == ("m9", 3)
    because = told["because"]
    assert because["bindings"] == {"p": "<http://example.org/ann>"}
    assert because["left_out"] == 3
    assert because["since"] == {"time": 5, "message_id": "m40"}
    said, ruled = because["statements"]
    assert said["statement"].split()[2] == "<http://example.org/kitchen>"
    assert (said["basis"], said["message_id"], said["source"]) == ("said", "m41", "door")
    assert said["received_at"] == "2026-03-01T12:00:00Z"
    (place,) = said["places"]
    assert place["value"] == [
        {"xpath": "{@in}", "nodes": [{"path": "/t/@in", "line": 1, "text": "kitchen"}]}
    ]
    assert (ruled["basis"], ruled["rules"]) == ("rule", ["watch"])
    assert ruled["because"]["bindings"] == {"r": "<http://example.org/kitchen>"}


def test_an_unknown_alert_has_no_reason(client: httpx.Client) -> None:
    response = client.get("/alerts/m7-1/why")
    assert response.status_code == 404
    assert response.json()["type"].endswith("unknown-alert")


def test_a_rule_tells_why_it_does_not_fire(client: httpx.Client) -> None:
    asked = {"rule": "too-hot", "individual": "http://example.org/s1"}
    told = client.get("/why-not", params=asked).json()
    assert told["answer"].endswith("FILTER(?v > 30): ?v is 29")
    assert (told["variable"], told["holds"]) == ("s", False)
    assert told["steps"][0] == {
        "kind": "pattern",
        "text": "?s :value ?v",
        "held": True,
        "solutions": 1,
        "found": ["?v = 29"],
        "note": "",
    }
    assert client.get("/why-not", params=asked | {"rule": "cold"}).status_code == 404
    assert client.get("/why-not", params={"rule": "too-hot"}).status_code == 422
    result = CliRunner().invoke(command, ["m42-1", "--key", "north", "--url", str(client.base_url)])
    assert result.exit_code == 2, result.output
    assert "--key is for a statement" in result.output
    told = [*asked.values(), "--key", "north", "--url", str(client.base_url)]
    result = CliRunner().invoke(unmet, told)
    assert result.output.splitlines() == [
        "rule too-hot does not fire for :s1: FILTER(?v > 30): ?v is 29",
        "",
        "yes  pattern  ?s :value ?v  (1 solution)",
        "       ?v = 29",
        "no   filter  FILTER(?v > 30)  (0 solutions)",
        "       ?v is 29",
    ]


def test_the_command_line_tells_it_in_words(client: httpx.Client) -> None:
    result = CliRunner().invoke(command, ["m42-1", "--url", str(client.base_url)])
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "warning: text",
        "raised at 7, when message m42 came",
        "",
        "by rule crowded (r.rules:3, put as m9)",
        "  rule crowded …",
        "",
        "since 5, when message m40 was the last to say something of it",
        "with",
        "  ?p = <http://example.org/ann>",
        "because",
        "  <http://example.org/ann> <http://example.org/in> <http://example.org/kitchen>",
        "    said by message m41 of door, received at 2026-03-01T12:00:00Z",
        "    by mapping rule thing, {@in}",
        "      /t/@in (line 1): kitchen",
        '  <http://example.org/kitchen> <http://example.org/is> "full"',
        "    inserted by rule watch with message m42",
        "    with",
        "      ?r = <http://example.org/kitchen>",
        "",
        "note: a note",
    ]


def test_a_statement_tells_why_it_holds(client: httpx.Client) -> None:
    told = client.get("/why", params={"statement": ":ann a :Person"}).json()
    assert (told["holds"], told["profile"], told["notes"]) == (True, "rdfs", ["a note"])
    assert told["answer"] == "it is inferred: rule rdfs9 (rdfs) derives it"
    held = told["held"]
    assert (held["basis"], held["caused_by"], held["above"]) == ("inferred", "m41", False)
    by = held["by"]
    assert by["position"] == {"file": "rdfs", "line": 58, "column": 1}
    assert by["bindings"] == {"s": "<http://example.org/ann>"}
    assert [each["basis"] for each in by["premises"]] == ["ontology", "said"]
    assert by["premises"][1]["places"][0]["rule"] == "thing"
    gone = client.get("/why", params={"statement": ":bob a :Person"}).json()
    assert (gone["holds"], gone["held"]) == (False, None)
    assert client.get("/why", params={"statement": ":bob a"}).status_code == 400
    assert client.get("/why").status_code == 422


def test_the_command_line_tells_why_a_statement_holds(client: httpx.Client) -> None:
    result = CliRunner().invoke(command, [":ann a :Person", "--url", str(client.base_url)])
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "<http://example.org/ann> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "
        "<http://example.org/Person>",
        "it is inferred: rule rdfs9 (rdfs) derives it",
        "",
        "<http://example.org/ann> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "
        "<http://example.org/Person>",
        "  inferred (rdfs), caused by message m41",
        "  by rule rdfs9 with",
        "    ?s = <http://example.org/ann>",
        "  because",
        "    <http://example.org/Guest> <http://www.w3.org/2000/01/rdf-schema#subClassOf> "
        "<http://example.org/Person>",
        "      in the ontology",
        "    <http://example.org/ann> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "
        "<http://example.org/Guest>",
        "      said by message m41 of door, received at 2026-03-01T12:00:00Z",
        "      the value is in mapping rule thing itself",
        "",
        "rule rdfs9 (rdfs:58)",
        "  RDF 1.1 Semantics, 9.2.1",
        "  INSERT …",
        "",
        "note: a note",
    ]


def test_inferred_values_name_the_rules_that_derive_them_if_asked(client: httpx.Client) -> None:
    ada = "/individuals/http%3A%2F%2Fexample.org%2Fada"
    names = {
        told: [value["rule"] for value in values]
        for told, values in client.get(ada, params={"rules": "true"}).json()["properties"].items()
    }
    assert names == {
        "http://example.org/name": [None],
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#type": ["rdfs9"],
    }
    (kind,) = client.get(ada).json()["properties"][
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    ]
    assert (kind["inferred"], kind["rule"]) == (True, None)
