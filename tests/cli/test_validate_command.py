from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import rdflib
from click.testing import Result

from tests.cli.test_run_command import Run

PAGE = Path(__file__).parents[2] / "docs" / "use" / "shapes.md"
BLOCKS = dict(re.findall(r"^```turtle\n# (\S+)\n(.*?)^```", PAGE.read_text(), re.M | re.S))
EXAMPLE = "http://example.org/"


def ask(run: Run, *given: object, code: int) -> Result:
    result = run("validate", *given)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in BLOCKS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_example_of_the_page_tells_two_violations(run: Run, folder: Path) -> None:
    given = [f"--shapes={folder / 'shapes.ttl'}", str(folder / "data.ttl")]
    result = ask(run, *given, code=1)
    report = rdflib.Graph().parse(data=result.stdout, format="turtle")
    assert len(list(report.objects(None, rdflib.SH.result))) == 2
    found = json.loads(ask(run, *given, "--json", code=1).stdout)
    assert not found["conforms"]
    room, value = sorted(found["results"], key=lambda each: str(each["path"]))
    assert room == {
        "shape": f"{EXAMPLE}SensorShape",
        "focus": f"{EXAMPLE}s2",
        "path": f"{EXAMPLE}hasRoom",
        "value": None,
        "component": str(rdflib.SH.MinCountConstraintComponent),
        "severity": str(rdflib.SH.Violation),
        "message": "a sensor without a room",
    }
    assert (value["value"], value["severity"]) == ('"warm"', str(rdflib.SH.Warning))


def test_data_that_conform_exit_with_0(run: Run, folder: Path) -> None:
    (folder / "data.ttl").write_text("<http://example.org/s1> <http://example.org/hasRoom> 1 .")
    result = ask(
        run, f"--shapes={folder / 'shapes.ttl'}", str(folder / "data.ttl"), "--json", code=0
    )
    assert json.loads(result.stdout) == {"conforms": True, "results": []}


def test_subclasses_in_another_file_of_data_count(run: Run, folder: Path) -> None:
    (folder / "more.ttl").write_text(
        "@prefix : <http://example.org/> . :t a :Thermometer . :Thermometer "
        "<http://www.w3.org/2000/01/rdf-schema#subClassOf> :Sensor ."
    )
    files = [str(folder / name) for name in ("data.ttl", "more.ttl")]
    result = ask(run, f"--shapes={folder / 'shapes.ttl'}", *files, "--json", code=1)
    assert len(json.loads(result.stdout)["results"]) == 3


@pytest.mark.parametrize(
    ("old", "new", "place", "told"),
    [
        ("minCount 1", 'minCount "x"', ":5:1", 'sh:minCount "x": expected datatype integer'),
        ("sh:path :hasRoom ;", "", ":5:1", "sh:path: expected minCount 1"),
        ("sh:targetClass :Sensor ;", "sh:targetClass ;", ":6:", ""),
        ("sh:minCount 1", 'sh:sparql [ sh:select "SELECT" ]', "", "a shape cannot be used"),
    ],
)
def test_wrong_shapes_exit_with_2_and_are_named_with_their_place(
    run: Run, folder: Path, old: str, new: str, place: str, told: str
) -> None:
    file = folder / "shapes.ttl"
    file.write_text(BLOCKS["shapes.ttl"].replace(old, new))
    result = ask(run, f"--shapes={file}", str(folder / "data.ttl"), code=2)
    assert f"error[shapes]: {file if place else ''}{place}" in result.stderr
    assert told in result.stderr
    assert "Traceback" not in result.stderr


def test_data_and_shapes_may_be_in_any_format_of_rdf(run: Run, folder: Path) -> None:
    shapes = rdflib.Graph().parse(folder / "shapes.ttl").serialize(format="json-ld")
    (folder / "shapes.jsonld").write_text(shapes)
    data = rdflib.Graph().parse(folder / "data.ttl").serialize(format="nt")
    (folder / "data.trig").write_text(f"<urn:g> {{ {data} }}")
    given = [f"--shapes={folder / 'shapes.jsonld'}", str(folder / "data.trig")]
    assert len(json.loads(ask(run, *given, "--json", code=1).stdout)["results"]) == 2


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--shapes={shapes}"], "expected DATA, or --on"),
        (["--shapes={shapes}", "--on=cache", "{data}"], "expected DATA, or --on"),
        (["--shapes={shapes}", "--on=cache", "--at=1"], "--at needs --on history"),
        (["{data}", "-c", "{config}"], "names no shapes.files"),
    ],
)
def test_what_is_to_be_validated_is_said_once(
    run: Run, folder: Path, given: list[str], told: str
) -> None:
    config = folder / "sensorstream.toml"
    config.write_text("[shapes]\nfiles = []\n")
    names = {"shapes": folder / "shapes.ttl", "data": folder / "data.ttl", "config": config}
    result = ask(run, *(each.format(**names) for each in given), code=2)
    assert told in result.stderr


def test_without_shapes_those_of_the_settings_are_taken(run: Run, folder: Path) -> None:
    config = folder / "sensorstream.toml"
    config.write_text('[shapes]\nfiles = ["shapes.ttl"]\n')
    found = json.loads(ask(run, "-c", config, folder / "data.ttl", "--json", code=1).stdout)
    assert len(found["results"]) == 2
