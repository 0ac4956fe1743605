"""The same events give the same output, whoever drives the engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import Result

from sensorstream.app.control.wiring import build_machine, read_deployment
from sensorstream.app.recorded_engine import recorded_events
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import (
    OntologySettings,
    RuleSettings,
    Settings,
    TimeSettings,
    WindowSettings,
)
from sensorstream.streams.event_lines import EventLines
from sensorstream.streams.operator_graph import graph_data
from sensorstream.streams.report_data import report_lines

Run = Callable[..., Result]

LINE: Timeline = Timeline.DATETIME

E = "http://example.org/"
STATIC = f"""@prefix : <{E}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Sensor a owl:Class . :Lamp a owl:Class ; rdfs:subClassOf :Sensor . :Other a owl:Class .
:value a owl:DatatypeProperty . :a a :Lamp ."""
UNRELATED = f"""prefix : <{E}>
rule unrelated
on insert :Other as ?who
then alert info "never"
"""
QUERIES = {
    "windows": """SELECT ?s (SUM(?v) AS ?sum) REPORT ON WINDOW CLOSE
        FROM NAMED WINDOW :w [RANGE PT10S STEP PT5S]
        WHERE { WINDOW :w { ?s :value ?v } ?s a :Sensor } GROUP BY ?s""",
    "outside": "SELECT (COUNT(*) AS ?n) REPORT EVERY PT3S WHERE { ?s :value ?v }",
    "both": """SELECT ?s ?v ?u REPORT EVERY PT4S FROM NAMED WINDOW :w ON :one [RANGE PT3S]
        WHERE { WINDOW :w { ?s :value ?v } OPTIONAL { ?s :value ?u FILTER(?u > ?v) } }""",
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "kb.ttl").write_text(STATIC)
    (tmp_path / "unrelated.rules").write_text(UNRELATED)
    for name, text in QUERIES.items():
        (tmp_path / f"{name}.rq").write_text(f"PREFIX : <{E}>\n{text}")
    random = Random(3)
    told = [
        {
            "time": f"2014-08-01T08:00:{time:02}Z",
            "stream": f"{E}{random.choice(['one', 'two'])}",
            "graph": f"<{E}{random.choice('ab')}> <{E}value> {random.randrange(9)} .",
        }
        for time in range(40)
    ]
    # In disorder; what comes more than five seconds late stays so.
    order = sorted(range(40), key=lambda n: n + random.uniform(0, 14))
    (tmp_path / "events.jsonl").write_text("".join(f"{json.dumps(told[n])}\n" for n in order))
    return tmp_path


def given(files: Path, query: str) -> tuple[object, ...]:
    return (
        "--query",
        files / f"{query}.rq",
        *("--events", files / "events.jsonl"),
        *("--static", files / "kb.ttl", "--window", "sliding 5 individuals"),
        *("--lateness", "PT5S"),
    )


@pytest.fixture
def server_like(files: Path) -> Iterator[Callable[[Path | None], Engine]]:
    """Engines as a server builds them, from settings."""
    engines = []

    def start(rules: Path | None) -> Engine:
        settings = Settings(
            files / "sensorstream.toml",
            ontology=OntologySettings((files / "kb.ttl",)),
            rules=RuleSettings(() if rules is None else (rules,)),
            window=WindowSettings(size="5"),
        )
        # Nothing arrives by a clock here: no source falls silent.
        time = TimeSettings(line="datetime", lateness="PT5S", idle=1e6)
        deployment = read_deployment(replace(settings, time=time))
        engines.append(build_machine(deployment, lambda: 0.0).engine)
        return engines[-1]

    yield start
    for engine in engines:
        engine.close()


def lines_of(outcome: Outcome) -> Iterator[dict[str, Any]]:
    for each in (*outcome.released, outcome):
        for told in each.reports:
            yield from report_lines(told.report, LINE.format)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("with_rules", [False, True])
def test_run_explain_and_a_server_tell_the_same(
    query: str,
    with_rules: bool,
    files: Path,
    run: Run,
    server_like: Callable[[Path | None], Engine],
) -> None:
    rules = files / "unrelated.rules" if with_rules else None
    options = () if rules is None else ("--rules", rules)
    engine = server_like(rules)
    engine.register(query, (files / f"{query}.rq").read_text())
    outcomes = []
    lines = EventLines("events")
    with (files / "events.jsonl").open() as source:
        for event in recorded_events(lines, source):
            outcomes.append(engine.take(event))
    explained = graph_data(engine.queries.processor.queries[query], lines.format)
    outcomes.append(engine.finish())
    expected = [line for outcome in outcomes for line in lines_of(outcome)]
    late = sum(each.status.value == "late" for each in outcomes)
    assert len(expected) > 5
    assert late

    result = run("run", *given(files, query), *options, status=0)
    assert [json.loads(line) for line in result.stdout.splitlines()] == expected
    assert f"{late} events were late beyond PT5S" in result.stderr

    told = run("explain", *given(files, query), *options, "--json", status=0)
    assert json.loads(told.stdout) == explained
    assert f"{late} events were late beyond PT5S" in told.stderr


@pytest.mark.parametrize("query", QUERIES)
def test_an_unrelated_rule_file_changes_no_answer(query: str, files: Path, run: Run) -> None:
    plain = run("run", *given(files, query))
    with_rules = run("run", *given(files, query), "--rules", files / "unrelated.rules")
    assert plain.stdout.splitlines()
    assert with_rules.stdout == plain.stdout
