"""The description of the SPARQL endpoint for its clients.

Source: SPARQL 1.1 Service Description, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from sensorstream.history.asking.checked_question import ALL, ARCHIVE, CACHE, HISTORY
from sensorstream.installation import lacking
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple
from sensorstream.model.vocabulary import GRAPH_PERSISTENT
from sensorstream.sparql.answerable import GRAPHS, HISTORY_GRAPHS
from sensorstream.sparql.extensions import EXTENSIONS
from sensorstream.sparql.place_functions import PLACE_FUNCTIONS

_SD: Final = "http://www.w3.org/ns/sparql-service-description#"
_FORMATS: Final = (
    *(f"SPARQL_Results_{name}" for name in ("JSON", "XML", "CSV", "TSV")),
    *("Turtle", "N-Triples", "RDF_XML", "JSON-LD", "TriG", "N-Quads"),
)
"""W3C's names of the formats; Arrow and Parquet have none."""


OWN_GRAPHS: Final[Mapping[str, tuple[IRI, ...]]] = {
    CACHE: GRAPHS,
    ALL: HISTORY_GRAPHS,
    **dict.fromkeys((HISTORY, ARCHIVE), (GRAPH_PERSISTENT,)),
}
"""The system's graphs whose union is the default graph, by what is asked."""


def service_description(endpoint: str, on: str, graphs: Iterable[str]) -> Iterator[Triple]:
    """Describe the endpoint that answers questions ``on`` a place; ``graphs`` are those of messages
    that it has now.
    """
    service, dataset, default = (BlankNode(f"_:{name}") for name in ("service", "dataset", "all"))
    without = PLACE_FUNCTIONS if lacking("geo") else {}
    functions = [IRI(each) for each in EXTENSIONS if on == CACHE and each not in without]
    yield from _node(
        service,
        "Service",
        endpoint=[IRI(endpoint)],
        supportedLanguage=[IRI(f"{_SD}SPARQL11Query")],
        feature=[IRI(f"{_SD}UnionDefaultGraph")],
        resultFormat=[IRI(f"http://www.w3.org/ns/formats/{name}") for name in _FORMATS],
        extensionFunction=functions,
        defaultDataset=[dataset],
        availableGraphs=[dataset],
    )
    for function in functions:
        yield from _node(function, "Function")
    yield from _node(dataset, "Dataset", defaultGraph=[default])
    yield from _node(dataset, "GraphCollection")
    yield from _node(default, "Graph")
    for number, name in enumerate((*OWN_GRAPHS[on], *map(IRI, graphs))):
        named, graph = BlankNode(f"_:named{number}"), BlankNode(f"_:graph{number}")
        yield dataset, IRI(f"{_SD}namedGraph"), named
        yield from _node(named, "NamedGraph", name=[name], graph=[graph])
        yield from _node(graph, "Graph")


def _node(subject: Subject, kind: str, **told: Iterable[Subject]) -> Iterator[Triple]:
    yield subject, rdf.TYPE, IRI(_SD + kind)
    for name, values in told.items():
        yield from ((subject, IRI(_SD + name), value) for value in values)
