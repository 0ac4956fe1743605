"""The commands that go through history again: replay, rereason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from sensorstream.app.application import Application
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.settings.settings_file import load_settings

Run = Callable[..., Result]
OTHER = """
prefix : <http://sensorstream.example/tracking#>
rule seen on insert :Human as ?h then alert info "{?h}"
"""


@pytest.fixture(scope="module")
def config(new_workspace: Callable[[], Path]) -> Path:
    """A deployment whose server has taken in some messages, and ended."""
    made = new_workspace()
    with Application.open(load_settings(made)) as application:
        for each in tracker_messages(12):
            application.submit(each, "test").result(60)
    (made.parent / "other.rules").write_text(OTHER)
    return made


def test_replay_compares_the_alerts(run: Run, config: Path) -> None:
    same = run("replay", "-c", config, status=0)
    assert "12 entries" in same.stderr
    assert "0 more, 0 fewer" in same.stderr
    other = run("replay", "-c", config, "--rules", config.parent / "other.rules", "--json")
    told = json.loads(other.stdout)
    assert told["whole"]
    assert {each["rule"] for each in told["alerts"] if each["would"]} == {"seen"}
    lines = run("replay", "-c", config, "--rules", config.parent / "other.rules").stdout
    assert {line[0] for line in lines.splitlines()} <= {"+", "-"}
    none = run("replay", "-c", config, "--to", "-5", "--json")
    assert json.loads(none.stdout)["alerts"] == []


def test_rereason_changes_nothing_with_the_same_ontology(run: Run, config: Path) -> None:
    for options in ((), ("--apply",)):
        found = run("rereason", "-c", config, "--json", *options, status=0)
        told = json.loads(found.stdout)
        assert (told["added"], told["removed"], told["standing"]) == (0, 0, 0)
    shown = run("rereason", "-c", config, "--from", "1", "--to", "3").stdout
    assert shown == "0 inferred statements would hold longer, 0 shorter\n"


@pytest.mark.parametrize("command", ["replay", "rereason"])
def test_times_that_make_no_span_are_refused(run: Run, config: Path, command: str) -> None:
    for options in (("--from", "soon"), ("--from", "3", "--to", "3")):
        refused = run(command, "-c", config, *options, status=2)
        assert "Invalid value for --" in refused.stderr
