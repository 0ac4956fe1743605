"""The CityBench queries, over the recorded streams, against Oxigraph on the window's content."""

from __future__ import annotations

import json
import re
import runpy
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from click.testing import CliRunner

from examples.citybench.prepare import BACKGROUND
from sensorstream.cli.run_command import command
from sensorstream.cli.simulation.city_messages import beside_the_source
from sensorstream.installation import bundled
from tests.recordings import NO_RECORDINGS

EXAMPLE = bundled("ontologies").parent / "examples" / "citybench"
QUERIES = [f"Q{number}" for number in range(1, 6)]
RANGE, STEP = 3, 1
Ours = Callable[[str], dict[int, Counter[Any]]]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the example's script makes of two hours."""
    folder = beside_the_source()
    if folder is None:
        pytest.skip(NO_RECORDINGS)
    out = tmp_path_factory.mktemp("citybench")
    script = EXAMPLE / "prepare.py"
    arguments = [str(script), str(folder), str(out), "--to", "2014-08-01T10:00"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", arguments)
        runpy.run_path(str(script), run_name="__main__")
    return out


@pytest.fixture(scope="module")
def background(prepared: Path) -> ox.Store:
    store = ox.Store()
    for name in BACKGROUND:
        store.load(path=prepared / name, format=ox.RdfFormat.TURTLE)
    return store


@pytest.fixture(scope="module")
def ours(prepared: Path) -> Ours:
    """The reports of a query in the language of its file, which is run once."""
    return cache(lambda name: _run(EXAMPLE / f"{name}.rq", prepared))


@pytest.mark.parametrize("name", QUERIES)
def test_every_report_is_what_oxigraph_finds_in_the_windows(
    name: str, prepared: Path, background: ox.Store, ours: Ours
) -> None:
    reports = ours(name)
    text = (EXAMPLE / f"{name}.rq").read_text()
    events = [json.loads(line) for line in (prepared / "events.jsonl").read_text().splitlines()]
    last = max(event["time"] for event in events)
    expected = {}
    time = 0
    while time < last + STEP:
        if rows := _answer(text, events, time, background):
            expected[time] = rows
        time += STEP
    assert len(expected) > 10
    assert reports == expected


@pytest.mark.parametrize("language", ["C-SPARQL", "CQELS"])
@pytest.mark.parametrize("name", QUERIES)
def test_in_other_languages_it_is_the_same_query(
    name: str, language: str, prepared: Path, ours: Ours, tmp_path: Path
) -> None:
    plain = (EXAMPLE / f"{name}.rq").read_text()
    windows = dict(re.findall(r"FROM NAMED WINDOW (ses:\w+) ON (ses:\w+)", plain))
    if language == "C-SPARQL":
        text = re.sub(
            r"NAMED WINDOW ses:\w+ ON (.*) \[.*\]", r"STREAM \1 [RANGE 3s STEP 1s]", plain
        )
        text = re.sub(r"WINDOW ses:\w+ \{", "{", text).replace("RSTREAM", "QUERY")
    else:
        text = re.sub(r"FROM NAMED WINDOW.*\n", "", plain)
        for window, stream in windows.items():
            text = text.replace(f"WINDOW {window}", f"STREAM {stream} [RANGE 3s SLIDE 1s]")
    assert text.count("STREAM ses:") == len(windows)
    assert "WINDOW" not in text
    file = tmp_path / f"{name}.rq"
    file.write_text(text)
    assert _run(file, prepared) == ours(name)


@pytest.mark.parametrize("name", ["Q1", "Q2"])
def test_rules_over_time_take_each_or_the_last(name: str, prepared: Path) -> None:
    told: dict[str, list[tuple[float, str, str]]] = {}
    for line in (prepared / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        stream = event["stream"].rsplit("#")[-1]
        for found in re.finditer(r"<(\S+-(\w+))> <\S+hasValue> \"(.*?)\"", event["graph"]):
            of = f"{stream}-{found[2]}"
            told.setdefault(of, []).append((event["time"], found[1], found[3]))
    road = told["AarhusTrafficData158505-CongestionLevel"]
    expected: list[tuple[Any, ...]] = []
    if name == "Q1":
        for first in told["AarhusTrafficData182955-CongestionLevel"]:
            for second in road:
                gap = second[0] - first[0]
                times = [second[0]] * (0 <= gap <= RANGE) + [first[0]] * (0 <= -gap <= RANGE)
                expected += [(time, first[1], second[1]) for time in times]
    else:
        kinds = ("Temperature", "Humidity", "WindSpeed")
        for time, _, value in road:
            weather = [
                [v for t, _, v in told[f"AarhusWeatherData0-{kind}"] if 0 <= time - t <= RANGE]
                for kind in kinds
            ]
            if all(weather):
                expected.append((time, value, *(each[-1] for each in weather)))
    statics = [part for each in BACKGROUND for part in ("--static", str(prepared / each))]
    rules = ["--rules", str(EXAMPLE / f"{name}.dotr"), "--events", str(prepared / "events.jsonl")]
    result = CliRunner().invoke(command, [*rules, *statics])
    assert result.exit_code == 0, result.output
    reported = []
    for line in result.stdout.splitlines():
        row = json.loads(line)
        objects = dict(re.findall(r'#(\w+)> [<"](.*?)[>"](?:\^\^\S+)? \.', row["graph"]))
        order = ("first", "second", "congestion", "temperature", "humidity", "windSpeed")
        reported.append((row["time"], *(objects[each] for each in order if each in objects)))
    assert len(expected) > 10
    assert sorted(reported) == sorted(expected)


def _run(query: Path, folder: Path) -> dict[int, Counter[Any]]:
    statics = [part for each in BACKGROUND for part in ("--static", str(folder / each))]
    result = CliRunner().invoke(
        command, ["--query", str(query), "--events", str(folder / "events.jsonl"), *statics]
    )
    assert result.exit_code == 0, result.output
    # Nothing is evaluated anew.
    assert result.stderr == ""
    reports: dict[int, Counter[Any]] = {}
    for line in result.stdout.splitlines():
        row = json.loads(line)
        assert (row["query"], row["op"]) == (query.stem, "=")
        cells = {key: _own(**term) for key, term in row["bindings"].items()}
        reports.setdefault(row["time"], Counter())[tuple(sorted(cells.items()))] += 1
    return reports


def _answer(
    text: str, events: list[dict[str, Any]], time: int, background: ox.Store
) -> Counter[Any]:
    """The query as plain SPARQL, each window a named graph of what happened in its range."""
    streams = dict(re.findall(r"FROM NAMED WINDOW ses:(\w+) ON ses:(\w+)", text))
    assert text.count("[RANGE PT3S STEP PT1S]") == len(streams)
    plain = re.sub(r"REGISTER .* AS|FROM NAMED WINDOW .*", "", text).replace("WINDOW", "GRAPH")
    namespace = "http://www.insight-centre.org/dataset/SampleEventService#"
    for graph in list(background.named_graphs()):
        background.remove_graph(graph)
    for window, stream in streams.items():
        for event in events:
            if event["stream"] == namespace + stream and time - RANGE < event["time"] <= time:
                background.load(
                    event["graph"],
                    ox.RdfFormat.N_TRIPLES,
                    to_graph=ox.NamedNode(namespace + window),
                )
    solutions = background.query(plain)
    assert isinstance(solutions, ox.QuerySolutions)
    names = [each.value for each in solutions.variables]
    return Counter(tuple(sorted((name, _theirs(row[name])) for name in names)) for row in solutions)


def _own(type: str, value: str, datatype: str = "") -> Any:
    if type == "bnode":
        # Each store names blank nodes in its own way.
        return type, ""
    return (type, float(value)) if datatype.endswith(("double", "decimal")) else (type, value)


def _theirs(term: Any) -> Any:
    if isinstance(term, ox.Literal):
        return _own("literal", term.value, term.datatype.value)
    return _own("bnode" if isinstance(term, ox.BlankNode) else "uri", term.value)
