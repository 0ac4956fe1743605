"""``sensorstream query --on ontology``: without a server, by the profile of the settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]

QUERY = """PREFIX owl: <http://www.w3.org/2002/07/owl#> PREFIX : <urn:x:>
SELECT ?x { ?x a [ a owl:Class ; owl:unionOf ( :A :B ) ] }"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "o.ttl").write_text(
        "@prefix : <urn:x:> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        ":A a owl:Class . :B a owl:Class . :a a :A . :b a :B . :c a owl:NamedIndividual ."
    )
    file = tmp_path / "sensorstream.toml"
    file.write_text('[ontology]\nfiles = ["o.ttl"]\n[reasoning]\nprofile = "hermit"\n')
    return file


def test_an_ontology_is_asked_without_a_server(run: Run, config: Path) -> None:
    result = run("query", "--on", "ontology", "--config", config, "--json", QUERY, status=0)
    found = json.loads(result.stdout)["results"]["bindings"]
    assert {each["x"]["value"] for each in found} == {"urn:x:a", "urn:x:b"}


@pytest.mark.parametrize(
    "option", [("--url", "http://localhost:1"), ("--at", "3"), ("--during", "1/2")]
)
def test_an_ontology_has_no_server_and_no_time(
    run: Run, config: Path, option: tuple[str, str]
) -> None:
    result = run("query", "--on", "ontology", "--config", config, *option, QUERY, status=2)
    assert "--on ontology reads files" in result.output
