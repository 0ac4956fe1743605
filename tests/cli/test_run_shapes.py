from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.test_run_command import Run
from tests.cli.test_validate_command import BLOCKS, EXAMPLE, PAGE

LINES = re.findall(r"^```json\n(.*?)^```", PAGE.read_text(), re.M | re.S)
EVENTS, ANSWER = LINES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shapes.ttl").write_text(BLOCKS["shapes.ttl"])
    (tmp_path / "events.jsonl").write_text(EVENTS)
    return tmp_path


def shaped(run: Run, folder: Path, *options: str) -> Result:
    files = [f"--shapes={folder / 'shapes.ttl'}", f"--events={folder / 'events.jsonl'}"]
    return run("run", *files, *options)


def read(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_example_of_the_page_begins_and_ends(run: Run, folder: Path) -> None:
    result = shaped(run, folder)
    assert result.exit_code == 0, result.output
    assert read(result.stdout) == read(ANSWER)


def test_a_violation_ends_with_the_individual_that_leaves_the_window(
    run: Run, folder: Path
) -> None:
    events = [{"time": n, "graph": f"<{EXAMPLE}s{n}> a <{EXAMPLE}Sensor> ."} for n in range(1, 4)]
    (folder / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
    found = read(shaped(run, folder, "--window=sliding 2 individuals").stdout)
    told = [(each["op"], each["focus"].removeprefix(EXAMPLE), each["time"]) for each in found]
    assert [each for each in told if each[2] < 3] == [("+", "s1", 1), ("+", "s2", 2)]
    assert set(told[2:]) == {("-", "s1", 3), ("+", "s3", 3)}


def test_what_the_static_graph_violates_has_no_time(run: Run, folder: Path) -> None:
    (folder / "data.ttl").write_text(BLOCKS["data.ttl"])
    (first, second, *_) = read(shaped(run, folder, f"--static={folder / 'data.ttl'}").stdout)
    assert [first["time"], second["time"]] == [None, None]
    assert {first["focus"], second["focus"]} == {f"{EXAMPLE}s2"}
    assert {first["value"], second["value"]} == {None, '"warm"'}


def test_queries_and_rules_are_told_beside_shapes(run: Run, folder: Path) -> None:
    (folder / "all.rq").write_text("SELECT ?s { ?s ?p ?o }")
    found = read(shaped(run, folder, f"--query={folder / 'all.rq'}").stdout)
    assert sum("shape" in each for each in found) == 2
    assert any(each.get("query") == "all" for each in found)


def test_messages_tell_violations_after_what_was_made_of_them(run: Run, folder: Path) -> None:
    (folder / "rooms.rules").write_text(
        f"prefix : <{EXAMPLE}>\n"
        "mapping sensor\non message {/Sensor}\n"
        "then insert individual :{@id} a :Sensor at {@time} .\n"
    )
    (folder / "kb.ttl").write_text(f"<{EXAMPLE}Sensor> a <http://www.w3.org/2002/07/owl#Class> .")
    (folder / "m.xml").write_text('<Sensor id="s9" time="5"/>')
    result = run(
        "run",
        f"--messages={folder / 'm.xml'}",
        f"--mapping={folder / 'rooms.rules'}",
        f"--static={folder / 'kb.ttl'}",
        f"--shapes={folder / 'shapes.ttl'}",
        "--line=integer",
        "--json",
    )
    assert result.exit_code == 0, result.output
    message, *_, violation = read(result.stdout)
    assert (message["status"], message["reports"]) == ("accepted", [])
    assert (violation["focus"], violation["op"], violation["time"]) == (f"{EXAMPLE}s9", "+", 5)


def test_a_recursive_shape_is_refused_by_name_with_its_place(run: Run, folder: Path) -> None:
    text = BLOCKS["shapes.ttl"] + ":SensorShape sh:node :SensorShape ."
    (folder / "shapes.ttl").write_text(text)
    result = shaped(run, folder)
    assert result.exit_code == 1
    assert f"shapes.ttl:5:1: <{EXAMPLE}SensorShape>: it cannot be compiled" in result.stderr
    assert "recursive" in result.stderr


@pytest.mark.parametrize("profile", ["hermit", "pellet"])
def test_a_class_that_only_a_definition_implies_has_its_shape(
    run: Run, folder: Path, profile: str
) -> None:
    (folder / "kb.ttl").write_text(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        f"@prefix : <{EXAMPLE}> .\n<{EXAMPLE}> a owl:Ontology .\n"
        ":Device a owl:Class . :Wet a owl:Class . :hasRoom a owl:ObjectProperty .\n"
        ":in a owl:ObjectProperty . :hasValue a owl:DatatypeProperty .\n"
        ":Sensor a owl:Class ; owl:equivalentClass [ a owl:Class ; owl:intersectionOf ( :Device\n"
        "[ a owl:Restriction ; owl:onProperty :in ; owl:someValuesFrom :Wet ] ) ] ."
    )
    said = [":s1 a :Device ; :in :bath", ":bath a :Wet", ":s1 :hasRoom :bath"]
    events = [
        {"time": time, "graph": re.sub(r":(\w+)", rf"<{EXAMPLE}\1>", each) + " ."}
        for time, each in enumerate(said)
    ]
    (folder / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
    result = shaped(run, folder, f"--profile={profile}", f"--static={folder / 'kb.ttl'}")
    found = [(each["op"], each["focus"], each["time"]) for each in read(result.stdout)]
    assert found == [("+", f"{EXAMPLE}s1", 1), ("-", f"{EXAMPLE}s1", 2)]
