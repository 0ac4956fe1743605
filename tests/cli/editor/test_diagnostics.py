"""The diagnostics of the editor are what ``check`` and ``run`` say."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import pytest
from click.testing import CliRunner

from sensorstream.cli import main
from sensorstream.cli.editor.language_server import Diagnostic, diagnostics
from sensorstream.cli.editor.open_files import EditedOntologies
from sensorstream.cli.init_command import TEMPLATES, make_workspace
from sensorstream.installation import bundled

PREFIX = "prefix : <http://sensorstream.example/tracking#>\n"
LATE = (
    "rule late on change\nif select { SELECT ?p { ?p :hasTime ?t FILTER(?t < NOW()) } }\n"
    'then alert info "{?p}"\n'
)


@pytest.mark.parametrize(
    "texts",
    [
        ["rule a on chance", PREFIX + LATE],
        [PREFIX + "mapping a on message {/a[} then insert individual :x a :Hum .", "prefix"],
        [PREFIX + LATE + 'rule unused on insert :Human as ?x then reply "<x/>"\n'],
        [PREFIX + 'table t from "no.csv" key "a" value "b"\n' + LATE],
        [PREFIX + LATE, PREFIX + LATE],
    ],
)
def test_they_are_those_of_check(tmp_path: Path, texts: list[str]) -> None:
    config = make_workspace(tmp_path, TEMPLATES["tracking"])
    paths = [tmp_path / "rules" / f"x{number}.rules" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    answer = json.loads(CliRunner().invoke(main, ["check", "-c", str(config), "--json"]).stdout)
    expected = [
        (is_fault, *(each[key] for key in ("file", "line", "column", "code", "message")))
        for is_fault, listed in ((True, answer["faults"]), (False, answer["notes"]))
        for each in listed
    ]
    assert expected
    found = diagnostics(paths[0], {paths[0]: texts[0]}, EditedOntologies())
    assert sorted(map(_row, chain.from_iterable(found.values()))) == sorted(expected)


def _row(found: Diagnostic) -> tuple[object, ...]:
    place = found.position
    return found.is_fault, place.file, place.line, place.column, found.code, found.message


def test_the_queries_of_the_examples_have_no_fault() -> None:
    queries = sorted((bundled("ontologies").parent / "examples").rglob("*.rq"))
    assert len(queries) > 3
    for path in queries:
        for each in diagnostics(path, {path: path.read_text("utf-8")}, EditedOntologies())[path]:
            assert not each.is_fault, each


def test_a_continuous_query_that_no_stream_can_answer_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "a.rq"
    window = "FROM NAMED WINDOW <w> ON <s> [RANGE PT5S]"
    text = f"DESCRIBE ?s {window} {{ WINDOW <w> {{ ?s ?p ?o }} }}"
    (fault,) = diagnostics(path, {path: text}, EditedOntologies())[path]
    assert (fault.code, fault.is_fault) == ("unsupported-query", True)
    assert fault.message.startswith("DESCRIBE: ")
    # Without a window it may be meant to be answered at once.
    text = "DESCRIBE ?s { ?s ?p ?o }"
    assert diagnostics(path, {path: text}, EditedOntologies())[path] == []


def test_a_query_that_describes_a_class_is_a_fault_if_the_reasoner_knows_names_only(
    tmp_path: Path,
) -> None:
    config = make_workspace(tmp_path, TEMPLATES["tracking"])
    path = tmp_path / "queries" / "some.rq"
    text = (
        "PREFIX : <http://sensorstream.example/tracking#>\n"
        "PREFIX owl: <http://www.w3.org/2002/07/owl#>\n"
        "SELECT * { ?x a [ owl:complementOf :Human ] }"
    )
    (found,) = diagnostics(path, {path: text}, EditedOntologies())[path]
    assert (found.is_fault, found.position.line, found.position.column) == (True, 3, 17)
    config.write_text(config.read_text().replace('profile = "hermit"', 'profile = "plain"'))
    assert not any(
        each.is_fault for each in diagnostics(path, {path: text}, EditedOntologies())[path]
    )
