"""``sensorstream run --rules``: semantic rules over recorded events."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]

E = "http://example.org/"
STATIC = """@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
<http://example.org/> a owl:Ontology .
:Human a owl:Class . :Meeting a owl:Class . :Nurse a owl:Class ; rdfs:subClassOf :Human .
:in a owl:ObjectProperty . :with a owl:ObjectProperty ."""
RULES = """prefix : <http://example.org/>
rule company
on insert :Human as ?who
if select { SELECT ?other { ?who :in ?r . ?other :in ?r FILTER(?other != ?who) } }
then alert warning "{?who} meets {?other}" key "{?who}" for "PT10S"
     insert individual :meeting-{new} a :Meeting ; :with ?other .
     reply "<Lamp/>"

rule wrong
on change
if select { SELECT ?name { ?x :named ?name } }
then insert individual ?name a :Human .
"""
MEETINGS = f"PREFIX : <{E}> SELECT ?m ?w {{ ?m a :Meeting ; :with ?w }}"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "r.rules").write_text(RULES)
    (tmp_path / "kb.ttl").write_text(STATIC)
    (tmp_path / "meetings.rq").write_text(MEETINGS)
    return tmp_path


def write(folder: Path, *events: tuple[int, str]) -> Path:
    file = folder / "events.jsonl"
    told = [{"time": time, "graph": f"@prefix : <{E}> . {graph}"} for time, graph in events]
    file.write_text("".join(f"{json.dumps(each)}\n" for each in told))
    return file


def lines(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_rules_react_and_queries_see_what_they_did(run: Run, files: Path) -> None:
    events = write(files, (1, ":ann a :Human ; :in :lab ."), (5, ":bob a :Nurse ; :in :lab ."))
    result = run(
        *("run", "--rules", files / "r.rules", "--static", files / "kb.ttl"),
        *("--query", files / "meetings.rq", "--events", events, "--window", "landmark"),
    )
    alert, reply, row = lines(result)
    assert alert == {
        "rule": "company",
        "time": 5,
        "alert": f"{E}bob meets {E}ann",
        "severity": "warning",
        "key": f"{E}bob",
    }
    assert reply == {"time": 5, "reply": "<Lamp/>"}
    assert (row["query"], row["time"], row["op"]) == ("meetings", 5, "+")
    assert row["bindings"]["m"]["value"] == f"{E}meeting-e2-1"
    assert row["bindings"]["w"]["value"] == f"{E}ann"


def test_the_window_lets_go(run: Run, files: Path) -> None:
    events = write(files, (1, ":ann a :Human ; :in :lab ."), (9, ":bob a :Human ; :in :lab ."))
    given = ("run", "--rules", files / "r.rules", "--events", events, "--static", files / "kb.ttl")
    assert len(lines(run(*given, "--window", "landmark"))) == 2
    assert len(lines(run(*given, "--window", "sliding 2 individuals"))) == 2
    assert lines(run(*given, "--window", "sliding 1 individuals")) == []
    assert lines(run(*given, "--window", "sliding PT5S")) == []
    assert len(lines(run(*given, "--window", "sliding PT10S"))) == 2


def test_an_event_whose_rules_fail_leaves_no_trace(run: Run, files: Path) -> None:
    bad = ':bob a :Human ; :in :lab ; :named "Bob" .'
    events = write(files, (1, ":ann a :Human ; :in :lab ."), (2, bad), (3, ":cat :in :lab ."))
    given = ("run", "--rules", files / "r.rules", "--events", events, "--window", "landmark")
    result = run(*given)
    assert lines(result) == []
    assert "event 2 is left out: " in result.stderr
    assert "rule wrong" in result.stderr


def test_a_late_event_enters_nothing(run: Run, files: Path) -> None:
    events = write(files, (5, ":ann a :Human ; :in :lab ."), (1, ":bob a :Human ; :in :lab ."))
    given = ("run", "--rules", files / "r.rules", "--events", events, "--window", "landmark")
    result = run(*given)
    assert lines(result) == []
    assert "1 events were late" in result.stderr
    in_order = run(*given, "--lateness", "5")
    assert lines(in_order)[0]["alert"] == f"{E}ann meets {E}bob"


@pytest.mark.parametrize("window", ["", "sliding", "sliding 5", "landmark 3", "hopping PT5S"])
def test_words_that_describe_no_window_are_refused(run: Run, files: Path, window: str) -> None:
    events = write(files)
    result = run("run", "--rules", files / "r.rules", "--events", events, "--window", window)
    assert result.exit_code == 1
    assert f"'{window}' is not a window: expected e.g. 'sliding 1000 individuals'" in result.stderr


def test_there_must_be_a_query_or_rules(run: Run, files: Path) -> None:
    result = run("run", "--events", write(files), status=2)
    assert "expected --query or --rules" in result.stderr
    wrong = run("run", "--rules", files / "kb.ttl", "--events", write(files), status=1)
    assert "expected a file of rules, named *.rules" in wrong.stderr


def test_rules_without_a_window_are_refused(run: Run, files: Path) -> None:
    result = run("run", "--rules", files / "r.rules", "--events", write(files), status=1)
    assert "expected a window, such as 'landmark'" in result.stderr


def test_rules_over_time_know_datalog_rules_and_the_background(run: Run, tmp_path: Path) -> None:
    # Rule R of "DOTR", section 3, with its example.
    prefix = "PREFIX : <http://example.org/>\n"
    fire = tmp_path / "fire.dotr"
    fire.write_text(
        f"{prefix}define {{ dotr_id1 a :Fire ; :at_room ?room }}\n"
        "from Smoke(SELECT ?r ?room WHERE { ?r a :Smoke ; :is_in_room ?room })\n"
        "and last HighTemp(SELECT ?r ?room WHERE { ?r :value ?v ; :is_in_room ?room "
        "FILTER(?v > 20) }) within 5 min from Smoke\n"
        "where HighTemp.room = Smoke.room with ?room = Smoke.room\n"
    )
    rooms = tmp_path / "rooms.dlog"
    rooms.write_text(f"{prefix}:is_in_room(?a, ?b) :- :at(?a, ?c), :is_in_room(?c, ?b).\n")
    static = tmp_path / "rooms.ttl"
    static.write_text(
        "@prefix : <http://example.org/> . :a :is_in_room :hall . :b :is_in_room :hall ."
    )
    events = tmp_path / "events.jsonl"
    graphs = [(10, ":r1 :value 25 ; :at :a ."), (12, ":r2 a :Smoke ; :at :b .")]
    events.write_text(
        "".join(
            json.dumps({"time": time, "graph": f"{prefix}{graph}"}) + "\n" for time, graph in graphs
        )
    )
    told = run("run", "--rules", fire, "--rules", rooms, "--static", static, "--events", events)
    assert told.exit_code == 0, told.output
    (line,) = told.output.splitlines()
    found = json.loads(line)
    assert (found["rule"], found["time"], found["op"]) == ("fire", 12, "+")
    assert "<http://example.org/at_room> <http://example.org/hall>" in found["graph"]
    plan = run("explain", "--query", fire, "--plan")
    assert "Rule fire, on each Smoke; keeps HighTemp for 300000000" in plan.output, plan.output


def test_a_refused_rule_over_time_has_its_place_in_its_file(run: Run, tmp_path: Path) -> None:
    # What is registered begins with the Datalog rules of the other file.
    rooms, fire, events = tmp_path / "rooms.dlog", tmp_path / "fire.dotr", tmp_path / "e.jsonl"
    rooms.write_text("<p>(?x) :- <q>(?x).\n<q>(?x) :- <r>(?x).\n")
    fire.write_text("\ndefine { dotr_id1 a <r> } from P(SELECT ?x { ?x a <p> })")
    events.write_text("")
    told = run("run", "--rules", fire, "--rules", rooms, "--events", events)
    assert told.exit_code != 0
    assert told.stderr.startswith(f"error[unsupported-query]: {fire}:2:1: at one moment what")


SINCE = f"""prefix : <{E}>
rule age
on insert :Human as ?who
if select {{ SELECT ?now ?u {{ ?who :until ?u FILTER(?now - ?u <= 40) }} }}
then reply "<Now>{{?now}}</Now>"
"""
LASTING = f"PREFIX : <{E}> SELECT ?x ?t {{ ?x :until ?u BIND(getENDTIME() AS ?t) FILTER(?t > ?u) }}"


@pytest.mark.parametrize(
    ("times", "until", "now", "datatype"),
    [
        ((50, 91), 50, ["50"], "integer"),
        ((50.5, 90.5), 50.5, ["50.5", "90.5"], "decimal"),
        ((-3, 0), -40, ["-3", "0"], "integer"),
    ],
)
@pytest.mark.parametrize("of", ["file", "stdin"])
def test_rules_and_patterns_see_times_as_the_events_write_them(
    run: Run,
    tmp_path: Path,
    times: tuple[float, ...],
    until: float,
    now: list[str],
    datatype: str,
    of: str,
) -> None:
    (tmp_path / "age.rules").write_text(SINCE)
    (tmp_path / "lasting.rq").write_text(LASTING)
    (tmp_path / "kb.ttl").write_text(f"{STATIC} :until a owl:DatatypeProperty .")
    graph = "<http://example.org/{}> a <http://example.org/Human> ; <http://example.org/until> {} ."
    lines = [
        json.dumps({"time": time, "graph": graph.format(f"h{place}", until)})
        for place, time in enumerate(times)
    ]
    given = "\n" + "\n".join(lines)
    (tmp_path / "e.jsonl").write_text(given)
    result = run(
        "run",
        f"--query={tmp_path / 'lasting.rq'}",
        f"--rules={tmp_path / 'age.rules'}",
        f"--static={tmp_path / 'kb.ttl'}",
        "--window=landmark",
        f"--events={'-' if of == 'stdin' else tmp_path / 'e.jsonl'}",
        given=given if of == "stdin" else "",
    )
    found = [json.loads(line) for line in result.stdout.splitlines()]
    replies = [each["reply"] for each in found if "reply" in each]
    assert replies == [f"<Now>{time}</Now>" for time in now], result.output
    ends = [each["bindings"]["t"] for each in found if "bindings" in each]
    assert ends
    assert {each["datatype"].rpartition("#")[2] for each in ends} == {datatype}
    assert [float(each["value"]) for each in ends] == [time for time in times if time > until]
