"""``owl2rl`` under random schemas and streams, against owlrl, another engine for OWL 2 RL.

owlrl makes the closure of a graph; ours follows a window. Compared is what is said of individuals,
classes and properties of the example, by its names or blank nodes. Where the two differ:

- owlrl leaves out that a class or property is below or equal to itself where that follows by
  scm-sco, scm-eqc2 and their like, and has it of restrictions that nothing declares a class;
- its facts about the vocabulary and the datatypes (:data:`.library`: owl2rl-axioms) hold always;
- it derives triples with a literal as subject, which RDF does not have, and what follows from them;
- it takes individuals for equal that share a value of one of several keys.
"""

from __future__ import annotations

import owlrl
import rdflib
from hypothesis import given, settings

from sensorstream.model.terms import BlankNode, Literal, Term, Triple
from sensorstream.model.vocabulary import OWL, RDFS
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules
from tests.reasoning.rulesets.graphs import graph
from tests.reasoning.rulesets.strategies import schemas, windows
from tests.reasoning.rulesets.test_rule_reasoner import World

_EXAMPLE = "http://example.org/"
_BLANK = "urn:blank#"
_ORDERS = {
    *(f"{RDFS}{name}" for name in ("subClassOf", "subPropertyOf")),
    *(f"{OWL}{name}" for name in ("equivalentClass", "equivalentProperty")),
}


def closed_by_owlrl(triples: set[Triple]) -> set[tuple[str, str, str]]:
    """What owlrl makes of triples, in N-Triples."""
    found = rdflib.Graph(bind_namespaces="none")
    # rdflib would rename blank nodes.
    text = "".join(f"{_n3(s)} {_n3(p)} {_n3(o)} .\n" for s, p, o in sorted(triples))
    found.parse(data=text, format="nt")
    closure = owlrl.DeductiveClosure(
        owlrl.OWLRL_Semantics, axiomatic_triples=False, datatype_axioms=False
    )
    closure.expand(found)
    return {(s.n3(), p.n3(), o.n3()) for s, p, o in found}


def comparable(triples: set[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """Those about the example, but for what is below or equal to itself."""
    return {
        (s, p, o)
        for s, p, o in triples
        if s.startswith((f"<{_EXAMPLE}", f"<{_BLANK}")) and not (s == o and p[1:-1] in _ORDERS)
    }


def ours(world: World) -> set[tuple[str, str, str]]:
    return {(_n3(s), _n3(p), _n3(o)) for s, p, o in world.kb.index}


def _n3(term: Term) -> str:
    return f"<{_BLANK}{term[2:]}>" if isinstance(term, BlankNode) else term.n3


@settings(max_examples=4)
@given(static=schemas, changes=windows)
def test_what_follows_is_what_owlrl_derives(
    static: set[Triple], changes: list[list[Triple]]
) -> None:
    static = {each for each in static if each[1] != f"{OWL}hasKey"}
    world = World(bundled_rules("owl2rl"), static)
    window: set[Triple] = set()
    for change in changes:
        links = [each for each in change if not isinstance(each[2], Literal)]
        world.toggle(links)
        window ^= set(links)
        assert comparable(ours(world)) == comparable(closed_by_owlrl(static | window))


def test_owlrl_derives_triples_about_literals_and_what_follows_from_them() -> None:
    static = graph(":q owl:inverseOf :r . :q rdfs:range :D")
    world = World(bundled_rules("owl2rl"), static)
    world.change(graph(":a :r 2"), set())
    theirs = closed_by_owlrl(static | graph(":a :r 2"))
    assert any(s.startswith('"') and p == f"<{_EXAMPLE}q>" for s, p, _ in theirs)
    (wrong,) = graph(":a a :D")
    assert _said(wrong) in theirs - ours(world)


def test_owlrl_takes_individuals_for_equal_that_share_one_of_two_keys() -> None:
    static = graph(":C owl:hasKey ( :p :q )")
    window = graph(":a a :C ; :p :x ; :q :y . :b a :C ; :p :x ; :q :z")
    world = World(bundled_rules("owl2rl"), static)
    world.change(window, set())
    (same,) = graph(":a owl:sameAs :b")
    assert _said(same) in closed_by_owlrl(static | window)
    assert _said(same) not in ours(world)


def _said(triple: Triple) -> tuple[str, str, str]:
    s, p, o = triple
    return s.n3, p.n3, o.n3
