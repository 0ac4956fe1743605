"""Those who use the server: senders, people, one who asks, one who changes rules, a follower."""

from __future__ import annotations

import itertools
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any, Final

import httpx

from sensorstream.cli.simulation.tracker_messages import tracker_messages
from tests.integration.endurance.people import People
from tests.integration.endurance.witness import Witness, plain_report

SENDERS: Final = 8
QUERY: Final = "seen"
_TEXT: Final = """PREFIX : <http://sensorstream.example/tracking#>
REGISTER ISTREAM :seen AS SELECT ?p ?x WHERE { ?p a :Human ; :hasXLocation ?x FILTER(?x > 320) }"""
_RULES: Final = """prefix : <http://sensorstream.example/tracking#>
rule far-right
on insert :Human as ?person
if select {{ SELECT ?x {{ ?person :hasXLocation ?x . FILTER(?x > {least}) }} }}
then
  alert info "{{?person}} is at {{?x}}" key "{{?person}}"
"""
_XML: Final = {"content-type": "application/xml"}
_PATIENCE: Final = 60.0
_PAUSE: Final = 0.12
"""Seconds between two messages of a sender, on the average."""
_CHANGE: Final = 2.0
"""Seconds between two changes of the rules."""


def message(number: int) -> bytes:
    """The message with a number."""
    return next(tracker_messages(1, start=number, seed=number))


def prepare(url: str, receiver: str) -> None:
    """Register the query and a webhook for all alerts and its reports."""
    with httpx.Client(base_url=url, timeout=_PATIENCE) as client:
        client.post("/queries", params={"name": QUERY}, content=_TEXT).raise_for_status()
        body = {"url": receiver, "queries": [QUERY], "changes": True}
        client.post("/webhooks", json=body).raise_for_status()


class Clients:
    """Threads that go on until :meth:`stop`, also while the server is away."""

    def __init__(self, url: str, witness: Witness, numbers: Iterator[int], seed: int) -> None:
        self._url = url
        self._witness = witness
        self._numbers = numbers
        self._stopping = Event()
        works: list[Callable[[], None]] = [self._follow, self._ask, self._change]
        works.append(lambda: self._see_to(random.Random(seed)))
        for place in range(SENDERS):
            works.append(self._sender(place, random.Random(seed * 1000 + place)))
        self._threads = [Thread(target=self._guarded, args=(each,), daemon=True) for each in works]

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        """End when the requests under way are answered."""
        self._stopping.set()
        for each in self._threads:
            each.join(_PATIENCE + 10)
            if each.is_alive():
                self._witness.note("a client still waits for an answer")

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self._witness.note(f"a client cannot go on: {type(error).__name__}: {error}")

    def _client(self, seconds: float = _PATIENCE) -> httpx.Client:
        return httpx.Client(base_url=self._url, timeout=seconds)

    def _sender(self, place: int, dice: random.Random) -> Callable[[], None]:
        """Half of the senders have keys, one in four is answered early."""
        keyed, early = place % 2 == 0, place % 4 == 3

        def send() -> None:
            with self._client() as client:
                while not self._stopping.is_set():
                    number = next(self._numbers)
                    headers = {**_XML}
                    if keyed:
                        headers["idempotency-key"] = f"number-{number}"
                    if early:
                        headers["prefer"] = "respond-async"
                    with self._witness.lock:
                        self._witness.sent.add(number)
                    while not self._post(client, number, headers) and keyed:
                        if self._stopping.wait(0.2):
                            return
                    if keyed:
                        with self._witness.lock:
                            self._witness.keyed.add(number)
                    self._stopping.wait(dice.expovariate(1 / _PAUSE))

        return send

    def _post(self, client: httpx.Client, number: int, headers: dict[str, str]) -> bool:
        """Whether the message was acknowledged."""
        witness = self._witness
        try:
            answer = client.post("/messages", content=message(number), headers=headers)
        except httpx.TransportError:
            with witness.lock:
                witness.unanswered += 1
            self._stopping.wait(0.1)
            return False
        with witness.lock:
            witness.repeated += "idempotency-replayed" in answer.headers
            if answer.status_code == 200:
                witness.answers[number] = answer.json()
            elif answer.status_code == 202:
                witness.early[number] = answer.json()["message_id"]
            else:
                witness.refused[answer.status_code] += 1
                if answer.status_code != 503:
                    witness.faults.append(f"answered {answer.status_code}: {answer.text[:200]}")
        if answer.status_code == 503:
            self._stopping.wait(min(float(answer.headers.get("retry-after", 0.2)), 1.0))
        return answer.status_code in (200, 202)

    def _ask(self) -> None:
        query = "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }"
        with self._client() as client:
            while not self._stopping.wait(0.2):
                try:
                    answer = client.get("/sparql", params={"query": query})
                except httpx.TransportError:
                    continue
                with self._witness.lock:
                    self._witness.asked += answer.status_code == 200
                    if answer.status_code not in (200, 503):
                        told = f"a question: {answer.status_code}: {answer.text[:200]}"
                        self._witness.faults.append(told)

    def _change(self) -> None:
        """Put one of two files of rules, time and again."""
        texts = itertools.cycle(_RULES.format(least=least) for least in (500, 600))
        with self._client() as client:
            while not self._stopping.wait(_CHANGE):
                try:
                    answer = client.put("/rules/endurance.rules", content=next(texts))
                except httpx.TransportError:
                    continue
                with self._witness.lock:
                    if answer.is_success:
                        self._witness.changes.append(answer.json()["change"])
                    elif answer.status_code != 503:
                        told = f"rules were put: {answer.status_code}: {answer.text[:200]}"
                        self._witness.faults.append(told)

    def _see_to(self, dice: random.Random) -> None:
        """Do something with alerts, time and again."""
        with self._client() as client:
            people = People(client, self._witness, dice)
            while not self._stopping.wait(_PAUSE):
                people.step()

    def _follow(self) -> None:
        last = ""
        while not self._stopping.wait(0.1):
            headers = {"accept": "text/event-stream"} | ({"last-event-id": last} if last else {})
            try:
                with (
                    self._client(20) as client,
                    client.stream("GET", f"/queries/{QUERY}/results", headers=headers) as answer,
                ):
                    if answer.status_code == 200:
                        last = self._read(answer, last)
            except httpx.TransportError:
                continue

    def _read(self, answer: httpx.Response, last: str) -> str:
        """Note the events of a stream to its end; the id of the last one."""
        event: dict[str, str] = {}
        try:
            for line in answer.iter_lines():
                if line:
                    name, _, value = line.partition(": ")
                    event[name] = value
                elif event.get("event") == "report":
                    self._note(event, last)
                    last = event["id"]
                elif event.get("event") == "missed":
                    with self._witness.lock:
                        self._witness.missed += json.loads(event["data"])["missed"]
                if not line:
                    event = {}
                if self._stopping.is_set():
                    break
        except httpx.TransportError:
            pass
        return last

    def _note(self, event: dict[str, str], last: str) -> None:
        entry, _, number = event["id"].rpartition("-")
        if (
            last
            and entry == last.rpartition("-")[0]
            and int(number) <= int(last.rpartition("-")[2])
        ):
            self._witness.note(f"after the report {last} came {event['id']}")
        self._witness.report(event["id"], plain_report(json.loads(event["data"])))


def settle(url: str, seconds: float) -> None:
    """Wait until nothing waits to be delivered; what rests after failures is sent by request.

    Entries that are not stored yet may still bring deliveries: those are waited for first.

    Raises:
        AssertionError: some entries or deliveries still wait.
    """
    deadline = time.monotonic() + seconds
    with httpx.Client(base_url=url, timeout=_PATIENCE) as client:

        def ask(method: str, path: str, **parameters: str) -> Any:
            """The answer, when the server has its history again."""
            while (answer := client.request(method, path, params=parameters)).status_code == 503:
                assert time.monotonic() < deadline, answer.text
                time.sleep(1)
            return answer.raise_for_status().json()

        def last(kind: str) -> float:
            told = client.get("/metrics").raise_for_status().text
            found = re.search(rf"^sensorstream_{kind}_entry (\S+)$", told, re.MULTILINE)
            assert found, told
            return float(found[1])

        while (stored := last("stored")) < (entry := last("journal")):
            assert time.monotonic() < deadline, f"{stored} of {entry} entries are stored"
            time.sleep(0.2)
        hooks = [each["id"] for each in ask("GET", "/webhooks")["webhooks"]]
        while waiting := [
            each
            for hook in hooks
            for each in ask("GET", f"/webhooks/{hook}/deliveries", state="pending")["deliveries"]
        ]:
            assert time.monotonic() < deadline, f"{len(waiting)} deliveries wait: {waiting[0]}"
            for each in waiting:
                if each["attempts"]:
                    ask("POST", f"/deliveries/{each['id']}/resend")
            time.sleep(1)
