"""The lower and the upper bound of the entailments of a window's assertions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from sensorstream.errors import Overrun
from sensorstream.model import rdf
from sensorstream.model.events import Delta, net_delta
from sensorstream.model.terms import IRI, Literal, Subject, Term, Triple
from sensorstream.network.budget import NO_LIMITS, Budget, Limits
from sensorstream.network.recursion.derivation_rule import constant
from sensorstream.network.recursion.implied_triples import Implied
from sensorstream.reasoning.dl.axioms import EQUALITY
from sensorstream.reasoning.dl.bounds.axiom_clauses import Needs
from sensorstream.reasoning.dl.bounds.bound_rules import Conclusion, RulesBound, lower, upper
from sensorstream.reasoning.dl.bounds.clauses import NAMED, PREFIX, THING, Crowd, member
from sensorstream.reasoning.dl.gap.derived_closure import AssertionChange, DerivedClosure
from sensorstream.reasoning.dl.gap.rule_plans import Searches, conclusions, is_search, kind_of
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.sparql.algebra import Call, TriplePattern, Variable

WHOLE: Final = IRI(f"{PREFIX}whole")
"""The class of the individuals that are asked about with all that they are connected with."""
_REASON: Final = "an axiom without rules"
_X, _Y = Variable("x"), Variable("y")
# It is about an individual, else components would depend on each other through it.
_EVERYBODY: Final = member(IRI("urn:sensorstream:everybody"), IRI(f"{PREFIX}everybody"))


def whole_rules(
    needs: Needs,
    links: Collection[IRI],
    linking: Iterable[IRI],
    named: Iterable[Subject],
    *,
    everybody: bool,
) -> Iterator[Conclusion]:
    """Rules that find the individuals about whom axioms without rules may say something.

    The upper bound says nothing of such axioms. So the bounds decide nothing about anybody
    connected with an individual that has what one of these axioms needs: the reasoner is asked
    about all who are connected, with all assertions about them.

    They are conclusions of the upper bound. ``needs`` are those of the axioms without rules, about
    ``?x``. ``links`` are the object properties, ``linking`` those that connect individuals,
    ``named`` the individuals that axioms name. ``everybody`` says that axioms connect individuals
    without links.
    """
    if not needs:
        return
    for need in needs:
        yield Conclusion(_REASON, (need,), (member(_X, WHOLE),))
    # A property that has only such an axiom also links.
    asked = (each.predicate for each in needs if each.predicate in links)
    for link in dict.fromkeys((*linking, *asked)):
        for triple in (TriplePattern(_X, link, _Y), TriplePattern(_Y, link, _X)):
            premises = (triple, member(_Y, WHOLE))
            yield Conclusion(_REASON, (*premises, member(_X, NAMED)), (member(_X, WHOLE),))
            # Several share the name of an individual that only exists, which connects none of them.
            made = Call("STRSTARTS", (Call("STR", (_Y,)), Literal(PREFIX)))
            yield Conclusion(_REASON, premises, (member(_X, WHOLE),), tests=(made,))
    alone = [constant(each) for each in named]
    if alone or everybody:
        yield Conclusion(_REASON, (member(_X, WHOLE),), (_EVERYBODY,))
    for each in alone:
        assert not isinstance(each, Literal)
        yield Conclusion(_REASON, (_EVERYBODY,), (member(each, WHOLE),))
    if everybody:
        met = (_EVERYBODY, member(_X, NAMED))
        yield Conclusion(_REASON, met, (member(_X, WHOLE),))


def whole(one: Subject) -> Triple:
    """The fact that an individual is to be asked about with all that it is connected with."""
    return one, rdf.TYPE, WHOLE


def is_whole(fact: Triple) -> bool:
    """Whether a fact says that an individual is asked about as a whole."""
    s, p, o = fact
    return p == rdf.TYPE and o == WHOLE and not s.startswith(PREFIX)


class Crowds:
    """The neighbours of each individual, counted by their names; O(changes)."""

    __slots__ = ("_counts", "_crowds")

    def __init__(self, crowds: Iterable[Crowd]) -> None:
        self._crowds = {each.link: each for each in crowds}
        self._counts: dict[tuple[IRI, Subject], int] = {}

    def follow(self, added: Iterable[Triple], removed: Iterable[Triple]) -> AssertionChange:
        """Count facts that come and go; return what the upper bound is told now, and no longer."""
        if not self._crowds:
            return AssertionChange((), ())
        come: list[Triple] = []
        gone: list[Triple] = []
        before: dict[tuple[IRI, Subject], int] = {}
        for facts, by in ((added, 1), (removed, -1)):
            for s, p, _ in facts:
                if p in self._crowds:
                    now = self._counts.get((p, s), 0)
                    before.setdefault((p, s), now)
                    self._counts[p, s] = now + by
        for key, had in before.items():
            link, one = key
            crowd, now = self._crowds[link], self._counts[key]
            if not now:
                del self._counts[key]
            if (now >= crowd.number) != (had >= crowd.number):
                (gone if now < had else come).append((one, rdf.TYPE, crowd.kind))
        return AssertionChange(tuple(come), tuple(gone))


TIMES: Final = 4
"""How often as many rows as the lower bound the upper one may visit, as it says more."""


class BoundsMoved(NamedTuple):
    """The effect of a change of the assertions on the bounds. ``touched`` are the facts of the
    upper bound that have won or lost a derivation.
    """

    least: AssertionChange
    most: AssertionChange
    touched: tuple[Triple, ...]

    def after(self, other: BoundsMoved) -> BoundsMoved:
        """Both changes as one; the other one came first and removed nothing."""
        return BoundsMoved(
            AssertionChange((*other.least.added, *self.least.added), self.least.removed),
            AssertionChange((*other.most.added, *self.most.added), self.most.removed),
            self.touched,
        )


class BoundsPair:
    """Both bounds over the same assertions; a change costs what it changes in them.

    ``budget`` limits each of them for a change. Axioms in ``left_out`` are treated as if they could
    have no rules; see :func:`~sensorstream.reasoning.dl.bounds.bound_rules.lower`. :meth:`begin`
    derives the consequences of the axioms alone.
    """

    def __init__(
        self, terminology: Terminology, budget: Budget, left_out: frozenset[str] = frozenset()
    ) -> None:
        axioms = terminology.stated
        self._terminology = terminology
        self._lower: RulesBound = lower(axioms, left_out)
        self._upper: RulesBound = upper(axioms, left_out)
        searches = Searches()
        below = conclusions(self._lower.rules, searches)
        above = conclusions(self._upper.rules, searches)
        above += whole_rules(
            self._upper.needs,
            terminology.schema.object_properties,
            sorted(terminology.linking),
            sorted(terminology.named),
            everybody=bool(terminology.whole),
        )
        self.budget = budget
        self.least = DerivedClosure([*below, *searches.rules], budget)
        self.most = DerivedClosure(above, budget)
        self._crowds = Crowds(self._upper.crowds)
        self.may_be_whole = bool(self._upper.needs)
        """Whether any individual may be asked about with all that it is connected with."""
        # The kinds of facts of the lower bound that the upper one gets as if asserted.
        self._shown: frozenset[Term] = frozenset(
            kind_of(triple) for each in above for triple in each.premises if is_search(triple)
        )
        self._counts_things = any(
            kind_of(triple) == THING for each in (*below, *above) for triple in each.premises
        )
        self._told: dict[Triple, tuple[Triple, ...]] = {}
        """The facts that the bounds are told for each assertion."""
        self._implied = Implied(
            lambda *triples: chain.from_iterable(map(self._told.__getitem__, triples))
        )

    @property
    def choices(self) -> frozenset[str]:
        """The names of the rules of axioms whose conclusions, or their subjects, are uncertain."""
        return self._upper.choices

    def begin(self, more: int | None = None) -> None:
        """Derive the consequences of the axioms alone.

        Args:
            more: the rows that the upper bound may visit beyond :data:`TIMES` those of the lower
                one; None: any number.

        Raises:
            TooCostly: it visits more; the bounds are of no use then.
        """
        self.budget.end()
        with self.budget.within(NO_LIMITS):
            self.least.begin()
        shown, sought = (_of_kinds(self.least, each) for each in (self._shown, self.most.sought))
        most = None if more is None else more + TIMES * self.least.visited
        with self.budget.within(Limits(most)):
            self.most.begin(shown, sought)
            self._follow_crowds(AssertionChange(tuple(self.most), ()))

    def visited_below(self, added: Iterable[Triple], removed: Iterable[Triple]) -> int:
        """The rows that the lower bound would visit for a change; nothing is changed."""
        come, left = tuple(added), tuple(removed)
        new, gone = self._tell(come, left)
        self.budget.end()
        with self.budget.within(NO_LIMITS):
            self.least.update(new, gone)
            rows = self.least.visited
            self.least.update(gone, new)
        self._tell(left, come)
        self.least.touched.clear()
        return rows

    def held(self) -> BoundsMoved:
        """The whole content of the bounds, as a change from nothing."""
        least, most = (AssertionChange(tuple(each), ()) for each in (self.least, self.most))
        return BoundsMoved(least, most, ())

    def is_whole(self, one: Subject) -> bool:
        """Whether an individual is asked about with all that it is connected with."""
        return self.may_be_whole and whole(one) in self.most

    def is_open(self, fact: Triple) -> bool:
        """Whether a fact is between the bounds."""
        return fact in self.most and fact not in self.least

    def update(self, added: Iterable[Triple], removed: Iterable[Triple]) -> BoundsMoved:
        """Take in assertions that come and go; each must come before it goes.

        Raises:
            TermError: a literal is not in its datatype's lexical space; nothing has changed.
            Overrun: too much follows; nothing has changed.
        """
        come, left = tuple(added), tuple(removed)
        new, gone = self._tell(come, left)
        try:
            return self._follow(new, gone)
        except Overrun:
            self._tell(left, come)
            raise
        finally:
            self.least.touched.clear()
            self.most.touched.clear()

    def _tell(
        self, added: Sequence[Triple], removed: Sequence[Triple]
    ) -> tuple[Sequence[Triple], Sequence[Triple]]:
        """The facts that the bounds are told now, and those that they are told no longer."""
        self._told.update({triple: tuple(self._facts(triple)) for triple in added})
        facts = self._implied.change(Delta(0, tuple(added), tuple(removed)))
        for triple in removed:
            del self._told[triple]
        return facts.added, facts.removed

    def _follow(self, new: Iterable[Triple], gone: Iterable[Triple]) -> BoundsMoved:
        least = self.least.update(new, gone)
        sought = self.most.sought
        come = (*new, *_of_kinds(least.added, self._shown))
        left = (*gone, *_of_kinds(least.removed, self._shown))
        found, lost = (_of_kinds(each, sought) for each in least)
        try:
            most = self.most.update(come, left, found=found, lost=lost)
            try:
                most = self._follow_crowds(most)
            except Overrun:
                with self.budget.lift():
                    self._follow_crowds(self.most.update(left, come, found=lost, lost=found))
                raise
        except Overrun:
            with self.budget.lift():
                self.least.update(gone, new)
            raise
        return BoundsMoved(least, most, tuple(self.most.touched))

    def _follow_crowds(self, change: AssertionChange) -> AssertionChange:
        """Tell the upper bound who has many neighbours after a change; return its whole change."""
        parts = [Delta(0, *change)]
        while any(told := self._crowds.follow(*change)):
            change = self.most.update(*told)
            parts.append(Delta(0, *change))
        whole = net_delta(0, parts)
        return AssertionChange(whole.added, whole.removed)

    def _facts(self, triple: Triple) -> Iterator[Triple]:
        """The facts that the bounds are told for an assertion."""
        s, p, o = triple
        terminology = self._terminology
        schema = terminology.schema
        if p == rdf.TYPE:
            name = o if o in schema.classes else terminology.helpers.get(o)
            if name is not None:
                yield s, p, name
        elif isinstance(o, Literal):
            if p in schema.datatype_properties:
                yield triple
            if p in terminology.data and terminology.datatypes.is_told(o.datatype):
                yield from self._lower.facts_of(o)
        elif p in schema.object_properties or p in EQUALITY:
            yield triple
            yield from self._lower.facts_of(o)
        yield from self._lower.facts_of(s)
        if self._counts_things:
            yield s, rdf.TYPE, THING


def _of_kinds(facts: Iterable[Triple], kinds: frozenset[Term]) -> list[Triple]:
    return [fact for fact in facts if (fact[2] if fact[1] == rdf.TYPE else fact[1]) in kinds]
