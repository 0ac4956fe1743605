"""A worker's questions, one after the other, in the Spark of the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet
import pytest
from click.testing import CliRunner

from sensorstream.cli import main
from sensorstream.errors import QueryError
from sensorstream.installation import bundled
from sensorstream.spark.history_snapshot import HistoryPlace
from sensorstream.spark.jobs.answer_files import ANSWER
from sensorstream.spark.jobs.spark_messages import SPARQL, SQL, JobText, SparkProgress, Task
from sensorstream.spark.jobs.spark_worker_process import JobRunner, WorkerProcess
from tests.spark.conftest import EX, SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HUGE = "select a.n, md5(a.n::text) as text from generate_series(1, 100000000) a(n)"


def asked(
    worker: WorkerProcess,
    folder: Path,
    text: JobText,
    most: int = 1 << 20,
) -> tuple[int, list[SparkProgress]]:
    """The number of rows, and what was told on the way."""
    told: list[SparkProgress] = []
    return worker.ask(text, SCHEMA, folder, most, told.append, lambda: False), told


def test_one_question_after_the_other_is_answered(worker: WorkerProcess, tmp_path: Path) -> None:
    count = JobText(SQL, "select count(*) as n from human")
    rows, told = asked(worker, tmp_path, count)
    assert (rows, told[0]) == (1, SparkProgress())
    assert told[-1].tasks >= told[-1].tasks_done
    assert pyarrow.parquet.read_table(tmp_path / ANSWER).to_pylist() == [{"n": 200}]
    with pytest.raises(QueryError, match="DIVIDE_BY_ZERO"):
        asked(worker, tmp_path, JobText(SQL, "select 1 / (seq - 1) as n from messages"))
    text = f"SELECT ?m {{ ?m a <{EX}Human> }}"
    assert asked(worker, tmp_path, JobText(SPARQL, text, at="1970-01-01T00:00:00Z"))[0] == 0
    assert asked(worker, tmp_path, JobText(SPARQL, text))[0] == 40


def test_a_question_ends_when_its_answer_is_too_large(
    spark: SparkSession, worker: WorkerProcess, tmp_path: Path
) -> None:
    # What is not yet a whole group of rows is in memory.
    spark.conf.set("parquet.block.size", 1 << 10)
    with pytest.raises(QueryError, match="the answer is larger than 1000 bytes"):
        asked(worker, tmp_path, JobText(SQL, HUGE), most=1000)
    spark.conf.unset("parquet.block.size")
    assert asked(worker, tmp_path, JobText(SQL, "select 1 as one"))[0] == 1


def test_the_shell_answers_many_questions(
    start: Callable[[Task], WorkerProcess],
    place: HistoryPlace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(JobRunner, "start", lambda self, scratch: start(self._task))
    settings = tmp_path / "sensorstream.toml"
    ontology = bundled("ontologies") / "tracking.ttl"
    settings.write_text(
        f'[history]\nurl = "{place.url}"\n[time]\nline = "datetime"\n'
        f'[ontology]\nfiles = ["{ontology}"]\n'
    )
    shell = CliRunner().invoke(
        main,
        ["spark", "shell", "-c", str(settings)],
        input="select count(*) as messages\nfrom messages;\n\n"
        "select nothing;\nselect seq from messages order by seq limit 2;\n"
        f"PREFIX : <{EX}>\nASK {{\n ?s a :Human ;\n :x ?t }}\n",
    )
    assert shell.stdout.split() == ["messages", "20", "seq", "1", "2", "yes"]
    assert "error[query]: query:1:8: column" in shell.stderr
    assert shell.exit_code == 1
