"""``sensorstream run --messages``: XML through the mapping to results, alerts and replies."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from sensorstream.clock import SystemClock

Run = Callable[..., Result]

E = "http://example.org/"
ONTOLOGY = f"""@prefix : <{E}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<{E}> a owl:Ontology .
:Thing a owl:Class . :Reading a owl:Class ; rdfs:subClassOf :Thing .
:Hot a owl:Class . :Cold a owl:Class ; owl:disjointWith :Hot .
:value a owl:DatatypeProperty ."""
MAPPING = f"""prefix : <{E}>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping reading
on message {{/r}}
then insert individual :r-{{@id}} a :Reading at {{@t}} ; :value {{@v}}^^xsd:integer .

mapping hot
on message {{/both}}
then insert individual :b-{{@id}} a :Hot at {{@t}} .
     insert individual :b-{{@id}} a :Cold at {{@t}} .
"""
RULES = f"""prefix : <{E}>
rule high
on insert :Reading as ?r
if select {{ SELECT ?v {{ ?r :value ?v FILTER(?v > 8) }} }}
then alert warning "{{?r}} is high" key "{{?r}}"
     reply "<Off/>"
"""
THINGS = f"""PREFIX : <{E}>
SELECT ?r ?v FROM NAMED WINDOW :w ON <urn:sensorstream:source:camera%203> [RANGE PT5S]
WHERE {{ WINDOW :w {{ ?r :value ?v }} ?r a :Thing }}"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    (tmp_path / "m.rules").write_text(MAPPING)
    (tmp_path / "r.rules").write_text(RULES)
    (tmp_path / "things.rq").write_text(THINGS)
    (tmp_path / "in").mkdir()
    return tmp_path


def given(files: Path, *messages: str) -> tuple[object, ...]:
    for number, message in enumerate(messages, 1):
        (files / "in" / f"{number}.xml").write_text(message)
    return (
        *("run", "--messages", files / "in", "--mapping", files / "m.rules"),
        *("--static", files / "o.ttl", "--query", files / "things.rq", "--line", "integer"),
        *("--source", "camera 3", "--window", "landmark", "--rules", files / "r.rules", "--json"),
    )


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def told(result: Result) -> list[tuple[object, ...]]:
    """Rows of queries, alerts and replies, in order of the messages."""
    found: list[tuple[object, ...]] = []
    for line in lines(result):
        for each in (*line["released"], line):
            found += [(each["time"], alert["text"]) for alert in each["alerts"]]
            found += [(each["time"], reply) for reply in each["replies"]]
            found += [(report["time"], report["op"]) for report in each["reports"]]
    return found


def test_messages_become_results_alerts_and_replies(run: Run, files: Path) -> None:
    result = run(*given(files, "<r id='a' t='1' v='3'/>", "<r id='b' t='4' v='9'/>"), status=0)
    assert told(result) == [(4, f"{E}r-b is high"), (4, "<Off/>"), (1, "+"), (4, "+")]
    assert "messages: 2 accepted" in result.stderr


def test_each_message_that_is_not_taken_in_is_told_and_the_others_go_on(
    run: Run, files: Path
) -> None:
    result = run(
        *given(
            files,
            "<r id='a' t='3' v='3'/>",
            "<r id='a'",
            "<q/>",
            "<r id='a' t='4' v='x'/>",
            "<r id='a' t='1' v='3'/>",
            "<r id='b' t='4' v='4'/>",
        )
    )
    assert result.exit_code == 1
    statuses = [(each["message"] or "end", each["status"], each["code"]) for each in lines(result)]
    names = [str(files / "in" / f"{number}.xml") for number in range(1, 7)]
    assert statuses == [
        (names[0], "accepted", None),
        (names[1], "rejected", "malformed-message"),
        (names[2], "unmatched", None),
        (names[3], "rejected", "mapping"),
        (names[4], "late", None),
        (names[5], "accepted", None),
        ("end", None, None),
    ]
    assert "messages: 2 accepted, 1 late, 2 rejected, 1 unmatched" in result.stderr


def test_the_profile_decides_what_is_inferred(run: Run, files: Path) -> None:
    arguments = given(files, "<r id='a' t='1' v='3'/>")
    assert told(run(*arguments, "--profile", "plain")) == [(1, "+")]
    assert told(run(*arguments, "--profile", "none")) == []


def test_hermit_refuses_a_message_that_contradicts_the_ontology(run: Run, files: Path) -> None:
    arguments = given(files, "<both id='x' t='1'/>", "<r id='a' t='2' v='3'/>")
    run(*arguments, status=0)
    result = run(*arguments, "--profile", "hermit", status=1)
    assert lines(result)[0]["code"] == "inconsistent"
    assert told(result)[1:] == [(2, "+")]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--messages", "in", "--window", "landmark"), "--window goes with --mapping"),
        (("--messages", "in", "--events", "-", "--mapping", "m.rules"), "expected --events FILE"),
        (("--events", "-", "--mapping", "m.rules"), "--mapping goes with --messages"),
        (("--events", "-", "-c", "s.toml"), "-c goes with --messages"),
        (("--messages", "-", "--watch"), "--watch reads files again"),
        ((), "expected --events FILE, or --messages PATH"),
        (("--events", "-", "--line", "integer"), "--line is for --messages"),
    ],
)
def test_what_does_not_go_together_is_refused(
    run: Run, files: Path, options: tuple[str, ...], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    result = run("run", "--query", "things.rq", *options, status=2)
    assert expected in result.stderr


@pytest.fixture
def deployment(files: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (files / "sensorstream.toml").write_text(
        "[ontology]\nfiles = ['o.ttl']\n[rules]\nfiles = ['*.rules']\n"
        "[window]\nsize = '2'\n[reasoning]\nprofile = 'plain'\n"
    )
    monkeypatch.chdir(files)
    return files


def write(files: Path, *messages: str) -> None:
    for number, message in enumerate(messages, 1):
        (files / "in" / f"{number}.xml").write_text(message)


def test_the_deployment_of_the_settings_tells_all_of_each_message(
    run: Run, deployment: Path
) -> None:
    write(deployment, "<r id='a' t='1' v='9'/>", "<r id='b' t='2' v='3'/>", "<q/>")
    result = run("run", "--messages", "in", status=1)
    assert result.stdout == (
        f"""in/1.xml: accepted by reading, time 1
  made
    :r-a a :Reading ;
        :value 9 .
  inferred
    :r-a a :Thing .
  alert   warning "{E}r-a is high" key "{E}r-a"
  reply   <Off/>
in/2.xml: accepted by reading, time 2
  made
    :r-b a :Reading ;
        :value 3 .
  inferred
    :r-b a :Thing .
in/3.xml: unmatched; no mapping rule matched: rule reading is the nearest: it expects /r, but """
        """there is no /r: found q
"""
    )
    assert result.stderr.endswith("messages: 2 accepted, 1 unmatched\n")


def test_a_rule_that_asks_the_history_is_told_or_refused(run: Run, deployment: Path) -> None:
    digest = deployment / "digest.rules"
    digest.write_text(
        f'prefix : <{E}>\nrule digest\nevery "10"\n'
        'from history select { SELECT ?r { ?r :value ?v } }\nthen alert info "{?r}"\n'
    )
    write(deployment, "<r id='a' t='1' v='9'/>")
    result = run("run", "--messages", "in")
    assert "digest.rules:2:6: rule digest asks the history, and there is none" in result.stderr
    assert "r-a is high" in result.stdout
    only = (
        "--mapping",
        "m.rules",
        "--static",
        "o.ttl",
        "--window",
        "landmark",
        "--line",
        "integer",
    )
    refused = run("run", "--messages", "in", *only, "--rules", digest, status=1)
    assert "digest.rules:4:23: rule digest asks the history, and there is none" in refused.stderr


def test_rows_of_a_query_stand_with_the_message_that_ends_their_instant(
    run: Run, deployment: Path
) -> None:
    write(deployment, "<r id='a' t='1' v='9'/>", "<r id='b' t='2' v='3'/>")
    (deployment / "all.rq").write_text(f"PREFIX : <{E}> SELECT ?v {{ ?r :value ?v }}")
    result = run("run", "--messages", "in", "--query", "all.rq", status=0)
    assert result.stdout.endswith(
        "  report  all + ?v 9  at 1\nat the end\n  report  all + ?v 3  at 2\n"
    )
    assert result.stdout.index("in/2.xml") < result.stdout.index("report")


def test_what_waits_is_told_with_the_message_that_releases_it(run: Run, deployment: Path) -> None:
    with (deployment / "sensorstream.toml").open("a") as settings:
        settings.write("[time]\nlateness = '2'\n")
    write(deployment, "<r id='a' t='1' v='9'/>", "<r id='b' t='4' v='3'/>")
    result = run("run", "--messages", "in", status=0)
    first, _, rest = result.stdout.partition("in/2.xml: held")
    assert first.startswith("in/1.xml: held by reading\n  will make\n")
    assert "alert" not in first
    released, _, end = rest.partition("at the end\n")
    assert "taken in now: in/1.xml: accepted by reading, time 1" in released
    assert "is high" in released
    assert "taken in now: in/2.xml: accepted by reading, time 4" in end


@pytest.mark.parametrize("times", [("1970-01-01T00:00:02", "1970-01-01T00:00:01"), ("2", "1")])
def test_files_out_of_order_are_put_in_order_however_slowly_they_are_read(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch, times: tuple[str, ...]
) -> None:
    line = "integer" if times[1] == "1" else "datetime"
    arguments = given(files, *(f"<r id='{time[-1]}' t='{time}' v='1'/>" for time in times))
    moments = (datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in range(60))
    monkeypatch.setattr(SystemClock, "now", lambda _clock: next(moments))
    result = run(*arguments, "--line", line, "--lateness", "5", status=0)
    released = [line["individuals"] for each in lines(result) for line in each["released"]]
    assert released == [[f"{E}r-1"], [f"{E}r-2"]]


def test_a_line_of_json_has_all_of_a_message(run: Run, deployment: Path) -> None:
    write(deployment, *(f"<r id='{n}' t='{n}' v='{n}'/>" for n in (1, 2, 3)))
    found = lines(run("run", "--messages", "in", "--json"))
    assert [each["message"] for each in found] == ["in/1.xml", "in/2.xml", "in/3.xml", None]
    last = found[2]
    assert last["inferred"] == [
        f"<{E}r-3> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{E}Thing> ."
    ]
    assert last["individuals"] == [f"{E}r-3"]
    assert len(last["made"]) == 2
    # The window holds two individuals.
    assert {line.split()[0] for line in last["withdrawn"]} == {f"<{E}r-1>"}
    assert {line.split()[0] for line in last["revoked"]} == {f"<{E}r-1>"}


def test_a_fault_of_the_deployment_is_told_at_its_place(run: Run, deployment: Path) -> None:
    write(deployment, "<r/>")
    (deployment / "r.rules").write_text("rule x on\n")
    result = run("run", "--messages", "in", status=1)
    assert "r.rules:1:10: the file ends here" in result.stderr
