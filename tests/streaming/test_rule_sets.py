"""Rule sets in the pipeline: what rules infer, and state that they switch, key by key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sensorstream.app.application import Application
from sensorstream.app.control.wiring import read_deployment
from sensorstream.history.journal_rows import journal_rows, record_of
from sensorstream.journal.records import Record
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings
from tests.streaming.conftest import edit, on_spark, seen, write_deployment
from tests.streaming.stand_in import of_one_engine, write
from tests.streaming.test_spark_stream import (
    check_same,
    killed,
    on_one_machine,
    raised,
    rows,
    started,
    stored,
)

ENTAILED = """
:by a owl:ObjectProperty ; rdfs:range :Camera . :Camera a owl:Class .
:by owl:propertyChainAxiom ( :near :by ) . :near a owl:ObjectProperty , owl:TransitiveProperty .
:Far a owl:Class ; owl:equivalentClass
  [ a owl:Restriction ; owl:onProperty :x ; owl:hasValue 80 ] .
"""
OWN = """PREFIX : <http://example.org/t#>
# met
INSERT { ?a a :Met } WHERE { ?a :by ?c ; :x ?x . ?b :by ?c ; :x ?x FILTER(?a != ?b) } ;
# alone
INSERT { ?a a :Alone }
WHERE { ?a :x ?x FILTER NOT EXISTS { GRAPH <urn:sensorstream:window> { ?a :x 80 } } } ;
# seat
INSERT { ?a :seat [ a :Seat ; :of ?a ] } WHERE { ?a a :Far } ;
# back
DELETE { ?a :x ?x } INSERT { ?a :x 80 } WHERE { ?a a :Alone ; :x ?x FILTER(?x > 90) } ;
"""
COUNTED = """
rule counted
when select { SELECT ?p { ?p a :Met } } becomes true
then alert info "{?p} has met somebody" key "{?p}"
"""


CLOSE = """
rule close
on insert :Human as ?p
if select { SELECT ?x { ?p :x ?x . FILTER(?x < 60) } }
then alert info "{?p} is at {?x}" key "{?p}"
"""


def ruled(folder: Path, more: str) -> Settings:
    """The deployment with OWL 2 RL and rules of its own; each camera is an individual."""
    settings = write_deployment(folder, more)
    (folder / "own.ru").write_text(OWN)
    edit(
        folder,
        ("t.ttl", ":x a owl", ENTAILED + ":x a owl"),
        (
            "t.rules",
            "; :x {$person/@x} .",
            "; :x {$person/@x} ; :by :{/seen/@by} ; :near :{/seen/@by}-1 .",
        ),
        ("t.rules", "rule far", COUNTED + "\nrule far"),
        ("sensorstream.toml", 'profile = "plain"', 'profile = "owl2rl, own.ru"'),
    )
    return load_settings(settings.path, {})


def people(record: Callable[..., Record], count: int) -> list[Record]:
    """Messages of two cameras in turn."""
    return [
        record(time, seen(camera, time, (time * 5 % 7, time * 37 % 101), (time % 3, 80)), camera)
        for time, camera in zip(range(1, count + 1), ("north", "south") * count, strict=False)
    ]


def test_rule_sets_and_changed_rules_do_on_spark_what_they_do_in_a_server(
    tmp_path: Path, new_database: Callable[[], str], record: Callable[..., Record]
) -> None:
    url, expected = new_database(), new_database()
    more = on_one_machine(url, tmp_path / "state", "checkpoint_every = 5")
    settings = ruled(tmp_path, more)
    deployment = read_deployment(settings)
    records = people(record, 40)
    write(url, records[:20])
    command = started(settings)
    stored(url, 20, command)
    with Application.open(on_spark(settings, url)) as server:
        text = server.rulebook.file("t.rules").text
        # While it runs: another rule for ten messages, and then those of before.
        for part, rules in ((records[20:25], CLOSE), (records[25:35], ""), (records[35:], None)):
            for one in part:
                server.submit(one.message.content, one.message.source).result(60)
            if rules is not None:
                server.rulebook.put("t.rules", text + rules, "me")
        stored(url, 43, command)
        assert [each.by for each in server.rulebook.versions.all("t.rules")] == [
            "settings",
            "me",
            "me",
        ]
    killed(command)
    journal = [replace(record_of(row), status=None) for row in journal_rows(url, 0)]
    assert [each.seq for each in journal if each.kind == "rules"] == [26, 27, 38]
    write(expected, journal, of_one_engine(deployment, journal))

    relations = ("individuals", "statements", "far", "x")
    check_same(url, expected, deployment.ontology.schema, *relations)
    assert raised(url) == raised(expected)
    assert {rule for rule, *_ in raised(url)} == {"far", "counted", "close"}
    assert {time for rule, _, time, _ in raised(url) if rule == "close"} <= set(range(26, 36))
    told = str(rows(url, "statements"))
    for each in ("#Far", "#Met", "#Alone", "#Seat", "#near"):
        assert each in told, each
