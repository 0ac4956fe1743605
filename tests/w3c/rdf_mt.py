"""The W3C's tests of RDF 1.1 Semantics (rdf-mt), under the rule sets of this project.

A graph entails another one if what follows from it has the other's triples, blank nodes of the
other being variables. It is inconsistent if the rules conclude a contradiction.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from sensorstream.errors import OntologyError
from sensorstream.model.terms import Triple
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.query_parser import parse_query
from tests.w3c.entailment import RULE_SETS, answer_of, closed
from tests.w3c.manifests import SUITES, Manifest, SemanticsCase
from tests.w3c.network import triple_of
from tests.w3c.results import parse_graph

FOLDER: Final = SUITES.parent / "rdf" / "rdf11" / "rdf-mt"
MISSING: Final = (
    "the W3C's tests of RDF's semantics are not beside the repository: put the folder "
    f"rdf/rdf11/rdf-mt of https://github.com/w3c/rdf-tests into {FOLDER}"
)
REGIMES: Final = {"simple": (), "RDF": RULE_SETS["RDF"], "RDFS": RULE_SETS["RDFS"]}
"""The rule sets of each regime."""
DATATYPES: Final = ("rdf-literals", "rdf-values", "rdfs-unsatisfiable")
"""The rule sets of tests that recognise datatypes: all that they know, not only those named."""


@cache
def semantics_cases() -> tuple[SemanticsCase, ...]:
    """Every test, in the order of the manifest; none without the suite."""
    file = FOLDER / "manifest.ttl"
    return tuple(Manifest(file).entailments()) if file.is_file() else ()


def fault_of_semantics(case: SemanticsCase) -> str | None:
    """What is wrong with how a test goes."""
    return _wrong_by(case, (*REGIMES[case.regime], *(DATATYPES if case.recognising else ())))


def passes_without_rules(case: SemanticsCase) -> bool:
    """Whether the verdict on what is stated alone is right."""
    return _wrong_by(case, ()) is None


def _wrong_by(case: SemanticsCase, sets: tuple[str, ...]) -> str | None:
    try:
        kb = closed(map(triple_of, parse_graph(case.premise)), sets)
    except OntologyError as error:
        return None if case.holds else f"by {', '.join(sets)}: {error}"
    holds = case.conclusion is not None and answer_of(_question(case), kb)
    if holds is case.holds:
        return None
    verdict = "it follows" if holds else "it does not follow"
    return f"by {', '.join(sets) or 'no rule'}: {verdict}"


def _question(case: SemanticsCase) -> Query:
    assert case.conclusion is not None
    triples = [triple_of(quad) for quad in parse_graph(case.conclusion)]
    if case.recognising:
        triples = [_canonical(each) for each in triples]
    query = parse_query(f"ASK {{ {' . '.join(map(_text, triples))} }}")
    assert isinstance(query, Query)
    return query


def _canonical(triple: Triple) -> Triple:
    """The triple with the canonical form of its value: so values are asked for."""
    (found, *more) = [*(set(closed([triple], ("rdf-values",)).index) - {triple}), triple]
    assert len(more) <= 1
    return found


def _text(triple: Triple) -> str:
    return " ".join(term.n3 for term in triple)
