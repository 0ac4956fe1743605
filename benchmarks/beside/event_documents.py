"""Documents of many events, and ways to make the same triples of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from lxml import etree

from sensorstream.mapping import MappingPlan, parse_document
from sensorstream.model.events import Message

STATEMENTS: Final = 6
"""Triples an event."""
_VALUES: Final = ("sensor", "x", "y", "value", "name")
_SAID: Final = "\n    ; ".join(
    f":{each} {{{path}}}"
    for each, path in zip(
        _VALUES, ("@sensor", "place/@x", "place/@y", "value", "name"), strict=True
    )
)
_HEAD: Final = "prefix : <http://example.org/>\n"
_ACTION: Final = f"then\n  insert individual :e-{{@id}} a :Event\n    ; {_SAID} .\n"
RULES: Final = f"{_HEAD}mapping event\non message {{/Events/Event}}\n{_ACTION}"
RML: Final = """@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix : <http://example.org/> .
<http://example.org/map> a rr:TriplesMap ;
  rml:logicalSource [ rml:source "SOURCE" ;
    rml:referenceFormulation ql:XPath ; rml:iterator "/Events/Event" ] ;
  rr:subjectMap [ rr:template "http://example.org/e-{@id}" ; rr:class :Event ] ;
  rr:predicateObjectMap
    [ rr:predicate :sensor ; rr:objectMap [ rml:reference "@sensor" ] ] ,
    [ rr:predicate :x ; rr:objectMap [ rml:reference "place/@x" ] ] ,
    [ rr:predicate :y ; rr:objectMap [ rml:reference "place/@y" ] ] ,
    [ rr:predicate :value ; rr:objectMap [ rml:reference "value" ] ] ,
    [ rr:predicate :name ; rr:objectMap [ rml:reference "name" ] ] .
"""


def document(events: int) -> bytes:
    """A document with so many events."""
    parts = "".join(
        f'<Event id="{i}" sensor="s{i % 100}"><place x="{i % 640}" y="{i % 480}"/>'
        f"<value>{i % 4000 / 100}</value><name>event {i}</name></Event>\n"
        for i in range(events)
    )
    return f"<Events>{parts}</Events>".encode()


def by(plan: MappingPlan) -> Callable[[bytes], int]:
    """The number of triples that a plan makes of a document."""

    def run(content: bytes) -> int:
        mapped = plan.apply(parse_document(content, max_depth=100), Message("m1", content, 1))
        return sum(len(event.triples) for event in mapped.events)

    return run


def lxml_alone(content: bytes) -> int:
    """The number of triples, as tuples of strings, made with compiled XPaths."""
    root = etree.fromstring(content)
    find: Any = etree.XPath("/Events/Event")
    identity: Any = etree.XPath("string(@id)")
    paths = ("@sensor", "place/@x", "place/@y", "value/text()", "name/text()")
    values: list[tuple[str, Any]] = [
        (f"http://example.org/{name}", etree.XPath(path, smart_strings=False))
        for name, path in zip(_VALUES, paths, strict=True)
    ]
    triples: dict[tuple[str, str, str], None] = {}
    for node in find(root):
        subject = f"http://example.org/e-{identity(node)}"
        triples[subject, "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "Event"] = None
        for name, path in values:
            for text in path(node):
                triples[subject, name, text] = None
    return len(triples)


def written(content: bytes, folder: Path) -> tuple[Path, Path]:
    """The document and the RML mapping for it, as files for other programs."""
    source, mapping = folder / "events.xml", folder / "mapping.ttl"
    source.write_bytes(content)
    mapping.write_text(RML.replace("SOURCE", str(source)), encoding="utf-8")
    return source, mapping
