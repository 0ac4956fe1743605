"""All that is compared: the one table."""

from __future__ import annotations

from functools import partial
from typing import Final

from benchmarks.beside import (
    departments,
    documents,
    fences,
    one_sensor,
    past,
    prices,
    readings,
    road_graphs,
    starts,
    tracker_window,
)
from benchmarks.beside.turns import Comparison
from benchmarks.history_engines import DuckDB, Oxigraph

_LOOP: Final = "a loop in Python"
_closure = partial(partial, departments.closure_beside)
_graphs = partial(partial, road_graphs.beside_oxigraph)

COMPARISONS: Final = (
    Comparison("message mapped", "lxml, XPath, dict", "message",
               partial(tracker_window.beside_floor, "mapping"), 500, turns=10, small=50),
    Comparison("message taken in, plain", "lxml, XPath, dict", "message",
               partial(tracker_window.beside_floor, "engine"), 500, turns=10, small=50),
    Comparison("message taken in, HermiT", "owlready2, HermiT", "message",
               partial(tracker_window.beside_owlready, "hermit"), 500, turns=2),
    Comparison("message taken in, Pellet", "the paper's way: Jena, Pellet", "message",
               partial(tracker_window.beside_papers_way, "pellet"), 500, turns=8),
    Comparison("observation of a sensor, HermiT asked", "owlready2, HermiT", "message",
               partial(one_sensor.beside_owlready, "city, choice of sensor"), 100, turns=2,
               aim=500),
    Comparison("event of a document, rules", "lxml, XPath, dict", "event",
               documents.rules_beside_lxml, 10_000),
    Comparison("event of a document, RML", "morph-kgc", "event",
               documents.rml_beside_morph, 10_000, turns=2),
    Comparison("fences, 10,000", "shapely, all fences", "message", fences.beside_shapely, 10_000),
    Comparison("query (1) in 10 s", "ETALIS", "event", prices.sequences, 6_000, aim=150_000,
               told="230-4,900"),
    Comparison("averages of 1 s", _LOOP, "event", prices.averages, 6_000, aim=300_000, small=2_000),
    Comparison("averages of 1 s", "Esper", "event", partial(prices.averages, esper=True), 6_000,
               aim=300_000, told="0.9-1.2 million"),
    Comparison("member of 40,080 classes", "ETALIS", "event", prices.members, 6_000, aim=150_000,
               told="57,000"),
    Comparison("tsunami", "ETALIS", "reading", prices.tsunami, 2_000, aim=37_000, told="37,000"),
    Comparison("CityBench Q1, 10/s", "Oxigraph every second", "graph",
               _graphs("Q1", 10, 100_000), 20, aim=20_000),
    Comparison("CityBench Q1, 100/s", "Oxigraph every second", "graph",
               _graphs("Q1", 100, 100_000), 3, aim=10_000),
    Comparison("CityBench Q2, 10/s", "Oxigraph every second", "graph",
               _graphs("Q2", 10, 5_000), 20, small=5),
    Comparison("LUBM, 14 queries", "Oxigraph loads, asks", "statement",
               departments.queries_beside_oxigraph, 4, turns=3, aim=250_000),
    Comparison("LUBM, 11 rules, 14 queries", "Oxigraph, SPARQL Update", "statement",
               departments.rules_beside_updates, 4, turns=3, aim=250_000, small=1),
    Comparison("OWL 2 RL, 14 queries", "reasonable", "statement",
               _closure("closures", "reasonable", {}), 6_000, turns=3, aim=250_000),
    Comparison("OWL 2 RL, 14 queries", "Jena, OWLMicro", "statement",
               _closure("jena_rules", "close", {"reasoner": "OWLMicro"}), 1_000, turns=3),
    Comparison("OWL 2 RL, 14 queries", "owlrl", "statement",
               _closure("closures", "owlrl", {}), 1_000, turns=3),
    Comparison("shapes, window of 100", "pySHACL", "event", readings.beside_pyshacl, 100, turns=3),
    Comparison("history written", "DuckDB, in memory", "statement", past.written_beside_duckdb,
               10_000, turns=2, aim=20_000),
    Comparison("history asked", "DuckDB, in memory", "question",
               partial(past.questions_beside, DuckDB), 5_000, turns=3),
    Comparison("history asked", "Oxigraph, in memory", "question",
               partial(past.questions_beside, Oxigraph), 5_000, turns=3),
    Comparison("sensorstream --help", "import click", "start", starts.told, 1, turns=3, aim=10),
    Comparison("sensorstream run, one event", "import lxml, lark, pyoxigraph", "start",
               starts.one_event, 1, turns=3, aim=2),
    Comparison("sensorstream serve", "import fastapi, uvicorn, sqlalchemy", "start",
               starts.served, 1, turns=3, aim=0.67),
)  # fmt: skip
