"""``sensorstream ruleset``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sensorstream.reasoning.rulesets.library import SUMMARIES, text_of

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_sets_are_listed_with_their_sources(run: Run) -> None:
    lines = run("ruleset", "list").output.splitlines()
    assert [line.split()[0] for line in lines] == list(SUMMARIES)
    assert "16 rules   5 facts  rho-df" in lines[2]
    (rhodf,) = (each for each in json.loads(run("ruleset", "list", "--json").output)
                if each["name"] == "rhodf")  # fmt: skip
    assert rhodf["facts"] == 5
    assert rhodf["rules"][0] == {
        "name": "2(a)",
        "line": 9,
        "comment": "Subproperty, transitive; rdfs5",
    }


def test_a_set_is_shown_as_it_is(run: Run) -> None:
    assert run("ruleset", "show", "owl2rl").output == text_of("owl2rl")


def test_a_copy_can_be_edited_and_shown(run: Run, folder: Path) -> None:
    assert run("ruleset", "copy", "rdf").output == "wrote rdf.ru\n"
    file = folder / "rdf.ru"
    file.write_text(file.read_text().replace("# rdfD2", "# mine"))
    assert "# mine\n" in run("ruleset", "show", "rdf.ru").output
    assert run("ruleset", "show", "rdf.ru", "--names").output == "rdf.ru:11:1: mine\n"


def test_a_copy_overwrites_nothing(run: Run, folder: Path) -> None:
    (folder / "rdf.ru").write_text("mine")
    result = run("ruleset", "copy", "rdf")
    assert result.exit_code == 1
    assert "rdf.ru exists: nothing was written" in result.stderr
    assert (folder / "rdf.ru").read_text() == "mine"
    (folder / "sub").mkdir()
    assert run("ruleset", "copy", "rdf", "sub").output == "wrote sub/rdf.ru\n"
    assert (folder / "sub" / "rdf.ru").read_text() == text_of("rdf")


def test_a_set_that_does_not_exist_is_told_with_those_that_do(run: Run) -> None:
    told = run("ruleset", "show", "owl2el").stderr
    assert "there is no rule set 'owl2el': expected one of rdf, rdfs, rhodf" in told


def test_a_file_that_is_no_rule_set_is_told_with_its_place(run: Run, folder: Path) -> None:
    (folder / "mine.ru").write_text("INSERT { ?x a <:C> }\nWHERE { ?x a }")
    assert run("ruleset", "show", "mine.ru").stderr.startswith(
        "error[query]: mine.ru:2:14: unexpected '}'"
    )
    (folder / "mine.ru").write_bytes(b"\xff\xfe")
    assert "cannot be read as text" in run("ruleset", "show", "mine.ru").stderr


def test_events_run_through_a_set(run: Run, folder: Path) -> None:
    (folder / "s.ttl").write_text(
        "@prefix : <urn:x#> .\n:near a <http://www.w3.org/2002/07/owl#SymmetricProperty> ."
    )
    (folder / "q.rq").write_text("SELECT ?x { ?x <urn:x#near> <urn:x#a> }")
    (folder / "e.jsonl").write_text(
        json.dumps({"time": 1, "graph": "<urn:x#a> <urn:x#near> <urn:x#b> ."})
    )
    told = ("--window", "landmark", "--static", "s.ttl", "--query", "q.rq", "--events", "e.jsonl")
    found = json.loads(run("run", "--ruleset", "owl2rl", *told).output)
    assert found["bindings"]["x"]["value"] == "urn:x#b"
    assert run("run", "--ruleset", "rhodf", *told).output == ""
    refused = run("run", "--ruleset", "nix", *told)
    assert refused.exit_code == 1
    assert "'nix' is not known: expected one of none, plain" in refused.output + refused.stderr
