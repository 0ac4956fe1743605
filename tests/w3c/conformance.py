"""Write docs/understand/conformance.md: what passes of the W3C and RML suites, by category.

``make conformance`` runs it; pytest runs the same tests one by one.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Final

from tests.mapping.rml.suite import CONTRADICTIONS, RmlCase, fault_of_rml, rml_cases
from tests.mapping.rml.suite import MISSING as NO_RML
from tests.w3c.checks import fault
from tests.w3c.deviations import DEVIATIONS
from tests.w3c.entailment_page import failed_entailments, section
from tests.w3c.manifests import (
    MISSING,
    OUTSIDE,
    Case,
    QueryCase,
    SyntaxCase,
    cases,
    query_cases,
)
from tests.w3c.network import ANEW, NETWORK_DEVIATIONS, fault_of_network
from tests.w3c.rdf_mt import MISSING as NO_RDF_MT
from tests.w3c.rdf_mt import semantics_cases

PAGE: Final = Path(__file__).parents[2] / "docs" / "understand" / "conformance.md"

_INTRODUCTION: Final = """# Conformance

How this project does on published test suites. This page is written by `make conformance`, which
needs the suites beside the repository; it says where, if they are not there.

## SPARQL

The stream SPARQL (docs/use/stream-sparql.md) on the W3C's test suites for SPARQL 1.0 and 1.1.

What a test shows:

- **Syntax**: a positive text is read; printed and read again it means the same. A negative text is
  refused.
- **Query**: the text is read, its algebra printed, and the printed text run on Oxigraph. The
  answer equals the suite's: the same solutions, equally often, blank nodes up to their names,
  in order where the query says ORDER BY.
- **As a stream**: the test's data come triple by triple through the network of
  incremental operators (docs/understand/network.md), with junk inserted and retracted among
  them; the result at the end
  equals the suite's.
- **Update**: as for queries; the data afterwards are isomorphic to the suite's.

"""


def main() -> int:
    """Run every test and write the page."""
    suites = ((cases(), MISSING), (semantics_cases(), NO_RDF_MT), (rml_cases(), NO_RML))
    absent = [text for found, text in suites if not found]
    if absent:
        print("\n".join(absent), file=sys.stderr)
        return 2
    mapped = {case: fault_of_rml(case) for case in rml_cases()}
    outcome: dict[Case, str] = {}
    for case in cases():
        wrong = fault(case)
        if wrong is not None:
            print(f"{case.label}: {wrong}", file=sys.stderr)
        outcome[case] = "failed" if wrong else "deviates" if _deviates(case) else "passed"
    streamed: dict[Case, str] = {}
    for case in query_cases():
        wrong = fault_of_network(case)
        if wrong is not None:
            print(f"{case.label}, as a stream: {wrong}", file=sys.stderr)
        streamed[case] = "failed" if wrong else _how_streamed(case)
    wrong_entailments = failed_entailments()
    for label, told in wrong_entailments.items():
        print(f"{label}: {told}", file=sys.stderr)
    PAGE.write_text(
        _INTRODUCTION
        + "\n".join((*_table(outcome, streamed), "", *_deviations(), *_streams(), *_outside()))
        + "\n".join((*section(wrong_entailments), *_rml(mapped)))
    )
    failed = sum(each == "failed" for each in (*outcome.values(), *streamed.values()))
    unlike = {
        each: told for each, told in mapped.items() if told and each.name not in CONTRADICTIONS
    }
    for each, told in unlike.items():
        print(f"{each.name}: {told}", file=sys.stderr)
    print(f"SPARQL: {len(outcome)} tests, {failed} failed: {PAGE}")
    print(f"entailment: {len(wrong_entailments)} failed: {PAGE}")
    print(f"RML: {len(mapped)} cases, {len(unlike)} failed: {PAGE}")
    return 1 if failed or wrong_entailments or unlike else 0


def _deviates(case: Case) -> bool:
    return case.label in DEVIATIONS


def _how_streamed(case: Case) -> str:
    if case.label in NETWORK_DEVIATIONS:
        return "deviates"
    return "anew" if case.label in ANEW else "passed"


def _kind(case: Case) -> str:
    if isinstance(case, SyntaxCase):
        return "syntax, positive" if case.positive else "syntax, negative"
    return "query" if isinstance(case, QueryCase) else "update"


def _table(outcome: dict[Case, str], streamed: dict[Case, str]) -> list[str]:
    lines = [
        "| category | kind | tests | passed | as Oxigraph, not as the suite | failed "
        "| as a stream: passed | evaluated anew, passed | deviates | failed |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    counts: dict[tuple[str, str], tuple[Counter[str], Counter[str]]] = {}
    for case, how in outcome.items():
        once, always = counts.setdefault((case.category, _kind(case)), (Counter(), Counter()))
        once[how] += 1
        if case in streamed:
            always[streamed[case]] += 1
    for (category, kind), both in counts.items():
        lines.append(f"| {category} | {kind} | {_numbers(*both)} |")
    total = (sum((each[n] for each in counts.values()), Counter()) for n in (0, 1))
    lines.append(f"| **all** | | {_numbers(*total)} |")
    return lines


def _numbers(once: Counter[str], always: Counter[str]) -> str:
    columns: list[object] = [once.total(), once["passed"], once["deviates"], once["failed"]]
    kinds = ("passed", "anew", "deviates", "failed")
    columns += [always[kind] for kind in kinds] if always else [""] * len(kinds)
    return " | ".join(map(str, columns))


def _deviations() -> list[str]:
    lines = [
        "### As Oxigraph, not as the suite",
        "",
        "On these tests Oxigraph does not give the suite's result for the original text either.",
        "The printed text gives what the original text gives.",
        "",
        "| test | reason |",
        "|---|---|",
    ]
    return [*lines, *(f"| {label} | {reason} |" for label, reason in DEVIATIONS.items()), ""]


def _streams() -> list[str]:
    lines = [
        "### As a stream",
        "",
        "Functions with another value each time cannot be kept in step: these tests are evaluated",
        f"anew at every change: {', '.join(sorted(ANEW))}.",
        "",
        "| deviates | reason |",
        "|---|---|",
    ]
    rows = (f"| {label} | {reason} |" for label, reason in NETWORK_DEVIATIONS.items())
    return [*lines, *rows, ""]


def _outside() -> list[str]:
    lines = ["### Not run", "", "| category | reason |", "|---|---|"]
    return [*lines, *(f"| {name} | {reason} |" for name, reason in OUTSIDE.items()), ""]


def _rml(mapped: dict[RmlCase, str | None]) -> list[str]:
    lines = [
        "",
        "## RML",
        "",
        "The RML mappings (docs/use/rml-and-xslt.md) on the published cases with XML sources. Each",
        "file of a case is a message from a source of its name. A case is right if the output is",
        "the published dataset, named graphs and blank nodes included, or if an error is expected",
        "and there is one.",
        "",
        "| suite | cases | right | of them errors | contradictory | wrong |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    groups: dict[str, Counter[str]] = {}
    for case, found in mapped.items():
        counts = groups.setdefault(case.group, Counter())
        counts["all"] += 1
        if found is None:
            counts["right"] += 1
            counts["errors"] += case.output is None
        else:
            counts["argued" if case.name in CONTRADICTIONS else "wrong"] += 1
    groups["**all**"] = sum(groups.values(), Counter())
    columns = ("all", "right", "errors", "argued", "wrong")
    lines += [
        f"| {name} | {' | '.join(str(counts[each]) for each in columns)} |"
        for name, counts in groups.items()
    ]
    lines += ["", "| contradictory | reason |", "|---|---|"]
    return [*lines, *(f"| {name} | {reason} |" for name, reason in CONTRADICTIONS.items()), ""]


if __name__ == "__main__":
    sys.exit(main())
