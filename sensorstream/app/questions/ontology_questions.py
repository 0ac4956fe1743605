"""SPARQL over an ontology: the content of its files, and what follows by the profile of reasoning.

Source: SPARQL 1.1 Entailment Regimes; section 6 (OWL 2 Direct Semantics) for HermiT and Pellet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from sensorstream.errors import QueryError, UnsupportedQuery
from sensorstream.history.asking.query_answer import Answer, answer_now
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import owl, rdf
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.entailed_schema import ENTAILED, EntailedSchema, having, with_classes
from sensorstream.reasoning.ontology import Ontology
from sensorstream.reasoning.profiles import DESCRIPTION_LOGIC, bare_reasoner, make_reasoner
from sensorstream.reasoning.reasoner import Aside
from sensorstream.settings.settings import ReasoningSettings
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.described import described, descriptions, graph_of
from sensorstream.sparql.text_places import give_place
from sensorstream.sparql.walk import nodes
from sensorstream.streams.event_lines import SECOND, instant_of
from sensorstream.streams.processor import StreamProcessor

_STATIC: Final = (Origin.STATIC, Origin.STATIC_INFERRED)


def answers(
    queries: Sequence[Query], ontology: Ontology, reasoning: ReasoningSettings, folder: Path
) -> Iterator[Answer]:
    """The answer to each query over an ontology, if :func:`.check_answerable` lets it pass; the
    reasoner starts once for all.

    With HermiT and Pellet: names of classes and properties stand for their meaning, so a variable
    has named individuals, named classes and literals; a class that a query describes by blank nodes
    is asked about by its meaning; and hierarchies, domains, ranges and disjoint classes follow too.
    With every other profile: the triples of the files, and those that follow. Paths of its rule
    sets begin in ``folder``.

    Raises:
        QueryError: a query names a graph, or the profile cannot answer it.
        OntologyError: the ontology contradicts itself, or cannot be reasoned with.
        ReasonerError: the reasoner's process failed.
    """
    for each in queries:
        _check_graphs(each)
    if reasoning.profile in DESCRIPTION_LOGIC:
        yield from _by_meaning(queries, ontology, reasoning)
        return
    with closing(
        make_reasoner(
            reasoning.profile, ontology, java=reasoning.java, heap=reasoning.heap, folder=folder
        )
    ) as reasoner:
        aside = Aside(ontology.triples, reasoner)
    for each in queries:
        yield _answer(each, aside.kb.index, {})


def _by_meaning(
    queries: Sequence[Query], ontology: Ontology, reasoning: ReasoningSettings
) -> Iterator[Answer]:
    """See :func:`answers`, for HermiT and Pellet."""
    named = [described(each) for each in queries]
    for query, _ in named:
        _check_described(query)
    classes = {each.name: each for _, told in named for each in told}
    held = {name: having(name) for name in sorted(ontology.schema.datatype_properties)}
    extended = with_classes(ontology, (*classes.values(), *held.values()))
    with closing(
        bare_reasoner(
            reasoning.profile,
            extended,
            java=reasoning.java,
            timeout=reasoning.timeout,
            heap=reasoning.heap,
        )
    ) as reasoner:
        aside = Aside(extended.triples, reasoner)
        schema = EntailedSchema(
            aside,
            ontology.schema,
            frozenset((*ontology.schema.classes, *classes)),
            {name: each.name for name, each in held.items()},
        )
        individuals = Terminology.of(extended).individuals
        known = [*_about_individuals(aside.kb, individuals)]
        for query, _ in named:
            default = TripleIndex()
            graphs = {each: TripleIndex() for each in _graphs(query)}
            for triple in dict.fromkeys((*known, *_about_names(query, schema))):
                graph = graph_of(triple[0], triple[2])
                index = default if graph is None else graphs.get(graph)
                if index is not None:
                    index.add(triple)
            yield _answer(query, default, graphs)


def _about_individuals(kb: KnowledgeBase, individuals: Sequence[Subject]) -> Iterator[Triple]:
    """The statements that hold, without the blank nodes that only write axioms."""
    known = frozenset(individuals)
    for origin in _STATIC:
        for triple in kb.triples(origin):
            if known.issuperset(part for part in triple if isinstance(part, BlankNode)):
                yield triple
    for each in individuals:
        yield each, rdf.TYPE, owl.THING
        yield each, owl.SAME_AS, each


def _about_names(query: Query, schema: EntailedSchema) -> Iterator[Triple]:
    """The entailed statements about the names of the ontology, with the predicates of a query."""
    asked = {part for part in nodes(query) if isinstance(part, IRI)} & ENTAILED
    for predicate in sorted(asked):
        yield from schema.statements(predicate)


def _graphs(query: Query) -> Iterator[IRI]:
    """The graphs of what a query asks of described classes."""
    for part in nodes(query):
        if isinstance(part, algebra.Graph) and isinstance(part.name, IRI):
            yield part.name


def _answer(query: Query, default: TripleIndex, named: dict[IRI, TripleIndex]) -> Answer:
    processor = StreamProcessor(default, instant=instant_of, second=SECOND)
    running = processor.register("q", "", query, lambda report: None, named)
    processor.settle(0)
    return answer_now(running)


def _check_graphs(query: Query) -> None:
    graph = next((part for part in nodes(query) if isinstance(part, algebra.Graph)), None)
    if graph is not None or query.dataset.default or query.dataset.named:
        told = "an ontology is one graph: expected a query without GRAPH, FROM and FROM NAMED"
        raise give_place(UnsupportedQuery(told, part=graph), query.places)


def _check_described(query: Query) -> None:
    """Refuse a query about how a class is written."""
    for part in descriptions(query):
        told = (
            f"{part.predicate} describes a class: with the profiles hermit and pellet a query "
            "asks for what classes mean, so a class is described by names and literals alone, "
            "after rdf:type, rdfs:subClassOf or the like. How classes are written is told by the "
            "profile none"
        )
        raise give_place(QueryError(told, part=part), query.places)
