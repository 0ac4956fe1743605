"""A deployment whose individuals belong to one source each, and its messages."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from sensorstream.app.control.wiring import Deployment, read_deployment
from sensorstream.journal.records import Record
from sensorstream.model.events import Message
from sensorstream.settings.settings import PipelineSettings, Settings, WindowSettings
from sensorstream.settings.settings_file import load_settings
from tests.waiting import command_of

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
RULE_SET = """PREFIX : <http://example.org/t#>
# same place
INSERT { ?a a :Met }
WHERE { ?a :by ?s ; :x ?x . ?b :by ?s ; :x ?x FILTER(?a != ?b) } ;
# alone
INSERT { ?a a :Alone } WHERE { ?a :x ?x FILTER NOT EXISTS { ?a a :Met } } ;
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


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: that of a socket has a hundred letters at most. The hosts there end with it."""
    with tempfile.TemporaryDirectory(prefix="hosts-") as name:
        yield Path(name)
        for each in serving(Path(name)):
            each.kill()


def serving(folder: Path) -> list[psutil.Process]:
    """The processes that have sockets in the folder: the hosts, and what they are forks of."""
    return [each for each in psutil.process_iter() if str(folder) in command_of(each)]


def hosts(folder: Path) -> list[psutil.Process]:
    """Those of them that hold engines."""
    every = serving(folder)
    numbers = {each.pid for each in every}
    return [each for each in every if each.ppid() in numbers]


def on_spark(settings: Settings, url: str) -> Settings:
    """The settings of a server over a history whose pipeline is on Spark."""
    history = replace(settings.history, url=url)
    return replace(settings, history=history, pipeline=PipelineSettings(runner="spark"))


def often(settings: Settings, every: int = 4) -> Settings:
    """The settings with which checkpoints come often."""
    return replace(settings, history=replace(settings.history, checkpoint_every=every))


@pytest.fixture(scope="session")
def frugal(settings: Settings) -> Deployment:
    """Checkpoints come often."""
    return read_deployment(often(settings))


@pytest.fixture(scope="session")
def by_time(settings: Settings) -> Deployment:
    """Individuals leave five units of time after they were seen last."""
    window = WindowSettings(unit="time", size="5", partition="source")
    return read_deployment(replace(often(settings), window=window))


def more_rules(settings: Settings, folder: Path, text: str) -> Settings:
    """The settings with further rules."""
    file = folder / "more.rules"
    file.write_text(settings.rules.files[0].read_text() + text)
    return replace(settings, rules=replace(settings.rules, files=(file,)))


def edit(folder: Path, *changes: tuple[str, str, str]) -> None:
    """Change a text in files of a deployment, where it comes first."""
    for name, old, new in changes:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))


@pytest.fixture(scope="session")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """The engines infer by rule sets; people of one source belong to no other."""
    folder = tmp_path_factory.mktemp("ruled")
    (folder / "met.ru").write_text(RULE_SET)
    settings = often(write_deployment(folder))
    edit(
        folder,
        ("t.ttl", ":x a owl", ":by a owl:DatatypeProperty . :x a owl"),
        ("t.rules", "; :x {$person/@x} .", '; :x {$person/@x} ; :by "{/seen/@by}" .'),
    )
    reasoning = replace(settings.reasoning, profile="rdfs, met.ru")
    return read_deployment(replace(settings, reasoning=reasoning))


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
