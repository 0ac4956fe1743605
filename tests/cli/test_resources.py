"""What the commands for alerts, queries, webhooks, quarantine and the ontology show and refuse."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE, tracker_messages
from sensorstream.errors import RequestRefused
from tests.cli.served import Served

Run = Callable[..., Result]
NAMES = (
    "SELECT ?person ?name { ?person a <http://sensorstream.example/tracking#Human> ; "
    "<http://sensorstream.example/tracking#hasName> ?name }"
)


@pytest.fixture
def query(served: Served) -> str:
    """A query that runs."""
    with CommandClient(served.url) as client:
        if "urn:x:names" not in {each["name"] for each in client.queries()}:
            client.register(NAMES, "urn:x:names")
        client.send(PAPER_MESSAGE)
    return "urn:x:names"


def test_a_query_is_registered_shown_read_and_removed(
    run: Run, served: Served, tmp_path: Path
) -> None:
    (tmp_path / "names.rq").write_text(NAMES)
    added = run("queries", "add", tmp_path / "names.rq", "--name", "urn:x:n", "--url", served.url)
    assert added.stdout == "registered urn:x:n\n"
    again = run("queries", "add", tmp_path / "names.rq", "--name", "urn:x:n", "--url", served.url)
    assert again.exit_code == 1
    assert again.stderr.startswith("error[query-conflict]: ")
    listed = run("queries", "list", "--url", served.url).stdout
    assert any(line.split()[:2] == ["urn:x:n", "SELECT"] for line in listed.splitlines())
    shown = run("queries", "show", "urn:x:n", "--url", served.url).stdout
    assert shown.endswith(f"\n\n{NAMES}\n")
    assert run("queries", "delete", "urn:x:n", "--url", served.url).stdout == "removed urn:x:n\n"
    gone = run("queries", "show", "urn:x:n", "--url", served.url)
    assert (gone.exit_code, gone.stderr.partition(":")[0]) == (1, "error[unknown-query]")


def test_a_wrong_query_is_told_with_its_place_in_the_file(
    run: Run, served: Served, tmp_path: Path
) -> None:
    file = tmp_path / "wrong.rq"
    file.write_text("SELECT ?s\nWHERE { ?s ?p }")
    refused = run("queries", "add", file, "--name", "urn:x:wrong", "--url", served.url, status=1)
    assert f" {file}:2:15: unexpected '}}'" in refused.stderr
    given = run("queries", "add", "-", "--url", served.url, given="SELECT ?s\n {")
    assert " -:2:" in given.stderr


def test_a_query_is_followed_until_it_is_removed(run: Run, served: Served, query: str) -> None:
    one = run("queries", "follow", query, "--after", "", "--count", "1", "--url", served.url)
    assert one.exit_code == 0, one.output
    _, operation, row = one.stdout.splitlines()[0].split(" ", 2)
    assert operation == "+"
    assert row.startswith("person=http://sensorstream.example/tracking#human-")
    with CommandClient(served.url) as client:
        client.register(NAMES, "urn:x:short")
        reported: list[Result] = []
        command = ("queries", "follow", "urn:x:short", "--after", "", "--url", served.url, "--json")
        thread = threading.Thread(target=lambda: reported.append(run(*command)))
        thread.start()
        client.unregister("urn:x:short")
        thread.join(60)
    # Whether it began before the removal or after it, its end is said.
    (result,) = reported
    assert "urn:x:short" in result.stderr


def test_the_operators_of_a_query_are_a_tree(run: Run, served: Served, query: str) -> None:
    tree = run("queries", "graph", query, "--url", served.url).stdout.splitlines()
    assert tree[0].startswith(f"{query}: ")
    assert "nodes" in json.loads(
        run("queries", "graph", query, "--json", "--url", served.url).stdout
    )


def test_the_result_of_a_query_is_a_table(run: Run, served: Served, query: str) -> None:
    table = run("queries", "results", query, "--url", served.url).stdout.splitlines()
    assert table[0].split() == ["person", "name"]
    assert ["http://sensorstream.example/tracking#human-2678", "2678"] in map(str.split, table)


def test_alerts_are_listed_newest_first_and_followed_from_one_on(run: Run, served: Served) -> None:
    with CommandClient(served.url) as client:
        for message in tracker_messages(20, start=5000):
            client.send(message)
        kept = client.alerts(2)
        assert [each["seq"] for each in client.alerts(1, before=kept[0]["seq"])] == [kept[1]["seq"]]
    listed = json.loads(run("alerts", "list", "--limit", "2", "--json", "--url", served.url).stdout)
    assert listed == kept
    followed = run(
        *("alerts", "follow", "--after", kept[1]["seq"], "--count", "1", "--url", served.url)
    )
    newest = kept[0]
    assert followed.stdout == (
        f"{newest['seq']} {newest['time']} {newest['severity']}: {newest['text']}\n"
    )


def test_a_webhook_says_its_secret_once(run: Run, served: Served) -> None:
    added = run("webhooks", "add", "http://127.0.0.1:9/a", "--url", served.url, "--json")
    made = json.loads(added.stdout)
    assert made["secret"].startswith("whsec_")
    shown = run("webhooks", "show", made["id"], "--url", served.url)
    assert "url            http://127.0.0.1:9/a\n" in shown.stdout
    assert "whsec_" not in shown.stdout + run("webhooks", "list", "--url", served.url).stdout
    assert run("webhooks", "delete", made["id"], "--url", served.url).exit_code == 0
    for command in ("show", "delete"):
        gone = run("webhooks", command, made["id"], "--url", served.url, status=1)
        assert gone.stderr == f"error[unknown-webhook]: there is no webhook '{made['id']}'\n"
    refused = run("webhooks", "add", "ftp://127.0.0.1/a", "--url", served.url)
    assert refused.stderr.startswith("error[webhook]: ")


def test_a_message_in_quarantine_can_be_sent_again(run: Run, served: Served) -> None:
    run("send", "--url", served.url, "-", given="<Stranger id='7'/>")
    newest = json.loads(run("quarantine", "list", "--json", "--url", served.url).stdout)[0]
    assert newest["status"] == "unmatched"
    shown = run("quarantine", "show", newest["message_id"], "--url", served.url)
    assert shown.stdout == "<Stranger id='7'/>"
    assert shown.stderr.startswith("unmatched: ")
    missing = run("quarantine", "show", "m0", "--url", served.url, status=2)
    assert "'m0' is not in quarantine" in missing.stderr


def test_messages_in_quarantine_are_replayed_and_deleted_by_what_is_chosen(
    run: Run, served: Served
) -> None:
    for n in range(3):
        run("send", "--source", "cli", "--url", served.url, "-", given=f"<Odd n='{n}'/>")
    options = ("--all", "--source", "cli", "--url", served.url)
    replayed = run("quarantine", "replay", *options, status=1)
    assert replayed.stdout.count("unmatched\n") == 3
    assert replayed.stdout.endswith("0 taken in, 3 not\n")
    listed = run("quarantine", "list", "--source", "cli", "--json", "--url", served.url)
    assert len(json.loads(listed.stdout)) == 3
    gone = run("quarantine", "delete", *options)
    assert gone.stdout == "3 messages left the quarantine\n"
    for wrong in (("replay",), ("delete", "m1", "--all"), ("delete", "m1", "--source", "cli")):
        assert run("quarantine", *wrong, "--url", served.url).exit_code == 2


def test_an_ontology_that_is_refused_leaves_the_old_one(
    run: Run, another: Served, tmp_path: Path
) -> None:
    before = run("ontology", "show", "--url", another.url)
    assert before.stderr.startswith("origin: ")
    (tmp_path / "wrong.ttl").write_text("@prefix : <urn:x:> .\n:a :b\n")
    refused = run("ontology", "put", tmp_path / "wrong.ttl", "--url", another.url, status=1)
    assert refused.stderr.startswith("error[ontology]: ")
    (tmp_path / "ontology.txt").write_text("")
    unknown = run("ontology", "put", tmp_path / "ontology.txt", "--url", another.url, status=2)
    assert "give --type" in unknown.stderr
    assert run("ontology", "show", "--url", another.url).stdout == before.stdout


def test_the_window_says_what_it_is_and_holds(run: Run, served: Served, query: str) -> None:
    shown = run("window", "--limit", "1", "--url", served.url)
    assert "kind        sliding\n" in shown.stdout
    assert shown.stdout.splitlines()[-1].startswith("http://sensorstream.example/tracking#")
    assert "more: use --offset or --limit" in shown.stderr


def test_a_parameter_that_the_server_refuses_is_the_callers_mistake(served: Served) -> None:
    with CommandClient(served.url) as client, pytest.raises(RequestRefused) as caught:
        client.alerts(0)
    assert caught.value.problem is not None
    assert caught.value.problem["status"] == 422
