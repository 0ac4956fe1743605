"""Write docs/understand/conformance.md: what passes of the W3C and RML suites, by category.

``make conformance`` runs it; pytest runs the same tests one by one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.mapping.rml.suite import CONTRADICTIONS, RmlCase, fault_of_rml, rml_cases
from tests.mapping.rml.suite import MISSING as NO_RML
from tests.w3c.checks import fault
from tests.w3c.deviations import DEVIATIONS
from tests.w3c.entailment_page import failed_entailments, section
from tests.w3c.manifests import MISSING, OUTSIDE, Case, QueryCase, SyntaxCase, cases, query_cases
from tests.w3c.network import ANEW, NETWORK_DEVIATIONS, fault_of_network
from tests.w3c.page_tables import counted, reasons
from tests.w3c.protocol import HTTP_DEVIATIONS, http_faults, http_section
from tests.w3c.rdf_mt import MISSING as NO_RDF_MT
from tests.w3c.rdf_mt import semantics_cases
from tests.w3c.shacl import MISSING as NO_SHACL
from tests.w3c.shacl import failed_shapes, shacl_cases, shacl_section

PAGE: Final = Path(__file__).parents[2] / "docs" / "understand" / "conformance.md"

_INTRODUCTION: Final = """# Conformance

Results on published test suites. `make conformance` writes this page; it says where the suites must
be.

## SPARQL

[Stream SPARQL](../use/stream-sparql.md) on the W3C's suites for SPARQL 1.0 and 1.1:

- **Syntax**: a positive text is read; printed and read again it means the same. A negative text is
  refused.
- **Query, update**: the text is read, its algebra printed, and the printed text run on Oxigraph.
  The solutions, or the data afterwards, are the suite's, blank nodes up to their names, in order
  where the query says ORDER BY.
- **As a stream**: the test's data come triple by triple through the
  [network](architecture.md#the-network), with junk that comes and goes; the result at the end is
  the suite's.

"""
_DEVIATIONS: Final = """
As Oxigraph, not as the suite, also with the original text:
"""
_ANEW: Final = "Evaluated anew at every change, by functions with another value each time:\n"
_RML: Final = """
## RML

[RML mappings](../use/rml-and-xslt.md) on the published cases with XML sources. Each file of a case
is a message from a source of its name. A case is right if the output is the published dataset, or
if an error is expected and there is one.
"""
_COLUMNS: Final = (
    *("tests", "passed", "as Oxigraph, not as the suite", "failed"),
    *("as a stream: passed", "evaluated anew, passed", "deviates", "failed as a stream"),
)
_RML_COLUMNS: Final = ("cases", "right", "of them errors", "contradictory", "wrong")


def main() -> int:
    """Run every test and write the page."""
    suites = (
        (cases(), MISSING),
        (semantics_cases(), NO_RDF_MT),
        (rml_cases(), NO_RML),
        (shacl_cases(), NO_SHACL),
    )
    absent = [text for found, text in suites if not found]
    if absent:
        print("\n".join(absent), file=sys.stderr)
        return 2
    wrong = {case.label: fault(case) for case in cases()}
    wrong |= {f"{each.label}, as a stream": fault_of_network(each) for each in query_cases()}
    wrong |= (mapped := {each.name: fault_of_rml(each) for each in rml_cases()})
    wrong |= (entailed := failed_entailments())
    wrong |= (shaped := failed_shapes())
    served = http_faults()
    wrong |= {"/".join(each): why for each, why in served.items() if each[1] not in HTTP_DEVIATIONS}
    lines = (
        *counted("suite | kind", _COLUMNS, ((_group(e), _labels(e, wrong)) for e in cases())),
        *(_DEVIATIONS, *reasons("tests", DEVIATIONS), ""),
        _ANEW + ", ".join(sorted(each.rpartition("/")[2] for each in ANEW)) + ".",
        *("", *reasons("deviates", NETWORK_DEVIATIONS), ""),
        *("Not run:", "", *reasons("categories", OUTSIDE)),
        *http_section(served),
        *section(entailed),
        _RML,
        *counted("suite", _RML_COLUMNS, ((e.group, _rml(e, mapped)) for e in rml_cases())),
        *("", *reasons("contradictory", CONTRADICTIONS), ""),
        *shacl_section(shaped),
    )
    PAGE.write_text(_INTRODUCTION + "\n".join(lines))
    told = {name: why for name, why in wrong.items() if why and name not in CONTRADICTIONS}
    for name, why in told.items():
        print(f"{name}: {why}", file=sys.stderr)
    print(f"{len(wrong)} tests, {len(told)} failed: {PAGE}")
    return 1 if told else 0


def _group(case: Case) -> str:
    kind = "query" if isinstance(case, QueryCase) else "update"
    if isinstance(case, SyntaxCase):
        kind = "syntax, positive" if case.positive else "syntax, negative"
    return f"SPARQL 1.{case.category[len('sparql1')]} | {kind}"


def _labels(case: Case, wrong: Mapping[str, str | None]) -> Iterator[str]:
    _, passed, deviates, failed, *streamed = _COLUMNS
    yield "tests"
    yield failed if wrong[case.label] else deviates if case.label in DEVIATIONS else passed
    if isinstance(case, QueryCase):
        passed, anew, deviates, failed = streamed
        told = deviates if case.label in NETWORK_DEVIATIONS else None
        told = told or (anew if case.label in ANEW else passed)
        yield failed if wrong[f"{case.label}, as a stream"] else told


def _rml(case: RmlCase, wrong: Mapping[str, str | None]) -> Iterator[str]:
    yield "cases"
    if not wrong[case.name]:
        yield from ("right", *(["of them errors"] if case.output is None else []))
    else:
        yield "contradictory" if case.name in CONTRADICTIONS else "wrong"


if __name__ == "__main__":
    sys.exit(main())
