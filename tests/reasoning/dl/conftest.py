"""One resident process per reasoner for all tests of this folder: a JVM costs seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology, load_ontology

ONTOLOGIES = Path(__file__).parents[3] / "ontologies"
# On top of the shipped ones: a property hierarchy with a functional role, a role without
# axioms, static individuals, one of them typed with a class expression, a datatype that is
# not in OWL's map.
EXTRA = """
@prefix : <http://sensorstream.example/tracking#> .
@prefix city: <http://sensorstream.example/city#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:hasSeat a owl:ObjectProperty , owl:FunctionalProperty ; rdfs:subPropertyOf :hasLocation .
:near a owl:ObjectProperty .
:vault a :RestrictedZone .
:lobby a :Room , [ a owl:Class ; owl:complementOf :RestrictedZone ] ; :near :vault .
city:sensor-1 a city:TrafficSensor .
:born a owl:DatatypeProperty ; rdfs:range xsd:date .
"""


@pytest.fixture(scope="session")
def ontology(tmp_path_factory: pytest.TempPathFactory) -> Ontology:
    extra = tmp_path_factory.mktemp("ontology") / "extra.ttl"
    extra.write_text(EXTRA)
    return load_ontology([ONTOLOGIES / "tracking.ttl", ONTOLOGIES / "city.ttl", extra])


@pytest.fixture(scope="session")
def hermit(ontology: Ontology) -> Iterator[Worker]:
    yield from _running("hermit", ontology)


@pytest.fixture(scope="session")
def pellet(ontology: Ontology) -> Iterator[Worker]:
    yield from _running("pellet", ontology)


def _running(name: str, ontology: Ontology) -> Iterator[Worker]:
    worker = Worker(name, Terminology.of(ontology).document(), timeout=60)
    try:
        yield worker
    finally:
        worker.close()


@pytest.fixture(scope="session")
def shipped() -> Ontology:
    """The shipped ontologies as they are."""
    return load_ontology([ONTOLOGIES / "tracking.ttl", ONTOLOGIES / "city.ttl"])


@pytest.fixture(scope="session", params=["hermit", "pellet"])
def shipped_worker(request: pytest.FixtureRequest, shipped: Ontology) -> Iterator[Worker]:
    yield from _running(request.param, shipped)


@pytest.fixture(params=["hermit", "pellet"])
def worker(request: pytest.FixtureRequest) -> Worker:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Worker)
    return found
