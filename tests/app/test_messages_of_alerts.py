"""Which messages led to an alert, of a whole application."""

from __future__ import annotations

import pytest

from sensorstream.app.application import Application
from sensorstream.errors import UnknownAlert
from sensorstream.settings.settings import Settings
from tests.app.conftest import Deploy, Open
from tests.databases import execute
from tests.prefixes import TURTLE

ONTOLOGY = f"""{TURTLE}
:Room a owl:Class . :Person a owl:Class . :Guest a owl:Class ; rdfs:subClassOf :Person .
:in a owl:ObjectProperty .
"""
RULES = """
prefix : <http://example.org/>
mapping thing
on message {/t}
then update individual :{@id} a :{@kind} at {@t} ; :in :{@in} .
rule crowded
on change
if select {
  SELECT ?r (COUNT(?p) AS ?n)
  { ?p a :Person ; :in ?r . ?r a :Room } GROUP BY ?r HAVING (COUNT(?p) > 1) }
then alert warning "{?r} has {?n}"
"""


@pytest.fixture
def rooms(deploy: Deploy) -> Settings:
    return deploy(ONTOLOGY, RULES, "5")


def send(application: Application, content: str, source: str = "test") -> None:
    status = application.submit(content.encode(), source).result(60).status
    assert status.value in ("accepted", "unmatched")


def test_the_messages_of_what_was_said_and_inferred_led_to_an_alert(
    rooms: Settings, open_application: Open
) -> None:
    application = open_application(rooms)
    send(application, "<t id='kitchen' kind='Room' t='1'/>")
    send(application, "<other/>")
    send(application, "<t id='cid' kind='Person' in='hall' t='2'/>")
    send(application, "<t id='ann' kind='Guest' in='kitchen' t='3'/>", "door")
    # A restart forgets nothing of it.
    application.close()
    application = open_application(rooms)
    send(application, "<t id='bob' kind='Guest' in='kitchen' t='4'/>")
    (alert,) = [
        each.alert for each in application.reader.alerts_before(10) if each.alert.kind == "rule"
    ]
    raised, found = application.reader.messages_behind(alert.id, 100)
    assert raised.alert == alert
    assert [each.seq for each in found] == [1, 4, 5]
    assert [each.source for each in found] == ["test", "door", "test"]
    assert found[0].content == b"<t id='kitchen' kind='Room' t='1'/>"
    _, rest = application.reader.messages_behind(alert.id, 1, after=1)
    assert rest == found[1:2]
    execute(application.url, "delete from store.messages where seq = 1")
    _, found = application.reader.messages_behind(alert.id, 100)
    assert [(each.seq, each.dropped, each.content is None) for each in found] == [
        (1, True, True),
        (4, False, False),
        (5, False, False),
    ]


def test_an_alert_of_the_system_has_the_message_that_raised_it(
    rooms: Settings, open_application: Open
) -> None:
    application = open_application(rooms)
    send(application, "<other/>")
    (raised,) = application.reader.alerts_before(10)
    _, found = application.reader.messages_behind(raised.alert.id, 100)
    assert [each.content for each in found] == [b"<other/>"]
    with pytest.raises(UnknownAlert, match="there is no alert 'm9-1'"):
        application.reader.messages_behind("m9-1", 10)
