"""Answers are written where the operator lets them be, and over nothing that is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sensorstream.errors import QueryError
from sensorstream.spark.written_answers import (
    below_one_of,
    check_output,
    remove_unfinished,
    write_answer,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that jobs may write to, with a link that leads out of it."""
    (tmp_path / "results" / "mine").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "results" / "out").symlink_to(tmp_path / "secret")
    (tmp_path / "results" / "lost.csv").symlink_to(tmp_path / "nowhere")
    (tmp_path / "results" / "there.parquet").mkdir()
    return tmp_path / "results"


def test_a_name_is_below_a_folder_or_an_address_of_the_settings(folder: Path) -> None:
    bases = (f"{folder}/", "s3a://bucket/x", "s3a://bucket/x/year=2026")
    told = {
        "noon.parquet": f"{folder}/noon.parquet",
        "mine/a b.csv".replace(" ", "-"): f"{folder}/mine/a-b.csv",
        f"{folder}/new/Übersicht.csv": f"{folder}/new/Übersicht.csv",
        "s3a://bucket/x/year=2026/n.csv": "s3a://bucket/x/year=2026/n.csv",
    }
    assert {each: below_one_of(each, bases) for each in told} == told
    assert below_one_of("n.csv", ("hdfs://head/r",)) == "hdfs://head/r/n.csv"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("/etc/cron.d/n.csv", "expected a name below"),
        ("s3a://bucket/xy/n.csv", "expected a name below"),
        ("s3a://other/x/n.csv", "expected a name below"),
        ("file:///etc/n.csv", "expected a name below"),
        ("s3a://bucket/x/../y/n.csv", "expected names of letters"),
        ("../n.csv", "expected names of letters"),
        ("file:/etc/n.csv", "expected names of letters"),
        ("mine/%2e%2e/n.csv", "expected names of letters"),
        ("mine//n.csv", "expected names of letters"),
        ("mine\\n.csv", "expected names of letters"),
        ("n.csv\n", "expected names of letters"),
        ("_temporary/n.csv", "expected names of letters"),
        (".n.csv", "expected names of letters"),
        ("", "expected names of letters"),
        ("there.parquet/n.csv", "not within another output"),
        ("noon", "ends in .parquet or .csv"),
        ("noon.parquet.txt", "ends in .parquet or .csv"),
        ("there.parquet", "is there already"),
        ("lost.csv", "leads out of"),
        ("out/n.csv", "leads out of"),
    ],
)
def test_what_leads_elsewhere_is_refused(folder: Path, output: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        below_one_of(output, (str(folder), "s3a://bucket/x"))


def test_without_the_setting_jobs_write_nowhere(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"its setting spark\.results"):
        below_one_of(f"{tmp_path}/n.csv", ())


def test_what_a_killed_spark_left_is_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left, whole = folder / "left.csv", folder / "whole.csv"
    monkeypatch.chdir(folder.parent)
    for each in (left, whole, folder.parent):
        (each / "_temporary" / "0").mkdir(parents=True)
    (whole / "_SUCCESS").touch()
    for output in (str(left), str(whole), str(folder), "s3a://bucket/x/n.csv", None):
        remove_unfinished(output)
    assert not left.exists()
    assert whole.exists()


def test_what_spark_does_not_reach_is_named(spark: SparkSession, folder: Path) -> None:
    answer = spark.range(3)
    for output in ("s3a://bucket/x/n.csv", "odd://bucket/n.csv"):
        with pytest.raises(QueryError, match=f"Spark does not reach {output}: .*(S3A|odd)"):
            write_answer(answer, output)
    with pytest.raises(QueryError, match="is there already"):
        write_answer(answer, f"{folder}/there.parquet")
    with pytest.raises(QueryError, match="ends in"):
        check_output("n.txt")
