"""Schemas, tables and documents of several messages, through a whole application."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sensorstream.app.application import Application
from sensorstream.errors import InvalidMessage, MappingError
from sensorstream.model.events import Status
from sensorstream.settings.settings import MessageSettings, RuleSettings, Settings, SourceSettings
from tests.app.conftest import Open

RULES = """prefix : <http://sensorstream.example/tracking#>
table names from "names.csv" key "id" value "name"
message each {/Batch/Message}
mapping face-tracker
on message {/Message}
for each $person in {person}
then
  insert individual :human-{$person/@id} a :Human at {@time}
    ; :hasXLocation {$person/@x}
    ; :hasName {$person/@id |> lookup names} .
"""
XSD = """<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>
<xs:element name='Batch'/><xs:element name='Message'><xs:complexType><xs:sequence/>
<xs:attribute name='time' type='xs:integer' use='required'/></xs:complexType></xs:element>
</xs:schema>"""
ONE = "<Message time='5'><person id='1' x='7'/></Message>"
BAD = "<Message time='6'><person id='2' x='many'/></Message>"


@pytest.fixture
def application(settings: Settings, open_application: Open, tmp_path: Path) -> Application:
    (tmp_path / "names.csv").write_text("id,name\n1,Ada\n")
    (tmp_path / "people.rules").write_text(RULES)
    (tmp_path / "strict.xsd").write_text(XSD)
    return open_application(
        replace(
            settings,
            rules=RuleSettings((tmp_path / "people.rules",)),
            messages=MessageSettings(),
            sources={"strict": SourceSettings(schema=tmp_path / "strict.xsd")},
        )
    )


def test_the_good_messages_of_a_document_are_taken_in_and_the_document_kept(
    application: Application,
) -> None:
    outcome = application.submit(f"<Batch>{ONE}\n{BAD}</Batch>".encode(), "cam").result(300)
    assert outcome.status is Status.PARTIAL
    assert [name.rpartition("#")[2] for name in outcome.individuals] == ["human-1"]
    (warning,) = outcome.warnings
    assert warning.startswith("message 2 of 2, at line 2: ")
    (alert,) = outcome.alerts
    assert (alert.kind, alert.text) == ("partial-message", warning)
    (kept,) = application.reader.quarantined(10)
    assert (kept.status, kept.reason) == ("partial", warning)
    assert b"many" in kept.content
    (individual,) = application.window_view(10).individuals
    assert individual.name.endswith("human-1")


def test_a_document_of_bad_messages_is_rejected(application: Application) -> None:
    future = application.submit(f"<Batch>{BAD}{BAD}</Batch>".encode(), "cam")
    with pytest.raises(MappingError, match=r"message 1 of 2, at line 1: .*message 2 of 2, at line"):
        future.result(300)
    assert [each.status for each in application.reader.quarantined(10)] == ["rejected"]
    assert application.window_view(10).individuals == ()


def test_a_source_with_a_schema_sends_what_it_says_or_is_refused(application: Application) -> None:
    with pytest.raises(InvalidMessage, match="line 1: Element 'Message': The attribute 'time'"):
        application.submit(b"<Message/>", "strict").result(300)
    (kept,) = application.reader.quarantined(10)
    assert kept.status == "rejected"
    assert kept.reason.startswith("the message is not valid against its schema: line 1: ")
    # Other sources have none.
    assert application.submit(ONE.encode(), "cam").result(300).status is Status.ACCEPTED


def test_what_was_taken_in_of_a_document_survives_a_restart(
    application: Application, open_application: Open, settings: Settings, tmp_path: Path
) -> None:
    application.submit(f"<Batch>{ONE}{BAD}{ONE}</Batch>".encode(), "cam").result(300)
    window = application.window_view(10)
    application.close()
    again = open_application(replace(settings, rules=RuleSettings((tmp_path / "people.rules",))))
    assert again.window_view(10) == window
