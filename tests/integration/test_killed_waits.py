"""A server killed while rules wait: each alert comes, at its own time, and once."""

from __future__ import annotations

from pathlib import Path
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
when select { SELECT ?s { ?s :hasXLocation ?v FILTER(?v > 30) } } becomes true for "4"
then alert warning "{?s}" key "{?s}"

rule gone
on silence of :Human as ?s for "7"
then alert critical "{?s} since {?last}" key "{?s}"
"""
_EXPECTED = [("gone", "a", 8), ("gone", "b", 11), ("gone", "c", 10), ("hot", "a", 5)]


def _say(client: httpx.Client, name: str, time: int, value: int) -> None:
    content = f"<m id='{name}' t='{time}' v='{value}'/>"
    client.post("/messages", content=content, headers=_XML).raise_for_status()


def _alerts(client: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/alerts").json()["alerts"]
    return found


def _told(alerts: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    return sorted((each["rule"], each["key"].rpartition("#")[2], each["time"]) for each in alerts)


def test_after_kill_9_what_rules_wait_for_comes_once_and_at_its_time(folder: Path) -> None:
    """Killed before anything is due, then between what is due, then before what was told ends."""
    folder = folder / "work"
    init(folder)
    (folder / "waits.rules").write_text(_RULES)
    with pytest.MonkeyPatch.context() as patch, Receiver() as receiver:
        patch.setenv("SENSORSTREAM_RULES_FILES", str(folder / "waits.rules"))
        patch.setenv("SENSORSTREAM_REASONING_PROFILE", "plain")
        patch.setenv("SENSORSTREAM_WEBHOOKS_ALLOW", "127.0.0.1/32")
        # Of what waits, some stands in the checkpoint and some is processed again.
        patch.setenv("SENSORSTREAM_HISTORY_CHECKPOINT_EVERY", "2")
        with serving(folder) as (process, client):
            answer = client.post("/webhooks", json={"url": receiver.url("told")}).raise_for_status()
            receiver.trust(answer.json()["secret"])
            for name, time, value in [("a", 1, 31), ("b", 2, 31), ("c", 3, 5), ("b", 4, 6)]:
                _say(client, name, time, value)
            kill(process)
        with serving(folder) as (process, client):
            eventually(lambda: _alerts(client))
            kill(process)
        with serving(folder) as (process, client):
            eventually(lambda: len(_alerts(client)) >= len(_EXPECTED))
            assert _told(_alerts(client)) == _EXPECTED
            kill(process)
        with serving(folder) as (process, client):
            _say(client, "a", 20, 30)
            _say(client, "c", 21, 6)
            alerts = _alerts(client)
            assert _told(alerts) == _EXPECTED
            assert len({each["id"] for each in alerts}) == len(_EXPECTED)
            states = {
                (each["rule"], each["key"][-1]): client.get(f"/alerts/{each['id']}").json()
                for each in alerts
            }
            eventually(lambda: len(receiver.events) >= len(_EXPECTED))
    assert {key for key, each in states.items() if each["state"] == "open"} == {("gone", "b")}
    assert {each["count"] for each in states.values()} == {1}
    assert sorted(each["id"] for each in receiver.events) == sorted(each["id"] for each in alerts)
    assert receiver.refused == 0
