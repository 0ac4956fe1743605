"""What rule sets conclude of the data that are shipped, and of the W3C's suites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from sensorstream.model.terms import Triple
from sensorstream.reasoning.ontology import load_ontology
from sensorstream.reasoning.rulesets.rule_set_reader import SUMMARIES, bundled_rules
from sensorstream.sparql.algebra import Query
from tests.equivalence.canonical import CHECKOUT, SHARED, result_text, table
from tests.equivalence.corpora import tracked
from tests.equivalence.items import Item, Tools, absent
from tests.reasoning.rulesets.graphs import graph
from tests.reasoning.rulesets.test_library import EXAMPLES
from tests.w3c.checks import read
from tests.w3c.entailment import RULE_SETS, answer_of, closed
from tests.w3c.manifests import SUITES, EntailmentCase, entailment_cases
from tests.w3c.network import triple_of
from tests.w3c.rdf_mt import DATATYPES, REGIMES, semantics_cases
from tests.w3c.results import parse_graph

# They import nothing.
_FOREIGN: Final = ("koala.owl", "univ-bench.owl", "time.owl")
_OF_FOREIGN: Final = ("rdfs", "owl2rl", "pdstar")


def rule_sets(_: Tools) -> Iterator[Item]:
    """What follows by each rule set from each graph."""
    graphs: dict[str, Sequence[Triple]] = {"tracking": tracked()}
    files = [*(CHECKOUT / "ontologies").glob("*.ttl"), *(CHECKOUT / "examples").glob("*/*.ttl")]
    for file in sorted(files):
        ontology = load_ontology((file,), names="infer").triples
        graphs[file.stem] = [*ontology, *graphs.get(file.stem, ())]
    for sets in SUMMARIES:
        for name, triples in graphs.items():
            yield Item(f"{sets}/{name}", partial(_closed, triples, (sets,)))
        for rule in bundled_rules(sets).rules:
            if rule.name in EXAMPLES:
                triples = sorted(graph(EXAMPLES[rule.name][0]))
                yield Item(f"{sets}/rule/{rule.name}", partial(_closed, triples, (sets,)))
    foreign = SHARED / "data" / "ontologies"
    yield from absent("foreign", foreign)
    for name in _FOREIGN if foreign.exists() else ():
        triples = load_ontology((foreign / name,), names="infer").triples
        for sets in _OF_FOREIGN:
            yield Item(f"{sets}/{name}", partial(_closed, triples, (sets,)))


def _closed(triples: Sequence[Triple], sets: tuple[str, ...]) -> str:
    rows = [[each.n3 for each in triple] for triple in closed(triples, sets).index]
    return table((), rows, ordered=False)


def entailment(_: Tools) -> Iterator[Item]:
    """The suites' tests of entailment by rule sets, as they are answered."""
    yield from absent("w3c", SUITES)
    for case in entailment_cases():
        for regime in case.regimes:
            if regime in RULE_SETS:
                sets = RULE_SETS[regime]
                yield Item(f"{regime}/{case.name}", partial(_answer, case, sets))
    for each in semantics_cases():
        sets = (*REGIMES[each.regime], *(DATATYPES if each.recognising else ()))
        premise = [triple_of(quad) for quad in parse_graph(each.premise)]
        yield Item(f"rdf-mt/{each.name}", partial(_closed, premise, sets))


def _answer(case: EntailmentCase, sets: tuple[str, ...]) -> str:
    query = read(case, update=False)
    assert isinstance(query, Query)
    triples = [triple_of(quad) for file in case.data.default for quad in parse_graph(file)]
    return result_text(answer_of(query, closed(triples, sets)), case.text.read_text("utf-8"))
