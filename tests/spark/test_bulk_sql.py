from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from sensorstream.errors import QueryError
from sensorstream.history.read_only_sql import SqlResult, run_sql
from sensorstream.history.views import View, view_definitions
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.spark.bulk_sql import ask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def views(schema: Schema) -> tuple[View, ...]:
    return view_definitions(schema, Timeline.DATETIME)


@pytest.mark.parametrize(
    "text",
    [
        "select * from history.individuals order by iri, time, class",
        "select iri, x, speed, awake, seen, has_name, has_location, time, expired_at, message_id "
        "from human order by time, iri limit 60",
        "select h.iri, count(*) as stays, max(h.x) as far, min(h.seen) as early "
        "from history.human as h group by h.iri having count(*) > 4 order by early desc, h.iri",
        "select history.human.iri, class, count(*) from history.human join individuals i "
        "on i.iri = human.iri and i.time = human.time where human.x > 70 and human.time >= "
        "timestamptz '2014-08-01 08:01:00Z' group by 1, 2 order by 1, 2",
        "select value, valid_from, valid_to, inferred from x where iri = "
        "'http://example.org/tracking#human-7' order by valid_from",
        "with slow as (select * from human where speed < 10), late as (select * from slow "
        "where time > '2014-08-01T08:00:20Z'::timestamptz) select iri, speed from late "
        "order by speed",
        # The same view twice with different conditions: each reads what it asked for.
        "select a.object, b.object from statements a join statements b on a.subject = b.subject "
        "and a.valid_from = b.valid_from where a.predicate like '%#hasLocation' "
        "and b.predicate like '%#x' and b.number > 75 order by 1, 2",
        "select iri from human where awake union select iri from actor where x < -15 order by iri",
        "select * from room",
        "select subject, predicate, object, kind, datatype, language, number, moment, valid_from, "
        "inferred, superseded from statements where superseded or kind = 'blank' "
        "order by subject, object limit 30",
        "select seq, id, source, received_at, status, reason, content from messages order by seq",
        "select id, rule, severity, text, key, raised_at, message_id from alerts order by seq",
        "select date_trunc('minute', time) as minute, count(distinct iri) as people, "
        "sum(case when awake then 1 else 0 end) as awake, "
        "extract(epoch from min(time)) as first from human group by 1 order by 1",
        "select has_name, length(has_name) as n, x / 2 as half, x % 7 as rest from human "
        "where has_name like '%\n%' or has_name = '' order by time limit 9",
        "select iri, x, row_number() over (partition by has_location order by x desc, iri, time) "
        "as place from human order by has_location, place limit 10",
    ],
)
def test_spark_answers_as_postgresql_does(
    spark: SparkSession, url: str, views: Sequence[View], text: str
) -> None:
    expected = run_sql(url, text, timeout=30, row_limit=1000)
    answer = ask(spark, url, views, text, row_limit=1000)
    assert answer == expected
    assert [_kinds(row) for row in answer.rows] == [_kinds(row) for row in expected.rows]


def _kinds(row: tuple[object, ...]) -> list[type]:
    return [type(each) for each in row]


def test_columns_without_a_name_are_called_as_in_postgresql(
    spark: SparkSession, url: str, views: Sequence[View]
) -> None:
    text = "select count(*), 1, max(x) from human"
    answer = ask(spark, url, views, text, row_limit=10)
    assert answer == run_sql(url, text, timeout=30, row_limit=10)


def test_the_row_limit_cuts_off_and_says_so(
    spark: SparkSession, url: str, views: Sequence[View]
) -> None:
    answer = ask(spark, url, views, "select seq from messages order by seq", row_limit=2)
    assert answer == SqlResult(("seq",), ((1,), (2,)), truncated=True)


def test_what_only_spark_finds_wrong_is_a_query_error(
    spark: SparkSession, url: str, views: Sequence[View]
) -> None:
    with pytest.raises(QueryError, match="NO_SUCH_FUNCTION"):
        ask(spark, url, views, "select no_such_function(x) from human", row_limit=2)
    with pytest.raises(QueryError, match=r"DIVIDE_BY_ZERO"):
        ask(spark, url, views, "select sum(1 / (seq - 1)) from messages", row_limit=2)


def test_a_process_can_start_spark_twice_and_is_quiet(url: str) -> None:
    program = (
        "import sys\n"
        "from sensorstream.model.schema import Schema\n"
        "from sensorstream.model.timeline import Timeline\n"
        "from sensorstream.spark.session import spark_session\n"
        "from sensorstream.spark.bulk_sql import run_spark_sql\n"
        "with spark_session('local[1]'):\n"
        "    pass\n"
        "print(run_spark_sql(sys.argv[1], 'select count(*) as n from messages',\n"
        "    schema=Schema(), timeline=Timeline.DATETIME, master='local[1]', row_limit=5))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, url], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (f"{SqlResult(('n',), ((20,),))}\n", "")
