"""A server killed while a rule waits for the history, and again when it has been answered."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import httpx

from tests.integration.serving import serving
from tests.waiting import eventually

SETTINGS = """
[ontology]
files = ["o.ttl"]
[rules]
files = ["r.rules"]
[reasoning]
profile = "none"
[time]
line = "datetime"
silence = "queries"
[window]
size = "1"
[history]
checkpoint_every = 1
"""
RULES = """
prefix : <http://example.org/>
mapping beat on message {/m} then insert individual :{@id} a :Beat at {@t} ; :of {@of} .

rule hourly
every "PT1H"
from history select { SELECT ?of (COUNT(?beat) AS ?n) { ?beat :of ?of } GROUP BY ?of }
then alert info "{?of} {?n} {?now}" key "{?of}"
"""


def send(client: httpx.Client, name: str, time: str) -> None:
    content = f"<m id='{name}' t='{time}' of='{name[0]}'/>"
    headers = {"content-type": "application/xml"}
    client.post("/messages", content=content, headers=headers).raise_for_status()


def alerts(client: httpx.Client) -> dict[str, str]:
    found = client.get("/alerts").json()["alerts"]
    told = {each["id"]: each["text"] for each in found}
    assert len(told) == len(found)
    return told


def test_each_answer_is_told_once_whenever_the_server_is_killed(tmp_path: Path) -> None:
    (tmp_path / "sensorstream.toml").write_text(SETTINGS)
    (tmp_path / "o.ttl").write_text("@prefix : <http://example.org/> .")
    (tmp_path / "r.rules").write_text(RULES)
    with serving(tmp_path) as (process, client):
        send(client, "a1", "2026-03-02T10:10:00Z")
        send(client, "b1", "2026-03-02T10:20:00Z")
        send(client, "a2", "2026-03-02T10:30:00Z")
        # The hour has come; the history is asked within a second.
        send(client, "a3", "2026-03-02T11:00:05Z")
        os.kill(process.pid, signal.SIGKILL)
        process.wait(300)
    with serving(tmp_path) as (process, client):
        eventually(lambda: len(alerts(client)) >= 2, 60)
        first = alerts(client)
        texts = {text.partition(" (late")[0] for text in first.values()}
        assert texts == {"a 2 2026-03-02T11:00:00Z", "b 1 2026-03-02T11:00:00Z"}
        send(client, "b2", "2026-03-02T12:00:05Z")
        eventually(lambda: len(alerts(client)) >= 4, 60)
        second = alerts(client)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(300)
    with serving(tmp_path) as (_, client):
        send(client, "b3", "2026-03-02T12:10:00Z")
        assert alerts(client) == second
        assert first.items() <= second.items()
