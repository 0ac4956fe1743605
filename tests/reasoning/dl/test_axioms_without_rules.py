"""Axioms that the bounds leave out: the same follows, whichever they are.

Any axiom can be left out, so the random ontologies of the other tests serve, with some of their
axioms chosen at random. ``TEST_ONTOLOGIES`` sets how many are tried.
"""

from __future__ import annotations

import zlib
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, assume, example, given, note, settings
from hypothesis import strategies as st

from sensorstream.errors import ReasonerError
from sensorstream.model import owl, rdf, rdfs
from sensorstream.model.terms import BlankNode, Triple
from sensorstream.model.vocabulary import OWL
from sensorstream.reasoning.dl import terminology as probes
from sensorstream.reasoning.dl.bounds import class_expressions
from sensorstream.reasoning.dl.bounds.axiom_clauses import LINKS, Stated
from sensorstream.reasoning.dl.bounds.clauses import BoundClause, Untreated
from sensorstream.reasoning.dl.gap import axiom_trial
from sensorstream.reasoning.dl.reasoner_process import JavaProcess
from sensorstream.reasoning.dl.terminology import Terminology
from tests.effort import examples
from tests.reasoning.dl.test_random_ontologies import (
    Oracle,
    follow,
    moves,
    ontologies,
    ontology,
    oracle,
    resident,
)

__all__ = ["oracle"]

# Inclusions of properties and inverses have rules always: no reasoner is asked what they imply.
_LINEAR = {rdfs.SUBPROPERTY_OF, owl.EQUIVALENT_PROPERTY, owl.INVERSE_OF}
_AXIOMS = LINKS.keys() - _LINEAR


campaign = settings(max_examples=examples(15), suppress_health_check=list(HealthCheck))
Steps: TypeAlias = list[tuple[set[Triple], set[Triple]]]


def check(
    java: JavaProcess, oracle: Oracle, text: str, steps: Steps, *patches: tuple[object, str, object]
) -> None:
    """What follows is what follows by the oracle, with other values of a module's names."""
    note(text)
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in patches:
            patch.setattr(module, name, value)
        try:
            worker = resident(java, "hermit", Terminology.of(ontology(text)).document())
        except ReasonerError:
            assume(False)
        for found, expected, where in follow(text, steps, worker, oracle):
            assert found == expected, where


# Axioms without rules alone name these individuals.
_ALONE = """[] a owl:AllDifferent ; owl:distinctMembers ( :o1 :o2 ) .
    :t a owl:ReflexiveProperty ."""


@campaign
@example(text=_ALONE, steps=[], out={2, 4})
@given(text=ontologies(), steps=moves, out=st.sets(st.integers(0, 5), min_size=1, max_size=5))
def test_what_follows_does_not_depend_on_which_axioms_have_rules(
    java: JavaProcess, oracle: Oracle, text: str, steps: Steps, out: set[int]
) -> None:
    read = Stated.clauses

    def partly(axiom: Stated) -> list[BoundClause]:
        found = list(read(axiom))
        words = " ".join("" if isinstance(each, BlankNode) else each.n3 for each in axiom.triple)
        if _is_axiom(axiom.triple) and zlib.crc32(words.encode()) % 6 in out:
            note(f"without rules: {words}")
            raise Untreated("left out")
        return found

    check(java, oracle, text, steps, (probes, "_WIDTH", 3), (Stated, "clauses", partly))


@campaign
@given(text=ontologies(), steps=moves, rows=st.integers(0, 300))
def test_what_follows_does_not_depend_on_what_a_trial_leaves_out(
    java: JavaProcess, oracle: Oracle, text: str, steps: Steps, rows: int
) -> None:
    none = ((axiom_trial, "_ROWS_OF_AN_AXIOM", 0), (axiom_trial, "_ROWS_TOLD", 0))
    check(java, oracle, text, steps, (axiom_trial, "_ROWS", rows), *none)


@campaign
@given(text=ontologies(), steps=moves, few=st.integers(0, 2))
def test_what_follows_does_not_depend_on_how_many_neighbours_rules_compare(
    java: JavaProcess, oracle: Oracle, text: str, steps: Steps, few: int
) -> None:
    check(java, oracle, text, steps, (class_expressions, "_FEW", few))


def _is_axiom(triple: Triple) -> bool:
    _, p, o = triple
    kinds = {"SymmetricProperty", "Class", "ObjectProperty", "DatatypeProperty", "Restriction"}
    kinds |= {"Datatype", "Axiom", "Ontology", "Variable", "NamedIndividual"}
    if p == rdf.TYPE:
        return isinstance(o, BlankNode) or (o.startswith(OWL) and o.removeprefix(OWL) not in kinds)
    return p in _AXIOMS
