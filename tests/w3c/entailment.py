"""The W3C's tests of SPARQL 1.1 entailment regimes, under the rule sets of this project.

The data of a test are the static graph. The rule sets of a regime close it; the query is then
answered by the network over what is stated and what follows. A test passes if the answer is the
stated one under each regime that it names.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.terms import Triple
from sensorstream.reasoning.rulesets.library import bundled_rules
from sensorstream.reasoning.rulesets.reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set import RuleSet, combined
from sensorstream.sparql.algebra import Query
from sensorstream.streams.event_lines import instant_of
from sensorstream.streams.processor import StreamProcessor
from tests.w3c.checks import read, same_result
from tests.w3c.manifests import EntailmentCase
from tests.w3c.network import result_of, triple_of
from tests.w3c.results import Result, expected, parse_graph

RULE_SETS: Final = {
    "RDF": ("rdf", "rdf-axioms"),
    "RDFS": ("rdfs", "rdf-axioms", "rdfs-axioms"),
    "D": ("rdfs", "dstar", "rdf-axioms", "rdfs-axioms"),
    "OWL-RDF-Based": ("owl2rl", "owl2rl-axioms"),
    "OWL-Direct": ("owl2rl", "owl2rl-axioms"),
    "RIF": (),
}
"""The rule sets of each regime."""

_WRITTEN_NOWHERE: Final = "the query describes a class that is written nowhere in the data"
_UNNAMED: Final = (
    "the blank nodes of class expressions in the data are answers too; by OWL-Direct a variable "
    "for a class stands for named classes only"
)
_NO_DOCUMENT: Final = "the suite does not bring the RIF document that the data refer to"

OPEN: Final = {
    "paper-sparqldl-Q2": f"{_WRITTEN_NOWHERE}: the intersection of Student and Employee",
    "paper-sparqldl-Q3": f"{_WRITTEN_NOWHERE}: what is published at something that is no Workshop",
    "parent10": _UNNAMED,
    "parent4": f"{_WRITTEN_NOWHERE}: at least 1 hasChild",
    "parent5": f"{_WRITTEN_NOWHERE}: some hasChild that is Female",
    "parent6": f"{_WRITTEN_NOWHERE}: at least 1 hasChild that is Female",
    "parent7": f"{_WRITTEN_NOWHERE}: at most 1 hasChild that is Female",
    "parent8": f"{_WRITTEN_NOWHERE}: exactly 1 hasChild that is Female",
    "parent9": _UNNAMED,
    "rif01": _NO_DOCUMENT,
    "rif03": _NO_DOCUMENT,
    "rif04": _NO_DOCUMENT,
    "rif06": _NO_DOCUMENT,
    "simple1": f"{_WRITTEN_NOWHERE}: the intersection of A and B",
    "simple2": f"{_WRITTEN_NOWHERE}: the intersection of A and some p that is B",
    "simple3": f"{_WRITTEN_NOWHERE}: some p that is both A and B",
    "simple4": f"{_WRITTEN_NOWHERE}: the union of B and C",
    "simple5": f"{_WRITTEN_NOWHERE}: some p that is A or B",
    "simple6": f"{_WRITTEN_NOWHERE}: only p that are A, B or C",
    "simple7": f"{_WRITTEN_NOWHERE}: the intersection of A and the union of B and C",
    "simple8": f"{_WRITTEN_NOWHERE}: some p that has some p that is B",
    "sparqldl-11": "no rule of OWL 2 RL concludes ranges of a property from domains of its inverse",
    "sparqldl-12": f"{_UNNAMED}, by OWL-RDF-Based, which the test names too, for any class",
}
"""Tests whose stated result the rule sets do not give; one that begins to pass must leave."""


def fault_of_entailment(case: EntailmentCase) -> str | None:
    """What is wrong with how a test goes."""
    wrong = _wrong(case)
    if case.name in OPEN:
        return None if wrong else "it passes: take it out of the table of open tests"
    return wrong


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


def _wrong(case: EntailmentCase) -> str | None:
    several = dict.fromkeys(RULE_SETS[regime] for regime in case.regimes)
    return next(filter(None, (_wrong_by(case, sets) for sets in several)), None)


def _wrong_by(case: EntailmentCase, sets: tuple[str, ...]) -> str | None:
    query = read(case, update=False)
    assert isinstance(query, Query)
    found, wanted = answer_of(query, _world(case.data.default, sets)), expected(case.result)
    if same_result(case, query, found, wanted):
        return None
    return f"by {', '.join(sets) or 'no rule'}: the result is {found}, not {wanted}"
