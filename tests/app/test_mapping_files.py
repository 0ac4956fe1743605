"""Rules, RML and stylesheets in one deployment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sensorstream.app.application import Application
from sensorstream.app.mapping_files import mapping_file_faults
from sensorstream.app.wiring import read_deployment
from sensorstream.engine.outcome import Status
from sensorstream.errors import LanguageError, MappingError, SettingsError
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.settings import RuleSettings, Settings

Open = Callable[[Settings], Application]
AskCache = Callable[[Application, str], Any]

TRACKING = "http://sensorstream.example/tracking#"
RULES = f"""prefix : <{TRACKING}>
mapping people
on message {{/Message}}
then
  insert individual :human-{{@id}} a :Human at {{@time}} .
"""
RML = f"""@prefix rml: <http://w3id.org/rml/> .
@prefix : <{TRACKING}> .
:places rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/Message" ] ;
  rml:subjectMap [ rml:template "{TRACKING}human-{{@id}}" ;
    <urn:sensorstream:mapping#at> "@time" ] ;
  rml:predicateObjectMap [ rml:predicate :hasXLocation ;
    rml:objectMap [ rml:reference "@x" ;
      rml:datatype <http://www.w3.org/2001/XMLSchema#integer> ] ] .
"""
XSLT = f"""<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="text"/>
<m:message xmlns:m="urn:sensorstream:mapping#" path="/Message/@name" at="@time"/>
<xsl:template match="/">&lt;{TRACKING}human-<xsl:value-of select="/*/@id"/>&gt;
  &lt;{TRACKING}hasName&gt; "<xsl:value-of select="/*/@name"/>" .
</xsl:template></xsl:stylesheet>
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, ...]:
    written = {"people.rules": RULES, "places.ttl": RML, "names.xsl": XSLT}
    for name, text in written.items():
        (tmp_path / name).write_text(text)
    return tuple(tmp_path / name for name in written)


@pytest.fixture
def mixed(settings: Settings, files: tuple[Path, ...]) -> Settings:
    return replace(settings, rules=RuleSettings(files))


def test_all_ways_in_are_applied_to_each_message(
    mixed: Settings, open_application: Open, ask_cache: AskCache
) -> None:
    application = open_application(mixed)
    message = b'<Message time="5" id="1" x="7" name="Ada"/>'
    outcome = application.submit(message, "cam").result(30)
    assert outcome.status is Status.ACCEPTED
    assert outcome.matched == ("people", "places", "names")
    found = ask_cache(
        application,
        f"ASK {{ <{TRACKING}human-1> a <{TRACKING}Human> ; "
        f"<{TRACKING}hasXLocation> 7 ; <{TRACKING}hasName> 'Ada' }}",
    )
    assert found is True


def test_what_a_stylesheet_makes_wrong_rejects_the_message(
    mixed: Settings, open_application: Open
) -> None:
    application = open_application(mixed)
    message = b"<Message time='5' id='1' x='7' name='a \"quote\"'/>"
    with pytest.raises(MappingError, match=r"stylesheet names: its output is not Turtle: line 2"):
        application.submit(message, "cam").result(30)


def test_a_name_that_two_files_give_is_an_error(mixed: Settings, files: tuple[Path, ...]) -> None:
    places = files[1]
    places.write_text(RML.replace(":places ", ":people "))
    with pytest.raises(LanguageError, match=r"places\.ttl:1:1: there is a rule 'people' already"):
        read_deployment(mixed)


def test_a_file_that_cannot_be_read_is_an_error(mixed: Settings, files: tuple[Path, ...]) -> None:
    files[1].write_bytes(b"\xff")
    with pytest.raises(SettingsError, match=r"rules\.files: cannot read .*places\.ttl"):
        read_deployment(mixed)


def test_the_faults_of_all_files_are_found(files: tuple[Path, ...]) -> None:
    _, places, names = files
    places.write_text(RML.replace('"@x"', '"@x["').replace('"@time"', '"nope()"'))
    names.write_text(XSLT.replace("/*/@id", "/*["))
    found = list(mapping_file_faults([], files, Schema(), Timeline.INTEGER))
    assert [fault.position and Path(fault.position.file).name for fault in found] == [
        "places.ttl",
        "places.ttl",
        "names.xsl",
    ]
