"""Rules, RML and stylesheets in one deployment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat

from sensorstream.app.application import Application
from sensorstream.app.control.file_texts import text_of
from sensorstream.app.control.mapping_files import MappingFiles
from sensorstream.app.control.wiring import read_deployment
from sensorstream.errors import LanguageError, MappingError, SettingsError
from sensorstream.mapping.stylesheet import read_stylesheet
from sensorstream.model.events import Status
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import RuleSettings, Settings
from tests.app.conftest import AskCache, Open
from tests.databases import execute

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
    outcome = application.submit(message, "cam").result(300)
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
        application.submit(message, "cam").result(300)


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
    found = list(MappingFiles(files, Schema(), Timeline.INTEGER).faults([]))
    assert [fault.position and Path(fault.position.file).name for fault in found] == [
        "places.ttl",
        "places.ttl",
        "names.xsl",
    ]


SENSORS = "<sensors><s><id>1</id><room>north</room></s></sensors>"
JOINED = f"""@prefix rml: <http://w3id.org/rml/> .
@prefix : <{TRACKING}> .
:rooms rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/Message" ] ;
  rml:subjectMap [ rml:template "{TRACKING}human-{{@id}}" ;
    <urn:sensorstream:mapping#at> "@time" ] ;
  rml:predicateObjectMap [ rml:predicate :detectedBy ; rml:objectMap [ rml:parentTriplesMap :file ;
    rml:joinCondition [ rml:child "@id" ; rml:parent "id" ] ] ] .
:file rml:logicalSource [ rml:source [ a rml:RelativePathSource ; rml:path "rooms.xml" ] ;
    rml:referenceFormulation rml:XPath ; rml:iterator "/sensors/s" ] ;
  rml:subjectMap [ rml:template "{TRACKING}{{room}}" ] .
"""


def test_rml_and_stylesheets_are_put_tried_and_replayed_as_rules_are(
    mixed: Settings,
    files: tuple[Path, ...],
    open_application: Open,
    ask_cache: AskCache,
    tmp_path: Path,
) -> None:
    def send(application: Application, time: int) -> None:
        message = f'<Message time="{time}" id="{time}" x="7" name="Ada"/>'.encode()
        application.submit(message, "cam").result(300)

    def said(application: Application) -> dict[str, set[str]]:
        found = ask_cache(application, f"SELECT * {{ ?s a <{TRACKING}Human> ; ?p ?o }}")
        told: dict[str, set[str]] = {}
        for row in found:
            said = f"{row['p'].value} {row['o'].value}".replace(TRACKING, "")
            told.setdefault(row["s"].value.replace(f"{TRACKING}human-", ""), set()).add(said)
        chosen = ("hasX", "hasY", "hasName", "detectedBy")
        return {key: {e for e in each if e.startswith(chosen)} for key, each in told.items()}

    (tmp_path / "rooms.xml").write_text(SENSORS.replace("1", "3"))
    application = open_application(mixed)
    rulebook = application.rulebook
    send(application, 1)
    trial = rulebook.try_put("places.ttl", RML.replace("hasX", "hasY"))
    assert trial.faults == ()
    ((before, after),) = [(each.before, each.after) for each in trial.differences]
    assert "hasXLocation" in str(before.statements)
    assert "hasYLocation" in str(after.statements)
    first = rulebook.put("places.ttl", RML.replace("hasX", "hasY"), "me")
    rulebook.put("names.xsl", XSLT.replace('"<xsl', '"Dr. <xsl'), "me")
    send(application, 2)
    rulebook.put("rooms.turtle", JOINED, "me")
    send(application, 3)
    rulebook.remove("places.ttl", "me")
    send(application, 4)
    versions = list(rulebook.versions.all("places.ttl"))
    assert [each.media_type for each in versions] == ["text/turtle"] * 3
    assert [each.text for each in versions] == [
        RML.encode(),
        RML.replace("hasX", "hasY").encode(),
        None,
    ]
    assert versions[1].change == first
    assert rulebook.files().tables == {"rooms.xml": "same"}
    expected = {
        "1": {"hasXLocation 7", "hasName Ada"},
        "2": {"hasYLocation 7", "hasName Dr. Ada"},
        "3": {"hasYLocation 7", "hasName Dr. Ada", "detectedBy north"},
        "4": {"hasName Dr. Ada"},
    }
    assert said(application) == expected
    now = rulebook.files().files
    application.close()
    # Edits that nobody has put count for nothing, also where an entry is processed again.
    files[1].write_text(RML.replace("@x", "@id"))
    files[2].write_text(XSLT.replace('"<xsl', '"Sir <xsl'))
    (tmp_path / "rooms.xml").unlink()
    execute(mixed.history.url, "delete from store.checkpoints")
    again = open_application(mixed)
    # While nothing was put, the files on disk count.
    assert said(again) == expected | {"1": {"hasXLocation 1", "hasName Sir Ada"}}
    assert [(each.name, each.text) for each in again.rulebook.files().files] == [
        (each.name, each.text) for each in now
    ]
    assert again.rulebook.files().tables == {"rooms.xml": "absent"}


def test_what_is_put_may_name_files_of_the_folder_only(
    mixed: Settings, open_application: Open, tmp_path: Path
) -> None:
    rulebook = open_application(mixed).rulebook
    before = rulebook.files()
    (tmp_path.parent / "rooms.xml").write_text(SENSORS)
    outside = JOINED.replace("rooms.xml", "../rooms.xml")
    with pytest.raises(LanguageError, match="not a file of the deployment's folder"):
        rulebook.put("rooms.ttl", outside, "me")
    (fault,) = rulebook.try_put("rooms.ttl", outside).faults
    assert "not a file of the deployment's folder" in fault.message
    with pytest.raises(LanguageError, match="there is no such file"):
        rulebook.put("rooms.ttl", JOINED, "me")
    with pytest.raises(LanguageError, match="expected all in one stylesheet"):
        rulebook.put(
            "more.xsl", XSLT.replace("<xsl:output", "<xsl:include href='a'/><xsl:output"), "me"
        )
    (tmp_path / "rooms.xml").write_text("no XML")
    with pytest.raises(SettingsError, match=r"rooms\.xml, joined by .*rooms\.ttl"):
        rulebook.put("rooms.ttl", JOINED, "me")
    assert rulebook.files() == before


def test_a_stylesheet_in_another_encoding_is_read_as_it_declares(tmp_path: Path) -> None:
    file = tmp_path / "names.xsl"
    declared = '<?xml version="1.0" encoding="ISO-8859-1"?>'
    file.write_bytes((declared + XSLT.replace('"<xsl', '"é<xsl')).encode("latin-1"))
    text = text_of(file)
    assert text == '<?xml version="1.0"?>' + XSLT.replace('"<xsl', '"é<xsl')
    assert read_stylesheet(text.encode(), "names.xsl").format == RdfFormat.TURTLE
