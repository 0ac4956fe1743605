"""``sensorstream archive`` and ``sensorstream sql --on archive``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sensorstream.cli import main
from tests.archive.conftest import DAYS


@pytest.fixture
def config(tmp_path: Path, history: str) -> Path:
    """The settings of a deployment over the history."""
    file = tmp_path / "sensorstream.toml"
    file.write_text(f'[history]\nurl = "{history}"\n[time]\nline = "datetime"\n')
    return file


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


def test_days_are_archived_listed_asked_restored_and_deleted(config: Path) -> None:
    tried = run("archive", "--older-than", "P30D", "-c", config, "--json", "--dry-run")
    assert tried.exit_code == 0, tried.output
    assert run("archive", "list", "-c", config).stdout == "none\n"
    assert not (config.parent / "data" / "archive").exists()
    moved = run("archive", "--older-than", "P30D", "-c", config, "--json")
    assert moved.exit_code == 0, moved.output
    assert json.loads(tried.stdout) == [each | {"bytes": None} for each in json.loads(moved.stdout)]
    names = [each["part"] for each in json.loads(moved.stdout)]
    assert names[0] == "2014-08-01"
    assert json.loads(run("archive", "list", "-c", config, "--json").stdout) == json.loads(
        moved.stdout
    )
    question = "select count(*) as n from statements where inferred"
    asked = run("sql", "--on", "archive", "-c", config, "--csv", question)
    assert asked.stdout == "n\n160\n"
    sparql = "SELECT (COUNT(*) AS ?n) { GRAPH <urn:sensorstream:inferred> { ?s ?p ?o } }"
    told = run("query", "--on", "archive", "-c", config, "--format", "csv", sparql)
    assert told.stdout == "n\n40\n", told.output
    before = run(
        "query", "--on", "archive", "-c", config, "--json", sparql, "--at", "2001-01-01T00:00:00Z"
    )
    assert '"0"' in before.stdout
    explained = run("explain", "--on", "archive", "-c", config, sparql)
    assert "-- algebra" in explained.stdout
    assert "READ_PARQUET" in explained.stdout
    restored = run("archive", "restore", names[0], "-c", config)
    assert restored.exit_code == 0, restored.output
    assert run("archive", "list", "-c", config).stdout.count("\n") == len(names)
    assert run("sql", "-c", config, "--csv", question).stdout == f"n\n{160 // DAYS}\n"
    shown = run("archive", "delete", "--dry-run", "--older-than", "P30D", "-c", config, "--json")
    assert [each["part"] for each in json.loads(shown.stdout)] == names[1:]
    assert run("archive", "list", "-c", config).stdout.count("\n") == len(names)
    deleted = run("archive", "delete", "--older-than", "P30D", "-c", config, "--json")
    assert [each["part"] for each in json.loads(deleted.stdout)] == names[1:]
    assert run("archive", "list", "-c", config).stdout == "none\n"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((), 2, "expected --older-than D, or a command"),
        (("--older-than", "30"), 2, "'30' is not a"),
        (("--older-than", "P1D", "list"), 2, "stand after the name of the command"),
        (("restore", "2013-01-01"), 3, "error[archive]: the archive has no part '2013-01-01'"),
    ],
)
def test_what_cannot_be_done_is_told(
    arguments: tuple[str, ...], code: int, told: str, config: Path
) -> None:
    file = ("-c", config)
    result = run("archive", *arguments, *(() if "list" in arguments else file))
    assert (result.exit_code, told in result.output) == (code, True), result.output
