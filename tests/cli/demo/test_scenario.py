from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

DEMO = [sys.executable, "-m", "sensorstream", "demo"]


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    shown = subprocess.run([*DEMO, "--folder", str(tmp_path)], capture_output=True, text=True)
    assert shown.returncode == 2
    assert "is not empty" in shown.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_demo_that_is_stopped_stops_its_servers(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*DEMO, "--folder", str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as demo:
        assert demo.stdout is not None
        while "city listens on" not in demo.stdout.readline():
            assert demo.poll() is None
        demo.terminate()
        demo.communicate(timeout=300)
    for name in ("tracking", "city"):
        assert not (tmp_path / name / "data" / "cluster" / "postmaster.pid").exists()


@pytest.mark.timeout(1200)
def test_everything_the_demo_promises_happens_and_it_stays_until_it_is_interrupted(
    tmp_path: Path,
) -> None:
    folder, log = tmp_path / "demo", tmp_path / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [*DEMO, "--keep", "--folder", str(folder)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        ) as demo,
    ):
        assert demo.stdout is not None
        told = ""
        while "Ctrl-C ends them" not in told:
            line = demo.stdout.readline()
            assert line, told + log.read_text()
            told += line
        url = told.rpartition("tracking: ")[2].split()[0]
        page = httpx.get(f"{url}/", follow_redirects=True, timeout=60, trust_env=False)
        assert page.status_code == 200
        assert "SensorStream" in page.text
        # As a terminal does: to all that run in it.
        os.killpg(demo.pid, signal.SIGINT)
        rest, _ = demo.communicate(timeout=300)
    assert demo.returncode == 0
    for claim in (
        "HermiT infers that this human is also: Actor, AtEntrance, ConfidentDetection, Mobile",
        "it found a congestion, the sensor that sees it, and high ozone",
        "alerts as signed CloudEvents, each once",
        "Spark answers with the same rows",
        "one query saw all",
        "the violation began and ended with the van's messages",
        "the van entered the fence and left it",
        "alerts as the server did",
        "individuals as the server did",
    ):
        assert claim in told
    assert "both left cleanly on SIGTERM" in rest
    assert f"sensorstream serve -c {folder}/city/sensorstream.toml" in rest
    # Commands say there what takes long.
    assert [line for line in log.read_text().splitlines() if not line.endswith(" s")] == []
