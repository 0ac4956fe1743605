from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pyspark

from sensorstream.installation import bundled
from sensorstream.spark import class_cache
from sensorstream.spark.launch import java_home


def test_the_job_for_spark_submit_writes_its_answer_as_parquet(url: str, tmp_path: Path) -> None:
    settings = tmp_path / "sensorstream.toml"
    ontology = bundled("ontologies") / "tracking.ttl"
    settings.write_text(
        f'[history]\nurl = "{url}"\n[time]\nline = "datetime"\n[ontology]\nfiles = ["{ontology}"]\n'
    )
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [
        str(submit),
        *("--master", "local[1]", "--conf", "spark.ui.enabled=false"),
        *("--driver-java-options", shlex.join(class_cache.using())),
        *("--conf", f"spark.sql.warehouse.dir={tmp_path}/warehouse"),
        str(bundled("persistent") / "spark_sql.py"),
        *("--config", str(settings), "--output", str(tmp_path / "answer")),
        "select id, status, received_at from history.messages where seq < 3 order by seq",
    ]
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home(tmp_path / "java")),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answer = pyarrow.parquet.read_table(tmp_path / "answer")
    assert answer.select(["id", "status"]).to_pylist() == [
        {"id": "m1", "status": "accepted"},
        {"id": "m2", "status": "accepted"},
    ]
