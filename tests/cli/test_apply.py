"""What ``apply`` and ``rules`` show and change on a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from click.testing import Result

from sensorstream.settings_file import load_settings

Run = Callable[..., Result]


class Served(Protocol):
    """A deployment and its server (see conftest)."""

    config: Path
    url: str


def test_edited_files_are_shown_then_put_together_and_an_old_version_comes_back(
    run: Run, another: Served, tmp_path: Path
) -> None:
    (file,) = load_settings(another.config).rules.files
    before = file.read_text()
    same = run("apply", "-c", another.config, "--url", another.url)
    assert same.stdout == "in force already, as settings\n"
    file.write_text(f"{before}# edited\n")
    shown = run("apply", "--diff", "-c", another.config, "--url", another.url)
    assert "+# edited" in shown.stdout.splitlines()
    assert run("rules", "show", file.name, "--url", another.url).stdout == before
    listed = json.loads(run("rules", "files", "--json", "--url", another.url).stdout)
    assert [each["on_disk"] for each in listed["files"]] == ["differs"]
    applied = run("apply", "-c", another.config, "--url", another.url)
    assert applied.stdout.splitlines()[-1].startswith("in force, as m")
    assert run("rules", "show", file.name, "--url", another.url).stdout == f"{before}# edited\n"
    versions = json.loads(
        run("rules", "versions", file.name, "--json", "--url", another.url).stdout
    )
    assert [each["by"] for each in versions] == ["settings", "anonymous"]
    change = versions[0]["change"]
    old = run("rules", "versions", file.name, "--text", change, "--url", another.url).stdout
    assert old == before
    (tmp_path / "old.rules").write_text(old)
    back = run("rules", "put", tmp_path / "old.rules", "--name", file.name, "--url", another.url)
    assert back.exit_code == 0
    assert run("rules", "show", file.name, "--url", another.url).stdout == before
    file.write_text(before)


def test_files_that_the_server_refuses_change_nothing(run: Run, another: Served) -> None:
    (file,) = load_settings(another.config).rules.files
    before = file.read_text()
    in_force = run("rules", "show", file.name, "--url", another.url).stdout
    file.write_text(f"{before}rule broken on\n")
    refused = run("apply", "-c", another.config, "--url", another.url)
    tried = run("apply", "--dry-run", "-c", another.config, "--url", another.url)
    file.write_text(f"{before}# the same rules\n")
    fine = run("apply", "--dry-run", "-c", another.config, "--url", another.url)
    file.write_text(before)
    assert tried.exit_code == 1
    assert f"{file.name}:" in tried.stdout
    assert fine.stdout == "0 of 0 recent messages differ\n"
    assert refused.exit_code == 1
    assert "error[language]: " in refused.stderr
    assert f"{file.name}:" in refused.stderr
    assert run("rules", "show", file.name, "--url", another.url).stdout == in_force
