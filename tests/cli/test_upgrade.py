"""Deployments that earlier versions left go on with this one: docs/operate/upgrade.md.

``deployments`` has a backup for each version, and what its clients saw. With a new version one is
added, from the version's own source: ``python -m tests.cli.test_upgrade FILE.tar.gz``.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from click.testing import CliRunner

from sensorstream.cli import main
from sensorstream.cli.command_client import CommandClient
from sensorstream.cli.demo.server_process import ServerProcess
from sensorstream.cli.init_command import TEMPLATES, make_workspace
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from tests.cli.conftest import Run

LEFT: Final = sorted((Path(__file__).parent / "deployments").glob("*.tar.gz"))
_SENT: Final = 8
_WINDOW: Final = 5
_QUERY: Final = """PREFIX : <http://sensorstream.example/tracking#>
REGISTER ISTREAM :people AS SELECT (COUNT(DISTINCT ?person) AS ?people) { ?person a :Human }"""
_NAME: Final = "http://sensorstream.example/tracking#people"
_COUNTS: Final = (
    "SELECT (SELECT count(*) FROM history.messages) AS messages,"
    " (SELECT count(*) FROM history.individuals) AS individuals,"
    " (SELECT count(*) FROM history.alerts) AS alerts"
)
_WHO: Final = """PREFIX : <http://sensorstream.example/tracking#>
SELECT ?person WHERE { ?person a :Human } ORDER BY ?person"""


def leave(file: Path) -> None:
    """Make a deployment with a window, a history, alerts, a query and a receiver; back it up."""
    messages = iter(tracker_messages(_SENT, seed=3, start=1))
    with TemporaryDirectory(prefix="sensorstream-left-") as name:
        overrides: dict[str, dict[str, object]] = {
            "reasoning": {"profile": "plain"},
            "window": {"size": str(_WINDOW)},
            "webhooks": {"allow": ["127.0.0.1/32"]},
        }
        config = make_workspace(Path(name) / "people", TEMPLATES["tracking"], overrides)
        with ServerProcess(config) as process, CommandClient(process.url()) as client:
            client.register(_QUERY)
            client.add_webhook("http://127.0.0.1:9/alerts")
            for message in islice(messages, _SENT - 2):
                client.send(message)
        # What comes after a checkpoint is in the journal alone.
        with ServerProcess(config) as process, CommandClient(process.url()) as client:
            for message in messages:
                client.send(message)
            # Questions before the backup, too: they wait for what was sent.
            seen = json.dumps(read(client), indent=1, default=str)
            backup = Path(name) / "backup.tar"
            made = CliRunner().invoke(main, ["backup", str(backup), "-c", str(config)])
            if made.exit_code:
                raise RuntimeError(made.output)
        file.write_bytes(gzip.compress(backup.read_bytes(), mtime=0))
        _seen(file).write_text(seen + "\n", encoding="utf-8")


def _seen(file: Path) -> Path:
    """What the version's own clients saw of its deployment."""
    return file.with_name(file.name.replace(".tar.gz", ".json"))


def read(client: CommandClient) -> dict[str, Any]:
    """All that one can see of such a deployment."""
    [counts] = client.sql(_COUNTS).rows
    return {
        "counts": counts,
        "window": [person.rpartition("#")[2] for (person,) in client.query(_WHO).rows],
        "query": client.results(_NAME).rows,
        "queries": [each["name"] for each in client.queries()],
        "receivers": len(client.webhooks()),
    }


@pytest.mark.parametrize("file", LEFT, ids=lambda file: file.name.removesuffix(".tar.gz"))
def test_a_deployment_that_an_earlier_version_left_goes_on(
    file: Path,
    run: Run,
    empty_database: Callable[[], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SENSORSTREAM_HISTORY_URL", empty_database())
    backup = tmp_path / "backup.tar"
    backup.write_bytes(gzip.decompress(file.read_bytes()))
    restored = run("restore", backup, tmp_path / "people")
    assert restored.exit_code == 0, restored.output
    config = tmp_path / "people" / "sensorstream.toml"
    checked = run("check", "-c", config)
    assert checked.exit_code == 0, checked.output
    with ServerProcess(config) as process, CommandClient(process.url()) as client:
        found = json.loads(json.dumps(read(client), default=str))
        assert found == json.loads(_seen(file).read_text(encoding="utf-8"))
        for message in tracker_messages(_WINDOW, seed=4, start=100):
            client.send(message)
        after = read(client)
        assert not set(after["window"]) & set(found["window"])
        assert after["counts"][0] == _SENT + _WINDOW
        assert after["counts"][1] > found["counts"][1]


if __name__ == "__main__":
    leave(Path(sys.argv[1]))
