"""``sensorstream ruleset``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sensorstream.reasoning.rulesets.rule_set import combined
from sensorstream.reasoning.rulesets.rule_set_reader import SUMMARIES, bundled_rules, text_of

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
    result = run("ruleset", "copy", "rdf", status=1)
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
    refused = run("run", "--ruleset", "nix", *told, status=1)
    assert "'nix' is not known: expected one of none, plain" in refused.output + refused.stderr


def test_what_an_ontology_and_queries_do_not_need_is_left_out(run: Run, folder: Path) -> None:
    (folder / "o.ttl").write_text(
        "@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ":A a owl:Class ; rdfs:subClassOf :B . :B a owl:Class . :p a owl:TransitiveProperty .\n"
    )
    (folder / "q.rq").write_text("SELECT * { ?x a <http://example.org/B> }")
    told = ("ruleset", "minimise", "owl2rl, rhodf", "--ontology", "o.ttl")
    printed = run(*told, "--query", "q.rq").output
    count = len(combined(map(bundled_rules, ("owl2rl", "rhodf"))).rules)
    assert printed.startswith(
        f"# The rules of owl2rl, rhodf that o.ttl needs with q.rq:\n# 1 of {count}.\n"
        "# Left out, as they cannot fire, or reach no query:\n#   eq-ref, eq-sym"
    )
    assert "# cax-sco\n# OWL 2 Profiles, Table 7; rdfs9 in RDFS\nINSERT { ?x a ?d }" in printed
    (folder / "small.ru").write_text(printed)
    assert run("ruleset", "show", "small.ru", "--names").output.split()[1:] == ["cax-sco"]
    assert (
        "owl2rl that o.ttl needs with q.rq:\n# 1 of"
        in run(*told[:2], "owl2rl", *told[3:], "--query", "q.rq").output
    )
    (folder / "q.rq").write_text("SELECT * { ?x a <http://example.org/C> }")
    assert "no rule of owl2rl is needed: without inference (reasoning.profile = none)" in (
        run(*told[:2], "owl2rl", *told[3:], "--query", "q.rq").stderr
    )
    assert "cannot be read as text" in run(*told, "--query", "none.rq").stderr


def test_rules_that_delete_stay_with_the_rules_whose_conclusions_they_wait_for(
    run: Run, folder: Path
) -> None:
    (folder / "o.ttl").write_text("<x:p> a <http://www.w3.org/2002/07/owl#ObjectProperty> .")
    (folder / "q.rq").write_text("SELECT * { ?x <x:none> ?y }")
    (folder / "mine.ru").write_text(
        "# seen\nINSERT { ?x a <x:Seen> } WHERE { ?x <x:p> ?y } ;\n"
        "# idle\nINSERT { ?x a <x:Idle> } WHERE { ?x <x:p> ?y } ;\n"
        "# once\nDELETE { ?x <x:p> ?y } WHERE { ?x a <x:Seen> ; <x:p> ?y }"
    )
    printed = run("ruleset", "minimise", "mine.ru", "--ontology", "o.ttl", "--query", "q.rq").output
    (folder / "small.ru").write_text(printed)
    names = run("ruleset", "show", "small.ru", "--names").output
    assert [line.rpartition(" ")[2] for line in names.splitlines()] == ["seen", "once"]


def test_queries_and_patterns_in_time_see_what_rules_infer_come_and_go(
    run: Run, folder: Path
) -> None:
    (folder / "s.ttl").write_text(
        "@prefix : <urn:x#> .\n:partOf a <http://www.w3.org/2002/07/owl#TransitiveProperty> ."
    )
    said = ["a partOf b", "b partOf c", "a says d", "e says d", "a says f"]
    events = [
        {"time": time, "graph": " ".join(f"<urn:x#{name}>" for name in text.split()) + " ."}
        for time, text in enumerate(said, 1)
    ]
    (folder / "e.jsonl").write_text("\n".join(map(json.dumps, events)))
    for name, pattern in {
        "far": "?x :partOf :c",
        "after": "?x :partOf :c . { ?x :says ?y } SEQ { ?x :says ?z }",
    }.items():
        (folder / f"{name}.rq").write_text(f"PREFIX : <urn:x#> SELECT ?x {{ {pattern} }}")
    printed = run(
        *("run", "--ruleset", "owl2rl", "--window", "sliding 2 individuals", "--static", "s.ttl"),
        *("--query", "far.rq", "--query", "after.rq", "--events", "e.jsonl"),
    ).stdout
    rows = [json.loads(line) for line in printed.splitlines()]
    found = [(r["query"], r["time"], r["op"], r["bindings"]["x"]["value"][-1]) for r in rows]
    # With e in the window b has left it, and with it what follows for a.
    assert sorted(found) == [
        ("after", 5, "+", "a"),
        *(("far", 2, "+", name) for name in "ab"),
        *(("far", 4, "-", name) for name in "ab"),
    ]
