"""The commands that talk to a running server: send, simulate, resend, query, sql."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from click.testing import Result

from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE, tracker_messages
from sensorstream.errors import MalformedMessage, MessageError, QueryError, ServerUnreachable
from tests.cli.served import Served
from tests.databases import execute

Run = Callable[..., Result]


def test_send_tells_what_became_of_the_messages(run: Run, served: Served) -> None:
    result = run("send", "--url", served.url, served.folder / "messages", "--json", status=0)
    told = json.loads(result.stdout)
    assert (told["sent"], told["accepted"], told["rejected"]) == (6, 6, [])
    assert told["individuals"] == 6


@pytest.mark.parametrize("way", [[], ["--soap"]])
def test_send_shows_the_alerts_replies_and_warnings_of_each_message(
    run: Run, served: Served, way: list[str]
) -> None:
    person = 10**6 + len(way)
    seen = f"<person id='{person}' certainty='20'><location2d x='1' y='2'/></person>"
    message = (
        "<Message><Event id='1'><Tracker type='FaceTracker'><TimeStamp value='9000000'/>"
        f"{seen}</Tracker></Event></Message>"
    )
    shown = run("send", *way, "--url", served.url, "-", given=message, status=0)
    assert shown.stdout.startswith(
        f'standard input: accepted\n  alert   info "face {person} was seen with a certainty of 20'
    )
    told = json.loads(run("send", *way, "--url", served.url, "-", "--json", given=message).stdout)
    assert [each["message"] for each in told["messages"]] == ["standard input"]
    assert told["messages"][0]["status"] == "accepted"
    assert told["messages"][0]["replies"] == []


def test_send_names_the_source(run: Run, served: Served) -> None:
    paper = served.folder / "messages" / "paper.xml"
    assert run("send", "--url", served.url, "--source", "gate & 7", paper).exit_code == 0
    asked = "SELECT source FROM messages ORDER BY seq DESC LIMIT 1"
    recorded = run("sql", "-c", served.config, "--json", asked)
    assert json.loads(recorded.stdout)["rows"] == [["gate & 7"]]
    refused = run("send", "--soap", "--source", "x", "--url", served.url, paper, status=2)
    assert "--source goes with REST" in refused.stderr


def test_send_speaks_soap(run: Run, served: Served) -> None:
    result = run("send", "--soap", "--url", served.url, "-", given=PAPER_MESSAGE.decode(), status=0)
    assert "1 accepted, 0 unmatched, 0 rejected; 1 individuals" in result.stdout


@pytest.mark.parametrize("way", [[], ["--soap"]])
def test_a_refused_message_does_not_stop_the_others(
    run: Run, served: Served, tmp_path: Path, way: list[str]
) -> None:
    (tmp_path / "1.xml").write_text("<Message>")
    (tmp_path / "2.xml").write_text("<Stranger/>")
    (tmp_path / "3.xml").write_bytes(PAPER_MESSAGE)
    result = run("send", *way, "--url", served.url, tmp_path, status=1)
    assert f"{tmp_path / '1.xml'}: malformed-message: " in result.stderr
    assert f"{tmp_path / '2.xml'}: no mapping rule matched: rule face-tracker is" in result.stderr
    assert "sent 3 in " in result.stdout
    assert "1 accepted, 1 unmatched, 1 rejected" in result.stdout


def test_rest_and_soap_tell_the_same_facts(served: Served) -> None:
    with CommandClient(served.url) as client:
        rest, soap = client.send(PAPER_MESSAGE), client.post_soap(PAPER_MESSAGE)
        assert soap.keys() == rest.keys()
        assert soap["timings"].keys() == rest["timings"].keys() == {"t_i", "t_w", "t_m", "t_s"}
        for fact in ("matched", "individuals", "expired", "warnings"):
            assert soap[fact] == rest[fact]
        with pytest.raises(MalformedMessage):
            client.send(b"<a>")
        with pytest.raises(MalformedMessage):
            client.post_soap(b"<a>")
        with pytest.raises(MessageError, match="UTF-8"):
            client.post_soap("<a>ø</a>".encode("latin-1"))


class Pages(BaseHTTPRequestHandler):
    """A server that has a page at each path, as Spark's own has."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html;charset=utf-8")
        self.end_headers()
        self.wfile.write(b"<html></html>")

    def log_message(self, format: str, *args: object) -> None: ...


def test_a_page_is_no_answer_of_a_server() -> None:
    with HTTPServer(("127.0.0.1", 0), Pages) as pages:
        Thread(target=pages.serve_forever, daemon=True).start()
        with CommandClient(f"http://127.0.0.1:{pages.server_port}") as client:
            for ask in (client.ontology, client.metrics, client.rule_files):
                with pytest.raises(ServerUnreachable, match="is not an answer"):
                    ask()
            with pytest.raises(ServerUnreachable, match="answered 501"):
                client.sql("SELECT 1")
        pages.shutdown()


def test_query_prints_a_table_or_what_is_asked_for(run: Run, served: Served) -> None:
    run("send", "--url", served.url, served.folder / "messages" / "paper.xml")
    asked = (
        "PREFIX : <http://sensorstream.example/tracking#> "
        "SELECT ?x ?name { VALUES ?x { :human-2678 } ?x :hasName ?name }"
    )
    table = run("query", "--url", served.url, asked)
    assert table.stdout.splitlines()[0].split() == ["x", "name"]
    assert table.stdout.splitlines()[1].split() == [
        "http://sensorstream.example/tracking#human-2678",
        "2678",
    ]
    document = json.loads(run("query", "--json", "--url", served.url, asked).stdout)
    assert document["head"]["vars"] == ["x", "name"]
    lines = run("query", "--format", "csv", "--url", served.url, "-", given=asked).stdout
    assert lines.splitlines()[1].endswith("human-2678,2678")
    assert run("query", "--url", served.url, "ASK { }").stdout == "yes\n"
    graph = run("query", "--url", served.url, "CONSTRUCT { <a:a> <a:b> <a:c> } WHERE { }")
    assert graph.stdout == "<a:a> <a:b> <a:c> .\n"


def test_a_wrong_query_is_the_users_mistake(run: Run, served: Served) -> None:
    for arguments in (("query", "--url", served.url, "SELEKT"), ("sql", "-c", served.config, "x")):
        result = run(*arguments, status=1)
        assert result.stderr.startswith(f"error[{QueryError.code}]: ")


def test_a_wrong_query_is_told_with_its_place_and_what_was_expected(
    run: Run, served: Served
) -> None:
    result = run("query", "--url", served.url, "SELECT ?s\nWHERE { ?s ?p }", status=1)
    assert result.stderr.startswith(
        f"error[{QueryError.code}]: query:2:15: unexpected '}}': expected a term such as ?x"
    )


def test_sql_reads_the_history_beside_the_server(run: Run, served: Served) -> None:
    run("simulate", "tracker", "--url", served.url, "--count", "30", "--seed", "5")
    asked = "SELECT iri, has_certainty FROM history.human ORDER BY iri LIMIT 3"
    found = json.loads(run("sql", "-c", served.config, "--json", asked).stdout)
    assert found["columns"] == ["iri", "has_certainty"]
    assert len(found["rows"]) == 3
    assert found["truncated"] is False
    rows = list(csv.reader(io.StringIO(run("sql", "-c", served.config, "--csv", asked).stdout)))
    assert rows == [found["columns"], *([iri, str(value)] for iri, value in found["rows"])]
    arrow = run("sql", "-c", served.config, "--format", "arrow", asked).stdout_bytes
    assert pa.ipc.open_stream(arrow).read_all().to_pylist() == [
        dict(zip(found["columns"], row, strict=True)) for row in found["rows"]
    ]
    with CommandClient(served.url) as client:
        assert client.sql_arrow(asked).to_pylist() == list(client.sql(asked))
    table = run("sql", "-c", served.config, "-", given=asked).stdout.splitlines()
    assert [line.split() for line in table] == rows


def test_sql_asks_the_server_for_the_window(run: Run, served: Served, tmp_path: Path) -> None:
    def config(port: int, folder: Path) -> Path:
        text = served.config.read_text()
        file = folder / f"port-{port}.toml"
        file.write_text(text.replace("# port = 8080", f"port = {port}"))
        return file

    with CommandClient(served.url) as client:
        for message in tracker_messages(3):
            client.send(message)
    asked = "select iri, time from live.human order by iri"
    here = config(urlsplit(served.url).port or 0, served.config.parent)
    found = json.loads(run("sql", "-c", here, "--json", asked).stdout)
    assert found["columns"] == ["iri", "time"]
    with CommandClient(served.url) as client:
        individuals = client.window(1000)["individuals"]
    names = [each["iri"] for each in individuals if any("Human" in t for t in each["types"])]
    assert [row[0] for row in found["rows"]] == sorted(names) != []
    lines = run("sql", "-c", here, "--csv", asked).stdout.splitlines()
    assert lines[0] == "iri,time"
    assert len(lines) == len(names) + 1
    # The server of a folder is found whatever port is set: this is another folder.
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(served.folder, elsewhere, ignore=shutil.ignore_patterns("data"))
    away = run("sql", "-c", config(9, elsewhere), asked)
    assert away.exit_code != 0
    assert "which only a running server knows" in away.stderr


def test_a_second_simulation_goes_on_in_time(run: Run, served: Served) -> None:
    with CommandClient(served.url) as client:
        for _ in range(2):
            before = client.window(limit=0)["now"] or 0
            result = run("simulate", "tracker", "--count", "15", "--json", "--url", served.url)
            assert json.loads(result.stdout)["late"] == 0
            assert client.window(limit=0)["now"] == before + 15
        newest = max(each["time"] for each in client.window()["individuals"])
        assert newest == client.window(limit=0)["now"]


def test_a_time_of_the_other_line_names_the_setting(run: Run, served: Served) -> None:
    message = PAPER_MESSAGE.replace(b"'2678' />", b"'2026-03-01T12:00:00Z' />", 1)
    result = run("send", "--url", served.url, "-", given=message.decode(), status=1)
    assert "is a time of the datetime line, but the time line is integer" in result.stderr
    assert 'line = "datetime" under [time] in the settings' in result.stderr


def test_a_journal_can_be_replayed_to_another_server(
    run: Run, served: Served, another: Served
) -> None:
    run("simulate", "tracker", "--url", served.url, "--count", "5")
    with CommandClient(served.url) as client:
        client.send(PAPER_MESSAGE, "camera & 3")
    asked = "SELECT source, content FROM messages ORDER BY seq"
    recorded = run("sql", "-c", served.config, "--json", asked)
    assert json.loads(recorded.stdout)["rows"][-1][0] == "camera & 3"
    result = run("resend", served.config, "--url", another.url, "--json")
    rows = json.loads(recorded.stdout)["rows"]
    assert json.loads(result.stdout)["sent"] == len(rows)
    again = run("sql", "-c", another.config, "--json", asked)
    # Other tests may have sent something there before.
    assert json.loads(again.stdout)["rows"][-len(rows) :] == rows


def test_a_replay_keeps_the_gaps_or_a_rate(run: Run, another: Served, tmp_path: Path) -> None:
    run("resend", another.config, "--out", tmp_path / "first")
    for number, message in enumerate(tracker_messages(4), 1):
        (tmp_path / f"{number}.xml").write_bytes(message)
    result = run("resend", tmp_path, "--rate", "20", "--url", another.url, "--json")
    assert json.loads(result.stdout)["seconds"] >= 3 / 20
    refused = run("resend", tmp_path, "--speed", "2", "--url", another.url, status=2)
    assert "files have no times of arrival" in refused.stderr


def test_a_journal_can_be_replayed_to_its_own_server(run: Run, another: Served) -> None:
    run("send", "--url", another.url, another.folder / "messages")
    before = run("sql", "-c", another.config, "--csv", "SELECT count(*) FROM messages")
    replayed = run("resend", another.config, "--speed", "1000", "--url", another.url, "--json")
    after = run("sql", "-c", another.config, "--csv", "SELECT count(*) FROM messages")
    count = int(before.stdout.split()[1])
    assert json.loads(replayed.stdout)["sent"] == count
    assert int(after.stdout.split()[1]) == 2 * count


def test_a_deployment_that_never_ran_has_no_history(run: Run, tmp_path: Path) -> None:
    run("init", tmp_path)
    for command in (["sql", "SELECT 1", "-c"], ["resend"]):
        result = run(*command, tmp_path / "sensorstream.toml", status=3)
        assert result.stderr.startswith("error[history]: there is no history yet: ")
    assert not (tmp_path / "data").exists()


def test_the_readers_address_is_told(run: Run, served: Served, tmp_path: Path) -> None:
    address = run("db", "url", "-c", served.config).stdout.strip()
    told = json.loads(run("db", "url", "-c", served.config, "--json").stdout)
    assert told["url"] == address
    assert told["user"] == f"{told['database']}_reader"
    assert execute(address, "select count(*) >= 0 from human") == [(True,)]
    embedded = tmp_path / "sensorstream.toml"
    embedded.write_text("")
    closed = run("db", "url", "-c", embedded, status=3)
    assert "set history.port" in closed.stderr
