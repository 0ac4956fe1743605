"""A server killed in mid-stream: its continuous queries go on as if it had not been."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from sensorstream.cli.demo.output import Receiver
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from tests.integration.serving import init, kill, serving
from tests.waiting import eventually

_XML = {"content-type": "application/xml"}
# Steps so long that no clock closes a window while the test runs, and nothing in time that ends
# with the last message: it would be told when the clock has moved on. The clock moves to just after
# that message, which is no step of a window.
_QUERIES = {
    "windowed": """PREFIX : <http://sensorstream.example/tracking#>
        REGISTER RSTREAM :far AS SELECT (COUNT(*) AS ?n) (AVG(?x) AS ?mean)
        FROM NAMED WINDOW :w ON <urn:sensorstream:source:hall> [RANGE PT4000S STEP PT1000S]
        WHERE { WINDOW :w { ?p :hasXLocation ?x } FILTER(?x > 100) }""",
    "changes": """PREFIX : <http://sensorstream.example/tracking#>
        SELECT ?p ?x WHERE { ?p a :Human ; :hasXLocation ?x FILTER(?x > 500) }""",
    "seldom": """PREFIX : <http://sensorstream.example/tracking#>
        REGISTER ISTREAM :seen AS SELECT ?p REPORT EVERY 25 TRIPLES
        FROM NAMED WINDOW :w [TRIPLES 40] WHERE { WINDOW :w { ?p a :Human } }""",
    "in-time": """PREFIX : <http://sensorstream.example/tracking#>
        PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        SELECT ?p ?x ?y WHERE { { ?p :hasXLocation ?x } SEQ { ?q :hasXLocation ?y }
        FILTER(?x < ?y && getENDTIME() < 17700 && getDURATION() < "PT1000S"^^xsd:duration) }""",
    "made": """PREFIX : <http://sensorstream.example/tracking#>
        CONSTRUCT { ?q :after ?p } WHERE { { ?p a :Human } SEQ RECENT { ?q a :Human }
        FILTER(getENDTIME() < 17700) }""",
    "of-made": """PREFIX : <http://sensorstream.example/tracking#>
        PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        SELECT ?p (COUNT(*) AS ?n) WHERE { ?q :after ?p } GROUP BY ?p
        HAVING(getDURATION() < "PT9000S"^^xsd:duration)""",
    # What it consumes it must not take again, and what it waits for it must still know.
    "over-time": """PREFIX : <http://sensorstream.example/tracking#>
        rule passed define { dotr_id1 a :Passed ; :by ?new ; :of ?old }
        from New(SELECT ?p ?x { ?p a :Human ; :hasXLocation ?x ; :hasTime ?t FILTER(?t < 17700) })
        and each Old(SELECT ?p ?x { ?p :hasXLocation ?x }) within 40 min from New
        where Old.?p != New.?p and Old.?x < New.?x
        with ?new = New.?p, ?old = Old.?p consuming Old
        alert info "{?new} has passed {?old}" key "{?old}" """,
}


def _register(client: httpx.Client) -> dict[str, str]:
    """Register the queries; their journal ids."""
    found = {}
    for name, text in _QUERIES.items():
        answer = client.post("/queries", params={"name": name}, content=text)
        assert answer.status_code == 201, answer.text
        found[name] = answer.json()["registered"]
    return found


def _say(client: httpx.Client, contents: list[bytes]) -> None:
    for content in contents:
        source = {"source": "hall"}
        client.post("/messages", content=content, headers=_XML, params=source).raise_for_status()


def _reports(client: httpx.Client, name: str, entry: str) -> dict[int, Any]:
    """The kept reports by their numbers, up to the last that there is."""
    found: dict[int, Any] = {}
    headers = {"accept": "text/event-stream", "last-event-id": f"{entry}-0"}
    count = client.get(f"/queries/{name}").json()["reported"]
    assert count, f"{name} has not reported"
    event: dict[str, str] = {}
    with client.stream("GET", f"/queries/{name}/results", headers=headers) as answer:
        for line in answer.iter_lines():
            field, _, value = line.partition(": ")
            event[field] = value
            if line or "id" not in event:
                continue
            last, data = int(event["id"].rpartition("-")[2]), json.loads(event["data"])
            event = {}
            found[last] = _told(data)
            if last == count:
                return found
    raise AssertionError(f"the stream ended before {count}")


def test_after_kill_9_queries_report_what_an_unkilled_server_reports(folder: Path) -> None:
    # One message in 300 units of time.
    messages = [next(tracker_messages(1, start=300 * n, seed=n)) for n in range(1, 80)]
    init(folder / "killed")
    shutil.copytree(folder / "killed", folder / "whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENSORSTREAM_WINDOW_SIZE", "12")
        patch.setenv("SENSORSTREAM_REASONING_PROFILE", "plain")
        patch.setenv("SENSORSTREAM_HISTORY_CHECKPOINT_EVERY", "17")
        with (
            serving(folder / "whole") as (_, client),
            serving(folder / "killed") as (process, doomed),
        ):
            entries = _register(client)
            _say(client, messages)
            whole = {name: _reports(client, name, entry) for name, entry in entries.items()}
            results = {name: client.get(f"/queries/{name}/results").text for name in entries}
            alerts, incidents = _alerts(client), _incidents(client)
            assert _register(doomed) == entries
            _say(doomed, messages[:45])
            assert 3 < len(_alerts(doomed)) < len(alerts), "some before it is killed, some after"
            kill(process)
        with serving(folder / "killed") as (_, client):
            listed = client.get("/queries").json()["queries"]
            assert [(each["name"], each["registered"]) for each in listed] == list(entries.items())
            before = {each["name"]: each["reported"] for each in listed}
            _say(client, messages[45:])
            for name, entry in entries.items():
                found = _reports(client, name, entry)
                later = {number: each for number, each in found.items() if number > before[name]}
                assert len(later) > 3, name
                assert later == {n: each for n, each in whole[name].items() if n > before[name]}
                # What was processed again is told again, under the same numbers.
                assert found.items() <= whole[name].items()
                again = client.get(f"/queries/{name}/results").text
                assert _sorted(again) == _sorted(results[name])
            assert _alerts(client) == alerts
            assert _incidents(client) == incidents


def test_after_kill_9_a_webhook_has_every_report_and_alert_and_each_end_once(folder: Path) -> None:
    messages = [next(tracker_messages(1, start=300 * n, seed=n)) for n in range(1, 60)]
    init(folder / "killed")
    with pytest.MonkeyPatch.context() as patch, Receiver() as receiver:
        patch.setenv("SENSORSTREAM_WINDOW_SIZE", "12")
        patch.setenv("SENSORSTREAM_REASONING_PROFILE", "plain")
        patch.setenv("SENSORSTREAM_WEBHOOKS_ALLOW", "127.0.0.1/32")
        patch.setenv("SENSORSTREAM_HISTORY_CHECKPOINT_EVERY", "17")
        with serving(folder / "killed") as (process, client):
            body = {"url": receiver.url("killed"), "queries": list(_QUERIES), "changes": True}
            answer = client.post("/webhooks", json=body).raise_for_status()
            receiver.trust(answer.json()["secret"])
            entries = _register(client)
            _say(client, messages[:30])
            kill(process)
        with serving(folder / "killed") as (_, client):
            _say(client, messages[30:])
            told = {name: _reports(client, name, entry) for name, entry in entries.items()}
            listed = client.get("/queries").json()["queries"]
            expected = {
                f"{each['registered']}-{n}"
                for each in listed
                for n in range(1, each["reported"] + 1)
            }
            deadline = time.monotonic() + 60
            while not expected <= {each["id"] for each in receiver.events}:
                assert time.monotonic() < deadline, "reports are missing"
                time.sleep(0.05)
            client.delete("/queries/over-time").raise_for_status()
            raised, ended = _all(client), _all(client, state="cleared")
            eventually(lambda: len(_of(receiver, "cleared")) >= len(ended), 60)
    # Each alert once, and each end, that of the rule over time with its text.
    assert Counter(_of(receiver, "query", "rule")) == Counter(each["id"] for each in raised)
    assert Counter(_of(receiver, "cleared")) == Counter(each["id"] for each in ended)
    keys = [{each["key"] for each in told if each["kind"] == "query"} for told in (raised, ended)]
    assert len(keys[0]) > 3
    assert keys[0] == keys[1]
    reports = [each for each in receiver.events if each["type"] == "sensorstream.query.report"]
    # Each once; of the last message a report may come after the list, when the clock moves on.
    ids = [each["id"] for each in reports]
    assert len(ids) == len(set(ids))
    last = {each["registered"]: each["reported"] + 1 for each in listed}
    allowed = {f"{entry}-{n}" for entry, most in last.items() for n in range(1, most + 1)}
    assert expected <= set(ids) <= allowed
    for each in reports:
        number, data = int(each["id"].rpartition("-")[2]), each["data"]
        if number in told[each["subject"]]:  # the log begins anew with a restart
            assert _told(data) == told[each["subject"]][number]
    assert receiver.refused == 0


def _all(client: httpx.Client, **wanted: str) -> list[dict[str, Any]]:
    answer = client.get("/alerts", params={"limit": "1000", **wanted}).raise_for_status().json()
    assert answer["next"] is None
    alerts: list[dict[str, Any]] = answer["alerts"]
    assert len({each["id"] for each in alerts}) == len(alerts)
    return alerts


def _alerts(client: httpx.Client) -> list[tuple[Any, ...]]:
    """What the alerts say: not their ids, for the clock may have added an entry to the journal."""
    told = ("rule", "kind", "severity", "text", "key", "time")
    return sorted(tuple(each[name] for name in told) for each in _all(client))


def _incidents(client: httpx.Client) -> list[tuple[Any, ...]]:
    """The open alerts, each with the count of its repeats."""
    told = ("rule", "key", "text", "count", "first_time", "last_time")
    return sorted(tuple(each[name] for name in told) for each in _all(client, state="open"))


def _of(receiver: Receiver, *kinds: str) -> list[str]:
    """The ids of the alerts that a webhook was told of by events of some kinds."""
    types = {f"sensorstream.alert.{kind}" for kind in kinds}
    return [each["data"]["id"] for each in receiver.events if each["type"] in types]


def _told(data: dict[str, Any]) -> tuple[Any, ...]:
    """What a report says, whatever the order of its rows."""
    said = [data["graph"]] if "graph" in data else data["bindings"]
    when = data.get("intervals") or [data.get("interval")] * len(said)
    rows = [json.dumps([row, each], sort_keys=True) for row, each in zip(said, when, strict=True)]
    return data["time"], data["op"], sorted(rows)


def _sorted(results: str) -> list[str]:
    if not results.startswith("{"):
        return sorted(results.splitlines())
    found = json.loads(results)["results"]["bindings"]
    assert found
    return sorted(json.dumps(each, sort_keys=True) for each in found)
