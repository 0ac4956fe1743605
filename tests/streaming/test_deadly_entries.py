"""A message that ends the process of its engine is skipped the third time; all others count."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from pickle import dumps, loads
from typing import Any

import pytest

from sensorstream.app.application import Application
from sensorstream.app.control.wiring import read_deployment
from sensorstream.app.life.in_work import InWork
from sensorstream.app.life.recovery import find_start, skip_entry
from sensorstream.errors import SparkError, Unavailable
from sensorstream.history.journal_rows import JournalRow, record_of, row_of
from sensorstream.history.store import PostgresStore
from sensorstream.journal.entry_effects import merged
from sensorstream.journal.kinds import new_record
from sensorstream.journal.message import AskEngines
from sensorstream.journal.records import Effects, number_of_message
from sensorstream.journal.registration import RegisterQuery
from sensorstream.journal.takeover import PutRules
from sensorstream.model.events import Alert, Status
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings
from sensorstream.streaming.deadly_entries import DeadlyEntries, engine_number
from sensorstream.streaming.engine_host import EngineHost
from sensorstream.streaming.host_client import HostClient
from sensorstream.streaming.keyed_engine import Controls, KeyedEngine
from sensorstream.streaming.worker_messages import Done, EnginePlace, HostTask, Work
from tests.databases import execute
from tests.streaming.conftest import START, edit, hosts, on_spark, seen, write_deployment
from tests.streaming.stand_in import StandIn, entry, of_one_engine, parts, told

CAM = engine_number("=cam")
DEADLY = {66: "os._exit(3)", 67: "os.kill(os.getpid(), signal.SIGSEGV)", 68: "while True: pass"}
"""The values of x at which the function of the rule ends the process, or never ends."""
CODE = "import os, signal\ndef safe(text: str) -> str:\n" + "".join(
    f"    if text == '{x}':\n        {what}\n" for x, what in DEADLY.items()
)


def deadly_deployment(folder: Path, more: str = "") -> Settings:
    """A deployment whose mapping rule calls the function."""
    write_deployment(folder, f'[functions]\nfiles = ["safe.py"]\n{more}')
    (folder / "safe.py").write_text(f"{CODE}    return text\n")
    edit(folder, ("t.rules", "$person/@x}", "$person/@x |> safe}"))
    return load_settings(folder / "sensorstream.toml", {})


def rows(*values: int, first: int = 1) -> list[JournalRow]:
    """Messages of one person, with these values."""
    return [entry(n, seen("cam", n, (n % 3, x)), "cam") for n, x in enumerate(values, first)]


def without_skips(effects: Effects) -> dict[str, Any]:
    """What the effects say, but for the alerts about skipped entries and their reasons."""
    alerts = (a for a in effects.alerts if not isinstance(a, Alert) or a.kind != "entry-skipped")
    statuses = (replace(each, reason=None) for each in effects.statuses)
    return told(replace(effects, alerts=tuple(alerts), statuses=tuple(statuses)))


def test_what_ends_the_process_or_never_ends_is_skipped_and_told(
    folder: Path, tmp_path: Path
) -> None:
    settings = deadly_deployment(tmp_path, "[limits]\nentry_seconds = 0.4\n")
    said = rows(80, 66, 67, 75, 10, 68, 90, 20)
    # A fault of the program is no better.
    said.append(entry(9, b"no time", kind="time"))
    task = HostTask(settings, "", b"secret")
    with closing(HostClient(folder, 0, task)) as client:
        done = client.work(Work("=cam", None, 0, [dumps(said)]))
        found = merged(parts(done))
        assert isinstance(done, Done)
        # Another host rebuilds the engine without them.
        (host,) = hosts(folder)
        host.send_signal(signal.SIGKILL)
        host.wait()
        later = rows(85, first=10)
        assert client.work(Work("=cam", done.place, 0, [dumps(later)])) is None
        assert done.checkpoint is not None
        checkpoint = (done.place.last, done.checkpoint)
        again = Work("=cam", done.place, 0, [dumps(later)], rebuild=True, checkpoint=checkpoint)
        found = merged([found, *parts(client.work(again))])
    skipped = {
        each.seq: each.reason or "" for each in found.statuses if each.status is Status.SKIPPED
    }
    assert set(skipped) == {2, 3, 6, 9}
    assert skipped[2] == (
        "skipped: the process of its engine ended while entry 2 was in work, 2 times in a row; "
        "the message m2 from 'cam' is in quarantine"
    )
    assert skipped[9].endswith("; an entry of kind 'time' has no effect")
    alerts = [each for each in found.alerts if isinstance(each, Alert)]
    notices = {a.message: (a.key, a.text) for a in alerts if a.kind == "entry-skipped"}
    assert notices == {f"m{seq}": ("journal", reason) for seq, reason in skipped.items()}
    journal = [record_of(each) for each in (*said, *later)]
    known = [replace(r, status=Status.SKIPPED) if r.seq in skipped else r for r in journal]
    expected = without_skips(of_one_engine(read_deployment(settings), known))
    assert without_skips(found) == expected
    assert {row[0]: row[6] for row in loads(done.entries)}[2] == "skipped"


def test_a_message_that_has_waited_is_refused_at_its_turn(tmp_path: Path) -> None:
    deployment = read_deployment(write_deployment(tmp_path, '[time]\nlateness = "3"\n'))
    in_work = InWork(tmp_path / "0.in-work")
    in_work.open()
    host = EngineHost(deployment, "", deadly=DeadlyEntries(frozenset(), in_work))
    first = host.work(Work("=cam", None, 0, [dumps(rows(80, 66, 75))]))
    assert {each.status for each in merged(parts(first)).statuses} == {Status.HELD}
    assert isinstance(first, Done)
    # It dies twice while the second message has its turn.
    for _ in range(2):
        assert DeadlyEntries.count(tmp_path, 0).found == frozenset()
        in_work = InWork(tmp_path / "0.in-work")
        in_work.open()
        in_work.engine = CAM
        in_work.begin(record_of(rows(20, first=5)[0]))
        in_work.turn_to("m2")
    deadly = DeadlyEntries.count(tmp_path, 0)
    assert deadly.begin("=cam") == {2}
    assert not deadly.begin("=other")
    host = EngineHost(deployment, "", deadly=deadly)
    work = Work("=cam", first.place, 0, [dumps(rows(20, 30, 90, 40, first=4))])
    done = host.work(replace(work, rebuild=True, kept=[first.entries]))
    found = merged(parts(done))
    assert {each.message: each.status for each in found.settled}["m2"] is Status.REJECTED
    assert [each.message for each in found.alerts if each.kind == "entry-skipped"] == ["m2"]
    assert isinstance(done, Done)
    assert done.checkpoint is not None, "the state before has the message, which waits"
    assert DeadlyEntries.count(tmp_path, 0).found == {(2, CAM)}


def test_a_question_that_is_skipped_is_told_and_answered_by_an_error(tmp_path: Path) -> None:
    controls, asked = Controls(""), AskEngines("results", {}, "=cam")
    controls._asks = [new_record(asked, 2, START, 2)]
    deployment = read_deployment(write_deployment(tmp_path))
    deadly = DeadlyEntries(frozenset({(2, CAM)}))
    with closing(KeyedEngine(deployment, time.perf_counter, 1, "=cam", deadly)) as engine:
        effects, kept = engine.take(list(map(record_of, rows(80))), controls, 2)
    assert [record.seq for record in kept] == [1]
    found = merged(effects)
    assert [each.seq for each in found.statuses] == [1]
    (answer,) = found.answers
    with pytest.raises(Unavailable, match="ended twice while it answered"):
        raise loads(answer.content)[1]
    (alert,) = [a for a in found.alerts if isinstance(a, Alert) and a.kind == "entry-skipped"]
    assert (alert.message, alert.text.count("entry 2")) == ("m2.1", 1)


def test_hosts_that_end_without_an_entry_in_work_are_told(folder: Path, tmp_path: Path) -> None:
    settings = deadly_deployment(tmp_path)
    task = HostTask(settings, "", b"secret")
    # As if it had been taken in once; now it ends the process at each rebuilding.
    kept = dumps([row_of(replace(record_of(row), status=Status.ACCEPTED)) for row in rows(66)])
    work = Work("=cam", EnginePlace(1, 1, 1), 0, [dumps(rows(80, first=2))])
    with (
        closing(HostClient(folder, 0, task)) as client,
        pytest.raises(SparkError, match="ended twice at the key '=cam'"),
    ):
        client.work(replace(work, rebuild=True, kept=[kept]))


def test_what_ends_the_engine_of_one_key_is_in_force_for_all_others(tmp_path: Path) -> None:
    deployment = read_deployment(write_deployment(tmp_path))
    deadly = DeadlyEntries(frozenset({(2, CAM)}))
    controls = Controls("")
    put = PutRules({"t.rules": deployment.texts["t.rules"]}, "me", {})
    query = RegisterQuery("far", "ASK { ?s ?p ?o }")
    for entry_of_all, skipped in ((query, True), (put, False)):
        controls._changes = [new_record(entry_of_all, 2, START, 2)]
        for key in ("=cam", "=other"):
            with closing(KeyedEngine(deployment, time.perf_counter, 1, key, deadly)) as engine:
                said = list(map(record_of, rows(80)))
                if key == "=cam" and not skipped:
                    with pytest.raises(SparkError, match=r"entry 2 \(rules\) .*'cam'.* skip 2'"):
                        engine.take(said, controls, 2)
                    continue
                found = merged(engine.take(said, controls, 2)[0])
                told_skipped = [
                    a.message for a in found.alerts if isinstance(a, Alert) and "skip" in a.kind
                ]
                assert told_skipped == ["m2.1"] * (skipped and key == "=cam")


def test_a_takeover_that_is_skipped_in_the_journal_is_passed_by_all(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    url = new_database()
    settings = on_spark(write_deployment(tmp_path), url)
    with Application.open(settings) as server:
        texts = {each.name: each.text for each in server.rulebook.files().files}
        server.submit(seen("cam", 1, (1, 80)), "cam").result(60)
        server.rulebook.put("more.rules", "# nothing", "me")
        server.submit(seen("cam", 2, (2, 90)), "cam").result(60)
    with closing(PostgresStore.open(url, settings.time.timeline)) as store:
        seq = number_of_message(server.rulebook.files().origin)
        skip_entry(seq, "skipped: it is deadly", store, find_start(store), START)
    with Application.open(settings) as server, closing(StandIn(server.deployment, url)) as spark:
        assert {each.name: each.text for each in server.rulebook.files().files} == texts
        while spark.batch():
            """All is done."""
        told = execute(url, "select status from store.messages where seq = %s", values=(seq,))
        assert told == [("skipped",)]
        assert execute(url, "select count(*) from store.alerts where rule = 'far'") == [(2,)]
