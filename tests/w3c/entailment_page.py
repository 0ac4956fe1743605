"""The section on entailment of docs/understand/conformance.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from tests.w3c import entailment, rdf_mt
from tests.w3c.manifests import entailment_cases

_ENTAILMENT: Final = """
## Entailment

The rule sets (docs/use/rule-sets.md), HermiT and Pellet on the W3C's tests of entailment. The data
of a test are the static graph, closed by the rule sets of the regime:

| regime | rule sets |
|---|---|"""

_QUERIES: Final = """
### SPARQL 1.1 entailment regimes

The network of incremental operators answers the query over what is stated and what follows. Under
OWL-Direct each of HermiT and Pellet must give the stated answer, as `sensorstream query --on
ontology` does ([reasoning](../use/reasoning.md#questions-to-the-ontology)); under OWL-RDF-Based the
rules of OWL 2 RL, which are not complete for it. A test passes if the answer is the stated one
under each regime that it names. It is counted once: as the first that it names of OWL-RDF-Based, D,
RDFS, RDF, or else as OWL-Direct or RIF. An open test must not pass: one that begins to is reported.

| regime | tests | passed | of them without any rule | open |
|---|---:|---:|---:|---:|"""

_SEMANTICS: Final = """
### RDF 1.1 Semantics

A graph entails another (with blank nodes as variables) or contradicts itself: that holds, or does
not. Most that does not hold is not concluded without rules either. Where a test recognises
datatypes, the sets `rdf-literals`, `rdf-values` and `rdfs-unsatisfiable` are used too; they know
most of XSD, and values are asked for in their canonical form.

| regime | tests | passed | of them without any rule | open |
|---|---:|---:|---:|---:|"""

_OPEN: Final = """
| open | reason |
|---|---|"""

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
    yield from _table(
        (
            next(regime for regime in _STRENGTH if regime in case.regimes),
            _outcome(case.name in entailment.OPEN, case.label in failed),
            entailment.passes_without_rules(case),
        )
        for case in entailment_cases()
    )
    yield _OPEN
    yield from (f"| {name} | {reason} |" for name, reason in entailment.OPEN.items())
    yield _SEMANTICS
    yield from _table(
        (
            f"{case.regime}, {'holds' if case.holds else 'does not hold'}",
            _outcome(False, case.name in failed),
            rdf_mt.passes_without_rules(case),
        )
        for case in rdf_mt.semantics_cases()
    )


def _outcome(is_open: bool, has_failed: bool) -> str:
    return "failed" if has_failed else "open" if is_open else "passed"


def _table(outcomes: Iterator[tuple[str, str, bool]]) -> Iterator[str]:
    counts: dict[str, Counter[str]] = {}
    for regime, outcome, without in outcomes:
        count = counts.setdefault(regime, Counter())
        count.update(("tests", outcome))
        count["without"] += without and outcome == "passed"
    counts["**all**"] = sum(counts.values(), Counter())
    for regime, count in counts.items():
        columns = (count[each] for each in ("tests", "passed", "without", "open"))
        yield f"| {regime} | {' | '.join(map(str, columns))} |"
