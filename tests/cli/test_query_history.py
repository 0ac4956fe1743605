"""``sensorstream query --on`` and ``explain --on``: a real server, its history and its window."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result

from sensorstream import Client
from sensorstream.history.read_only_sql import SqlResult
from sensorstream.spark import bulk_sql

Run = Callable[..., Result]

PREFIX = "PREFIX : <http://sensorstream.example/tracking#> "
COUNT = f"{PREFIX} SELECT (COUNT(DISTINCT ?p) AS ?n) {{ ?p a :Human }}"
NAMES = f"{PREFIX} SELECT ?n {{ ?p :hasName ?n }} ORDER BY ?n LIMIT 3"
SENT = 40


@pytest.fixture(scope="module")
def filled(run: Run, served: Any) -> Any:
    """The server after forty messages."""
    run("simulate", "tracker", "--url", served.url, "--count", SENT, "--seed", "5", status=0)
    return served


def number(result: Result) -> int:
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)["results"]["bindings"]
    return int(row["n"]["value"])


def test_the_window_and_history_together_are_all(run: Run, filled: Any) -> None:
    server = ("query", "--url", filled.url, "--json", COUNT)
    cache, history, both = (
        number(run(*server, "--on", place)) for place in ("cache", "history", "all")
    )
    assert (cache + history, both) == (SENT, SENT)
    assert cache > 0
    assert history > 0
    # Beside the server, as "sensorstream sql" reads it.
    beside = run("query", "-c", filled.config, "--on", "history", "--json", COUNT)
    assert number(beside) == history


def test_clients_ask_history_too(filled: Any) -> None:
    with Client(filled.url) as client:
        assert len(client.query(NAMES, on="history")) == 3
        assert client.ask("ASK { ?s ?p ?o }", on="all", at="-1000000") is True
        assert client.ask("ASK { ?s ?p ?o }", on="history", during="-9/-5") is False
        text = f"{PREFIX} CONSTRUCT WHERE {{ ?p :hasName ?n }}"
        assert "hasName" in client.construct(text, on="history")


def test_the_valid_time_stands_beside_the_query_or_in_it(run: Run, filled: Any) -> None:
    ask = ("query", "-c", filled.config, "--on", "history", "--json")
    written = f"{PREFIX} SELECT (COUNT(DISTINCT ?p) AS ?n) AT 12 {{ ?p a :Human }}"
    assert number(run(*ask, COUNT, "--at", "12")) == number(run(*ask, written))
    assert number(run(*ask, COUNT, "--at", "-1")) == 0
    assert number(run(*ask, COUNT, "--during", "0/1000")) > number(run(*ask, COUNT, "--at", "12"))


@pytest.mark.parametrize("url", [True, False])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.json", "a.xml", "a.arrow", "a.parquet"])
def test_an_answer_is_stored_in_the_format_of_the_files_name(
    run: Run, filled: Any, tmp_path: Path, name: str, url: bool
) -> None:
    where = ("--url", filled.url) if url else ("-c", filled.config)
    target = tmp_path / name
    run("query", *where, "--on", "history", NAMES, "--output", target, status=0)
    assert list(tmp_path.iterdir()) == [target]
    content = target.read_bytes()
    match target.suffix:
        case ".arrow":
            assert pa.ipc.open_stream(content).read_all().num_rows == 3
        case ".parquet":
            assert pq.read_table(target).num_rows == 3
        case ".json":
            assert len(json.loads(content)["results"]["bindings"]) == 3
        case ".xml":
            assert content.count(b"<result>") == 3
        case _:
            assert len(content.splitlines()) == 4


def test_a_table_is_shown_and_a_graph_is_turtle(run: Run, filled: Any) -> None:
    ask = ("query", "-c", filled.config, "--on", "history")
    assert run(*ask, NAMES).stdout.splitlines()[0].strip() == "n"
    assert run(*ask, "ASK {}").stdout == "yes\n"
    graph = run(*ask, f"{PREFIX} CONSTRUCT WHERE {{ ?p :hasName ?n }} LIMIT 1").stdout
    assert "hasName" in graph


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("ASK {}", "--at", "5"), 2, "--at and --during need --on history, all or archive"),
        (("ASK {}", "--on", "all", "--at", "5", "--during", "5/6"), 2, "--at or --during"),
        (("ASK {}", "--on", "spark", "--url", "http://localhost:1"), 2, "starts Spark itself"),
        (("ASK FROM <urn:sensorstream:static> {}", "--on", "spark"), 1, "with --on all"),
        (("ASK {}", "--on", "history", "--at", "noon"), 1, "'noon' is not"),
        (("ASK {}", "--on", "history", "--format", "csv"), 1, "cannot be written as text/csv"),
        (("ASK {", "--on", "history"), 1, "query:1:6: the text ends here"),
        (("ASK {}", "--on", "history", "--output", "answer.doc"), 2, "its name says no format"),
    ],
)
def test_a_wrong_combination_is_refused_with_the_way_out(
    run: Run, filled: Any, arguments: tuple[str, ...], code: int, said: str
) -> None:
    result = run("query", "-c", filled.config, *arguments)
    assert result.exit_code == code
    assert said in " ".join(result.stderr.split())


def test_a_fault_leaves_no_file(run: Run, filled: Any, tmp_path: Path) -> None:
    target = tmp_path / "answer.csv"
    target.write_text("before")
    run("query", "-c", filled.config, "--on", "history", "ASK {}", "--output", target, status=1)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [
        ("answer.csv", "before")
    ]


def test_explain_shows_algebra_sql_and_plan(run: Run, filled: Any) -> None:
    explain = ("explain", "-c", filled.config, "--on", "history", NAMES)
    shown = run(*explain, status=0)
    assert "-- algebra\nSlice 3 from 0\n  Project ?n\n    OrderBy ?n\n      BGP" in shown.stdout
    assert "-- sql\nSELECT" in shown.stdout
    assert "store.statements" in shown.stdout
    assert "actual" not in shown.stdout
    parts = json.loads(run(*explain, "--analyze", "--json").stdout)
    assert "actual" in parts["plan"]
    refused = run("explain", "--at", "5", NAMES, status=2)
    assert "need --on" in refused.stderr


def test_explain_asks_the_server_about_what_holds_now(run: Run, filled: Any) -> None:
    parts = json.loads(run("explain", "--url", filled.url, "--on", "cache", NAMES, "--json").stdout)
    assert parts["algebra"].startswith("Slice 3 from 0")
    assert parts["sql"] == ""
    assert "Oxigraph answers this" in parts["plan"]
    both = json.loads(run("explain", "--url", filled.url, "--on", "all", NAMES, "--json").stdout)
    assert "store.statements" in both["sql"]
    assert "Limit" in both["plan"]
    past = run("explain", "--url", filled.url, "--on", "history", "--at", "5", NAMES)
    assert "span(valid_from, valid_to)" in past.stdout
    refused = run("explain", "--url", filled.url, "--on", "all", "--analyze", NAMES, status=2)
    assert "without --url" in refused.stderr


def test_window_and_history_are_validated(run: Run, filled: Any, tmp_path: Path) -> None:
    shapes = tmp_path / "shapes.ttl"
    shapes.write_text(
        "@prefix : <http://sensorstream.example/tracking#> ."
        "@prefix sh: <http://www.w3.org/ns/shacl#> .\n"
        ":Named sh:targetClass :Human ; sh:property [ sh:path :hasName ; sh:maxCount 0 ] ."
    )

    def focused(*given: str) -> set[str]:
        result = run("validate", f"--shapes={shapes}", *given, "--json")
        found = json.loads(result.stdout)
        assert result.exit_code == (0 if found["conforms"] else 1)
        return {each["focus"] for each in found["results"]}

    server = ("--url", filled.url)
    held, left, both = (focused(*server, "--on", each) for each in ("cache", "history", "all"))
    assert held
    assert left
    assert held | left == both
    assert len(both) == SENT
    assert focused(*server, "--on", "history", "--at", "12") < left
    assert focused(*server, "--on", "all", "--at=-1") == set()
    # Beside the server, too.
    assert focused("-c", filled.config, "--on", "history") == left


def test_spark_writes_an_answer_in_sql_where_the_command_says(
    run: Run, filled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(place: object, text: str, *, output: str, **_: object) -> SqlResult:
        return SqlResult(("output", "rows"), ((output, 3),), truncated=False)

    monkeypatch.setattr(bulk_sql, "run_spark_sql", written)
    ask = ("sql", "-c", filled.config, "select 1", "--output", "s3a://lake/n.csv")
    told = run(*ask, "--on", "spark", "--json", status=0).stdout
    assert json.loads(told)["rows"] == [["s3a://lake/n.csv", 3]]
    refused = run(*ask, status=2).stderr
    assert "add --on spark" in refused
