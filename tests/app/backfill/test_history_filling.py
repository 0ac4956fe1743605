"""Documents go straight to history, each content once, whatever happens on the way."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
from click.testing import CliRunner

from sensorstream.app.backfill.history_filling import Filled, backfill
from sensorstream.app.backfill.xml_documents import Refused
from sensorstream.app.control.wiring import read_deployment
from sensorstream.cli import main
from sensorstream.cli.init_command import TEMPLATES, make_workspace
from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE
from sensorstream.engine.message_reading import Arrived, Mapper
from sensorstream.engine.message_stages import statements_of
from sensorstream.history.store import PostgresStore
from sensorstream.model.events import Message
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings
from tests.databases import make_views
from tests.history.analysed import analysed
from tests.history.ends import stays_told_wrong

COUNT = 450


@pytest.fixture
def settings(tmp_path: Path, new_database: Callable[[], str]) -> Settings:
    """A tracking deployment whose history is empty."""
    url = new_database()
    given: dict[str, dict[str, object]] = {"history": {"url": url}, "spark": {"master": "local[2]"}}
    file = make_workspace(tmp_path / "work", TEMPLATES["tracking"], given)
    settings = load_settings(file)
    PostgresStore.open(url, settings.time.timeline).close()
    make_views(url, read_deployment(settings).ontology.schema, settings.time.timeline)
    return settings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Messages that differ in a comment: some as files, more in an archive, some twice."""
    made = tmp_path / "messages"
    made.mkdir()
    with zipfile.ZipFile(made / "many.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for n in range(COUNT):
            content = PAPER_MESSAGE + b"<!-- %d -->" % n
            archive.writestr(f"{n}.xml", content)
            if n % 10 == 0:
                (made / f"{n}.xml").write_bytes(content)
    (made / "malformed.xml").write_bytes(b"<a>")
    (made / "unknown.xml").write_bytes(b"<unknown/>")
    return made


def fill(
    settings: Settings, folder: Path, *, processes: int | None = None
) -> tuple[Filled, list[Refused]]:
    bad: list[Refused] = []
    url = settings.history.url
    return backfill(url, folder, settings, "rest", tell=bad.append, processes=processes), bad


def fill_on_spark(settings: Settings, folder: Path) -> tuple[Filled, list[Refused]]:
    """The same in Spark's executors; in a process of its own, which may have one Spark only."""
    command = [sys.executable, "-m", "sensorstream", "backfill", str(folder)]
    told = subprocess.run(
        [*command, "-c", str(settings.path), "--spark", "--json"], capture_output=True, text=True
    )
    assert told.returncode == 1, told.stderr
    answer = json.loads(told.stdout)
    bad = [Refused(each["name"], each["reason"]) for each in answer.pop("bad")]
    return Filled(**answer), bad


def stored(settings: Settings) -> Counter[tuple[str, str, str, int, int]]:
    """The statements in history, each as often as it is there."""
    with closing(psycopg2.connect(settings.history.url)) as connection:
        cursor = connection.cursor()
        cursor.execute(
            "select s.text, p.text, o.text, x.valid_from, x.valid_to from store.statements x "
            "join store.terms s on s.id = x.subject join store.terms p on p.id = x.predicate "
            "join store.terms o on o.id = x.object"
        )
        return Counter(cursor.fetchall())


def expected(settings: Settings) -> Counter[tuple[str, str, str, int, int]]:
    """What the messages say, mapped one by one."""
    mapper = Mapper(read_deployment(settings).mapping)
    arrived = mapper.map(Message("m1", PAPER_MESSAGE, 0, "rest"))
    assert isinstance(arrived, Arrived)
    return Counter(
        (str(s), str(p), getattr(o, "lexical", str(o)), event.time, event.time)
        for event in arrived.mapped.events
        for triples in statements_of(event).values()
        for s, p, o in triples
        for _ in range(COUNT)
    )


@pytest.mark.parametrize("mapped_by", ["one process", "two processes", "Spark"])
def test_each_content_is_stored_once_as_if_there_were_no_window(
    settings: Settings, folder: Path, mapped_by: str
) -> None:
    if mapped_by == "Spark":
        filled, bad = fill_on_spark(settings, folder)
    else:
        filled, bad = fill(settings, folder, processes=1 if mapped_by == "one process" else 2)
    assert (filled.stored, filled.known, filled.refused) == (COUNT, COUNT // 10, 2)
    known = analysed(settings.history.url)
    assert {"statements", "stays", "terms"} <= known
    assert any(each.startswith("statements_") for each in known)
    assert sorted((Path(each.name).name, each.reason.split(":")[0]) for each in bad) == [
        ("malformed.xml", "not well-formed XML at line 1, column 4"),
        ("unknown.xml", "no rule matches"),
    ]
    assert stored(settings) == expected(settings)
    again, _ = fill(settings, folder, processes=1)
    assert (again.stored, again.known) == (0, COUNT + COUNT // 10)
    assert stored(settings) == expected(settings)
    assert stays_told_wrong(settings.history.url) == (COUNT, [])


KILLED = """
import sys
from pathlib import Path
from sensorstream.app.backfill.history_filling import backfill
from sensorstream.settings.settings_file import load_settings
from tests.history.ends import stays_told_wrong
if __name__ == "__main__":
    settings = load_settings(Path(sys.argv[1]))
    backfill(settings.history.url, Path(sys.argv[2]), settings, "rest", tell=print, processes=1)
"""


def test_a_kill_at_a_random_point_loses_and_doubles_nothing(
    settings: Settings, folder: Path
) -> None:
    chance = random.Random(7)
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(settings.path), str(folder)],
            stdout=subprocess.DEVNULL,
        )
        bound = sum(stored(settings).values()) + chance.randrange(1, 300)
        while process.poll() is None and sum(stored(settings).values()) < bound:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
    fill(settings, folder, processes=1)
    assert stored(settings) == expected(settings)


def test_the_command_counts_and_lists_bad_files(settings: Settings, folder: Path) -> None:
    told = CliRunner().invoke(
        main, ["backfill", str(folder), "-c", str(settings.path), "--json", "--processes", "1"]
    )
    assert told.exit_code == 1, told.output
    answer = json.loads(told.stdout)
    assert (answer["stored"], answer["known"], answer["refused"]) == (COUNT, COUNT // 10, 2)
    assert {Path(each["name"]).name for each in answer["bad"]} == {"malformed.xml", "unknown.xml"}


def test_processes_and_spark_exclude_each_other(settings: Settings, folder: Path) -> None:
    options = ["-c", str(settings.path), "--spark", "--processes", "2"]
    told = CliRunner().invoke(main, ["backfill", str(folder), *options])
    assert told.exit_code == 2
    assert "--processes goes without Spark" in told.output


def test_a_new_folder_is_filled_before_its_server_has_ever_run(
    tmp_path: Path, empty_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENSORSTREAM_HISTORY_URL", empty_database())
    monkeypatch.chdir(tmp_path)
    recordings = tmp_path / "recordings"
    recordings.mkdir()
    (recordings / "one.xml").write_bytes(PAPER_MESSAGE)

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
        return done.stdout

    run("init", "deployment")
    for told in ("stored", "known"):
        counts = run("backfill", "recordings", "-c", "deployment/sensorstream.toml", "--json")
        assert json.loads(counts)[told] == 1
    shown = run("sql", "--csv", "-c", "deployment/sensorstream.toml", "select count(*) from human")
    assert shown.split()[-1] != "0"
