from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]

QUERY = """PREFIX : <http://example.org/>
REGISTER RSTREAM :sums AS SELECT ?s (SUM(?v) AS ?sum)
FROM NAMED WINDOW :w ON :readings [RANGE PT10S STEP PT5S]
WHERE { WINDOW :w { ?s :value ?v } ?s a :Sensor } GROUP BY ?s"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "sums.rq").write_text(QUERY)
    (tmp_path / "anew.rq").write_text("SELECT ?x (RAND() AS ?r) WHERE { ?x ?p ?y }")
    (tmp_path / "alone.rq").write_text("SELECT ?x WHERE { ?x a ?y }")
    (tmp_path / "kb.ttl").write_text("@prefix : <http://example.org/> . :a a :Sensor .")
    graph = "<http://example.org/a> <http://example.org/value> 7 ."
    stream = "http://example.org/readings"
    events = [{"time": time, "stream": stream, "graph": graph} for time in (1, 6)]
    (tmp_path / "e.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in events))
    return tmp_path


def test_a_tree_shows_operators_counters_and_the_next_report(run: Run, files: Path) -> None:
    result = run(
        "explain",
        *("--query", files / "sums.rq", "--static", files / "kb.ttl"),
        *("--events", files / "e.jsonl"),
    )
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("http://example.org/sums: RSTREAM")
    assert "the next at 10" in lines[1]
    assert "stream <http://example.org/readings>" in lines[2]
    assert lines[-1].lstrip().startswith("Match in window <http://example.org/w>: ?s")
    assert "+1 -0" in lines[-1]
    indents = [len(line) - len(line.lstrip()) for line in lines[3:]]
    assert indents == sorted(indents)


def test_a_plan_is_printed_before_anything_runs(run: Run, files: Path) -> None:
    result = run("explain", "--query", files / "sums.rq", "--static", files / "kb.ttl", "--plan")
    assert result.exit_code == 0, result.output
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert [line.split()[0] for line in lines] == ["Group", "Match"]
    assert "in window <http://example.org/w>: ?s <http://example.org/value> ?v" in lines[-1]
    assert run("explain", "--query", files / "anew.rq", "--plan").stdout.startswith("Evaluated")
    alone = run("explain", "--query", files / "alone.rq", "--static", files / "kb.ttl", "--plan")
    assert alone.stdout.rstrip().endswith("[about 1 rows before filters]")


def test_what_cannot_be_kept_in_step_is_named(run: Run, files: Path) -> None:
    result = run("explain", "--query", files / "anew.rq", status=0)
    assert "evaluated anew at every change: " in result.stdout


def test_the_operators_can_be_had_as_json(run: Run, files: Path) -> None:
    result = run("explain", "--query", files / "sums.rq", "--json")
    data = json.loads(result.stdout)
    assert data["root"] in {node["id"] for node in data["nodes"]}


def test_one_query_must_be_named(run: Run, files: Path) -> None:
    assert run("explain").exit_code == 2
    assert run("explain", "--query", files / "sums.rq", "--name", "x").exit_code == 2
