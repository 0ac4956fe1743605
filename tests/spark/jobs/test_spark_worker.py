"""A worker's questions, one after the other, in the Spark of the tests."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet
import pytest
from click.testing import CliRunner

from sensorstream.cli import main
from sensorstream.errors import JobCancelled, QueryError
from sensorstream.history.read_only_sql import run_sql
from sensorstream.installation import bundled
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.history_snapshot import HistoryPlace
from sensorstream.spark.jobs.answer_files import ANSWER
from sensorstream.spark.jobs.spark_messages import SPARQL, SQL, JobText, SparkProgress, Task
from sensorstream.spark.jobs.spark_worker_process import JobRunner, WorkerProcess
from tests.spark.conftest import EX, LINE, SCHEMA
from tests.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HUGE = "select a.n, md5(a.n::text) as text from generate_series(1, 100000000) a(n)"


def asked(
    worker: WorkerProcess, folder: Path, text: JobText, most: int = 1 << 20
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


def test_an_answer_is_written_where_the_settings_allow_it(
    start: Callable[[Task], WorkerProcess], place: HistoryPlace, tmp_path: Path
) -> None:
    results, within = tmp_path / "results", tmp_path / "job"
    within.mkdir()
    task = Task(place, LINE, SparkSettings("local[2]", results=(str(results),)), 60.0)
    worker, runner = start(task), JobRunner(task)

    def written(language: str, text: str, output: str) -> tuple[int, str]:
        question = runner.check(JobText(language, text, output=output))
        assert question.output == f"{results}/{output}"
        return asked(worker, within, question)[0], question.output

    text = "select iri, has_name, seen, null as nothing from human order by time"
    rows, output = written(SQL, text, "names.csv")
    (part,) = Path(output).glob("part-*")
    lines = list(csv.reader(io.StringIO(part.read_bytes().decode(), newline="")))
    expected = run_sql(place.url, text, timeout=60, row_limit=1000).rows
    assert (rows, lines[0]) == (200, ["iri", "has_name", "seen", "nothing"])
    assert [line[:2] for line in lines[1:]] == [list(row[:2]) for row in expected]
    assert lines[3][2] == "2014-08-01T01:30:00.500000Z"
    assert (Path(output) / "_SUCCESS").exists()
    rows, output = written(SPARQL, f"SELECT ?m ?n {{ ?m <{EX}hasName> ?n }}", "a/names.parquet")
    table = pyarrow.parquet.read_table(output)
    assert (rows, table.column_names) == (table.num_rows, ["m", "n"])
    assert f"<{EX}human-1>" in table["m"].to_pylist()
    assert '"old"@en' in table["n"].to_pylist()
    assert written(SPARQL, f"ASK {{ ?m a <{EX}Human> }}", "yes.parquet")[0] == 1
    with pytest.raises(QueryError, match="DIVIDE_BY_ZERO"):
        written(SQL, "select 1 / (seq - 1) as n from messages", "fails.csv")
    with pytest.raises(QueryError, match="already exists"):
        written(SQL, "select 1 as n, 2 as n", "twice.parquet")
    looked: list[SparkProgress] = []
    with pytest.raises(JobCancelled):
        worker.ask(
            runner.check(JobText(SQL, HUGE, output="huge.csv")),
            *(SCHEMA, within, 1 << 20, looked.append),
            lambda: (results / "huge.csv" / "_temporary").exists(),
        )
    kept = {"a", "names.csv", "yes.parquet"}
    eventually(lambda: {each.name for each in results.iterdir()} == kept)
    assert not list(within.iterdir())
    with pytest.raises(QueryError, match="a plan has none"):
        runner.check(JobText(SQL, text, plan=True, output="plan.csv"))


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
