"""A message whose mapping takes too long is passed over, in each replay too; others are mapped."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sensorstream.errors import InvalidMessage, InvalidValue, Overrun
from sensorstream.model.events import Status
from sensorstream.settings.settings import LimitSettings, MessageSettings, RuleSettings, Settings
from tests.app.conftest import Open
from tests.databases import execute

STEEP = """prefix : <http://sensorstream.example/tracking#>
mapping steep
on message {/Seen}
then
  insert individual :human-{@id} a :Human ; :hasName "{count(//a/following::b)}" .
"""


def seen(number: int, pairs: int) -> bytes:
    return f"<Seen id='{number}'>{'<a><b/></a>' * pairs}</Seen>".encode()


@pytest.fixture
def steep(settings: Settings, tmp_path: Path) -> Settings:
    file = tmp_path / "steep.rules"
    file.write_text(STEEP)
    return replace(
        settings,
        rules=RuleSettings((*settings.rules.files, file)),
        limits=LimitSettings(mapping_seconds=1.0),
    )


def forget(settings: Settings) -> None:
    """All is done again from the beginning, at the next start."""
    execute(settings.history.url, "delete from store.checkpoints")


def test_a_path_that_takes_too_long_costs_its_message_only(
    steep: Settings, open_application: Open
) -> None:
    application = open_application(steep)
    deadly = application.submit(seen(1, 20_000), "test")
    # Mapped at once, and in a fork.
    small = application.submit(seen(2, 3), "test").result(60)
    large = application.submit(seen(3, 300), "test").result(60)
    assert (small.status, large.status) == (Status.ACCEPTED, Status.ACCEPTED)
    with pytest.raises(Overrun, match=r"longer than 1 s \(limits\.mapping_seconds\)"):
        deadly.result(60)
    (kept,) = application.reader.quarantined(10)
    assert kept.status == "skipped"
    told = application.asking.sql("select text from store.alerts where kind = 'overrun'").rows
    assert len(told) == 1
    window = application.window_view(100)
    names = {each.name.rpartition("#")[2] for each in window.individuals}
    assert names >= {"human-2", "human-3"}
    assert "human-1" not in names
    application.close()
    # A replay asks no clock: neither about what was passed over nor about what was mapped.
    forget(steep)
    begun = time.monotonic()
    again = open_application(replace(steep, limits=LimitSettings(mapping_seconds=0.000_001)))
    assert again.window_view(100) == window
    assert time.monotonic() - begun < 60
    assert len(again.reader.quarantined(10)) == 1


def test_a_mapping_whose_fork_is_killed_costs_its_message_only(
    steep: Settings, open_application: Open
) -> None:
    own = psutil.Process()
    before = {each.pid for each in own.children()}
    application = open_application(replace(steep, limits=LimitSettings(mapping_seconds=60.0)))
    there = {each.pid for each in own.children()} | before
    sent = application.submit(seen(1, 20_000), "test")
    after = application.submit(seen(2, 300), "test")
    killed = 0
    while not sent.done():
        for fork in own.children():
            if fork.pid not in there and not killed:
                fork.kill()
                killed = fork.pid
    with pytest.raises(Overrun, match=r"mapping the message ended its process \(-9\)"):
        sent.result(60)
    assert after.result(60).status is Status.ACCEPTED
    (kept,) = application.reader.quarantined(10)
    assert (kept.id, kept.status) == ("m1", "skipped")


SCHEMA = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="Seen">
<xs:complexType><xs:attribute name="id" type="xs:integer"/></xs:complexType></xs:element>
</xs:schema>"""
STYLESHEET = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ss="urn:sensorstream:mapping#"
 xmlns:t="http://sensorstream.example/tracking#"><ss:message path="/Seen"/><xsl:template match="/">
<rdf:RDF><t:Human rdf:about="http://e/{/Seen/@id}"/></rdf:RDF></xsl:template></xsl:stylesheet>"""


def test_a_replay_asks_no_clock_about_schemas_and_stylesheets(
    settings: Settings, tmp_path: Path, open_application: Open
) -> None:
    (tmp_path / "seen.xsd").write_text(SCHEMA)
    (tmp_path / "seen.xsl").write_text(STYLESHEET)
    settings = replace(
        settings,
        rules=RuleSettings((*settings.rules.files, tmp_path / "seen.xsl")),
        messages=MessageSettings(tmp_path / "seen.xsd"),
        limits=LimitSettings(mapping_seconds=60, transform_seconds=60),
    )
    application = open_application(settings)
    assert application.submit(b"<Seen id='1'/>", "test").result(60).status is Status.ACCEPTED
    with pytest.raises(InvalidMessage, match="not a valid value"):
        application.submit(b"<Seen id='x'/>", "test").result(60)
    window, rejected = application.window_view(100), application.reader.quarantined(10)
    application.close()
    forget(settings)
    none = LimitSettings(mapping_seconds=0.0, transform_seconds=0.0)
    again = open_application(replace(settings, limits=none))
    assert again.window_view(100) == window
    assert again.reader.quarantined(10) == rejected
    # And the limits count for what is new.
    with pytest.raises(Overrun, match=r"by seen\.xsd took longer"):
        again.submit(b"<Seen id='2'/>", "test").result(60)


def test_a_value_of_any_length_is_quoted_with_a_bound(
    settings: Settings, open_application: Open, tmp_path: Path
) -> None:
    file = tmp_path / "long.rules"
    file.write_text(
        """prefix : <http://sensorstream.example/tracking#>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping long on message {/Long}
then insert individual :human-{@id} a :Human ; :hasXLocation "{@x}"^^xsd:integer ;
  :hasName "{@name}" .
rule seen on insert :Human as ?p if select { SELECT ?p ?name { ?p :hasName ?name } }
then alert info "saw {?name}" key "{?name}"
"""
    )
    application = open_application(
        replace(settings, rules=RuleSettings((*settings.rules.files, file)))
    )
    sent = application.submit(f"<Long id='1' x='{'y' * 1_000_000}' name='a'/>".encode(), "test")
    with pytest.raises(InvalidValue) as refused:
        sent.result(60)
    assert len(str(refused.value)) < 11_000
    (kept,) = application.reader.quarantined(10)
    assert len(kept.reason) < 11_000
    long = f"<Long id='2' x='7' name='{'n' * 1_000_000}'/>".encode()
    application.submit(long, "test").result(60)
    texts = [each.alert.text for each in application.reader.alerts_before(10)]
    assert len(texts) == 2
    assert all(len(each) < 11_000 for each in texts)
