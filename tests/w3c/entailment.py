"""The W3C's tests of SPARQL 1.1 entailment regimes, under rule sets, HermiT and Pellet.

The data of a test are the static graph. The rule sets of a regime close it; the query is then
answered by the network over what is stated and what follows. Under OWL-Direct HermiT and Pellet
answer as ``sensorstream query --on ontology`` does. A test passes if the answer is the stated one
under each regime that it names.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from sensorstream.app.questions.ontology_questions import answers
from sensorstream.history.asking import query_answer as answering
from sensorstream.history.asking.query_answer import Answer
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.kb.oxigraph_terms import to_oxigraph
from sensorstream.model.terms import Triple
from sensorstream.reasoning.ontology import load_ontology
from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set import RuleSet, combined
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules
from sensorstream.settings.settings import ReasoningSettings
from sensorstream.sparql.algebra import Query
from sensorstream.streams.event_lines import instant_of
from sensorstream.streams.processor import StreamProcessor
from tests.w3c.checks import read, same_result
from tests.w3c.manifests import EntailmentCase, entailment_cases
from tests.w3c.network import result_of, triple_of
from tests.w3c.results import Result, Solutions, expected, parse_graph

RULE_SETS: Final = {
    "RDF": ("rdf", "rdf-axioms"),
    "RDFS": ("rdfs", "rdf-axioms", "rdfs-axioms", "rdfs-containers"),
    "D": ("rdfs", "dstar", "rdf-axioms", "rdfs-axioms", "rdfs-containers"),
    "OWL-RDF-Based": ("owl2rl", "owl2rl-axioms"),
    "RIF": (),
}
"""The rule sets of each regime; OWL-Direct has reasoners."""

REASONERS: Final = ("hermit", "pellet")
"""The profiles that answer under OWL-Direct."""
_DIRECT: Final = "OWL-Direct"

_NO_DOCUMENT: Final = "the suite does not bring the RIF document that the data refer to"
_BLANK: Final = (
    "right under OWL-Direct. Under OWL-RDF-Based a variable may stand for a blank node: the "
    "restriction equivalent to Parent is a solution, too, which the stated result leaves out"
)

OPEN: Final = {
    "rif01": _NO_DOCUMENT,
    "rif03": _NO_DOCUMENT,
    "rif04": _NO_DOCUMENT,
    "rif06": _NO_DOCUMENT,
    "sparqldl-11": _BLANK,  # nor has OWL 2 RL a rule from domains of the inverse to ranges
    "sparqldl-12": _BLANK,
}
"""Tests whose stated result is not given under each regime; one that begins to pass must leave."""


def fault_of_entailment(case: EntailmentCase, reasoners: tuple[str, ...] = REASONERS) -> str | None:
    """What is wrong with how a test goes; under OWL-Direct, with each of some reasoners."""
    wrong = _wrong(case, reasoners)
    if case.name in OPEN:
        return None if wrong else "it passes: take it out of the table of open tests"
    return wrong


def fault_under_direct(case: EntailmentCase, reasoners: tuple[str, ...]) -> str | None:
    """What is wrong with the answer of each of some reasoners, if the test names OWL-Direct."""
    if _DIRECT not in case.regimes:
        return None
    query = _query(case)
    for each in reasoners:
        found, wanted = _direct(case.data.default, each)[case.name], expected(case.result)
        if not same_result(case, query, found, wanted):
            return f"by {each}: the result is {found}, not {wanted}"
    return None


def passes_without_rules(case: EntailmentCase) -> bool:
    """Whether the stated result is the answer over what is stated alone."""
    return _wrong_by(case, ()) is None


def closed(triples: Iterable[Triple], sets: tuple[str, ...]) -> KnowledgeBase:
    """A static graph and what follows from it by rule sets.

    Raises:
        OntologyError: it contradicts itself.
    """
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, tuple(triples))
    reasoner = RuleReasoner(_together(sets))
    reasoner.start(kb)
    reasoner.close()
    return kb


def answer_of(query: Query, kb: KnowledgeBase) -> Result:
    """What the network answers over all that a knowledge base holds."""
    processor = StreamProcessor(kb.index, instant=instant_of, second=1)
    running = processor.register("q", "", query, lambda report: None, {})
    processor.settle(0)
    return result_of(running, query)


@lru_cache(maxsize=8)  # neighbours in the manifest share their data
def _world(files: tuple[Path, ...], sets: tuple[str, ...]) -> KnowledgeBase:
    return closed((triple_of(quad) for file in files for quad in parse_graph(file)), sets)


@cache
def _together(sets: tuple[str, ...]) -> RuleSet:
    return combined(map(bundled_rules, sets))


@cache
def _direct(files: tuple[Path, ...], profile: str) -> dict[str, Result]:
    """The answers of a reasoner to all tests about the same data: it starts once."""
    cases = [
        case
        for case in entailment_cases()
        if _DIRECT in case.regimes and case.data.default == files
    ]
    ontology = load_ontology(files, names="infer")
    queries = [_query(case) for case in cases]
    found = answers(queries, ontology, ReasoningSettings(profile, timeout=60.0), Path())
    return {case.name: _result(answer) for case, answer in zip(cases, found, strict=True)}


def _result(answer: Answer) -> Result:
    """An answer, as the suites compare it; none of these tests asks for a graph."""
    if isinstance(answer, bool):
        return answer
    assert isinstance(answer, answering.Solutions)
    return Solutions(
        tuple(
            {
                name: to_oxigraph(term)
                for name, term in zip(answer.variables, row, strict=True)
                if term is not None
            }
            for row in answer.rows
        )
    )


def _query(case: EntailmentCase) -> Query:
    query = read(case, update=False)
    assert isinstance(query, Query)
    return query


def _wrong(case: EntailmentCase, reasoners: tuple[str, ...]) -> str | None:
    several = dict.fromkeys(RULE_SETS[each] for each in case.regimes if each != _DIRECT)
    by_rules = (_wrong_by(case, sets) for sets in several)
    return next(filter(None, by_rules), None) or fault_under_direct(case, reasoners)


def _wrong_by(case: EntailmentCase, sets: tuple[str, ...]) -> str | None:
    query = _query(case)
    found, wanted = answer_of(query, _world(case.data.default, sets)), expected(case.result)
    if same_result(case, query, found, wanted):
        return None
    return f"by {', '.join(sets) or 'no rule'}: the result is {found}, not {wanted}"
