"""The section on entailment of docs/understand/conformance.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tests.w3c import entailment, rdf_mt
from tests.w3c.manifests import entailment_cases
from tests.w3c.page_tables import counted, reasons

_ENTAILMENT: Final = """
## Entailment

The [rule sets](../use/rule-sets.md), HermiT and Pellet on the W3C's tests of entailment. The data
of a test are the static graph, closed by the rule sets of the regime:

| regime | rule sets |
|---|---|"""

_QUERIES: Final = """
### SPARQL 1.1 entailment regimes

The network answers the query over what is stated and what follows. Under OWL-Direct both HermiT and
Pellet must give the stated answer (`sensorstream query --on ontology`), under OWL-RDF-Based the
rules of OWL 2 RL, which are not complete for it. A test passes if its answer is right under each
regime that it names, and is counted once, under the strongest.
"""

_SEMANTICS: Final = """
### RDF 1.1 Semantics

A graph entails another or contradicts itself: that holds, or does not. Where a test recognises
datatypes, the sets `rdf-literals`, `rdf-values` and `rdfs-unsatisfiable` are used, too.
"""

_COLUMNS: Final = ("tests", "passed", "of them without any rule", "open")
_STRENGTH: Final = ("OWL-RDF-Based", "D", "RDFS", "RDF", "OWL-Direct", "RIF")


def failed_entailments() -> Mapping[str, str]:
    """What is wrong, by test; open tests that stay open are not."""
    queries = ((case.label, entailment.fault_of_entailment(case)) for case in entailment_cases())
    graphs = ((each.name, rdf_mt.fault_of_semantics(each)) for each in rdf_mt.semantics_cases())
    return {name: told for pairs in (queries, graphs) for name, told in pairs if told}


def section(failed: Mapping[str, str]) -> Iterator[str]:
    """The lines of the section; ``failed`` as of :func:`failed_entailments`."""
    yield _ENTAILMENT
    for regime, sets in entailment.RULE_SETS.items():
        yield f"| {regime} | {', '.join(f'`{each}`' for each in sets) or 'none'} |"
    yield "| OWL-Direct | none: the profiles `hermit` and `pellet` |"
    yield _QUERIES
    rows: list[tuple[str, Iterator[str]]] = []
    for each in entailment_cases():
        regime = next(regime for regime in _STRENGTH if regime in each.regimes)
        is_open, has_failed = each.name in entailment.OPEN, each.label in failed
        rows.append((regime, _labels(is_open, has_failed, entailment.passes_without_rules(each))))
    yield from counted("regime", _COLUMNS, rows)
    yield from ("", *reasons("open", entailment.OPEN), _SEMANTICS)
    rows = []
    for case in rdf_mt.semantics_cases():
        regime = f"{case.regime}, {'holds' if case.holds else 'does not hold'}"
        without = rdf_mt.passes_without_rules(case)
        rows.append((regime, _labels(False, case.name in failed, without)))
    yield from counted("regime", _COLUMNS, rows)


def _labels(is_open: bool, has_failed: bool, without: bool) -> Iterator[str]:
    outcome = "failed" if has_failed else "open" if is_open else "passed"
    yield from ("tests", outcome)
    if without and outcome == "passed":
        yield "of them without any rule"
