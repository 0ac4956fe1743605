"""The pipeline on a real Spark, over a real PostgreSQL: killed, started again, and compared."""

from __future__ import annotations

import io
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil
import psycopg2
from click.testing import CliRunner

from sensorstream.app.control.rule_exchange import Exchange
from sensorstream.app.control.wiring import build_machine, read_deployment
from sensorstream.app.questions.engine_questions import _Plain
from sensorstream.app.questions.mirrored_window import EngineView, WindowMirror
from sensorstream.cli import main
from sensorstream.history.journal_rows import record_of
from sensorstream.history.store import PostgresStore
from sensorstream.journal.kinds import new_record, replay
from sensorstream.journal.message import AskEngines, PassTime
from sensorstream.journal.records import Record
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings
from tests import effort
from tests.databases import execute, make_views
from tests.streaming.conftest import edit, seen, write_deployment
from tests.streaming.stand_in import of_one_engine, registered, write
from tests.streaming.test_passing_time import WAITING
from tests.waiting import eventually

PATIENCE = 800
RELATIONS = ("individuals", "statements", "alerts", "human", "x")
DIFFERENT = {"seq", "raised_at"}
"""Columns that may differ: the order of alerts in the table, and wall time."""


def on_one_machine(url: str, folder: Path | str, history: str = "", pipeline: str = "") -> str:
    """The settings of a pipeline with two cores here; more of the history's and its own."""
    return (
        f'[history]\nurl = "{url}"\n{history}\n[spark]\nmaster = "local[2]"\n'
        f'[pipeline]\nfolder = "{folder}"\n{pipeline}\n'
    )


def journal(record: Callable[..., Record], count: int) -> list[Record]:
    """Messages of four cameras, in no order of theirs."""
    dice = random.Random(7)
    found = []
    for seq in range(1, count + 1):
        camera = dice.choice(("north", "south", "east", "west"))
        people = [(dice.randrange(9), dice.randrange(101)) for _ in range(dice.randrange(1, 3))]
        found.append(record(seq, seen(camera, seq, *people), camera))
    return found


def rows(url: str, relation: str) -> list[tuple[Any, ...]]:
    """All rows of a view, sorted, without the columns that may differ."""
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute(f"select * from history.{relation}")
        assert cursor.description is not None
        names = [each.name for each in cursor.description]
        same = [place for place, name in enumerate(names) if name not in DIFFERENT]
        return sorted((tuple(row[place] for place in same) for row in cursor), key=repr)


def check_same(url: str, expected: str, schema: Schema, *relations: str) -> None:
    """Compare views of two histories; the views of the second are made now."""
    make_views(expected, schema)
    for relation in relations:
        assert rows(url, relation) == rows(expected, relation), relation


def stored(url: str, at_least: int = 0, command: subprocess.Popen[str] | None = None) -> int:
    """The last entry whose effects are stored, 0 before there is a store; waits for one at least
    as late, which a command is to store.
    """
    deadline = time.monotonic() + PATIENCE
    # To connect takes as long as a hundred looks.
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        connection.autocommit = True
        while True:
            cursor.execute("select watermark from store.progress")
            ((found,),) = cursor.fetchall() or ((0,),)
            if command is None or found >= at_least:
                return int(found)
            assert command.poll() is None, command.stderr and command.stderr.read()
            assert time.monotonic() < deadline, "the pipeline has not come so far"
            time.sleep(0.02)


def measured(url: str) -> dict[str, Any]:
    """The figures of the last batch, when there are any."""
    found: list[dict[str, Any]] = []

    def told() -> bool:
        found[:] = [each for (each,) in execute(url, "select progress from store.pipeline")]
        return found != [None]

    eventually(told)
    return found[0]


def started(settings: Settings, *options: str) -> subprocess.Popen[str]:
    """The command in a session of its own, so that all its processes can be found."""
    return subprocess.Popen(
        [sys.executable, "-m", "sensorstream", "stream", "-c", str(settings.path), *options],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
        start_new_session=True,
    )


def processes(command: subprocess.Popen[str], name: str = "") -> list[psutil.Process]:
    """All processes of a command, or those that run a Python module of this name."""
    found = []
    for each in psutil.process_iter(["cmdline"]):
        with suppress(ProcessLookupError):
            if os.getsid(each.pid) == command.pid and (
                not name or any(name in part for part in each.info["cmdline"] or ())
            ):
                found.append(each)
    return found


def kill(victims: Sequence[psutil.Process]) -> None:
    """End processes by force."""
    assert victims
    for each in victims:
        with suppress(psutil.NoSuchProcess):
            each.kill()


def killed(command: subprocess.Popen[str]) -> None:
    """End a command by force, with all its processes."""
    kill(processes(command))
    command.wait()
    assert command.stderr is not None
    command.stderr.close()


def finished(command: subprocess.Popen[str]) -> str:
    """What the command tells on stderr when it has ended."""
    _, told = command.communicate(timeout=PATIENCE)
    assert command.returncode == 0, told
    return told


JUMP = """PREFIX : <http://example.org/t#>
rule jump
define { dotr_id1 a :Jump ; :from ?q ; :to ?p }
from High(SELECT ?p ?x { ?p :x ?x FILTER(?x > 70) })
 and last Low(SELECT ?q ?y { ?q :x ?y FILTER(?y < 50) }) within 8 s from High
with ?p = High.?p, ?q = Low.?q
consuming Low
alert warning "from {?q} to {?p}" key "{?p}" """
FALL = """PREFIX : <http://example.org/t#>
SELECT ?p ?q ALERT info "{?p} is followed by {?q}" KEY "{?p}" WHERE {
  { ?p :x ?x } SEQ { ?q :x ?y }
  FILTER(?x > ?y && getDURATION() <= "PT3S"^^<http://www.w3.org/2001/XMLSchema#duration>) }"""


def test_what_takes_time_does_on_spark_what_it_does_in_a_server_over_a_restart(
    tmp_path: Path, new_database: Callable[[], str], record: Callable[..., Record]
) -> None:
    url, expected = new_database(), new_database()
    state = f"file://{tmp_path}/state"
    write_deployment(tmp_path, on_one_machine(url, state, "checkpoint_every = 5"))
    far = (
        ":Far a owl:Class ; owl:equivalentClass "
        "[ a owl:Restriction ; owl:onProperty :x ; owl:hasValue 80 ] .\n"
    )
    edit(
        tmp_path,
        ("t.ttl", ":x a owl", f"{far}:x a owl"),
        ("t.rules", "rule far", f"{WAITING}rule far"),
        ("sensorstream.toml", 'profile = "plain"', 'profile = "hermit"'),
    )
    settings = load_settings(tmp_path / "sensorstream.toml", {})
    deployment = read_deployment(settings)
    texts = {"jump": JUMP, "fall": FALL}
    records = [
        record_of(registered(seq, name, text)) for seq, (name, text) in enumerate(texts.items(), 1)
    ]
    people = [
        (time, camera, time % 9, 20 if time % 3 else 80)
        for time, camera in enumerate(("north", "south") * 12, 1)
    ]
    records += (record(t + 2, seen(camera, t, (who, x)), camera) for t, camera, who, x in people)
    silence = record(27, PassTime(24, 44).encode()[0], kind=PassTime.kind)
    records.append(replace(silence, message=replace(silence.message, received=45)))
    subscribed(url, *texts)
    write(expected, records, of_one_engine(deployment, records))

    # Questions at the end change nothing.
    north = [f"<http://example.org/t#north-{n}>" for n in (1, 3)]
    a = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    asked = (
        AskEngines("why", {"statement": [north[1], a, "<http://example.org/t#Far>"]}),
        AskEngines(
            "why-not", {"rule": "far", "individual": north[0][1:-1], "variable": ""}, "=north"
        ),
    )
    now = datetime.now(UTC)
    questions = [new_record(each, seq, now, 45) for seq, each in enumerate(asked, 28)]
    for part in (records[:15], [*records[15:], *questions]):
        write(url, part)
        finished(started(settings, "--once"))
    found = execute(url, "select entry, key, content from store.answers order by entry, key")
    answers = {(entry, key): _Plain(io.BytesIO(content)).load() for entry, key, content in found}
    assert list(answers) == [(28, "=north"), (28, "=south"), (29, "=north")]
    assert [len(seen.kept) > 0 for _, seen in list(answers.values())[:2]] == [True, False]
    assert "?x is 20" in answers[29, "=north"][1].answer

    check_same(url, expected, deployment.ontology.schema, "individuals", "statements", "far")
    assert raised(url) == raised(expected)
    # Some in the stream, and each when all are silent.
    assert {rule for rule, *_ in raised(url)} == {"far", "near", "gone"}
    assert any("#Far" in str(row) for row in rows(url, "statements")), "the reasoner infers"
    # Patterns and rules over time: what each key says by itself, each once.
    lines = [line for key in ("north", "south") for line in ran(tmp_path, texts, people, key)]
    assert reported(url) == sorted(map(said, (line for line in lines if "op" in line)))
    alerts = [
        (line["query"], line["key"], line["time"], line["alert"])
        for line in lines
        if "alert" in line
    ]
    assert raised(url, "query") == sorted(alerts)
    assert {rule for rule, *_ in alerts} == set(texts)


def ran(
    folder: Path, texts: Mapping[str, str], people: Sequence[tuple[int, str, int, int]], key: str
) -> list[dict[str, Any]]:
    """What ``sensorstream run --rules`` prints of the events of one key."""
    (folder / "jump.dotr").write_text(texts["jump"])
    (folder / "fall.rq").write_text(texts["fall"])
    file = folder / f"{key}.jsonl"
    with file.open("w") as events:
        for moment, camera, who, x in people:
            graph = f"@prefix : <http://example.org/t#> . :{camera}-{who} a :Human ; :x {x} ."
            if camera == key:
                events.write(json.dumps({"time": moment, "graph": graph}) + "\n")
    given = ("--rules", folder / "jump.dotr", "--query", folder / "fall.rq", "--events", file)
    done = CliRunner().invoke(main, ["run", *map(str, given)])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def reported(url: str) -> list[str]:
    """What reports are in the outbox, sorted."""
    return sorted(
        said(json.loads(data))
        for (data,) in execute(
            url, "select report_data from store.events where report_query is not null"
        )
    )


def said(report: dict[str, Any]) -> str:
    """A report of a rule over time, or of one row of a pattern.

    Identifiers of what is made follow from its time, which ``run`` counts in other units.
    """
    if "graph" in report:
        what = re.sub(r"<urn:dotr:\w+-id1>", "<made>", report["graph"])
        return repr((report["rule"], report["time"], what))
    (row,) = report["bindings"] if "intervals" in report else [report["bindings"]]
    (interval,) = report.get("intervals") or [report["interval"]]
    return repr((report["query"], report["time"], interval, sorted(row.items())))


def raised(url: str, kind: str = "rule") -> list[tuple[Any, ...]]:
    """The alerts, but for the entry that tells an engine what time it is."""
    return execute(
        url,
        "select rule, key, time, split_part(text, ' (late', 1) from store.alerts "
        "where kind = %s order by rule, key, time",
        values=(kind,),
    )


def subscribed(url: str, *queries: str) -> None:
    """A webhook gets all alerts, and the reports of some queries."""
    with PostgresStore.open(url, Timeline.INTEGER) as store, store._transaction("test") as cursor:
        cursor.execute(
            "insert into store.webhooks (id, url, secret, created_at, number, place, queries) "
            "values ('w', 'http://127.0.0.1:9/', 'secret', now(), 1, 0, %s)",
            (list(queries),),
        )


def deliveries(url: str) -> list[tuple[Any, ...]]:
    """Which alerts are in the outbox."""
    return execute(url, "select webhook_id, alert_id from store.outbox order by 2")


def test_whatever_is_killed_it_stores_what_a_server_stores_each_once(
    tmp_path: Path, new_database: Callable[[], str], record: Callable[..., Record]
) -> None:
    url, expected = new_database(), new_database()
    more = on_one_machine(url, tmp_path / "state", "checkpoint_every = 30", "batch = 60")
    settings = write_deployment(tmp_path, more)
    deployment = read_deployment(settings)
    records = [*journal(record, 240), *of_a_folder(record, tmp_path / "in", 240, 60)]
    subscribed(url)
    subscribed(expected)
    write(url, records[:240])
    write(expected, records, of_one_engine(deployment, records))
    seed = int(os.environ.get("TEST_KILL_SEED", "17"))
    # At random moments only in a campaign: a plain run does it where stages are tried.
    rounds = int(os.environ.get("TEST_KILLS", min(5, len(effort.rounds(2)))))
    dice = random.Random(seed)

    # A process of engines ends: the pipeline goes on by itself.
    command = started(settings)
    stored(url, 60, command)
    progress = measured(url)
    assert (progress["entries"], progress["keys"]) == (60, 4)
    assert {"engines", "store", "addBatch", "walCommit"} <= set(progress["seconds"])
    assert progress["state_rows"] >= 4
    assert progress["state_bytes"] > 0
    kill(processes(command, "engine_host")[-1:])
    stored(url, min(stored(url) + 60, 240), command)
    # A Python process of Spark ends: Spark goes on, or the command says why it cannot.
    kill(processes(command, "worker_daemon")[-1:])
    time.sleep(dice.uniform(0, 3))
    # Spark itself ends: that is told in a sentence.
    if command.poll() is None:
        kill(processes(command, "org.apache.spark.deploy.SparkSubmit"))
    _, told = command.communicate(timeout=PATIENCE)
    assert command.returncode == 3
    assert told.strip().splitlines()[-1].startswith("error[spark]: "), told
    # From here on another source has more, while all is killed at any moment.
    source = ("--source", f"folder:{tmp_path / 'in'}")
    for _ in range(rounds - 1):
        command = started(settings, *source)
        time.sleep(dice.uniform(1, 25))
        killed(command)
    told = finished(started(settings, *source, "--once"))

    assert stored(url) == 300, seed
    assert "entries in" in told
    check_same(url, expected, deployment.ontology.schema, *RELATIONS)
    assert rows(url, "alerts"), "the stream raises alerts"
    assert deliveries(url) == deliveries(expected), seed
    # What the windows hold is told once, too.
    machine = build_machine(deployment, perf_counter)
    target = Exchange(machine.engine, machine.mapper, deployment)
    for each in records:
        replay(each, target, ())
    with (
        closing(machine.engine),
        closing(WindowMirror(lambda: url, lambda: deployment)) as mirror,
        mirror.looking() as windows,
    ):
        assert standing(windows) == standing(machine.engine), seed


def standing(view: EngineView) -> list[str]:
    """The individuals of the windows, and what is inferred of them, but for numbers of stays."""
    stays = (
        repr((e.name, e.entered, e.time, e.message, sorted(e.statements.items(), key=repr)))
        for e in view.window
    )
    begun = view.inferences.begun().items()
    return sorted([*stays, *(repr((triple, each.provenance)) for triple, each in begun)])


def of_a_folder(
    record: Callable[..., Record], folder: Path, after: int, count: int
) -> list[Record]:
    """Messages in files, and what they are in the journal."""
    folder.mkdir()
    dice = random.Random(after)
    found = []
    for seq in range(after + 1, after + count + 1):
        content = seen("stream", seq, (dice.randrange(9), dice.randrange(101)))
        (folder / f"{seq}.xml").write_bytes(content)
        found.append(record(seq, content, "stream"))
    return found
