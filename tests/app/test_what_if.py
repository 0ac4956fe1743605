"""Which alerts other rules would have raised: the journal again, nothing written."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import psycopg2
import pytest

from sensorstream.app.application import Application
from sensorstream.app.why.what_if import WhatIf, what_if
from sensorstream.errors import SettingsError
from sensorstream.settings.settings import (
    OntologySettings,
    PipelineSettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    TimeSettings,
    WindowSettings,
)
from tests.app.conftest import Open
from tests.app.test_history_truth import MORE, ONTOLOGY, RULES
from tests.databases import execute

PREFIX = "prefix : <http://example.org/>\n"
ALERTS = """
rule level on change if select { SELECT ?x ?n { ?x :level ?n FILTER (?n > %d) } }
then alert info "{?x} at {?n}" for "%d"
rule actors on insert :Actor as ?x then alert warning "{?x}"
rule mark on change if select { SELECT ?x { ?x :level 2 } } then insert individual ?x a :Guide .
"""


@pytest.fixture
def lively(settings: Settings, tmp_path: Path) -> Settings:
    """People with alerts about them; messages may be late, and the ontology changes."""
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    (tmp_path / "r.rules").write_text(RULES)
    (tmp_path / "a.rules").write_text(PREFIX + ALERTS % (0, 3))
    return replace(
        settings,
        ontology=OntologySettings((tmp_path / "o.ttl",)),
        rules=RuleSettings((tmp_path / "r.rules", tmp_path / "a.rules")),
        reasoning=ReasoningSettings(profile="plain"),
        window=WindowSettings(size="3"),
        time=TimeSettings(lateness="2"),
    )


def play(application: Application) -> None:
    chance = random.Random(5)
    for number in range(60):
        if number == 30:
            application.ontologies.put(MORE.encode(), "text/turtle")
        time = 10 + number + chance.choice((0, 0, -1, -4))
        name, level = chance.choice("abcd"), chance.randint(0, 3)
        content = f"<p id='{name}' t='{time}' kind='Human' level='{level}'/>"
        application.submit(content.encode(), "test").result(60)
    application.submit(b"<unknown/>", "test").result(60)


def tried(
    settings: Settings, *rules: Path, start: int | None = None, end: int | None = None
) -> WhatIf:
    return what_if(settings, settings.history.url, rules, start, end, lambda _done, _of: None)


def state(settings: Settings) -> list[tuple[object, ...]]:
    """What the tables of the history have, as one number each."""
    found = []
    connection = psycopg2.connect(settings.history.url)
    with connection, connection.cursor() as cursor:
        cursor.execute("select tablename from pg_tables where schemaname = 'store' order by 1")
        for (name,) in cursor.fetchall():
            cursor.execute(f"select count(*), sum(hashtext(t::text)) from store.{name} t")
            found.append((name, *(cursor.fetchone() or ())))
    connection.close()
    return found


def test_the_same_rules_raise_the_same_alerts_and_others_are_told_apart(
    lively: Settings, open_application: Open, tmp_path: Path
) -> None:
    application = open_application(lively)
    application.queries.register("SELECT ?x { ?x <http://example.org/level> 2 }", "urn:x:two")
    play(application)
    raised = [
        each.alert for each in application.reader.alerts_before(1000) if each.alert.kind == "rule"
    ]
    application.close()
    before = state(lively)
    same = tried(lively)
    assert same.whole
    assert {(each.did, each.would) for each in same.alerts} == {(True, True)}
    assert sorted((e.alert.text, e.alert.time) for e in same.alerts) == sorted(
        (each.text, each.time) for each in raised
    )
    assert same.reports["urn:x:two"] > 0
    other = tmp_path / "other.rules"
    other.write_text(PREFIX + ALERTS % (2, 1))
    found = tried(lively, other, start=20, end=50)
    assert found.entries < same.entries
    assert all(20 <= each.alert.time < 50 for each in found.alerts)
    signs = {(each.did, each.would) for each in found.alerts}
    assert signs == {(True, True), (True, False), (False, True)}
    assert state(lively) == before
    # As if the other rules had been there from the beginning.
    lively.rules.files[1].write_text(other.read_text())
    assert [e for e in tried(lively, start=20, end=50).alerts if e.would] == [
        e for e in found.alerts if e.would
    ]


def test_a_journal_without_its_beginning_is_told(lively: Settings, open_application: Open) -> None:
    application = open_application(lively)
    play(application)
    application.close()
    execute(lively.history.url, "delete from store.messages where seq <= 10 and kind = 'message'")
    found = tried(lively)
    assert not found.whole
    assert found.since is not None


def test_what_cannot_be_tried_is_refused(lively: Settings, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="expected semantic rules only"):
        tried(lively, lively.rules.files[0])
    with pytest.raises(SettingsError, match=r"named \*\.rules"):
        tried(lively, tmp_path / "o.ttl")
    with pytest.raises(SettingsError, match="an engine for each key"):
        tried(replace(lively, pipeline=PipelineSettings(runner="spark")))
