"""``sensorstream run --watch``: again at each change, past errors, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sensorstream.cli.file_watch import files_of_settings, watch
from sensorstream.errors import OntologyError

_PATIENCE = 60.0

ONTOLOGY = """@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:A a owl:Class . :v a owl:DatatypeProperty ."""
RULES = """prefix : <http://example.org/>
table names from "names.csv" key "k" value "v"
mapping a on message {/a} then insert individual :x a :A ; :v {@v |> lookup names} .
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    (tmp_path / "r.rules").write_text(RULES)
    (tmp_path / "names.csv").write_text("k,v\n1,one\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.xml").write_text("<a v='1'/>")
    (tmp_path / "sensorstream.toml").write_text(
        "[ontology]\nfiles = ['o.ttl']\n[rules]\nfiles = ['*.rules']\n"
    )
    return tmp_path


class Watching:
    """A running command, and what it has printed."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._output = (folder / "output.txt").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sensorstream", "run", "--watch", *options],
            cwd=folder,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self._read = 0

    def told(self) -> str:
        """What was printed by the next run, once it is over."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            text = Path(self._output.name).read_text(encoding="utf-8")[self._read :]
            before, waits, _ = text.partition("waiting for a change of a file; Ctrl-C ends\n")
            if waits:
                self._read += len(before) + len(waits)
                return before
            assert self._process.poll() is None, text
            time.sleep(0.02)
        raise AssertionError("no run ended in time")

    def end(self) -> int:
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(_PATIENCE)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._output.close()


@pytest.fixture
def watching(folder: Path) -> Iterator[Callable[..., Watching]]:
    running: list[Watching] = []

    def start(*options: str) -> Watching:
        running.append(Watching(folder, *options))
        return running[-1]

    yield start
    for each in running:
        each.close()


def test_each_change_runs_it_again(folder: Path, watching: Callable[..., Watching]) -> None:
    running = watching("--messages", "in")
    assert ':v "one"' in running.told()
    (folder / "names.csv").write_text("k,v\n1,first\n")
    assert ':v "first"' in running.told()
    (folder / "in" / "2.xml").write_text("<b/>")
    assert "in/2.xml: unmatched" in running.told()
    (folder / "r.rules").write_text(RULES.replace("{/a}", "{/a"))
    assert "r.rules:3:" in running.told()
    (folder / "r.rules").write_text(RULES.replace(":v", ":w"))
    assert "r.rules:3:" in running.told()
    (folder / "more.rules").write_text("rule r on message then alert info 'x'")
    assert "more.rules:1:" in running.told()
    (folder / "more.rules").unlink()
    (folder / "r.rules").write_text(RULES)
    while ':v "first"' not in running.told():  # two changes: there may be a run after the first
        pass
    assert running.end() == 0


def test_an_interrupt_that_a_library_has_caught_ends_it() -> None:
    runs: list[int] = []

    def run() -> None:
        runs.append(1)
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except:  # noqa: E722 - as owlready2 does
            raise OntologyError("it cannot be loaded") from None

    looks = iter(range(5))

    def files() -> list[Path]:
        next(looks)
        return []

    watch(run, files)
    assert runs == [1]
    assert next(looks) < 4, "it looked for changes until there was nothing to look at"


def test_the_files_of_a_deployment_are_those_that_its_settings_name(folder: Path) -> None:
    config = folder / "sensorstream.toml"
    assert {config, folder / "o.ttl", folder / "r.rules", folder / "names.csv"} <= set(
        files_of_settings(config)
    )
    config.write_text("[window]\nsise = 3\n")
    assert files_of_settings(config) == [config]
