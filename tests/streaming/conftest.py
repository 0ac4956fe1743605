"""A deployment whose individuals belong to one source each, and its messages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sensorstream.journal.records import Record
from sensorstream.model.events import Message
from sensorstream.settings.settings import Settings
from sensorstream.settings.settings_file import load_settings

START = datetime(2026, 1, 1, tzinfo=UTC)

ONTOLOGY = """\
@prefix : <http://example.org/t#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://example.org/t> a owl:Ontology .
:Human a owl:Class ; rdfs:subClassOf :Actor .
:Actor a owl:Class .
:x a owl:DatatypeProperty ; rdfs:range xsd:integer .
"""
RULES = """\
prefix : <http://example.org/t#>

mapping seen
on message {/seen}
for each $person in {person}
then
  update individual :{/seen/@by}-{$person/@id} a :Human at {/seen/@at}
    ; :x {$person/@x} .

rule far
on insert :Human as ?person
if select { SELECT ?x { ?person :x ?x . FILTER(?x > 70) } }
then
  alert warning "{?person} is at {?x}" key "{?person}"
"""
SETTINGS = """\
[ontology]
files = ["t.ttl"]
[rules]
files = ["t.rules"]
[window]
size = "5"
partition = "source"
[reasoning]
profile = "plain"
"""


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("deployment")
    return write_deployment(folder)


def write_deployment(folder: Path, more: str = "") -> Settings:
    """The deployment in a folder, with further settings."""
    (folder / "t.ttl").write_text(ONTOLOGY)
    (folder / "t.rules").write_text(RULES)
    (folder / "sensorstream.toml").write_text(SETTINGS + more)
    return load_settings(folder / "sensorstream.toml", {})


def seen(camera: str, time: int, *people: tuple[int, int]) -> bytes:
    """A message: where a camera sees whom."""
    inner = "".join(f"<person id='{person}' x='{x}'/>" for person, x in people)
    return f"<seen by='{camera}' at='{time}'>{inner}</seen>".encode()


@pytest.fixture
def record() -> Callable[..., Record]:
    """Makes entries of a journal."""

    def make(seq: int, content: bytes, source: str = "", kind: str = "message") -> Record:
        return Record(seq, Message(f"m{seq}", content, seq, source), START, kind=kind)

    return make
