"""``sensorstream run --messages``: XML through the mapping to results, alerts and replies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

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
        *("--source", "camera 3", "--window", "landmark", "--rules", files / "r.rules"),
    )


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_messages_become_results_alerts_and_replies(run: Run, files: Path) -> None:
    result = run(*given(files, "<r id='a' t='1' v='3'/>", "<r id='b' t='4' v='9'/>"))
    assert result.exit_code == 0, result.output
    told = [
        (each["time"], each.get("op") or each.get("alert") or each["reply"])
        for each in lines(result)
    ]
    assert told == [(1, "+"), (4, f"{E}r-b is high"), (4, "<Off/>"), (4, "+")]
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
    assert [each["time"] for each in lines(result)] == [3, 4]
    assert "2.xml is left out: malformed-message" in result.stderr
    assert "3.xml: no mapping rule matched" in result.stderr
    assert "4.xml is left out: mapping" in result.stderr
    assert "messages: 2 accepted, 1 late, 2 rejected, 1 unmatched" in result.stderr
    assert "1 messages were late beyond 0" in result.stderr


def test_the_profile_decides_what_is_inferred(run: Run, files: Path) -> None:
    arguments = given(files, "<r id='a' t='1' v='3'/>")
    assert len(lines(run(*arguments, "--profile", "plain"))) == 1
    assert lines(run(*arguments, "--profile", "none")) == []


def test_hermit_refuses_a_message_that_contradicts_the_ontology(run: Run, files: Path) -> None:
    arguments = given(files, "<both id='x' t='1'/>", "<r id='a' t='2' v='3'/>")
    plain = run(*arguments)
    assert plain.exit_code == 0, plain.output
    result = run(*arguments, "--profile", "hermit")
    assert result.exit_code == 1
    assert "1.xml is left out: inconsistent" in result.stderr
    assert [each["op"] for each in lines(result)] == ["+"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--messages", "in"), "--messages and --mapping go together"),
        (("--messages", "in", "--events", "-", "--mapping", "m.rules"), "expected --events FILE"),
        ((), "expected --events FILE, or --messages PATH"),
        (("--events", "-", "--line", "integer"), "--line is for --messages"),
    ],
)
def test_what_does_not_go_together_is_refused(
    run: Run,
    files: Path,
    options: tuple[str, ...],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(files)
    result = run("run", "--query", "things.rq", *options)
    assert result.exit_code == 2
    assert expected in result.stderr
