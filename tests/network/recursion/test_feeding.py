"""Which triples rules may need for a conclusion, found backwards over all kinds of rules."""

from __future__ import annotations

from collections.abc import Sequence

from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Term
from sensorstream.network.recursion.derivation_rule import clauses
from sensorstream.network.recursion.equality import feeding
from sensorstream.network.recursion.linear_rules import FlatClosure, parted
from sensorstream.network.recursion.triple_kinds import TriplesRead
from tests.network.recursion.world import rule


def kind(name: str) -> TriplesRead:
    return TriplesRead(IRI(f"http://example.org/{name}"), None)


class Subclasses:
    """A table of rules: whoever is of class A is of class B."""

    predicate = rdf.TYPE
    heads: Sequence[TriplesRead] = (TriplesRead(rdf.TYPE, IRI("http://example.org/B")),)

    def said(self, object_: Term) -> Sequence[tuple[IRI, Term]]:
        return [(rdf.TYPE, IRI("http://example.org/B"))] if self.names(object_) else []

    def names(self, term: Term) -> bool:
        return term == IRI("http://example.org/A")


def test_premises_are_found_over_joins_single_premises_and_tables() -> None:
    joins = clauses(rule("joins", "{ ?x :goal ?y } WHERE { ?x :p ?z . ?y a :B }"))
    other = clauses(rule("other", "{ ?x :beside ?y } WHERE { ?x :q ?z . ?z :q ?y }"))
    linear, _ = parted([rule("one", "{ ?x :p ?y } WHERE { ?x :r ?y }")])
    found = feeding(kind("goal"), [*joins, *other], FlatClosure(linear, [Subclasses()]))
    assert found == {
        *map(kind, ("goal", "p", "r")),
        TriplesRead(rdf.TYPE, IRI("http://example.org/B")),
        TriplesRead(rdf.TYPE, None),
    }


def test_what_is_concluded_of_one_thing_and_itself_does_not_count() -> None:
    reflexive = clauses(rule("reflexive", "{ ?x :goal ?x } WHERE { ?x :p ?y . ?y :p ?x }"))
    assert feeding(kind("goal"), reflexive) == {kind("goal")}
