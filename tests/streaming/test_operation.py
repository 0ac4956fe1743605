"""The command in operation: ended by Ctrl-C, given more partitions, with a deadly message."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from sensorstream.app.control.wiring import read_deployment
from sensorstream.cli import main
from sensorstream.history.journal_rows import journal_rows
from sensorstream.journal.records import Record
from sensorstream.model.events import Status
from sensorstream.settings.settings_file import load_settings
from tests.databases import execute
from tests.streaming.conftest import seen
from tests.streaming.stand_in import of_one_engine, write
from tests.streaming.test_deadly_entries import deadly_deployment
from tests.streaming.test_spark_stream import (
    check_same,
    finished,
    on_one_machine,
    raised,
    started,
    stored,
)

KEYS = ("north", "south", "east", "west")
DEADLY, COUNT = 30, 160


def batches(folder: Path, kind: str) -> list[int]:
    """The numbers of batches that are planned (``offsets``) or done (``commits``)."""
    return sorted(int(each.name) for each in (folder / kind).iterdir() if each.name.isdigit())


def test_it_ends_after_its_batch_and_goes_on_with_more_partitions_and_without_what_kills_it(
    tmp_path: Path,
    new_database: Callable[[], str],
    empty_database: Callable[[], str],
    record: Callable[..., Record],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, expected, state = new_database(), new_database(), tmp_path / "state"
    pipeline = 'runner = "spark"\nbatch = 40'
    more = on_one_machine(url, "state", "checkpoint_every = 15", pipeline)
    settings = deadly_deployment(tmp_path, more)
    deployment = read_deployment(settings)
    dice = random.Random(3)
    records = []
    for seq in range(1, COUNT + 1):
        camera, x = dice.choice(KEYS), dice.choice((*range(30, 66), *range(70, 101)))
        x = 66 if seq == DEADLY else x
        records.append(record(seq, seen(camera, seq, (dice.randrange(9), x)), camera))
    skipped = replace(records[DEADLY - 1], status=Status.SKIPPED)
    known = [*records[: DEADLY - 1], skipped, *records[DEADLY:]]
    write(url, records)
    write(expected, records, of_one_engine(deployment, known))

    command = started(settings)
    stored(url, 40, command)
    # As a terminal does it: all processes of the command get it.
    os.killpg(command.pid, signal.SIGINT)
    told = finished(command)
    assert "ending after this batch" in told
    assert batches(state, "offsets") == batches(state, "commits")
    done = stored(url)
    assert done % 40 == 0
    assert {each.name for each in (state / "state/0").iterdir()} >= {"0", "1"}

    # A backup has the state; it goes on elsewhere.
    url = empty_database()
    backup, again = str(tmp_path / "backup.tar"), tmp_path / "again"
    made = CliRunner().invoke(main, ["backup", backup, "-c", str(settings.path)])
    assert (made.exit_code, made.stderr) == (0, ""), made.output
    monkeypatch.setenv("SENSORSTREAM_HISTORY_URL", url)
    made = CliRunner().invoke(main, ["restore", backup, str(again)])
    assert made.exit_code == 0, made.output
    state.rename(tmp_path / "away")
    state = again / "state"
    finished(started(load_settings(again / "sensorstream.toml"), "--once", "--partitions", "5"))
    assert stored(url) == COUNT
    assert {str(n) for n in range(5)} <= {each.name for each in (state / "state/0").iterdir()}
    relations = ("individuals", "statements", "human", "x")
    check_same(url, expected, deployment.ontology.schema, *relations)
    assert raised(url) == raised(expected)
    assert raised(url), "the stream raises alerts"
    (row,) = [each for each in journal_rows(url, 0) if each[0] == DEADLY]
    assert row[6] == "skipped"
    notice = "select key, message_id from store.alerts where kind = 'entry-skipped'"
    assert execute(url, notice) == [("journal", f"m{DEADLY}")]
