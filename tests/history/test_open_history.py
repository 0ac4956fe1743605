"""The history of the settings: what each way to open it needs and makes."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from sensorstream.errors import HistoryError
from sensorstream.history.open_history import (
    dump,
    fill,
    open_history,
    open_kept,
    open_prepared,
    open_shown,
)
from sensorstream.history.store import PostgresStore
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import HistorySettings
from tests.databases import Databases, make_history, rows
from tests.history.analysed import analysed
from tests.history.test_store import departure, effects, entry

SCHEMA = Schema(classes=frozenset({IRI("http://example.org/Human")}))


@pytest.fixture
def empty(empty_database: Databases) -> HistorySettings:
    return HistorySettings(url=empty_database())


def test_a_kept_history_is_one_that_a_server_has_written(
    empty: HistorySettings, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        for never in (empty, HistorySettings(folder=tmp_path)):
            with pytest.raises(HistoryError, match="there is no history yet"):
                open_kept(never, stack)
        assert [*tmp_path.iterdir()] == []
        assert open_history(empty, stack) == empty.url
        make_history(empty.url)
        assert open_kept(empty, stack) == empty.url


def test_what_is_missing_is_made_once(empty: HistorySettings) -> None:
    url = empty.url
    views = "select viewname from pg_views where schemaname = 'history' and viewname = 'human'"
    with ExitStack() as stack:
        assert open_prepared(empty, Timeline.DATETIME, stack) == url
        assert rows(url, "select timeline from store.progress") == [("datetime",)]
        assert rows(url, views) == []
        assert open_shown(empty, Timeline.DATETIME, lambda: SCHEMA, stack) == url
        assert rows(url, views) == [("human",)]
        # A running server goes on, and the ontology is not read for views that are there.
        with PostgresStore.open(url, Timeline.DATETIME):
            assert open_prepared(empty, Timeline.DATETIME, stack) == url
            assert open_shown(empty, Timeline.DATETIME, lambda: pytest.fail("read"), stack) == url


def test_a_dump_fills_an_empty_database_and_no_other(
    store: PostgresStore, empty: HistorySettings, tmp_path: Path, folder: Path
) -> None:
    store.append([entry(1, b"\0'")])
    store.commit(effects(1, 1, departures=[departure(7)]))
    file = tmp_path / "it's a dump"
    dump(store.url, file)
    (tmp_path / "broken").write_bytes(file.read_bytes()[:-100])
    with pytest.raises(HistoryError, match="pg_restore failed"):
        fill(empty.url, tmp_path / "broken")
    fill(empty.url, file)
    for table in ("messages", "stays", "terms", "progress"):
        query = f"select * from store.{table}"
        assert rows(empty.url, query) == rows(store.url, query) != []
    assert "stays" in analysed(empty.url)
    with pytest.raises(HistoryError, match="holds a history already"):
        fill(empty.url, file)


def test_a_program_that_fails_or_is_not_there_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = "postgresql://me:hunter2@127.0.0.1:1/none"
    with pytest.raises(HistoryError, match=r"pg_dump failed: .*refused") as failed:
        dump(url, tmp_path / "d")
    monkeypatch.setattr("sensorstream.history.open_history.binaries", lambda: tmp_path)
    with pytest.raises(HistoryError, match="pg_dump cannot be run") as missing:
        dump(url, tmp_path / "d")
    assert "hunter2" not in f"{failed.value}{missing.value}"
