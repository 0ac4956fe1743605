"""Both bounds, kept up to date: after every change they are what they would be from scratch."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st

from sensorstream.errors import Overrun
from sensorstream.model import owl, rdf
from sensorstream.model.terms import Triple
from sensorstream.model.vocabulary import CONTRADICTION
from sensorstream.network.budget import NO_LIMITS, Budget, Limits
from sensorstream.reasoning.dl.bounds.bound_rules import lower, upper
from sensorstream.reasoning.dl.gap.derived_closure import DerivedClosure
from sensorstream.reasoning.dl.gap.rule_plans import Searches, conclusions, is_search, kind_of
from tests.effort import examples
from tests.reasoning.dl.bounds import test_against_hermit as against_hermit
from tests.reasoning.dl.bounds.saturation import saturate
from tests.reasoning.dl.test_random_ontologies import CLASSES, NODES, ROLES, ontology

A, B, C, *_ = CLASSES
P, *_ = ROLES
N1, N2, N3, *_ = NODES
Facts = set[tuple[str, str, str]]
MOST_ROWS = 20_000
"""Larger examples take minutes from scratch."""

changes = st.lists(
    st.tuples(against_hermit.windows, st.sets(against_hermit.facts, max_size=4)),
    min_size=2,
    max_size=3,
).map(lambda steps: [*steps, *((removed, added) for added, removed in steps)])


class Bounds:
    """The closures of an ontology's bounds, over the same assertions."""

    def __init__(self, axioms: tuple[Triple, ...], limits: Limits = NO_LIMITS) -> None:
        self.budget = Budget(limits)
        self.axioms = axioms
        self.bound = lower(axioms)
        self.rules = self.bound.rules, upper(axioms).rules
        searches = Searches()
        most = conclusions(self.rules[1], searches)
        self.least = DerivedClosure(
            [*conclusions(self.rules[0], searches), *searches.rules], self.budget
        )
        self.most = DerivedClosure(most, self.budget)
        self.shown = {
            kind_of(triple) for each in most for triple in each.premises if is_search(triple)
        }
        with self.budget.lift():
            self.least.begin()
            self.most.begin(*self.told(self.least))

    def change(self, before: set[Triple], after: set[Triple]) -> None:
        """Follow a change of the assertions."""
        before, after = self.given(before), self.given(after)
        self.update(after - before, before - after)

    def given(self, told: set[Triple]) -> set[Triple]:
        return set(against_hermit.facts_about(self.bound, sorted(told))) if told else set()

    def update(self, added: set[Triple], removed: set[Triple]) -> None:
        change = self.least.update(sorted(added), sorted(removed))
        (shown, found), (hidden, lost) = map(self.told, change)
        self.most.update(
            [*sorted(added), *shown], [*sorted(removed), *hidden], found=found, lost=lost
        )

    def told(self, facts: Iterable[Triple]) -> tuple[list[Triple], list[Triple]]:
        """Of facts of the lower bound, what the upper one is told and what it searches."""
        kinds = [(each, each[2] if each[1] == rdf.TYPE else each[1]) for each in facts]
        shown = [each for each, _ in kinds if each[1] in self.shown or each[2] in self.shown]
        return shown, [each for each, kind in kinds if kind in self.most.sought]

    def facts(self) -> tuple[Facts, Facts]:
        return said(self.least), said(self.most)

    def expected(self, told: set[Triple]) -> tuple[Facts, Facts]:
        given = self.given(told)
        least = saturate(self.rules[0], given)
        return said(least.all), said(saturate(self.rules[1], given, least).all)


def said(facts: Iterable[tuple[str, str, str]]) -> Facts:
    """What closures and saturation have in common: no search, nobody equal to themselves.

    A contradiction is told of one of those who are equal.
    """
    found = {
        (s, p, o)
        for s, p, o in facts
        if "#found-" not in p + o and not (p == owl.SAME_AS and s == o)
    }
    equal: dict[str, str] = {}
    for s, p, o in found:
        if p == owl.SAME_AS:
            equal[s] = min(equal.get(s, s), o)
    return {(equal.get(s, s) if p == CONTRADICTION else s, p, o) for s, p, o in found}


@settings(max_examples=examples(12), suppress_health_check=list(HealthCheck))
@given(text=against_hermit.ontologies(), steps=changes)
def test_the_closures_are_those_from_scratch_after_every_change(
    text: str, steps: list[tuple[set[Triple], set[Triple]]]
) -> None:
    note(text)
    bounds = Bounds(ontology(text).triples, Limits(rows=MOST_ROWS))
    told = set(bounds.axioms)
    follow(bounds, set(), told)
    check(bounds, told)
    for added, removed in steps:
        before, told = told, (told - removed) | added
        follow(bounds, before, told)
        note(f"+{told - before} -{before - told}")
        check(bounds, told)
        with bounds.budget.lift():
            check_counts(bounds.least)
            check_counts(bounds.most)


def follow(bounds: Bounds, before: set[Triple], after: set[Triple]) -> None:
    """Follow a change, or do without an example that is too large."""
    bounds.budget.end()
    try:
        bounds.change(before, after)
    except Overrun:
        reject()


def check(bounds: Bounds, told: set[Triple]) -> None:
    """The closures are those from scratch, and those of the rules by their definition."""
    least, most = bounds.facts()
    anew = Bounds(bounds.axioms)
    anew.change(set(), told)
    assert (least, most) == anew.facts()
    least_expected, most_expected = bounds.expected(told)
    assert least == least_expected
    # Who has a name of its own is not also one of those that share a name.
    assert most <= most_expected
    if not any("#some-" in s + o for s, _, o in most_expected):
        assert most == most_expected


def check_counts(closure: DerivedClosure) -> None:
    for triple in sorted(closure)[:100]:
        ranks = [each.rank for each in closure.derivations(triple)]
        assert closure._counts.get(triple, 0) == len(ranks)
        below = sum(rank < closure.rank(triple) for rank in ranks)
        assert closure._grounded.get(triple, 0) == below
        assert below or closure.is_told(triple)


def test_a_triple_with_other_independent_derivations_stays_untouched() -> None:
    bounds = Bounds(
        ontology(":p rdfs:range :B . :p rdfs:domain :A . :B rdfs:subClassOf :C .").triples
    )
    bounds.update({(N1, P, N3), (N2, P, N3), (N3, rdf.TYPE, C)}, set())
    bounds.least.touched.clear()
    change = bounds.least.update([], [(N1, P, N3)])
    assert (N3, rdf.TYPE, B) in bounds.least
    assert set(change.removed) == {(N1, P, N3), (N1, rdf.TYPE, A)}
    assert set(bounds.least.touched) == {(N3, rdf.TYPE, B), (N1, rdf.TYPE, A)}


def test_what_supports_only_itself_goes() -> None:
    bounds = Bounds(ontology(":A rdfs:subClassOf :B . :B rdfs:subClassOf :A .").triples)
    bounds.update({(N1, rdf.TYPE, A)}, set())
    assert (N1, rdf.TYPE, B) in bounds.least
    assert set(bounds.least.update([], [(N1, rdf.TYPE, A)]).removed) == {
        (N1, rdf.TYPE, A),
        (N1, rdf.TYPE, B),
    }
