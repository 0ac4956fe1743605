"""What a release needs: one version, all licences, what calls the commands, files that fit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import sensorstream
from tests.package import notice, release
from tests.package.building import ROOT

CI = ROOT / ".github" / "workflows" / "ci.yml"


def checked(*arguments: object) -> str:
    """What check-jsonschema says against files; "": nothing."""
    command = [sys.executable, "-m", "check_jsonschema", *map(str, arguments)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return told.stdout + told.stderr if told.returncode else ""


def test_all_files_and_the_package_have_one_version() -> None:
    assert sensorstream.__version__ == release.project()["version"]
    assert list(release.differing()) == []


def test_the_licence_of_each_package_is_in_the_notice() -> None:
    assert notice.FILE.read_text(encoding="utf-8") == notice.written(), "make reference"
    packages = notice.written().partition("PACKAGES")[2]
    assert not re.findall(r"^.*: (?:|UNKNOWN)$", packages, re.M)


def test_a_version_is_not_tagged_while_something_is_in_the_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = {"status": " M README.md", "tag": "v9"}
    monkeypatch.setattr(release, "_git", lambda name, *_: answers[name])
    project = release.project() | {"version": "9", "urls": {"Home": "https://x.example/"}}
    monkeypatch.setattr(release, "project", lambda: project)
    assert [each for each in release.obstacles() if "Not released" not in each] == [
        f"CITATION.cff has the version {sensorstream.__version__}, expected 9",
        "CHANGELOG.md has no section [9]",
        "pyproject.toml: the URL Home is an example: https://x.example/",
        "there are changes that are not committed",
        "the tag v9 is there already",
    ]
    assert release.main([]) == 1


def test_what_is_built_has_a_description_that_an_index_takes(tmp_path: Path) -> None:
    sdist, wheel = release.make(tmp_path / "dist")
    assert (sdist.suffix, wheel.suffix) == (".gz", ".whl")


def test_each_command_of_the_makefile_is_in_its_help() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    [phony] = re.findall(r"^\.PHONY: (.*)$", text, re.M)
    command = ["make", "--no-print-directory", "help"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    lines = [re.fullmatch(r"make (\w+) +(\S.*)", each) for each in told.stdout.splitlines()]
    assert [each and each[1] for each in lines] == phony.split()


def test_the_workflow_calls_the_commands_of_ci() -> None:
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    steps = yaml.safe_load(CI.read_text(encoding="utf-8"))["jobs"]["check"]["steps"]
    assert [each["run"] for each in steps if "run" in each] == re.findall("^make .*", run, re.M)
    assert checked("--builtin-schema", "vendor.github-workflows", CI) == ""


def test_the_compose_file_is_one() -> None:
    file = ROOT / "deploy" / "compose.yaml"
    assert checked("--builtin-schema", "vendor.compose-spec", file) == ""


def test_the_image_is_as_hadolint_wants_it() -> None:
    program = Path(sys.executable).with_name("hadolint")
    told = subprocess.run([program, "deploy/Dockerfile"], cwd=ROOT, capture_output=True, text=True)
    assert told.stdout + told.stderr == ""


def test_the_hooks_call_what_is_there() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    [repository] = yaml.safe_load(text)["repos"]
    pinned = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    for hook in repository["hooks"]:
        program, *_ = hook["entry"].split()
        assert program == "make" or f"{program.removeprefix('.venv/bin/')}==" in pinned
