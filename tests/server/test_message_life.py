"""What becomes of a message, over HTTP with PostgreSQL behind, a restart included."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from sensorstream.cli.simulation.tracker_messages import tracker_messages
from tests.server.tracking import (
    NOBODY_MAPS,
    SPARQL,
    START,
    XML,
    Deployment,
    bare,
    by_soap,
    one,
    post,
)
from tests.waiting import eventually


def life(deployment: Deployment, name: str) -> dict[str, Any]:
    answer = deployment.web.get(f"/messages/{name}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_the_life_of_a_message_is_told_in_the_window_and_in_history(deployment: Deployment) -> None:
    content = one().replace(b"certainty='47'", b"certainty='12'")
    answer = post(deployment.web, content).json()
    found = life(deployment, answer["message_id"])
    for name in ("message_id", "status", "matched", "individuals", "replies", "warnings"):
        assert found[name] == answer[name]
    (alert,) = found["alerts"]
    assert alert.items() >= answer["alerts"][0].items()
    assert (found["source"], found["bytes"], found["error"]) == ("rest", len(content), None)
    iri = answer["individuals"][0]
    said = deployment.web.get(f"/individuals/{quote(iri, safe='')}").json()
    assert found["in_window"]["asserted"] > 2
    assert found["in_window"]["inferred"] > 0
    assert iri in said["iri"]
    assert found["in_history"] == {"asserted": 0, "inferred": 0}
    assert found["left_at"] is None
    for content_after in tracker_messages(8, start=next(START)):
        post(deployment.web, content_after)
    later = life(deployment, answer["message_id"])
    assert later["in_history"] == found["in_window"]
    assert later["in_window"] == found["in_history"]
    assert later["left_at"] is not None
    told = deployment.web.get(f"/messages/{answer['message_id']}/content")
    assert (told.content, told.headers["content-disposition"]) == (content, "attachment")
    assert life(deployment, answer["message_id"]) == later


def test_the_life_of_a_rejected_message_has_the_reason(deployment: Deployment) -> None:
    content = one().replace(b"certainty='", b"certainty='high ")
    problem = post(deployment.web, content).json()
    found = life(deployment, problem["message_id"])
    assert (found["status"], found["individuals"]) == ("rejected", [])
    assert found["error"]["message"] == problem["detail"]
    assert problem["type"].endswith(found["error"]["code"])
    assert found["reason"]


@pytest.mark.parametrize("name", ["m999999", "42", "m-1", "mx", "m" + "9" * 30, "m٣"])
def test_an_unknown_message_is_told_so(deployment: Deployment, name: str) -> None:
    for path in (f"/messages/{name}", f"/messages/{name}/content"):
        answer = deployment.web.get(path)
        assert (answer.status_code, answer.json()["type"]) == (
            404,
            "urn:sensorstream:error:unknown-message",
        )


def test_messages_are_listed_page_by_page(deployment: Deployment) -> None:
    names = []
    for content in (one(), NOBODY_MAPS, one(), one()):
        answer = deployment.web.post("/messages?source=a%26b", content=content, headers=XML)
        names.append(answer.json()["message_id"])
    path, seen = "/messages?source=a%26b&since=2026-01-01T00:00:00Z&limit=2", []
    while path is not None:
        page = deployment.web.get(path).json()
        seen += [each["message_id"] for each in page["messages"]]
        path = page["next"]
    assert seen == names[::-1]
    asked = {"source": "a&b", "status": "unmatched"}
    (found,) = deployment.web.get("/messages", params=asked).json()["messages"]
    assert (found["message_id"], found["bytes"]) == (names[1], len(NOBODY_MAPS))
    assert deployment.web.get("/messages?since=2999-01-01T00:00:00Z").json()["messages"] == []
    for bad in ("status=lost", "since=2026-01-01", "limit=0"):
        assert deployment.web.get(f"/messages?{bad}").status_code == 422


def quarantined(deployment: Deployment) -> list[str]:
    found = deployment.web.get("/quarantine?limit=1000").json()["messages"]
    return [each["message_id"] for each in found]


def test_a_message_in_quarantine_is_replayed_once_maybe_corrected(deployment: Deployment) -> None:
    right = one()
    wrong = right.replace(b"certainty='", b"certainty='high ")
    old = post(deployment.web, wrong).json()["message_id"]
    assert old in quarantined(deployment)
    path = f"/quarantine/{old}/replay"
    assert deployment.web.post(path, content=b"<open>", headers=XML).status_code == 400
    failed = deployment.web.post(path)
    new = failed.json()["message_id"]
    assert (failed.status_code, new == old) == (422, False)
    again = deployment.web.post(path)
    assert (again.status_code, again.json()["type"]) == (
        409,
        "urn:sensorstream:error:repeated-message",
    )
    assert [old in quarantined(deployment), new in quarantined(deployment)] == [False, True]
    whole = deployment.web.post(f"/quarantine/{new}/replay", content=right, headers=XML)
    assert (whole.status_code, whole.json()["status"]) == (200, "accepted")
    assert new not in quarantined(deployment)
    for name in (whole.json()["message_id"], "m99999"):
        assert deployment.web.post(f"/quarantine/{name}/replay").status_code == 404
    told = {each: life(deployment, each) for each in (old, new, whole.json()["message_id"])}
    assert [(each["replay_of"], each["replay"]) for each in told.values()] == [
        (None, new),
        (old, whole.json()["message_id"]),
        (new, None),
    ]


STRANGER = """
prefix : <http://sensorstream.example/tracking#>
mapping stranger on message {/Stranger} then update individual :human-{@id} a :Human at {@t} .
"""


def stranger(web: httpx.Client, source: str, number: int) -> str:
    """A message that no rule maps."""
    content = f"<Stranger id='{source}-{number}' t='{next(START)}'/>"
    answer = web.post(f"/messages?source={source}", content=content, headers=XML)
    return str(answer.json()["message_id"])


def test_what_is_chosen_in_quarantine_is_replayed_step_by_step(deployment: Deployment) -> None:
    web = deployment.web
    old = [stranger(web, "bulk", number) for number in range(5)]
    other = stranger(web, "else", 1)
    first = web.post("/quarantine/replay?source=bulk&limit=2").json()
    assert [first[name] for name in ("replayed", "failed", "left")] == [0, 2, 3]
    assert [each["outcome"]["status"] for each in first["results"]] == ["unmatched"] * 2
    assert web.put("/rules/stranger.rules", content=STRANGER).status_code == 200
    path, results = first["next"], []
    while path is not None:
        told = web.post(path).json()
        results += told["results"]
        path = told["next"]
    # Those of the first step that are in quarantine anew were not chosen again.
    assert [each["replay_of"] for each in results] == old[2:]
    assert {each["outcome"]["status"] for each in results} == {"accepted"}
    rest = [each["outcome"]["message_id"] for each in first["results"]]
    found = web.get("/quarantine?source=bulk&limit=1").json()
    assert [each["message_id"] for each in found["messages"]] == [rest[1]]
    assert [each["message_id"] for each in web.get(found["next"]).json()["messages"]] == [rest[0]]
    again = web.post("/quarantine/replay?source=bulk&status=unmatched&until=2999-01-01T00:00:00Z")
    assert [again.json()[name] for name in ("replayed", "failed", "left", "next")] == [
        2,
        0,
        0,
        None,
    ]
    assert [each["replay_of"] for each in again.json()["results"]] == rest
    assert web.post("/quarantine/replay?source=bulk").json()["results"] == []
    web.delete("/rules/stranger.rules")
    assert other in quarantined(deployment)


def test_what_is_chosen_by_the_code_of_its_error_is_replayed(deployment: Deployment) -> None:
    web = deployment.web
    wrong = one().replace(b"certainty='", b"certainty='high ")
    problem = web.post("/messages?source=codes", content=wrong, headers=XML).json()
    unmatched, code = stranger(web, "codes", 1), problem["type"].rpartition(":")[2]
    (kept,) = web.get(f"/quarantine?source=codes&code={code}").json()["messages"]
    assert (kept["message_id"], kept["code"]) == (problem["message_id"], code)
    told = web.post(f"/quarantine/replay?source=codes&code={code}").json()
    assert (told["failed"], told["results"][0]["problem"]["type"]) == (1, problem["type"])
    assert unmatched in quarantined(deployment)
    assert web.post("/quarantine/replay?code=nothing-such").json()["results"] == []
    assert web.post("/quarantine/replay?since=2026-01-01").status_code == 422


def test_what_wrong_rules_refused_is_taken_in_after_the_version_before_is_restored(
    deployment: Deployment,
) -> None:
    web, path = deployment.web, "/rules/tracking.rules"
    assert post(web, one()).status_code == 200
    wrong = web.get(path).text.replace("{$person/@certainty}", "{@type}")
    trial = web.put(f"{path}?dry-run", content=wrong).json()
    assert trial["faults"] == []
    assert trial["lost_after"] > trial["lost_before"]
    put = web.put(path, content=wrong).json()["change"]
    sent = [one() for _ in range(4)]
    for each in sent:
        refused = web.post("/messages?source=careful", content=each, headers=XML)
        assert (refused.status_code, refused.json()["type"]) == (
            422,
            "urn:sensorstream:error:mapping",
        )
    before, last = web.get(f"{path}/versions").json()["versions"][-2:]
    assert last["change"] == put
    old = web.get(f"{path}/versions/{before['change']}")
    headers = {"content-type": old.headers["content-type"], "if-match": f'"{last["digest"]}"'}
    assert web.put(path, content=old.content, headers=headers).status_code == 200
    told = web.post("/quarantine/replay?source=careful").json()
    assert [told[name] for name in ("replayed", "failed", "left")] == [4, 0, 0]
    for each in sent:
        (name,) = re.findall(rb"<person id='(\w+)'", each)
        person = f"http://sensorstream.example/tracking#human-{name.decode()}"
        known = web.get(f"/individuals/{quote(person, safe='')}")
        assert known.status_code == 200, name
        assert "hasCertainty" in known.text
    assert web.get("/quarantine?source=careful").json()["messages"] == []


def test_what_is_dismissed_leaves_the_quarantine_and_stays_in_the_journal(
    deployment: Deployment,
) -> None:
    web = deployment.web
    names = [stranger(web, "gone", number) for number in range(3)]
    assert web.delete(f"/quarantine/{names[0]}").status_code == 204
    for path in (f"/quarantine/{names[0]}", "/quarantine/m999999", "/quarantine/replay"):
        assert web.delete(path).status_code == 404
    assert web.post(f"/quarantine/{names[0]}/replay").status_code == 404
    told = life(deployment, names[0])
    assert (told["status"], told["dismissed_at"] is None) == ("unmatched", False)
    assert web.delete("/quarantine?source=gone").json() == {"dismissed": 2, "left": 0}
    assert web.delete("/quarantine?source=gone").json() == {"dismissed": 0, "left": 0}
    deployment.start()
    assert not set(names) & set(quarantined(deployment))
    assert deployment.web.get(f"/messages/{names[1]}/content").content.startswith(b"<Stranger")


@pytest.fixture
def receiver() -> Iterator[str]:
    """The address of a receiver of webhooks that takes everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/alerts"
        server.shutdown()
        thread.join()


def test_the_whole_life_is_told_however_a_message_came_and_after_a_restart(
    deployment: Deployment, receiver: str
) -> None:
    web = deployment.web
    hook = web.post("/webhooks", json={"url": receiver}).json()["id"]
    wrong = one().replace(b"certainty='", b"certainty='high ")
    names = {
        "plain": post(web, one(certainty=90)).json()["message_id"],
        "alerted": post(web, one(certainty=12)).json()["message_id"],
        "early": post(web, one(certainty=90), prefer="respond-async").json()["message_id"],
        "soap": by_soap(web, one(certainty=90))[1],
        "wrong": post(web, wrong).json()["message_id"],
    }
    path = f"/quarantine/{names['wrong']}/replay"
    corrected = web.post(path, content=one(certainty=90), headers=XML)
    names["corrected"] = corrected.json()["message_id"]
    batch = b"<Messages>" + bare(one(certainty=90)) + b"</Messages>"
    told = web.post("/messages/batch", content=batch, headers=XML).json()
    names["batch"] = told["results"][0]["outcome"]["message_id"]
    (deployment.drop / "one.xml").write_bytes(one(certainty=90))
    eventually(lambda: web.get("/messages?source=drop&status=accepted").json()["messages"])
    (dropped,) = web.get("/messages?source=drop").json()["messages"]
    names["dropped"] = dropped["message_id"]

    def delivered() -> bool:
        # Of the alert, and of the one that says of a message that it was rejected.
        told = [life(deployment, names[kind])["deliveries"] for kind in ("alerted", "wrong")]
        return [[each["state"] for each in some] for some in told] == [["delivered"]] * 2

    eventually(delivered)
    lives = {kind: life(deployment, name) for kind, name in names.items()}
    taken = {kind: told for kind, told in lives.items() if kind != "wrong"}
    for kind, told in taken.items():
        assert (told["status"], told["matched"]) == ("accepted", ["face-tracker"]), kind
        assert len(told["individuals"]) == 1
        assert (told["error"], told["reason"], told["received_at"] != "") == (None, "", True)
        parts = (told["in_window"], told["in_history"])
        assert sum(each["asserted"] for each in parts) > 2
        assert sum(each["inferred"] for each in parts) > 0
        assert len(told["alerts"]) == len(told["deliveries"]) == (kind == "alerted")
    # The window holds five.
    assert lives["plain"]["left_at"] is not None
    assert lives["plain"]["in_window"] == {"asserted": 0, "inferred": 0}
    assert lives["dropped"]["left_at"] is None
    assert lives["dropped"]["in_history"] == {"asserted": 0, "inferred": 0}
    (delivery,) = lives["alerted"]["deliveries"]
    assert (delivery["webhook_id"], delivery["status"]) == (hook, 204)
    assert delivery["event_id"] == lives["alerted"]["alerts"][0]["id"]
    assert (lives["wrong"]["status"], lives["wrong"]["individuals"]) == ("rejected", [])
    assert lives["wrong"]["error"]["code"] == "mapping"
    assert lives["wrong"]["replay"] == names["corrected"]
    assert lives["corrected"]["replay_of"] == names["wrong"]
    assert [lives[kind]["source"] for kind in ("plain", "soap", "dropped")] == [
        "rest",
        "soap",
        "drop",
    ]
    deployment.start()
    assert {kind: life(deployment, name) for kind, name in names.items()} == lives
    deployment.web.delete(f"/webhooks/{hook}")


def test_what_a_query_finds_raises_an_alert_that_webhooks_are_told_of(
    deployment: Deployment, receiver: str
) -> None:
    web = deployment.web
    hook = web.post("/webhooks", json={"url": receiver}).json()["id"]
    text = """PREFIX : <http://sensorstream.example/tracking#>
        SELECT ?who REPORT ON CHANGE ALERT critical "{?who} was seen" WHERE { ?who a :Human }"""
    made = web.post("/queries?name=seen", content=text, headers=SPARQL)
    assert made.status_code == 201
    name = post(web, one(certainty=90)).json()["message_id"]
    told = life(deployment, name)["alerts"]
    (alert,) = [each for each in told if each["rule"] == "seen"]
    assert (alert["kind"], alert["severity"]) == ("query", "critical")
    assert alert["text"].endswith(" was seen")

    def delivered() -> bool:
        found = life(deployment, name)["deliveries"]
        states = {each["event_id"]: each["state"] for each in found}
        return states.get(alert["id"]) == "delivered"

    eventually(delivered)
    why = web.get(f"/alerts/{alert['id']}/why")
    (note,) = why.json()["notes"]
    assert note == "a solution of the query 'seen' raised this alert: its text says which"
    refused = web.post("/sparql", content=text, headers=SPARQL)
    assert refused.status_code == 400
    assert web.delete(f"/webhooks/{hook}").status_code == 204
    assert web.delete("/queries/seen").status_code == 204
