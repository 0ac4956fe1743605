"""Parts move to Parquet and back, each row once, whatever happens on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread

import pytest

from sensorstream.archive.archive_moves import archive, delete, restore
from sensorstream.archive.manifest import State, kept_parts
from sensorstream.archive.parquet_layout import STATEMENTS, TABLES
from sensorstream.errors import ArchiveError
from sensorstream.history.read_only_sql import run_sql
from sensorstream.history.store import PostgresStore
from tests.archive.conftest import DAY, LINE, START, STAYS, fill
from tests.databases import execute
from tests.history.analysed import analysed
from tests.history.ends import stays_told_wrong

END = LINE.of(START) + 40 * DAY
EVERYTHING = {
    "statements": "select subject, predicate, object, kind, datatype, language, number::varchar, "
    "moment::varchar, valid_from::varchar, valid_to::varchar, message_id, inferred, superseded "
    "from statements",
    "individuals": "select iri, class, time::varchar, expired_at::varchar, message_id "
    "from individuals",
}


def contents(url: str) -> Mapping[str, Sequence[str]]:
    """What history shows, as sorted texts."""
    return {
        name: sorted(map(str, run_sql(url, query, timeout=300, row_limit=10**6).rows))
        for name, query in EVERYTHING.items()
    }


def count(url: str, folder: Path) -> tuple[int, int]:
    """The statements and stays in PostgreSQL and in the archive together."""
    found = []
    for table in TABLES:
        ((stored,),) = execute(url, f"select count(*) from store.{table.name}")
        assert isinstance(stored, int)
        parts = kept_parts(url, State.ARCHIVED)
        assert all(part.file(folder, table).exists() for part in parts)
        found.append(stored + sum(part.rows(table) for part in parts))
    return found[0], found[1]


def test_what_ended_before_moves_and_comes_back_the_same(history: str, archived: Path) -> None:
    before = contents(history)
    whole = count(history, archived)
    parts = archive(history, archived, END, LINE)
    assert parts
    assert execute(history, "select count(*) from store.statements") == [(0,)]
    assert execute(history, "select count(*) from store.stays") == [(0,)]
    assert count(history, archived) == whole
    assert archive(history, archived, END, LINE) == []
    for part in parts:
        restore(history, archived, part.name, LINE)
    assert contents(history) == before
    # Each partition that has rows again.
    assert len([each for each in analysed(history) if each.startswith("statements_")]) == len(parts)
    assert stays_told_wrong(history) == (STAYS, [])
    assert not list(archived.rglob("*.parquet"))
    assert len(archive(history, archived, END, LINE)) == len(parts)


def test_younger_partitions_stay(history: str, archived: Path) -> None:
    (first, *_) = parts = archive(history, archived, LINE.of(START) + 2 * DAY, LINE)
    assert {each.ended_before <= LINE.of(START) + 2 * DAY for each in parts} == {True}
    assert first.name == "2014-08-01"
    left = execute(history, "select min(valid_to) from store.statements")
    assert left >= [(max(each.ended_before for each in parts),)]


def test_a_time_that_comes_late_makes_a_part_of_its_own(history: str, archived: Path) -> None:
    archive(history, archived, END, LINE)
    with PostgresStore.open(history, LINE) as store:
        archive(history, archived, END, LINE)
        fill(store, range(STAYS + 1, STAYS + 9), 21)
    again = archive(history, archived, END, LINE)
    assert sum(each.rows(STATEMENTS) for each in again) == 8 * 11
    restore(history, archived, again[0].name, LINE)
    assert count(history, archived)[1] == STAYS + 8


def archived_at_rest(url: str, folder: Path) -> bool:
    """Archive; False: the rows changed too often meanwhile."""
    try:
        archive(url, folder, END, LINE)
    except ArchiveError as error:
        if "keep changing" not in str(error):
            raise
        return False
    return True


def test_a_server_writes_while_others_archive(history: str, archived: Path) -> None:
    errors: list[BaseException] = []

    def write() -> None:
        try:
            with PostgresStore.open(history, LINE) as store:
                for turn in range(30):
                    first = STAYS + 1 + turn * 4
                    fill(store, range(first, first + 4), 21 + turn, messages=1)
        except BaseException as error:
            errors.append(error)

    writer = Thread(target=write)
    writer.start()
    while writer.is_alive():
        if not archived_at_rest(history, archived):
            continue
        parts = kept_parts(history, State.ARCHIVED)
        restore(history, archived, parts[len(parts) // 2].name, LINE)
    writer.join()
    assert errors == []
    total = STAYS + 120
    assert count(history, archived) == (total * 11, total)


STEPS = 4
KILLED = """
import os, signal, sys
from pathlib import Path
from sensorstream.archive import archive_moves
from sensorstream.model.timeline import Timeline
left = int(sys.argv[3])
def say(step):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
line = Timeline.DATETIME
folder = Path(sys.argv[2])
if sys.argv[4] == "archive":
    archive_moves.archive(sys.argv[1], folder, 2**62, line, say)
else:
    archive_moves.restore(sys.argv[1], folder, sys.argv[4], line, say)
"""


def killed(url: str, folder: Path, step: int, what: str) -> None:
    told = subprocess.run(
        [sys.executable, "-c", KILLED, url, str(folder), str(step), what],
        check=False,
        env={**os.environ},
    )
    assert told.returncode == -signal.SIGKILL


@pytest.mark.parametrize("step", range(STEPS + 2))
def test_a_kill_at_any_step_loses_and_doubles_nothing(
    history: str, archived: Path, step: int
) -> None:
    whole = count(history, archived)
    killed(history, archived, step, "archive")
    assert count(history, archived) == whole
    archive(history, archived, END, LINE)
    assert count(history, archived) == whole
    assert execute(history, "select count(*) from store.statements") == [(0,)]
    parts = kept_parts(history, State.ARCHIVED)
    assert len(list(archived.rglob("*"))) == 2 * len(parts) + len(TABLES)
    killed(history, archived, step % 2, parts[0].name)
    assert count(history, archived) == whole
    restore(history, archived, parts[0].name, LINE)
    assert count(history, archived) == whole


def test_a_damaged_file_is_not_restored(history: str, archived: Path) -> None:
    part, *_ = archive(history, archived, END, LINE)
    file = part.file(archived, STATEMENTS)
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 0xFF
    file.write_bytes(content)
    with pytest.raises(ArchiveError, match="does not hold what was archived"):
        restore(history, archived, part.name, LINE)
    assert execute(history, "select count(*) from store.statements") == [(0,)]


def test_a_folder_of_another_history_is_refused(history: str, archived: Path) -> None:
    (archived / "statements").mkdir(parents=True)
    (archived / "statements" / "2014-08-01.1.parquet").write_bytes(b"theirs")
    whole = count(history, archived)
    with pytest.raises(ArchiveError, match="is there already"):
        archive(history, archived, END, LINE)
    assert count(history, archived) == whole
    assert (archived / "statements" / "2014-08-01.1.parquet").read_bytes() == b"theirs"


def test_a_name_that_is_not_there_is_told_with_those_that_are(history: str, archived: Path) -> None:
    archive(history, archived, END, LINE)
    with pytest.raises(ArchiveError, match="no part '2013-01-01': its parts are 2014-08-01,"):
        restore(history, archived, "2013-01-01", LINE)


def test_old_parts_are_deleted_for_good(history: str, archived: Path) -> None:
    parts = archive(history, archived, END, LINE)
    bound = parts[0].ended_before
    gone = delete(history, archived, bound)
    assert [each.name for each in gone] == [parts[0].name]
    assert [each.name for each in kept_parts(history, State.ARCHIVED)] == [
        each.name for each in parts[1:]
    ]
    assert not parts[0].file(archived, STATEMENTS).exists()
    assert delete(history, archived, bound) == []
