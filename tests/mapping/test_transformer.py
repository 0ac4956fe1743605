"""A stylesheet in a process of its own: the same results, and an end in any case."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from threading import Thread

import pytest
from lxml import etree

from sensorstream.app.control.wiring import read_deployment
from sensorstream.engine.message_reading import Mapper, UnmappedMessage
from sensorstream.errors import MappingError, Overrun
from sensorstream.mapping import MappingPlan, parse_document
from sensorstream.mapping.stylesheet import StylesheetFailure, output_of, read_stylesheet
from sensorstream.mapping.transformer import Transformer
from sensorstream.mapping.xslt import compile_stylesheet
from sensorstream.model.events import Message
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import LimitSettings, RuleSettings, Settings

# It calls itself twice, sixty levels deep, where the message says so.
STYLESHEET = b"""<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"
 xmlns:ss="urn:sensorstream:mapping#"><ss:message path="/Message"/>
<xsl:template match="/"><rdf:RDF><xsl:apply-templates/></rdf:RDF></xsl:template>
<xsl:template match="person"><e:Human rdf:about="http://e/{@id}"/></xsl:template>
<xsl:template match="fail"><xsl:message terminate="yes">no good</xsl:message></xsl:template>
<xsl:template match="endless"><xsl:call-template name="twice"/></xsl:template>
<xsl:template name="twice"><xsl:param name="n" select="60"/><xsl:if test="$n &gt; 0">
  <xsl:call-template name="twice"><xsl:with-param name="n" select="$n - 1"/></xsl:call-template>
  <xsl:call-template name="twice"><xsl:with-param name="n" select="$n - 1"/></xsl:call-template>
</xsl:if></xsl:template></xsl:stylesheet>"""


def message(inside: str) -> etree._Element:
    return etree.fromstring(f"<Message>{inside}</Message>")


@pytest.fixture(scope="module")
def transformer() -> Transformer:
    return Transformer(STYLESHEET, "face.xsl", 0.3)


@pytest.mark.parametrize(
    "inside", ["<person id='1'/><person id='&#228;'/>", "", "<fail/>", "text", "<person/>" * 30_000]
)
def test_the_process_gives_what_this_process_would(transformer: Transformer, inside: str) -> None:
    here = output_of(read_stylesheet(STYLESHEET, "face.xsl").transform, message(inside))
    patient = Transformer(STYLESHEET, "face.xsl", 60) if len(inside) > 1000 else transformer
    assert patient.transform(message(inside), inside[:9]) == here
    if inside == "<fail/>":
        assert here == StylesheetFailure("no good", None)


def test_one_without_end_is_ended_and_the_next_message_is_transformed(
    transformer: Transformer,
) -> None:
    with pytest.raises(Overrun, match=r"face.xsl took longer than 0.3 s \(limits.transform_sec"):
        transformer.transform(message("<endless/>"), "m1")
    # The parts of a document have one limit together.
    with pytest.raises(Overrun):
        transformer.transform(message("<person id='1'/>"), "m1")
    assert isinstance(transformer.transform(message("<person id='1'/>"), "m2"), bytes)


def test_what_a_busy_machine_lets_a_process_wait_is_not_counted(transformer: Transformer) -> None:
    transformer.transform(message(""), "m5")
    process = transformer._worker._process
    assert process is not None
    found: list[object] = []
    os.kill(process._process.pid, signal.SIGSTOP)
    asking = Thread(target=lambda: found.append(transformer.transform(message(""), "m6")))
    asking.start()
    asking.join(0.8)  # more than its limit
    assert asking.is_alive()
    os.kill(process._process.pid, signal.SIGCONT)
    asking.join()
    assert isinstance(found[0], bytes)


def test_a_process_that_was_killed_meanwhile_is_replaced(transformer: Transformer) -> None:
    transformer.transform(message(""), "m3")
    process = transformer._worker._process
    assert process is not None
    os.kill(process._process.pid, signal.SIGKILL)
    process._process.wait()
    assert isinstance(transformer.transform(message(""), "m4"), bytes)


def test_a_rule_says_what_failed_as_it_does_here() -> None:
    rule = compile_stylesheet(read_stylesheet(STYLESHEET, "face.xsl"), Timeline.INTEGER, 60)
    plan, content = MappingPlan((rule,)), b"<Message><fail/></Message>"
    with pytest.raises(MappingError, match=r"face.xsl:3:1: stylesheet face: no good"):
        plan.apply(parse_document(content, max_depth=9), Message("m1", content, 0))


def test_a_deployment_limits_its_stylesheets(tmp_path: Path) -> None:
    (tmp_path / "face.xsl").write_bytes(STYLESHEET)
    deployment = read_deployment(
        Settings(
            path=tmp_path / "sensorstream.toml",
            rules=RuleSettings((tmp_path / "face.xsl",)),
            limits=LimitSettings(transform_seconds=0.2),
        )
    )
    found = Mapper(deployment.mapping).map(Message("m1", b"<Message><endless/></Message>", 0))
    assert isinstance(found, UnmappedMessage)
    assert isinstance(found.error, Overrun)
