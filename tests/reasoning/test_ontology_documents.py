from pathlib import Path

import pytest

from sensorstream.errors import OntologyError
from sensorstream.model import rdfs
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.reasoning.ontology_documents import parse_document

A, B = IRI("http://x.example/o#A"), IRI("http://x.example/o#B")
WANTED: set[Triple] = {(A, rdfs.SUBCLASS_OF, B), (A, rdfs.LABEL, Literal("Straße", language="de"))}
PREFIXES = """@prefix : <http://x.example/o#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
TURTLE = f'{PREFIXES}:A rdfs:subClassOf :B ; rdfs:label "Straße"@de .\n'
XML = """<!DOCTYPE rdf:RDF [ <!ENTITY o 'http://x.example/o#'> ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
  <rdf:Description rdf:about="&o;A"><rdfs:subClassOf rdf:resource="&o;B"/>
    <rdfs:label xml:lang="de">Straße</rdfs:label></rdf:Description>
</rdf:RDF>
"""
JSON = """{"@context": {"rdfs": "http://www.w3.org/2000/01/rdf-schema#"},
  "@id": "http://x.example/o#A", "rdfs:subClassOf": {"@id": "http://x.example/o#B"},
  "rdfs:label": {"@value": "Straße", "@language": "de"}}"""


def read(name: str, content: bytes) -> set[Triple]:
    return set(parse_document(Path(name), content))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252", "utf-32"])
@pytest.mark.parametrize("name", ["o.owl", "o.rdf", "o.ttl"])
def test_xml_is_read_in_the_encoding_that_it_declares(name: str, encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n{XML}'
    assert read(name, text.encode(encoding)) == WANTED


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_xml_without_a_declaration_is_read_by_its_mark(encoding: str) -> None:
    assert read("o.owl", XML.encode(encoding)) == WANTED


def test_xml_in_utf_16_without_a_mark_is_read_by_what_it_declares() -> None:
    text = f'<?xml version="1.0" encoding="UTF-16LE"?>{XML}'
    assert read("o.owl", text.encode("utf-16-le")) == WANTED


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("name", "text"), [("o.ttl", TURTLE), ("o.owl", TURTLE), ("o.jsonld", JSON), ("o.owl", JSON)]
)
def test_other_syntaxes_may_have_a_mark(name: str, text: str, encoding: str) -> None:
    assert read(name, text.encode(encoding)) == WANTED


def test_turtle_that_begins_with_a_name_is_no_xml() -> None:
    subclass = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
    for name in ("o.owl", "o.ttl"):
        assert read(name, f"<{A}> {subclass} <{B}> .".encode()) == {(A, rdfs.SUBCLASS_OF, B)}


def test_bytes_that_are_not_utf_8_have_a_place_and_a_way_out() -> None:
    with pytest.raises(OntologyError, match=r"o\.ttl:3:41: byte 0xDF is not UTF-8: .*iconv"):
        read("o.ttl", TURTLE.encode("latin-1"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"Prefix: : <http://x/>\nOntology: <http://x/o>", "OWL Manchester syntax, .*Save as"),
        (b"format-version: 1.2\nontology: x", "the OBO format, .*robot"),
        (b"<!DOCTYPE html><html><body>not found</body></html>", "a web page"),
        (b"<!-- x -->\n<HTML lang='en'>", "a web page"),
        (b"\x1f\x8b\x08abc", "packed with gzip: unpack it"),
        (b"PK\x03\x04abc", "packed with zip: unpack it"),
    ],
)
def test_what_is_not_read_here_is_named_with_the_way_out(content: bytes, told: str) -> None:
    with pytest.raises(OntologyError, match=rf"^o\.owl: {told}"):
        read("o.owl", content)


def test_entities_cannot_make_much_text_of_little() -> None:
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 9))
    text = f'<!DOCTYPE r [<!ENTITY e0 "lol">{bomb}]><r xmlns="http://x/">&e8;</r>'
    with pytest.raises(OntologyError, match="amplification"):
        read("o.owl", text.encode())


@pytest.mark.parametrize(
    "declared",
    ['<!ENTITY e SYSTEM "file:///etc/hostname">', '<!ENTITY e SYSTEM "http://127.0.0.1:1/">'],
)
def test_entities_of_elsewhere_are_not_read(declared: str) -> None:
    text = XML.replace("<!ENTITY o", f"{declared}<!ENTITY o").replace("Straße", "&e;")
    with pytest.raises(OntologyError, match=r"o\.owl:\d+:\d+: .*'e' not defined; only entities"):
        read("o.owl", text.encode())


def test_a_context_of_elsewhere_is_not_fetched() -> None:
    text = '{"@context": "http://127.0.0.1:1/context", "@id": "http://x/a"}'
    with pytest.raises(OntologyError, match="nothing is fetched: write the context"):
        read("o.jsonld", text.encode())


def test_json_is_as_deep_as_xml_may_be() -> None:
    level = '{"@context": {"p": {"@id": "http://p", "@context": {}}}, "p": ["[", '
    assert len(read("o.jsonld", (level * 100 + "1" + "]}" * 100).encode())) == 200
    with pytest.raises(OntologyError, match=r"o\.jsonld:1:\d+: nested deeper than 256"):
        read("o.jsonld", (level * 20_000 + "1" + "]}" * 20_000).encode())


def test_graphs_with_names_are_refused() -> None:
    text = '{"@id": "http://x/g", "@graph": [{"@id": "http://x/a", "http://x/p": 1}]}'
    with pytest.raises(OntologyError, match=r"graph with a name .*expected one graph"):
        read("o.jsonld", text.encode())
    with pytest.raises(OntologyError, match=r"graph with a name .*expected one graph"):
        read("o.trig", b"<urn:g> { <urn:a> <urn:p> <urn:b> }")


def test_a_name_that_is_none_is_found_in_rdf_xml() -> None:
    text = XML.replace("&o;B", "http://x.example/ B")
    with pytest.raises(OntologyError, match=r"o\.owl:\d+:1: .*http://x\.example/ B"):
        read("o.owl", text.encode())
