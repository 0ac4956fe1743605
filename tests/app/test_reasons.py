"""Why an alert was raised, of a whole application."""

from __future__ import annotations

import pytest

from sensorstream.app.application import Application
from sensorstream.app.why.reasons import Because, Reason, Why
from sensorstream.errors import QueryError, TermError, UnknownAlert, UnknownRules, UnsupportedQuery
from sensorstream.model.events import Basis, RuleWait
from sensorstream.model.terms import Triple
from sensorstream.settings.settings import Settings
from tests.app.conftest import Deploy, Open
from tests.databases import execute
from tests.prefixes import TURTLE

ONTOLOGY = f"""{TURTLE}
:Room a owl:Class . :Person a owl:Class . :Guest a owl:Class ; rdfs:subClassOf :Person .
:Watched a owl:Class . :in a owl:ObjectProperty .
"""
RULES = """
prefix : <http://example.org/>
mapping thing
on message {/t}
then update individual :{@id} a :{@kind} at {@t} ; :in :{@in} .
rule watch
on insert :Room as ?r
then insert individual ?r a :Watched .
rule crowded
on change
if select { SELECT ?p ?r { ?p a :Person ; :in ?r . ?r a :Watched } }
and not ask { ASK { ?p a :Room } }
then alert warning "{?p} is in {?r}"
"""


@pytest.fixture
def rooms(deploy: Deploy) -> Settings:
    return deploy(ONTOLOGY, RULES, "5")


@pytest.fixture
def application(rooms: Settings, open_application: Open) -> Application:
    return open_application(rooms)


def send(application: Application, content: str, source: str = "test") -> str:
    outcome = application.submit(content.encode(), source).result(60)
    assert outcome.status.value in ("accepted", "unmatched")
    return outcome.message.id


def shown(triple: Triple) -> str:
    return " ".join(str(each).rpartition("/")[2].rpartition("#")[2] for each in triple)


def because(why: Why) -> Because:
    assert why.because is not None
    return why.because


def by_statement(found: Because) -> dict[str, Reason]:
    return {shown(each.matched.triple): each for each in found.reasons}


def test_an_alert_tells_its_rule_its_statements_and_where_they_were_said(
    application: Application,
) -> None:
    send(application, "<t id='kitchen' kind='Room' t='1'/>")
    send(application, "<t id='ann' kind='Guest' in='kitchen' t='3'/>", "door")
    (alert,) = [
        each.alert for each in application.reader.alerts_before(10) if each.alert.kind == "rule"
    ]
    why = application.reasons.of_alert(alert.id)
    assert why.raised.alert == alert
    assert why.rule is not None
    assert (why.rule.name, why.rule.file, why.rule.version) == ("crowded", "r.rules", "settings")
    assert why.rule.position.line == 9
    assert why.rule.text.startswith("rule crowded\non change")
    assert why.notes == ("nothing was there for: not ask { ASK { ?p a :Room } }",)
    assert why.profile == "plain"
    values = dict(because(why).evidence.bindings)
    assert values["p"] == "http://example.org/ann"
    reasons = by_statement(because(why))
    assert reasons.keys() == {"ann type Person", "ann in kitchen", "kitchen type Watched"}

    said = reasons["ann in kitchen"]
    assert (said.matched.basis, said.matched.message, said.source) == (Basis.SAID, "m2", "door")
    ((place,),) = [said.places]
    (value,) = place.value
    assert (place.rule, value.written, value.nodes[0].path) == ("thing", "{@in}", "/t/@in")

    inferred = reasons["ann type Person"]
    assert inferred.matched.basis is Basis.INFERRED
    assert {shown(each.triple) for each in inferred.premises} == {
        "ann type Guest",
        "ann in kitchen",
    }

    # A rule said it when another message came: the message itself does not.
    ruled = reasons["kitchen type Watched"]
    assert (ruled.matched.message, ruled.rules, ruled.places) == ("m1", ("watch",), ())
    assert "a rule has inserted it" in ruled.note
    (premise,) = ruled.premises
    assert shown(premise.triple) == "kitchen type Room"
    assert premise.places[0].value[0].nodes[0].path == "/t/@kind"
    # What the message itself said needs no premises.
    assert said.premises == ()


def test_a_statement_of_a_rule_in_the_same_message_tells_why_that_rule_fired(
    application: Application,
) -> None:
    send(application, "<t id='ann' kind='Guest' in='kitchen' t='1'/>")
    send(application, "<t id='kitchen' kind='Room' t='2'/>")
    (alert,) = [
        each.alert for each in application.reader.alerts_before(10) if each.alert.kind == "rule"
    ]
    ruled = by_statement(because(application.reasons.of_alert(alert.id)))["kitchen type Watched"]
    assert (ruled.matched.basis, ruled.rules) == (Basis.RULE, ("watch",))
    assert ruled.because is not None
    (inner,) = ruled.because.reasons
    assert shown(inner.matched.triple) == "kitchen type Room"
    assert inner.places[0].value[0].nodes[0].path == "/t/@kind"


def test_an_alert_after_a_time_tells_since_when(rooms: Settings, open_application: Open) -> None:
    waiting = """
rule stays when select { SELECT ?p { ?p a :Person ; :in :kitchen } } becomes true for "3"
then alert info "{?p} stays"
rule quiet on silence of :Person as ?p for "4" then alert info "{?p} is quiet"
"""
    rooms.rules.files[0].write_text(RULES + waiting)
    application = open_application(rooms)
    send(application, "<t id='ann' kind='Guest' in='kitchen' t='2'/>")
    application.close()
    # What is remembered outlives the server.
    application = open_application(rooms)
    send(application, "<t id='hall' kind='Room' t='4'/>")
    send(application, "<t id='hall' kind='Room' t='7'/>")
    found = {
        each.alert.rule: because(application.reasons.of_alert(each.alert.id)).evidence.since
        for each in application.reader.alerts_before(10)
    }
    assert found == {"stays": RuleWait(2), "quiet": RuleWait(2, "m1")}


def test_reasons_outlive_the_window_the_rules_and_the_server(
    rooms: Settings, open_application: Open
) -> None:
    application = open_application(rooms)
    send(application, "<t id='kitchen' kind='Room' t='1'/>")
    send(application, "<t id='ann' kind='Guest' in='kitchen' t='2'/>")
    (alert,) = [
        each.alert for each in application.reader.alerts_before(10) if each.alert.kind == "rule"
    ]
    before = application.reasons.of_alert(alert.id)
    renamed = RULES.replace("{@in}", "{@where}").replace("rule crowded", "rule busy")
    change = application.rulebook.put("r.rules", renamed, "ops")
    for n in range(6):
        send(application, f"<t id='room-{n}' kind='Room' t='{3 + n}'/>")
    application.close()
    application = open_application(rooms)
    assert application.reasons.of_alert(alert.id) == before
    send(application, "<t id='kitchen' kind='Room' t='20'/>")
    send(application, "<t id='bob' kind='Guest' where='kitchen' t='21'/>")
    newest = application.reader.alerts_before(1)[0].alert
    why = application.reasons.of_alert(newest.id)
    assert why.rule is not None
    assert (why.rule.name, why.rule.version) == ("busy", change)
    place = by_statement(because(why))["bob in kitchen"].places[0]
    assert place.value[0].written == "{@where}"
    execute(application.url, "delete from store.messages where seq = 2")
    gone = by_statement(because(application.reasons.of_alert(alert.id)))["ann in kitchen"]
    assert gone.places == ()
    assert "not kept any more" in gone.note


def test_what_is_not_known_is_said(rooms: Settings, open_application: Open) -> None:
    application = open_application(rooms)
    send(application, "<other/>")
    system = application.reader.alerts_before(1)[0].alert
    why = application.reasons.of_alert(system.id)
    assert (why.rule, why.because) == (None, None)
    assert why.notes == ("the system raised this alert, no rule: its text says why",)
    with pytest.raises(UnknownAlert, match="there is no alert 'm9-1'"):
        application.reasons.of_alert("m9-1")
    send(application, "<t id='kitchen' kind='Room' t='1'/>")
    send(application, "<t id='ann' kind='Guest' in='kitchen' t='2'/>")
    alert = application.reader.alerts_before(1)[0].alert
    application.close()
    # The file is edited by hand, and the server started anew: the text of then is not kept.
    rules = rooms.rules.files[0]
    rules.write_text(RULES.replace("?p is in", "?p enters").replace("a :Room }", "a :Watched }"))
    why = open_application(rooms).reasons.of_alert(alert.id)
    assert why.rule is None
    assert "was changed without the server" in why.notes[0]
    assert len(because(why).reasons) == 3


def test_a_running_deployment_tells_what_keeps_a_rule_from_firing(application: Application) -> None:
    send(application, "<t id='ann' kind='Guest' in='kitchen' t='1'/>")
    ann = "http://example.org/ann"
    found = application.unmet.why_not("crowded", ann)
    assert (found.variable, found.holds) == ("p", False)
    assert found.answer == (
        "rule crowded does not fire for :ann: ?r a :Watched: nothing is known of :kitchen"
    )
    assert found.steps[0].note == "in the window since 1, last said by m1"
    assert application.unmet.why_not("crowded", ann, "?r").variable == "r"
    # The question was answered in another process: the engine goes on as before.
    send(application, "<t id='kitchen' kind='Room' t='2'/>")
    assert application.unmet.why_not("crowded", ann).holds
    (alert,) = [
        each.alert for each in application.reader.alerts_before(10) if each.alert.kind == "rule"
    ]
    assert alert.text == f"{ann} is in http://example.org/kitchen"
    nobody = application.unmet.why_not("watch", "http://example.org/nobody")
    assert nobody.answer.endswith("on insert :Room as ?r: not in the window; it is nothing")
    with pytest.raises(UnknownRules, match="rule or query 'crowd': did you mean 'crowded'"):
        application.unmet.why_not("crowd", ann)
    with pytest.raises(QueryError, match=r"no variable \?z for an individual: it has \?p, \?r"):
        application.unmet.why_not("crowded", ann, "z")
    with pytest.raises(TermError, match="not an absolute IRI"):
        application.unmet.why_not("crowded", "ann")


WATCHED = """PREFIX : <http://example.org/>
SELECT ?p ?r FROM NAMED WINDOW :w ON <urn:sensorstream:source:door> [RANGE 10]
ALERT warning "{?p} is in {?r}"
WHERE { WINDOW :w { ?p :in ?r } ?r a :Watched }"""
AGAIN = """PREFIX : <http://example.org/>
rule again define { dotr_id1 a :Again ; :of ?p }
from New(SELECT ?p { ?p a :Guest }) with ?p = New.?p"""
LATER = """PREFIX : <http://example.org/>
SELECT ?p { { ?p a :Guest } SEQ { ?r a :Room } }"""


def test_a_running_deployment_tells_why_a_query_has_no_solution(application: Application) -> None:
    ann = "http://example.org/ann"
    application.queries.register(WATCHED, "visits")
    send(application, "<t id='ann' kind='Guest' in='kitchen' t='1'/>", "door")
    send(application, "<t id='bob' kind='Guest' in='kitchen' t='2'/>", "window")
    found = application.unmet.why_not("visits", ann)
    assert (found.rule, found.variable, found.holds) == ("visits", "p", False)
    assert found.answer == (
        "query visits has no solution for :ann: ?r a :Watched: nothing is known of :kitchen"
    )
    # What another source says does not enter the window.
    assert application.unmet.why_not("visits", "http://example.org/bob").answer.endswith(
        "for :bob: ?p :in ?r: nothing is known of :bob"
    )
    send(application, "<t id='kitchen' kind='Room' t='3'/>")
    send(application, "<t id='hall' kind='Room' t='4'/>")
    assert application.unmet.why_not("visits", ann).holds
    raised = [
        each.alert for each in application.reader.alerts_before(10) if each.alert.kind == "query"
    ]
    assert [each.text for each in raised] == [f"{ann} is in http://example.org/kitchen"]
    with pytest.raises(QueryError, match=r"query visits has no variable \?z .* it has \?p, \?r"):
        application.unmet.why_not("visits", ann, "z")
    application.queries.register(AGAIN, "again")
    with pytest.raises(
        UnsupportedQuery, match=r"'again' has rules over time.* queries steps again"
    ):
        application.unmet.why_not("again", ann)
    application.queries.register(LATER, "later")
    with pytest.raises(UnsupportedQuery, match="'later' asks for times"):
        application.unmet.why_not("later", ann)
