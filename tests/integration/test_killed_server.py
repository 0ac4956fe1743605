"""A server killed in mid-stream: nothing acknowledged is lost, nothing stands twice."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

from sensorstream.cli.simulation.tracker_messages import tracker_messages
from tests.integration.serving import init, serving


def _acknowledged(url: str, process: subprocess.Popen[str], count: int) -> Iterator[str]:
    """Send from several threads, kill the server half-way; yield the acknowledged messages.

    Every second one is acknowledged as soon as it is in the journal.
    """
    messages = list(tracker_messages(count))
    acknowledged = 0

    def send(position: int) -> str:
        preference = {"prefer": "respond-async"} if position % 2 else {}
        try:
            answer = client.post("/messages", content=messages[position], headers=preference)
        except httpx.TransportError:
            return ""
        return str(answer.json()["message_id"]) if answer.status_code in (200, 202) else ""

    headers = {"content-type": "application/xml"}
    with (
        httpx.Client(base_url=url, headers=headers, timeout=300) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        for name in pool.map(send, range(count)):
            if name:
                yield name
                acknowledged += 1
            if acknowledged >= count // 2 and process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                process.wait(300)


@pytest.mark.parametrize(("lateness", "profile"), [("", "hermit"), ("40", "plain")])
def test_after_kill_9_every_acknowledged_message_is_in_window_or_history_once(
    folder: Path, lateness: str, profile: str
) -> None:
    """With a lateness some wait when the server is killed; the clock releases them at the end."""
    folder = folder / "work"
    init(folder)
    environment = {
        "SENSORSTREAM_WINDOW_SIZE": "50",
        "SENSORSTREAM_HISTORY_CHECKPOINT_EVERY": "60",
        "SENSORSTREAM_TIME_LATENESS": lateness,
        "SENSORSTREAM_TIME_IDLE": "3",
        "SENSORSTREAM_REASONING_PROFILE": profile,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        with serving(folder) as (process, client):
            acknowledged = list(_acknowledged(str(client.base_url), process, 400))
        assert process.returncode == -signal.SIGKILL
        assert len(acknowledged) >= 200
        with serving(folder) as (_, client):
            deadline = time.monotonic() + 60
            while client.get("/healthz").json()["held"]:
                assert time.monotonic() < deadline, "the clock released nothing"
                time.sleep(0.1)
            window = client.get("/window", params={"limit": 1000}).json()["individuals"]
            query = "select distinct iri, message_id from history.individuals"
            rows = client.post("/sql", json={"query": query}).json()["rows"]
            lives = [client.get(f"/messages/{name}").json() for name in acknowledged]
            # And it goes on.
            content = next(tracker_messages(1, start=100_000))
            headers = {"content-type": "application/xml"}
            answer = client.post("/messages", content=content, headers=headers)
            assert answer.status_code == 200
    found = Counter([each["iri"] for each in window] + [row[0] for row in rows])
    named = [name for life in lives for name in life["individuals"]]
    assert len(named) >= len(acknowledged)
    assert [name for name in named if found[name] != 1] == []
    assert [name for name, count in found.items() if count != 1] == []


def test_after_kill_9_a_new_ontology_counts_from_its_place_in_the_stream_on(folder: Path) -> None:
    folder = folder / "work"
    init(folder)
    with pytest.MonkeyPatch.context() as patch:
        # Nothing is a checkpoint but what the change itself makes.
        patch.setenv("SENSORSTREAM_HISTORY_CHECKPOINT_EVERY", "100000")
        with serving(folder) as (process, client):
            xml = {"content-type": "application/xml"}
            turtle = {"content-type": "text/turtle"}
            text = client.get("/ontology").content + (
                b"<http://sensorstream.example/tracking#Seen> a "
                b"<http://www.w3.org/2002/07/owl#Class> .\n"
                b"<http://sensorstream.example/tracking#Human> "
                b"<http://www.w3.org/2000/01/rdf-schema#subClassOf> "
                b"<http://sensorstream.example/tracking#Seen> .\n"
            )
            for content in tracker_messages(20):
                client.post("/messages", content=content, headers=xml).raise_for_status()
            changed = client.put("/ontology", content=text, headers=turtle)
            assert changed.status_code == 200, changed.text
            for content in tracker_messages(20, start=21):
                client.post("/messages", content=content, headers=xml).raise_for_status()
            window = client.get("/window").json()
            # Then the cache has its process, too, beside those of the reasoner.
            asked = client.get("/sparql", params={"query": "ASK {}"})
            assert asked.status_code == 200
            children = psutil.Process(process.pid).children(recursive=True)
            assert len(children) >= 2
            os.kill(process.pid, signal.SIGKILL)
            process.wait(300)
            _, orphans = psutil.wait_procs(children, timeout=60)
            assert not orphans
        with serving(folder) as (_, client):
            again = client.get("/window").json()
            ontology = client.get("/ontology")
    assert again == window
    people = [each for each in again["individuals"] if "human-" in each["iri"]]
    assert len(people) == 40
    seen = "http://sensorstream.example/tracking#Seen"
    assert all(seen in each["types"] for each in people)
    assert ontology.headers["sensorstream-origin"] == changed.json()["change"]
    assert ontology.content == text
