"""Rules over time over HTTP: put, followed, delivered, raised, looked into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import httpx
import pytest

from sensorstream.app.application import Application
from sensorstream.cli.demo.output import Receiver
from sensorstream.settings.settings import WebhookSettings
from tests.server.rest.test_queries_routes import PREFIX, SPARQL, Follower, readings, say
from tests.waiting import eventually

RISE = f"""{PREFIX}
rule rise
define {{ dotr_id1 a :Rise ; :of ?room ; :to ?v }}
from High(SELECT ?r ?room ?v {{ ?r a :Thing ; :room ?room ; :value ?v FILTER(?v > 50) }})
and last Low(SELECT ?r ?room {{ ?r :room ?room ; :value ?v FILTER(?v < 10) }}) within 5 s from High
where Low.?room = High.?room
with ?room = High.?room, ?v = High.?v
consuming Low
alert critical "{{?room}} rose to {{?v}}" key "{{?room}}"
"""


@pytest.fixture
def web(
    tmp_path: Path, database: str, listen: Callable[[Application], Iterator[str]]
) -> Iterator[httpx.Client]:
    allowed = WebhookSettings(allow=(ip_network("127.0.0.1/32"),))
    with Application.open(replace(readings(tmp_path, database, "2"), webhooks=allowed)) as server:
        for url in listen(server):
            with httpx.Client(base_url=url, timeout=300) as client:
                yield client


def test_what_a_rule_makes_is_followed_delivered_raised_and_explained(web: httpx.Client) -> None:
    with Receiver() as receiver:
        body = {"url": receiver.url("ops"), "queries": ["rise"]}
        made = web.post("/webhooks", json=body).raise_for_status().json()
        receiver.trust(made["secret"])
        put = web.put("/queries/rise", content=RISE, headers=SPARQL)
        assert (put.status_code, put.json()["form"]) == (200, "CONSTRUCT"), put.text
        web.get("/queries/rise/step").raise_for_status()
        follower = Follower(str(web.base_url).rstrip("/"), "rise")
        eventually(lambda: follower.listening)
        # The window holds two readings only: what is low has left it when it gets high.
        for number, (time, value) in enumerate(((1, 5), (2, 20), (3, 30), (4, 70), (5, 80)), 1):
            say(web, number, time, value)
        say(web, 6, 20, 30)
        eventually(lambda: follower.events and len(receiver.events) == 2)
        # The low reading is consumed: the second high one makes nothing.
        ((kind, id_, report),) = follower.events
        assert (kind, report["rule"], report["time"], report["op"]) == ("report", "rise", 4, "+")
        assert '<http://example.org/of> "hall"' in report["graph"]
        told = {each["type"]: each for each in receiver.events}
        assert told["sensorstream.query.report"]["id"] == id_
        assert told["sensorstream.query.report"]["data"]["graph"] == report["graph"]
        (alert,) = (each for kind, each in told.items() if kind != "sensorstream.query.report")
        assert alert["data"]["text"] == "hall rose to 70"
        assert receiver.refused == 0
    (incident,) = web.get("/alerts", params={"state": "open"}).json()["alerts"]
    assert (incident["rule"], incident["key"], incident["severity"]) == ("rise", "hall", "critical")
    plan = "\n".join(web.get("/queries/rise/graph").json()["plan"])
    assert "Rule rise, on each High; keeps Low for 5" in plan
    steps = web.get("/queries/rise/step", params={"last": 100}).json()["instants"]
    ((made_,),) = [each["out"]["added"] for instant in steps for each in instant["steps"]]
    assert made_["rule"] == "rise"
    assert len(made_["graph"]) == 3
    web.delete("/queries/rise").raise_for_status()
    eventually(lambda: follower.events[-1][0] == "end")


def test_a_file_of_rules_over_time_is_the_query_of_its_name(web: httpx.Client) -> None:
    put = web.put("/rules/rise.dotr", content=RISE)
    assert put.status_code == 200, put.text
    assert put.json()["change"] == web.get("/queries/rise").json()["registered"]
    read = web.get("/rules/rise.dotr")
    assert read.text == RISE
    (listed,) = web.get("/rules").json()["over_time"]
    assert (listed["name"], listed["query"]) == ("rise.dotr", "rise")
    assert read.headers["etag"] == f'"{listed["digest"]}"'
    # Put again, under either name; both have the versions of both.
    newer = RISE.replace("?v > 50", "?v > 60")
    guard = {"if-match": read.headers["etag"]}
    assert web.put("/queries/rise", content=newer, headers={**SPARQL, **guard}).status_code == 200
    assert web.put("/rules/rise.dotr", content=RISE, headers=guard).status_code == 412
    versions = web.get("/rules/rise.dotr/versions").json()["versions"]
    assert versions == web.get("/queries/rise/versions").json()["versions"]
    first = web.get(f"/rules/rise.dotr/versions/{versions[0]['change']}")
    assert first.text == RISE
    # Undone: the first version is put again.
    assert web.put("/rules/rise.dotr", content=first.content).status_code == 200
    tried = web.put("/rules/rise.dotr", params={"dry-run": ""}, content=f"{RISE} rule").json()
    assert tried["faults"][0]["position"]["line"] == RISE.count("\n") + 1
    gone = web.delete("/rules/rise.dotr")
    assert gone.status_code == 200
    assert (
        web.get("/rules/rise.dotr/versions").json()["versions"][-1]["change"]
        == (gone.json()["change"])
    )
    assert web.get("/queries/rise").status_code == 404
    assert web.get("/rules/rise.dotr").status_code == 404
    assert web.delete("/rules/rise.dotr").status_code == 404


def test_what_has_no_place_under_rules_is_refused_with_the_way_out(web: httpx.Client) -> None:
    refused = web.put("/rules/q.dotr", content="SELECT * { ?s ?p ?o }")
    assert (refused.status_code, "define" in refused.json()["detail"]) == (400, True)
    assert web.put("/queries/q", content="SELECT * { ?s ?p ?o }", headers=SPARQL).is_success
    assert web.get("/rules/q.dotr").status_code == 404
    assert web.delete("/rules/q.dotr").status_code == 404
    whole = web.put("/rules", json={"files": {"rise.dotr": RISE}})
    assert (whole.status_code, "PUT /rules/NAME.dotr" in whole.json()["detail"]) == (422, True)
