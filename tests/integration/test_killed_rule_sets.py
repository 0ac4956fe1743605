"""A server killed, and its rule set edited before the next start."""

from __future__ import annotations

import re
from pathlib import Path

import httpx

from tests.integration.serving import init, kill, serving

SET = """PREFIX : <http://sensorstream.example/tracking#>
# told
INSERT { ?x a :Person%s } WHERE { ?x a :Human } ;
"""


def persons(client: httpx.Client, **chosen: str) -> set[str]:
    """Of which rule sets somebody is a person."""
    found = client.get(
        "/sparql",
        params={"query": "SELECT DISTINCT ?c { ?x a ?c }", **chosen},
        headers={"accept": "application/sparql-results+json"},
    )
    rows = found.json()["results"]["bindings"]
    return {row["c"]["value"][-1] for row in rows if "#Person" in row["c"]["value"]}


def test_what_was_acknowledged_meets_the_rule_set_of_its_time(folder: Path) -> None:
    folder = folder / "work"
    init(folder)
    settings = folder / "sensorstream.toml"
    text, count = re.subn(r'\nprofile = "[a-z]+"', '\nprofile = "mine.ru"', settings.read_text())
    assert count == 1
    settings.write_text(text)
    (folder / "mine.ru").write_text(SET % "1")
    first, second, *_ = sorted((folder / "messages").glob("face-*.xml"))
    xml = {"content-type": "application/xml"}
    with serving(folder) as (process, client):
        for each in (first, second):
            answer = client.post("/messages", content=each.read_bytes(), headers=xml)
            assert answer.status_code == 200
        assert persons(client) == {"1"}
        kill(process)
    (folder / "mine.ru").write_text(SET % "2")
    at = re.search(r"\d+", first.stem)
    assert at is not None
    with serving(folder) as (process, client):
        assert persons(client) == {"2"}
        assert persons(client, on="history", at=at.group()) == {"1"}
        versions = client.get("/rules/mine.ru/versions").json()["versions"]
        assert [each["by"] for each in versions] == ["settings", "settings"]
        kill(process)
    with serving(folder) as (_, client):
        assert persons(client) == {"2"}
        assert persons(client, on="history", at=at.group()) == {"1"}
        assert client.get("/rules/mine.ru/versions").json()["versions"] == versions
