"""``spark.read.format("sensorstream")`` reads what PostgreSQL has, and leaves conditions to it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import datasource
from pyspark.sql.types import LongType, StringType, StructField, StructType

from sensorstream.errors import HistoryError, QueryError, SensorStreamError
from sensorstream.history import copied_rows
from sensorstream.history.read_only_sql import run_sql
from sensorstream.spark import register
from sensorstream.spark.history_source import HistorySource, ViewReader
from tests.databases import execute
from tests.spark.conftest import EX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
NOON = datetime(2014, 8, 1, 8, 1, 40, 100, tzinfo=UTC)


def asked(url: str, text: str) -> list[tuple[Any, ...]]:
    return sorted(run_sql(url, text, timeout=300, row_limit=10_000).rows, key=repr)


def test_a_data_frame_has_the_rows_and_types_of_its_view(spark: SparkSession, url: str) -> None:
    register(spark)
    read = spark.read.format("sensorstream").option("url", url)
    human = read.option("view", "human").load()
    assert dict(human.dtypes) == {
        "iri": "string", "time": "timestamp", "expired_at": "timestamp", "message_id": "string",
        "awake": "boolean", "has_location": "string", "has_name": "string", "seen": "timestamp",
        "speed": "double", "x": "bigint",
    }  # fmt: skip
    found = (
        human.where((human.x > 20) & human.has_location.isin(f"{EX}room-1", f"{EX}room-2"))
        .where(human.time >= NOON)
        .where("awake and has_name like 's%'")
        .select("iri", "x", "has_name")
    )
    _, plan = found._jdf.queryExecution().toString().split("Physical Plan")
    assert "StartsWith" in plan
    assert not any(each in plan for each in ("room-1", "2014-08-01", "> 20"))
    expected = asked(
        url,
        "select iri, x, has_name from human where x > 20 and has_location in "
        f"('{EX}room-1', '{EX}room-2') and time >= timestamptz '{NOON.isoformat()}' and awake "
        "and has_name like 's%'",
    )
    assert sorted(map(tuple, found.collect()), key=repr) == expected
    assert expected
    # Only the columns of a schema are read.
    every = (
        read.option("view", "human")
        .schema("x bigint, speed double, seen timestamp, iri string")
        .load()
        .collect()
    )
    assert sorted([(each[3], *each[:3]) for each in every], key=repr) == sorted(
        [
            (iri, x, speed, None if seen is None else seen.astimezone().replace(tzinfo=None))
            for iri, x, speed, seen in asked(url, "select iri, x, speed, seen from human")
        ],
        key=repr,
    )


def reader(url: str, columns: StructType | None = None, **options: str) -> ViewReader:
    source = HistorySource({"url": url, **options})
    names = StructType([StructField("message_id", StringType())])
    return source.reader(names if columns is None else columns)


def count(reader: ViewReader) -> int:
    (only,) = reader.partitions()
    return sum(batch.num_rows for batch in reader.read(only))


def test_options_choose_a_class_a_property_and_a_time(url: str) -> None:
    ((humans, rooms),) = asked(
        url,
        "select (select count(*) from individuals where class like '%#Human'), "
        "(select count(*) from statements where predicate like '%#hasLocation')",
    )
    assert count(reader(url, **{"class": f"{EX}Human"})) == humans == 200
    assert count(reader(url, property=f"{EX}hasLocation")) == rooms == 200
    text = "select count(*) from {} where {} < timestamptz '{}' and {} >= timestamptz '{}'"
    start, end = "2014-08-01T08:01:00Z", "2014-08-01T10:02:30.5+02:00"
    for view, since, to in (
        ("human", "time", "expired_at"),
        ("statements", "valid_from", "valid_to"),
        ("x", "valid_from", "valid_to"),
        ("alerts", "time", "time"),
    ):
        ((expected,),) = asked(url, text.format(view, since, end, to, start))
        found = count(reader(url, view=view, until=end, **{"from": start}))
        assert found == expected, view
        assert expected or view == "alerts"


@pytest.mark.parametrize("view", ["statements", "human", "alerts"])
def test_parts_of_a_time_have_all_rows_once(url: str, view: str) -> None:
    of = reader(url, view=view, partitions="5")
    parts = [sum(batch.num_rows for batch in of.read(each)) for each in of.partitions()]
    ((expected,),) = asked(url, f"select count(*) from {view}")
    assert sum(parts) == expected
    assert len(parts) == 5
    assert view == "alerts" or all(parts)


def test_postgresql_is_told_class_property_and_time(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []

    def copied(cursor: Any, text: str, schema: Any) -> Any:
        texts.append(text)
        return real(cursor, text, schema)

    real = copied_rows.copied
    monkeypatch.setattr(copied_rows, "copied", copied)
    start = {"from": "2014-08-01T08:01:00Z"}
    of = reader(url, property=f"{EX}hasLocation", partitions="2", **start)
    assert not list(of.pushFilters([datasource.GreaterThan(("valid_from",), NOON)]))
    rows = sum(batch.num_rows for each in of.partitions() for batch in of.read(each))
    assert rows == 200 - 100
    shared = f"predicate in ('{EX}hasLocation') and valid_from > '2014-08-01T08:01:40.000100+00:00'"
    texts[:] = [each.replace('"', "") for each in texts]
    for text, time in zip(texts, ("valid_to < '", "valid_to >= '"), strict=True):
        assert shared in text
        assert "valid_to >= '2014-08-01T08:01:00Z'" in text
        assert time in text.replace("valid_to >= '2014-08-01T08:01:00Z'", "")
    assert count(reader(url, **{"class": f"{EX}Human"}, **start)) > 0
    shared = f"class in ('{EX}Human') and expired_at >= '2014-08-01T08:01:00Z'"
    assert shared in texts[-1].replace('"', "")


def test_postgresql_decides_only_what_it_decides_as_spark(url: str) -> None:
    of = reader(url, view="human")
    taken = [
        datasource.EqualTo(("iri",), f"{EX}human-3"),
        datasource.In(("x",), (1, None, 46, 5)),
        datasource.GreaterThan(("time",), datetime(2014, 8, 1, 8, tzinfo=UTC)),
        datasource.LessThanOrEqual(("speed",), 1e300),
        datasource.EqualTo(("awake",), False),
    ]
    left = [
        # The order of texts may be a language's; Spark's session knows the zone of a local time.
        datasource.LessThan(("iri",), "z"),
        datasource.EqualTo(("time",), NOON.replace(tzinfo=None)),
        datasource.EqualTo(("has_name",), "a\0b"),
        datasource.In(("x",), (None,)),
        datasource.EqualTo(("a", "b"), 1),
        datasource.IsNull(("x",)),
        datasource.Not(datasource.EqualTo(("x",), 1)),
    ]
    assert list(of.pushFilters([*left, *taken])) == left
    ((expected,),) = asked(
        url,
        f"select count(*) from human where iri = '{EX}human-3' and x in (1, 46, 5) and not awake",
    )
    assert count(of) == expected > 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"path": "x"}, "option path: expected one of url, config, view, class"),
        ({"config": "x.toml"}, "expected one of the options url"),
        ({"view": "human", "class": "x"}, "option class: the view human has none; expected"),
        ({"view": 'no"such'}, 'relation "history.no"such" does not exist'),
        ({"partitions": "0"}, "option partitions: expected 1 to 40, not '0'"),
        ({"partitions": "many"}, "option partitions: expected 1 to 40, not 'many'"),
        ({"view": "human", "from": "yesterday"}, "option from: "),
        ({"view": "human", "until": "5"}, "option until: "),
    ],
)
def test_wrong_options_are_named(url: str, options: dict[str, str], told: str) -> None:
    with pytest.raises(SensorStreamError) as refused:
        reader(url, **options)
    assert told in refused.value.message


def test_columns_that_are_not_there_are_refused(url: str) -> None:
    columns = StructType([StructField("x", StringType())])
    with pytest.raises(QueryError, match="human has no column x string: expected columns of `iri`"):
        reader(url, columns, view="human")
    reader(url, StructType([StructField("x", LongType())]), view="human")


def test_what_is_archived_is_not_left_out_in_silence(spark: SparkSession, url: str) -> None:
    register(spark)
    of = reader(url, view="human")
    ((low,),) = execute(
        url,
        "insert into store.archives (name, ended_from, ended_before, state) select 'test', 0, "
        "1406880060000000, 'archived' returning id",
    )
    try:
        with pytest.raises(HistoryError, match=r"until 2014-08-01T08:01:00Z, and this source"):
            count(of)
        frame = spark.read.format("sensorstream").option("url", url).option("view", "human")
        with pytest.raises(PySparkException, match=r"HistoryError: the archive has rows of human"):
            frame.load().collect()
        assert count(reader(url, view="human", **{"from": "2014-08-01T08:01:00Z"})) > 0
        assert (
            count(
                reader(url, view="messages", columns=StructType([StructField("id", StringType())]))
            )
            == 20
        )
    finally:
        execute(url, f"delete from store.archives where id = {low}")


def test_a_settings_file_names_the_history(url: str, tmp_path: Path) -> None:
    file = tmp_path / "sensorstream.toml"
    file.write_text(f'[history]\nurl = "{url}"\n')
    source = HistorySource({"config": str(file), "view": "human"})
    assert "`iri` string" in source.schema()
