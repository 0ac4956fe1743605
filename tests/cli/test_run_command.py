from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]

PREFIX = "PREFIX : <http://example.org/>\n"
SUMS = f"""{PREFIX}REGISTER RSTREAM :sums AS
SELECT ?s (SUM(?v) AS ?sum) FROM NAMED WINDOW :w ON :readings [RANGE PT10S STEP PT5S]
WHERE {{ WINDOW :w {{ ?s :value ?v }} ?s a :Sensor }} GROUP BY ?s"""
CHANGES = f"""{PREFIX}SELECT ?s ?v FROM NAMED WINDOW :w ON :readings [RANGE PT3S]
WHERE {{ WINDOW :w {{ ?s :value ?v }} }}"""
STATIC = "@prefix : <http://example.org/> . :a a :Sensor . :b a :Sensor ."


def event(time: object, sensor: str, value: int, stream: str = "readings") -> dict[str, object]:
    graph = f"<http://example.org/{sensor}> <http://example.org/value> {value} ."
    return {"time": time, "stream": f"http://example.org/{stream}", "graph": graph}


def test_patterns_in_time_tell_their_intervals_and_see_what_others_construct(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "last.rq").write_text(
        f"{PREFIX}SELECT ?s ?d {{ ?s :fell ?v BIND(getDURATION() AS ?d) }}"
    )
    (tmp_path / "fell.rq").write_text(
        f"{PREFIX}CONSTRUCT {{ ?s :fell ?w }} {{ {{ ?s a :Device ; :value ?v }} "
        "SEQ { ?s :value ?w } FILTER(?w < ?v) }"
    )
    (tmp_path / "kb.ttl").write_text(
        "@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
        ":Sensor rdfs:subClassOf :Device . :a a :Sensor ."
    )
    events = write(tmp_path, event(1, "a", 5), event(2.5, "b", 4), event(61.5, "a", 3))
    options = [f"--query={tmp_path / name}" for name in ("last.rq", "fell.rq")]
    result = run("run", *options, f"--static={tmp_path / 'kb.ttl'}", f"--events={events}")
    first, second = lines(result)
    assert (first["query"], first["time"], first["interval"]) == ("last", 61.5, [1, 61.5])
    assert first["bindings"]["d"]["value"] == "PT1M0.5S"
    assert second["interval"] == [1, 61.5]
    assert second["graph"].startswith("<http://example.org/a> <http://example.org/fell>")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "sums.rq").write_text(SUMS)
    (tmp_path / "changes.rq").write_text(CHANGES)
    (tmp_path / "kb.ttl").write_text(STATIC)
    return tmp_path


def write(folder: Path, *events: dict[str, object]) -> Path:
    file = folder / "events.jsonl"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in events))
    return file


def lines(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def short(found: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [
        (
            each["time"],
            each["op"],
            *(
                term["value"].removeprefix("http://example.org/")
                for term in each["bindings"].values()
            ),
        )
        for each in found
    ]


def test_a_window_with_a_step_reports_at_its_multiples_and_once_more_at_the_end(
    files: Path, run: Run
) -> None:
    events = write(files, event(1, "a", 3), event(4.5, "a", 4), event(5, "b", 9), event(11, "c", 1))
    arguments = ("--events", events, "--static", files / "kb.ttl")
    found = lines(run("run", "--query", files / "sums.rq", *arguments))
    assert short(found) == [
        (5, "=", "a", "7"),
        (5, "=", "b", "9"),
        (10, "=", "a", "7"),
        (10, "=", "b", "9"),
    ]
    assert {each["query"] for each in found} == {"http://example.org/sums"}
    assert found[0]["bindings"]["sum"] == {
        "type": "literal",
        "value": "7",
        "datatype": "http://www.w3.org/2001/XMLSchema#integer",
    }


def test_a_window_without_a_step_says_what_comes_and_goes(files: Path, run: Run) -> None:
    events = write(files, event(1, "a", 3), event(2.5, "b", 4), event(9, "c", 5, "other"))
    found = lines(run("run", "--query", files / "changes.rq", "--events", events))
    assert short(found) == [
        (1, "+", "a", "3"),
        (2.5, "+", "b", "4"),
        (4, "-", "a", "3"),
        (5.5, "-", "b", "4"),
    ]


def test_times_are_written_as_the_events_write_them(files: Path, run: Run) -> None:
    events = write(
        files, event("2014-08-01T08:00:01Z", "a", 3), event("2014-08-01T08:00:02", "b", 4)
    )
    found = lines(run("run", "--query", files / "changes.rq", "--events", events))
    assert [each["time"] for each in found] == ["2014-08-01T08:00:01Z", "2014-08-01T08:00:02Z"]


def test_disorder_within_the_lateness_makes_no_difference(files: Path, run: Run) -> None:
    ordered = [event(time, "ab"[time % 2], time % 5) for time in range(40)]
    random = Random(7)
    shuffled = [e for _, e in sorted((n + random.uniform(0, 4), e) for n, e in enumerate(ordered))]
    queries = ("--query", files / "sums.rq", "--query", files / "changes.rq")
    static = ("--static", files / "kb.ttl", "--lateness", "PT5S")
    expected = run("run", *queries, "--events", write(files, *ordered), *static).stdout
    found = run("run", *queries, "--events", write(files, *shuffled), *static)
    assert found.stdout == expected
    assert shuffled != ordered


def test_what_is_later_than_that_is_left_out_and_counted(files: Path, run: Run) -> None:
    events = write(files, event(10, "a", 1), event(2, "b", 2))
    result = run("run", "--query", files / "changes.rq", "--events", events, "--stats")
    assert short(lines(result)) == [(10, "+", "a", "1")]
    assert "1 events were late beyond 0" in result.stderr
    assert "1 events, " in result.stderr
    told = result.stderr.splitlines()[-1]
    number = r"[0-9]+(\.[0-9]+)?"
    assert re.fullmatch(
        f"1 events, {number} s, {number} s CPU, {number} events/s, "
        f"p50 {number} p95 {number} p99 {number} max {number} ms, {number} MiB peak memory",
        told,
    )


def test_events_may_come_from_standard_input(files: Path, run: Run) -> None:
    given = json.dumps(event(1, "a", 3))
    found = lines(run("run", "--query", files / "changes.rq", "--events", "-", given=given))
    assert short(found) == [(1, "+", "a", "3")]


def test_construct_gives_graphs_and_ask_an_answer(files: Path, run: Run) -> None:
    clause = "FROM NAMED WINDOW :w ON :readings [RANGE PT3S] WHERE { WINDOW :w { ?s :value ?v } }"
    (files / "construct.rq").write_text(f"{PREFIX}CONSTRUCT {{ ?s :has ?v }} {clause}")
    (files / "ask.rq").write_text(f"{PREFIX}ASK {clause}")
    events = write(files, event(1, "a", 3))
    found = lines(
        run(
            "run",
            "--query",
            files / "construct.rq",
            "--query",
            files / "ask.rq",
            "--events",
            events,
        )
    )
    assert found == [
        {
            "query": "construct",
            "time": 1,
            "op": "+",
            "graph": "<http://example.org/a> <http://example.org/has> "
            '"3"^^<http://www.w3.org/2001/XMLSchema#integer> .\n',
        },
        {"query": "ask", "time": 1, "op": "=", "boolean": True},
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "events.jsonl:1:1: not a JSON object"),
        ('{"time": 1}', "'graph' is missing"),
        ('{"time": true, "graph": ""}', "'time': expected a number of seconds or an xsd:dateTime"),
        ('{"time": "soon", "graph": ""}', "'soon' is not an xsd:dateTime"),
        ('{"time": 1, "graph": "<a"}', "'graph': not Turtle"),
        ('{"time": 1, "graf": ""}', "unknown key 'graf'"),
        ('{"time": 1, "end": 0, "graph": ""}', "'end' is before 'time'"),
        ('{"time": 1, "graph": "", "stream": "x"}', "'stream': 'x' is not an absolute IRI"),
        ('{"time": 1e-9, "graph": ""}', "finer than a microsecond"),
    ],
)
def test_a_line_that_is_no_event_is_named(files: Path, run: Run, line: str, expected: str) -> None:
    events = files / "events.jsonl"
    events.write_text(line)
    result = run("run", "--query", files / "changes.rq", "--events", events, status=1)
    assert expected in result.stderr


def test_a_time_may_be_a_sum_of_doubles(files: Path, run: Run) -> None:
    time, events = 0.0, list[dict[str, object]]()
    for n in range(20):
        time += 0.1
        events.append(event(time, "a", n))
    assert str(events[2]["time"]) == "0.30000000000000004"
    found = lines(run("run", "--query", files / "changes.rq", "--events", write(files, *events)))
    assert [each["time"] for each in found][:3] == [0.1, 0.2, 0.3]
    assert {each["time"] for each in found} <= {n / 10 for n in range(1, 21)}


def test_times_are_of_one_kind(files: Path, run: Run) -> None:
    events = write(files, event(1, "a", 3), event("2014-08-01T08:00:01Z", "a", 3))
    result = run("run", "--query", files / "changes.rq", "--events", events)
    assert "events.jsonl:2:1: 'time': expected a number, as before" in result.stderr


def test_a_query_names_its_background_by_the_files_name(files: Path, run: Run) -> None:
    events = write(files, event(1, "a", 3))
    text = SUMS.replace(
        "FROM NAMED WINDOW", "FROM <http://elsewhere.example/data/kb.ttl> FROM NAMED WINDOW"
    )
    (files / "sums.rq").write_text(text)
    arguments = ("--query", files / "sums.rq", "--events", events)
    assert len(lines(run("run", *arguments, "--static", files / "kb.ttl"))) == 1
    (files / "sums.rq").write_text(text.replace("kb.ttl", "other.ttl"))
    (files / "more.nt").write_text("")
    statics = ("--static", files / "kb.ttl", "--static", files / "more.nt")
    two = run("run", *arguments, *statics, status=1)
    assert "other.ttl>: expected the name of a --static file; given: kb.ttl, more.nt" in two.stderr
    (files / "sums.rq").write_text(text.replace("kb.ttl", "kb.rdf"))
    assert len(lines(run("run", *arguments, *statics))) == 1


def test_a_query_that_cannot_be_read_is_named_with_its_place(files: Path, run: Run) -> None:
    (files / "bad.rq").write_text("SELECT ?x WHERE { ?x ?y }")
    result = run("run", "--query", files / "bad.rq", "--events", write(files), status=1)
    assert "bad.rq:1:25:" in result.stderr


@pytest.mark.parametrize("lateness", ["x", "-1", "P1Y"])
def test_a_lateness_is_a_length_of_time(files: Path, run: Run, lateness: str) -> None:
    arguments = ("--query", files / "changes.rq", "--events", write(files))
    result = run("run", *arguments, f"--lateness={lateness}", status=2)
    assert "expected seconds, or a duration such as PT5S" in result.stderr


def test_what_is_evaluated_anew_is_said(files: Path, run: Run) -> None:
    (files / "now.rq").write_text(CHANGES.replace("SELECT ?s ?v", "SELECT ?s (NOW() AS ?now)"))
    result = run("run", "--query", files / "now.rq", "--events", write(files, event(1, "a", 3)))
    assert "now: evaluated anew at each change: NOW() has another value each time" in result.stderr


def test_notes_on_a_query_are_said_before_it_runs(files: Path, run: Run) -> None:
    (files / "kb.ttl").write_text(
        "@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> ."
        " :Sensor a owl:Class . :value a owl:DatatypeProperty ."
    )
    query = files / "misspelt.rq"
    query.write_text(CHANGES.replace(":value", ":valeu"))
    arguments = ("--events", write(files, event(1, "a", 3)), "--static", files / "kb.ttl")
    result = run("run", "--query", query, *arguments, status=0)
    assert f"{query}:" in result.stderr
    assert "note: " in result.stderr
    assert "value" in result.stderr


def test_cqels_sees_what_happens_now(files: Path, run: Run) -> None:
    (files / "now.rq").write_text(
        f"{PREFIX}SELECT ?v {{ ?s a :Sensor STREAM :readings [NOW] {{ ?s :value ?v }} }}"
    )
    events = write(files, event(1, "a", 1), event(1, "b", 2), event(2, "c", 3), event(3, "a", 4))
    found = lines(
        run("run", f"--query={files}/now.rq", f"--static={files}/kb.ttl", f"--events={events}")
    )
    shown = [(each["time"], each["op"], each["bindings"]["v"]["value"]) for each in found]
    gone = 1.000001
    assert shown == [
        (1, "+", "1"),
        (1, "+", "2"),
        (gone, "-", "1"),
        (gone, "-", "2"),
        (3, "+", "4"),
    ]


@pytest.mark.parametrize("anew", ["", "HAVING(SUM(IF(EXISTS { ?s :value 1 }, 1, 1)) > 0)"])
def test_streams_of_c_sparql_are_one_graph_with_the_background(
    files: Path, run: Run, anew: str
) -> None:
    (files / "all.rq").write_text(
        f"REGISTER QUERY all AS {PREFIX}SELECT ?s (SUM(?v) AS ?sum) "
        "FROM STREAM :x [RANGE 2s STEP 1s] "
        f"FROM STREAM :y [RANGE 1s STEP 1s] {{ ?s :value ?v ; a :Sensor }} GROUP BY ?s {anew}"
    )
    (files / "more.ttl").write_text(f"{STATIC} :a :value 100 .")
    events = write(
        files,
        event(0.5, "a", 1, "x"),
        event(0.5, "a", 1, "y"),
        event(1.5, "a", 2, "y"),
        event(1.5, "c", 9, "y"),
        event(2.5, "a", 100, "x"),
    )
    result = run(
        "run", f"--query={files}/all.rq", f"--static={files}/more.ttl", f"--events={events}"
    )
    assert ("evaluated anew" in result.stderr) is bool(anew)
    found = [json.loads(line) for line in result.stdout.splitlines()]
    sums = [(each["time"], each["bindings"]["sum"]["value"]) for each in found]
    assert sums == [(1, "101"), (2, "103"), (3, "100")]


@pytest.mark.parametrize(
    ("clause", "pattern", "told"),
    [
        ("FROM NAMED <http://x/>", "", "FROM NAMED <http://x/>: expected the name of a --static"),
        ("FROM <http://x/>", "", "FROM <http://x/>: expected the name of a --static file; given"),
        ("", "GRAPH <http://x/> { ?s ?p ?o }", "GRAPH <http://x/>: no such graph; the query has"),
        ("FROM NAMED <kb.ttl>", "FILTER EXISTS { GRAPH <more.ttl> { ?s ?p ?o } }", "/kb.ttl>\n"),
    ],
)
@pytest.mark.parametrize("in_time", [False, True])
def test_a_graph_that_is_not_there_is_refused_with_those_there_are(
    files: Path, run: Run, clause: str, pattern: str, told: str, in_time: bool
) -> None:
    if in_time and clause:
        return
    (files / "more.ttl").write_text(STATIC)
    window = "" if in_time else "FROM NAMED WINDOW :w [RANGE 3]"
    read = "{ ?s :v ?v } SEQ { ?s :v ?w }" if in_time else "WINDOW :w { ?s :v ?v }"
    (files / "q.rq").write_text(f"{PREFIX}SELECT ?s {clause} {window} WHERE {{ {read} {pattern} }}")
    options = [f"--query={files / 'q.rq'}", f"--events={write(files, event(1, 'a', 1))}"]
    result = run("run", *options, f"--static={files / 'kb.ttl'}", status=1)
    assert told in result.stderr
    assert "q.rq" in result.stderr


def test_graph_without_any_file_is_refused(files: Path, run: Run) -> None:
    (files / "q.rq").write_text("SELECT ?s WHERE {\n GRAPH ?g { ?s ?p ?o } }")
    result = run("run", f"--query={files / 'q.rq'}", f"--events={write(files, event(1, 'a', 1))}")
    assert result.exit_code == 1
    assert "q.rq:2:2: GRAPH ?g: no such graph; name a file with --static" in result.stderr


def test_the_named_graphs_of_a_file_are_read_by_their_names(files: Path, run: Run) -> None:
    (files / "kb.trig").write_text(
        "@prefix : <http://example.org/> . :g { :a :in :hall } :h { :a :in :yard }"
    )
    for graph, found in (
        ("<http://example.org/g>", ["hall"]),
        ("?g", ["hall", "hall", "yard", "yard"]),
    ):
        (files / "in.rq").write_text(
            f"{PREFIX}SELECT ?room FROM NAMED WINDOW :w [RANGE 3] "
            f"{{ WINDOW :w {{ ?s :value ?v }} GRAPH {graph} {{ ?s :in ?room }} }}"
        )
        result = run(
            "run",
            f"--query={files / 'in.rq'}",
            f"--static={files / 'kb.trig'}",
            f"--events={write(files, event(1, 'a', 1))}",
        )
        rooms = [each["bindings"]["room"]["value"].rpartition("/")[2] for each in lines(result)]
        assert sorted(rooms) == found


@pytest.mark.parametrize("names", [["all"], ["one"], ["all", "one"], ["one", "all"]])
def test_a_query_reads_its_own_graphs_and_without_any_named_each_file(
    files: Path, run: Run, names: list[str]
) -> None:
    (files / "more.ttl").write_text("<http://example.org/c> a <http://example.org/Other> .")
    window = "FROM NAMED WINDOW :w [RANGE 3]"
    where = "{ WINDOW :w { ?x :value ?v } GRAPH ?g { ?s a ?c } }"
    (files / "all.rq").write_text(f"{PREFIX}SELECT ?g ?s {window} {where}")
    (files / "one.rq").write_text(f"{PREFIX}SELECT ?g ?s FROM NAMED <more.ttl> {window} {where}")
    result = run(
        "run",
        *(f"--query={files / name}.rq" for name in names),
        f"--static={files / 'kb.ttl'}",
        f"--static={files / 'more.ttl'}",
        f"--events={write(files, event(1, 'a', 1))}",
    )
    found = {name: list[tuple[str, str]]() for name in names}
    for line in lines(result):
        values = (line["bindings"][name]["value"].rpartition("/")[2] for name in "gs")
        found[line["query"]].append(tuple(values))
    expected = {
        "all": [("kb.ttl", "a"), ("kb.ttl", "b"), ("more.ttl", "c")],
        "one": [("more.ttl", "c")],
    }
    assert {name: sorted(rows) for name, rows in found.items()} == {
        name: expected[name] for name in names
    }


def test_a_construct_that_a_pattern_in_time_waits_for_is_told_with_what_to_write(
    run: Run, tmp_path: Path
) -> None:
    making = "CONSTRUCT { ?s :high ?v }\nWHERE { ?s :value ?v %s FILTER(?v > 3) }"
    (tmp_path / "high.rq").write_text(PREFIX + making % "")
    (tmp_path / "twice.rq").write_text(
        f"{PREFIX}SELECT ?s ?v ?w {{ {{ ?s :high ?v }} SEQ {{ ?s :high ?w }} "
        'FILTER(getDURATION() < "PT1H"^^<http://www.w3.org/2001/XMLSchema#duration>) }'
    )
    events = write(tmp_path, event(1, "a", 5), event(2, "a", 2), event(3, "a", 7))
    options = [f"--query={tmp_path / name}" for name in ("high.rq", "twice.rq")]
    result = run("run", *options, f"--events={events}")
    notes = [line for line in result.stderr.splitlines() if "adds nothing to the stream" in line]
    assert [note.partition(": note: ")[0] for note in notes] == [
        f"{tmp_path / 'high.rq'}:2:16",
        f"{tmp_path / 'twice.rq'}:2:24",
    ]
    assert lines(result) == []
    (tmp_path / "high.rq").write_text(PREFIX + making % "BIND(getENDTIME() AS ?when)")
    result = run("run", *options, f"--events={events}")
    assert "adds nothing" not in result.stderr
    assert [each["interval"] for each in lines(result) if each["query"] == "twice"] == [[1, 3]]
