"""The pipeline on a real Spark, over a real PostgreSQL: killed, started again, and compared."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from sensorstream.app.wiring import read_deployment
from sensorstream.history.database import engine
from sensorstream.history.store import PostgresStore, Writes
from sensorstream.history.views import install_views
from sensorstream.journal.records import Effects, Record
from sensorstream.model.timeline import Timeline
from sensorstream.settings import Settings, load_settings
from tests.streaming.conftest import seen, write_deployment
from tests.streaming.test_keyed_engines import of_one_engine

PATIENCE = 800
RELATIONS = ("individuals", "statements", "alerts", "human", "x")
DIFFERENT = {"seq", "raised_at"}
"""Columns that may differ: the order of alerts in the table, and wall time."""


def journal(record: Callable[..., Record], count: int) -> list[Record]:
    """Messages of four cameras, in no order of theirs."""
    dice = random.Random(7)
    found = []
    for seq in range(1, count + 1):
        camera = dice.choice(("north", "south", "east", "west"))
        people = [(dice.randrange(9), dice.randrange(101)) for _ in range(dice.randrange(1, 3))]
        found.append(record(seq, seen(camera, seq, *people), camera))
    return found


def write(url: str, records: Sequence[Record], writes: Writes, effects: Effects | None) -> None:
    """Put entries, and their effects if there are any, into a history."""
    with PostgresStore.open(url, Timeline.INTEGER, writes) as store:
        store.append(records)
        if effects is not None:
            store.commit(effects)


def rows(url: str, relation: str) -> list[tuple[Any, ...]]:
    """All rows of a view, sorted, without the columns that may differ."""
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute(f"select * from history.{relation}")
        assert cursor.description is not None
        names = [each.name for each in cursor.description]
        same = [place for place, name in enumerate(names) if name not in DIFFERENT]
        return sorted((tuple(row[place] for place in same) for row in cursor), key=repr)


def watermark(url: str) -> int:
    """The last entry whose effects are stored; 0 before there is a store."""
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("select watermark from store.progress")
        found = cursor.fetchone()
        return 0 if found is None else int(found[0])


def stream(settings: Settings, *options: str) -> subprocess.Popen[str]:
    """The command, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "sensorstream", "stream", "-c", str(settings.path), *options],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )


def killed_at(process: subprocess.Popen[str], url: str, entries: int) -> None:
    """End the command by force when so many entries are stored."""
    deadline = time.monotonic() + PATIENCE
    while watermark(url) < entries:
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline, "the pipeline has not come so far"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stderr is not None
    process.stderr.close()


def finished(process: subprocess.Popen[str]) -> str:
    """What the command tells on stderr when it has ended."""
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, told
    return told


def test_a_reasoner_in_java_infers_on_spark_what_it_infers_for_a_server(
    tmp_path: Path, new_database: Callable[[], str], record: Callable[..., Record]
) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    url, expected = new_database(), new_database()
    more = (
        f'[history]\nurl = "{url}"\n[spark]\nmaster = "local[2]"\n'
        f'[pipeline]\nfolder = "{tmp_path / "state"}"\n'
    )
    write_deployment(tmp_path, more)
    with (tmp_path / "t.ttl").open("a") as ontology:
        ontology.write(
            ":Far a owl:Class ; owl:equivalentClass "
            "[ a owl:Restriction ; owl:onProperty :x ; owl:hasValue 80 ] .\n"
        )
    file = tmp_path / "sensorstream.toml"
    file.write_text(file.read_text().replace('profile = "plain"', 'profile = "hermit"'))
    settings = load_settings(file, {})
    deployment = read_deployment(settings)
    records = [
        record(seq, seen(camera, seq, (seq % 9, 70 + seq % 15)), camera)
        for seq, camera in enumerate(("north", "south") * 12, 1)
    ]
    write(url, records, Writes.JOURNAL, None)
    write(expected, records, Writes.ALL, of_one_engine(deployment, records))

    finished(stream(settings, "--once"))

    database = engine(expected)
    install_views(database, deployment.ontology.schema, Timeline.INTEGER)
    database.dispose()
    for relation in ("individuals", "statements", "alerts", "far"):
        assert rows(url, relation) == rows(expected, relation), relation
    assert any("#Far" in str(row) for row in rows(url, "statements")), "the reasoner infers"


def test_killed_and_started_again_it_stores_what_a_server_stores_each_once(
    tmp_path: Path, new_database: Callable[[], str], record: Callable[..., Record]
) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    url, expected = new_database(), new_database()
    more = (
        f'[history]\nurl = "{url}"\ncheckpoint_every = 30\n[spark]\nmaster = "local[2]"\n'
        f'[pipeline]\nbatch = 60\nfolder = "{tmp_path / "state"}"\n'
    )
    settings = write_deployment(tmp_path, more)
    deployment = read_deployment(settings)
    records = journal(record, 300)
    write(url, records[:240], Writes.JOURNAL, None)
    write(expected, records, Writes.ALL, of_one_engine(deployment, records))
    database = engine(expected)
    install_views(database, deployment.ontology.schema, Timeline.INTEGER)
    database.dispose()

    killed_at(stream(settings), url, 120)
    stored = watermark(url)
    assert 120 <= stored <= 240
    # A server goes on while the pipeline does not run.
    write(url, records[240:], Writes.JOURNAL, None)
    told = finished(stream(settings, "--once"))

    assert watermark(url) == 300
    assert "entries in" in told
    for relation in RELATIONS:
        assert rows(url, relation) == rows(expected, relation), relation
    assert rows(url, "alerts"), "the stream raises alerts"
