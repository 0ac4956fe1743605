"""``sensorstream.spark.session`` in a program of its own: a process has one session at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sensorstream.installation import bundled

# Between two questions the journal grows; the session sees it when it is told to.
PROGRAM = """
import sys
from pathlib import Path
import psycopg2
from sensorstream.errors import QueryError
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark import session
from sensorstream.spark.bulk_sql import run_spark_sql
from sensorstream.spark.history_snapshot import HistoryPlace

url, settings = sys.argv[1:]
with session(settings, url=url, master="local[1]") as history:
    print(history.spark.conf.get("spark.sql.shuffle.partitions"))
    text = "select status, count(*) from history.messages group by 1 order by 1"
    answer = history.sql(text)
    print(answer.columns, [tuple(row) for row in answer.collect()])
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(
            "update store.messages set status = 'rejected' where seq = "
            "(select min(seq) from store.messages where status = 'accepted')"
        )
    print(history.table("messages").where("status = 'rejected'").count())
    history.refresh()
    print([tuple(row) for row in history.sql(text).collect()])
    history.table("alerts")
    print(history.spark.sql("select max(seq) from history_alerts").collect()[0][0])
    try:
        history.table("nothing")
    except QueryError as error:
        print(error.message[:29])
    print("human" in history.views)
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("update store.messages set status = 'accepted' where status = 'rejected'")
history.close()
# After one Spark there may be another.
print(
    run_spark_sql(
        HistoryPlace(url, Path("archive")), "select count(*) as n from messages", schema=Schema(),
        timeline=Timeline.DATETIME, at=SparkSettings("local[1]"), timeout=300, row_limit=5,
    ).rows
)
"""


def test_a_program_asks_one_state_of_the_history_many_questions_and_is_quiet(
    url: str, tmp_path: Path
) -> None:
    settings = tmp_path / "sensorstream.toml"
    ontology = bundled("ontologies") / "tracking.ttl"
    settings.write_text(
        f'[time]\nline = "datetime"\n[ontology]\nfiles = ["{ontology}"]\n'
        '[spark.conf]\n"spark.sql.shuffle.partitions" = 3\n'
    )
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, url, str(settings)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.splitlines(), done.stderr) == (
        [
            "3",
            "['status', 'count'] [('accepted', 18), ('unmatched', 2)]",
            "0",
            "[('accepted', 17), ('rejected', 1), ('unmatched', 2)]",
            "5",
            "there is no view 'nothing': e",
            "True",
            "((20,),)",
        ],
        "",
    )
