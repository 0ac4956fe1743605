"""What is refused before Spark starts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sensorstream.app.life import backup
from sensorstream.errors import HistoryError, MissingExtra, SettingsError, SparkError
from sensorstream.history import effects_writer
from sensorstream.history.effects_writer import Writes
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Record
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import PipelineSettings, Settings
from sensorstream.streaming.spark_stream import await_executor, running_stream
from sensorstream.streaming.state_folder import FolderMark, check_folder


def test_without_spark_it_says_what_to_install(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with (
        pytest.raises(MissingExtra, match=r"pip install 'sensorstream\[spark\]'"),
        running_stream(settings, "postgresql://", lambda _entries, _last: None),
    ):
        pass


def test_a_cluster_without_room_for_an_executor_is_told() -> None:
    members = SimpleNamespace(size=lambda: 1)
    java = SimpleNamespace(sc=lambda: SimpleNamespace(getExecutorMemoryStatus=lambda: members))
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=java))
    with pytest.raises(
        SparkError, match="no executor has started at spark://h:1 for 0 s: expected"
    ):
        await_executor(spark, "spark://h:1", 0.0)


class PlainMark(FolderMark):
    """A mark without Spark."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "mark"

    def read(self) -> str | None:
        return self._path.read_text() if self._path.exists() else None

    def write(self, mark: str) -> None:
        self._path.write_text(mark)


def test_a_folder_keeps_the_key_it_was_made_with(
    settings: Settings, database: str, tmp_path: Path
) -> None:
    ours = replace(settings, pipeline=PipelineSettings(folder=tmp_path / "state"))
    other = replace(ours, pipeline=replace(ours.pipeline, key="/seen/@by"))
    with PostgresStore.open(database, Timeline.INTEGER, Writes.EFFECTS) as store:
        mark = PlainMark(tmp_path)
        check_folder(ours, store, mark)
        check_folder(ours, store, mark)
        with pytest.raises(SettingsError, match="holds the engines of the keys 'source'"):
            check_folder(other, store, mark)
        # The first versions did not name the format; a later one may have another.
        mark.write('{"key": "source"}')
        check_folder(ours, store, mark)
        mark.write('{"key": "source", "format": 2}')
        with pytest.raises(
            SettingsError, match="engines in format 2, expected 1: start the version"
        ):
            check_folder(ours, store, mark)


def test_a_backup_has_no_state_while_a_pipeline_runs(
    settings: Settings, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "state"
    monkeypatch.setattr(effects_writer, "_PATIENCE", 0)
    with PostgresStore.open(database, Timeline.INTEGER, Writes.EFFECTS):
        folder.mkdir()
        (folder / backup.STATE_MARK).write_text("{}")
        with backup._state_files(database, folder) as found:
            assert found == ({}, [folder])
    with backup._state_files(database, folder) as found:
        assert found == ({backup.STATE_MARK: folder / backup.STATE_MARK}, [])
    with backup._state_files(database, "s3a://bucket/state") as found:
        assert found == ({}, ["s3a://bucket/state"])


def test_a_new_folder_needs_the_whole_journal(
    settings: Settings, database: str, tmp_path: Path, record: Callable[..., Record]
) -> None:
    ours = replace(settings, pipeline=PipelineSettings(folder=tmp_path / "state"))
    with PostgresStore.open(database, Timeline.INTEGER) as store:
        store.append([record(7, b"<a/>")])
        with pytest.raises(HistoryError, match="does not hold all its entries"):
            check_folder(ours, store, PlainMark(tmp_path))
