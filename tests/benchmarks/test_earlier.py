from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.earlier import ROOT, measured, package_of


def test_a_commit_that_is_not_there_gives_no_package(capsys: pytest.CaptureFixture[str]) -> None:
    with package_of("0" * 40) as folder:
        assert folder is None
    assert "figures before are left out" in capsys.readouterr().err


def test_the_package_of_a_folder_is_what_is_measured(tmp_path: Path) -> None:
    asked = "benchmarks.queries", ["--measure", "nothing-1", "--events", "5"]
    assert measured(*asked, ROOT)["event"] > 0
    (tmp_path / "sensorstream").mkdir()
    (tmp_path / "sensorstream" / "__init__.py").write_text("", encoding="utf-8")
    # An earlier package that cannot run the benchmark has no figures.
    assert measured(*asked, tmp_path) == {}
