"""The examples of docs/use/rml-and-xslt.md do what the page says."""

from __future__ import annotations

import re
from pathlib import Path

from sensorstream.mapping import MappingPlan, parse_document
from sensorstream.mapping.mapping_plan import PlannedRule
from sensorstream.mapping.rml import compile_rml, read_rml
from sensorstream.mapping.stylesheet import read_stylesheet
from sensorstream.mapping.xslt import compile_stylesheet
from sensorstream.model.events import Event, Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline

PAGE = Path(__file__).parents[2] / "docs" / "use" / "rml-and-xslt.md"
RML, XSLT = PAGE.read_text("utf-8").split("\n## XSLT\n")
TRACKING = "http://example.org/tracking#"


def block(page: str, language: str) -> str:
    """The first block of a language on a part of the page."""
    found = re.search(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def event(rules: tuple[PlannedRule, ...], page: str) -> Event:
    """The event of the page's message, which says what the page prints."""
    xml = block(page, "xml").encode()
    mapped = MappingPlan(rules).apply(parse_document(xml, max_depth=9), Message("m", xml, 0))
    (only,) = mapped.events
    said = [f"{s.n3} {p.n3} {o.n3} ." for s, p, o in only.triples]
    assert said == block(page, "ntriples").splitlines()
    return only


def test_the_example_of_rml() -> None:
    found = event(compile_rml([read_rml(block(RML, "turtle"))], Schema(), Timeline.INTEGER), RML)
    assert found.time == 2678
    names = {
        (str(s).removeprefix(TRACKING), str(p).removeprefix(TRACKING)) for s, p in found.replaces
    }
    assert names == {
        ("human-7", "hasXLocation"),
        ("human-7", "hasLocation"),
        ("human-8", "hasLocation"),
    }


def test_the_example_of_a_stylesheet() -> None:
    stylesheet = read_stylesheet(block(XSLT, "xslt").encode(), "rooms.xsl")
    found = event((compile_stylesheet(stylesheet, Timeline.INTEGER),), XSLT)
    assert found.time == 2678
    assert found.replaces == {(IRI(f"{TRACKING}human-7"), IRI(f"{TRACKING}hasXLocation"))}
