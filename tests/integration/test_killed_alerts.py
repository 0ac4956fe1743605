"""What people do with alerts, and what the clock does, on a server that is killed."""

from __future__ import annotations

from collections import Counter
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from sensorstream.cli.demo.output import Receiver
from tests.integration.serving import init, kill, serving
from tests.waiting import eventually

_XML = {"content-type": "application/xml"}
_RULES = """prefix : <http://sensorstream.example/tracking#>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping seen on message {/m}
then update individual :{@id} a :Human at {@t} ; :hasXLocation {@v}^^xsd:integer .

rule hot
when select { SELECT ?s ?v { ?s :hasXLocation ?v FILTER(?v > 30) } } becomes true
then alert info "{?s} at {?v}" key "{?s}"
"""
_QUERY = """PREFIX : <http://sensorstream.example/tracking#>
SELECT ?s ALERT critical "{?s} is far" KEY "{?s}"
WHERE { ?s :hasXLocation ?v FILTER(?v > 50) }"""
_REMIND = "SENSORSTREAM_ALERTS_REMIND_EVERY"
_ESCALATE = "SENSORSTREAM_ALERTS_ESCALATE_AFTER"


class _Caller:
    """A client whose every request must succeed; messages are of growing times."""

    def __init__(self, client: httpx.Client, times: count[int]) -> None:
        self.client = client
        self._times = times

    def say(self, name: str, value: int) -> None:
        content = f"<m id='{name}' t='{next(self._times)}' v='{value}'/>"
        self.client.post("/messages", content=content, headers=_XML).raise_for_status()

    def incidents(self) -> dict[str, Any]:
        """All of them, by the last word of rule and key: ``hot a``."""
        found = [
            each
            for state in ("open", "acknowledged", "cleared")
            for each in self.get("/alerts", state=state)["alerts"]
        ]
        return {f"{each['rule']} {each['key'].rpartition('#')[2]}": each for each in found}

    def history(self, incident: str) -> list[tuple[str, str]]:
        told = self.get(f"/alerts/{incident}/history")["changes"]
        return [(each["change"], each["text"]) for each in told]

    def get(self, path: str, **parameters: str) -> Any:
        return self.client.get(path, params=parameters).raise_for_status().json()

    def do(self, incident: str, what: str, **body: str) -> None:
        self.client.post(f"/alerts/{incident}/{what}", json=body).raise_for_status()


def _comment_until_killed(client: httpx.Client, incident: str, acknowledged: list[str]) -> None:
    for number in count():
        body = {"text": f"comment {number}"}
        try:
            client.post(f"/alerts/{incident}/comment", json=body).raise_for_status()
        except httpx.TransportError:
            return
        acknowledged.append(body["text"])


def test_after_kill_9_what_was_acknowledged_is_there_and_all_is_told_once(folder: Path) -> None:
    folder = folder / "work"
    init(folder)
    (folder / "alerts.rules").write_text(_RULES)
    times, said = count(1), list[str]()
    with pytest.MonkeyPatch.context() as patch, Receiver() as receiver:
        patch.setenv("SENSORSTREAM_RULES_FILES", str(folder / "alerts.rules"))
        patch.setenv("SENSORSTREAM_REASONING_PROFILE", "plain")
        patch.setenv("SENSORSTREAM_WEBHOOKS_ALLOW", "127.0.0.1/32")
        # Of what the engine has done, some stands in the checkpoint and some is done again.
        patch.setenv("SENSORSTREAM_HISTORY_CHECKPOINT_EVERY", "4")
        with serving(folder) as (process, client):
            caller = _Caller(client, times)
            hook = client.post("/webhooks", json={"url": receiver.url("told"), "changes": True})
            receiver.trust(hook.raise_for_status().json()["secret"])
            client.post("/queries", params={"name": "far"}, content=_QUERY).raise_for_status()
            for name, value in (*((each, 31) for each in "abcde"), ("f", 51), ("g", 1)):
                caller.say(name, value)
            eventually(lambda: "far f" in caller.incidents())
            ids = {name: each["id"] for name, each in caller.incidents().items()}
            caller.do(ids["hot a"], "acknowledge", text="on my way")
            caller.do(ids["hot b"], "clear", text="a drill")
            caller.do(ids["hot c"], "assign", to="ann")
            for key in ("*#e", "*#nobody"):
                wanted = {"key": key, "ends_at": "2100-01-01T00:00:00Z", "comment": "a party"}
                client.post("/silences", json=wanted).raise_for_status()
            kill(process)
        patch.setenv(_REMIND, "0.001")
        patch.setenv(_ESCALATE, "0.001")
        with serving(folder) as (process, client):
            caller = _Caller(client, times)
            # What nobody has acknowledged was due while no server ran.
            eventually(lambda: ("escalated", "warning") in caller.history(ids["hot d"]))
            # Its answer may not have come: it is asked for once more.
            caller.do(ids["hot a"], "acknowledge", text="on my way")
            caller.say("e", 32)
            caller.say("f", 1)
            silences = caller.get("/silences")["silences"]
            assert [each["key"] for each in silences] == ["*#e", "*#nobody"]
            client.delete(f"/silences/{silences[1]['id']}").raise_for_status()
            arguments = (client, ids["hot c"], said)
            commenting = Thread(target=_comment_until_killed, args=arguments)
            commenting.start()
            eventually(lambda: len(said) > 5)
            kill(process)
            commenting.join(300)
        patch.setenv(_REMIND, "0")
        patch.setenv(_ESCALATE, "0")
        with serving(folder) as (_, client):
            caller = _Caller(client, times)
            # One was ended, and stays so.
            (silence,) = caller.get("/silences")["silences"]
            assert (silence["key"], silence["comment"]) == ("*#e", "a party")
            caller.say("e", 33)
            client.delete(f"/silences/{silence['id']}").raise_for_status()
            caller.say("e", 34)
            caller.say("g", 1)
            incidents = caller.incidents()
            histories = {name: caller.history(each["id"]) for name, each in incidents.items()}
            alerts = {each["id"]: each for each in caller.get("/alerts")["alerts"]}
            changes = sum(len(each) - 1 for each in histories.values())
            # Two of e came while it was silenced; the later one is told at the end of that.
            expected = len(alerts) - 1 + changes
            eventually(lambda: len(receiver.events) >= expected)
            path = f"/webhooks/{hook.json()['id']}/deliveries"
            deliveries = caller.get(path, limit="500")["deliveries"]
    assert {name: each["id"] for name, each in incidents.items()} == ids
    states = {name: (each["state"], each["count"]) for name, each in incidents.items()}
    assert states == {
        "hot a": ("acknowledged", 1),
        "hot b": ("cleared", 1),
        "hot c": ("open", 1),
        "hot d": ("open", 1),
        "hot e": ("open", 4),
        "hot f": ("cleared", 1),
        "far f": ("cleared", 1),
    }
    assert incidents["hot c"]["assignee"] == "ann"
    of = {name: Counter(change for change, _ in each) for name, each in histories.items()}
    assert histories["hot a"][1:] == [("acknowledged", "on my way")]
    assert histories["hot b"][1:] == [("cleared", "a drill")]
    assert of["hot d"] == {"raised": 1, "escalated": 1, "reminded": 1}
    assert of["hot e"] == {"raised": 1}
    assert of["far f"] == {"raised": 1, "escalated": 1, "reminded": 1, "cleared": 1}
    comments = [text for change, text in histories["hot c"] if change == "commented"]
    assert comments[: len(said)] == said
    assert len(comments) <= len(said) + 1
    told = Counter(each["type"].rpartition(".")[2] for each in receiver.events)
    assert told == {
        "rule": len(alerts) - 2,
        "query": 1,
        **Counter(change for each in histories.values() for change, _ in each[1:]),
    }
    assert len(receiver.events) == expected
    assert len(deliveries) == expected
    assert receiver.refused == 0
