"""The closure of assertions under the rules of a bound, kept up to date as assertions come and go.

Each triple that holds has a *rank*: 0 if it was asserted first, else more than the ranks of the
premises of the derivation that came first. A derivation whose premises all have a lower rank is
*grounded*: it cannot depend on its own conclusion. As long as a triple has one, it holds, whatever
else is lost; so a triple with a thousand independent derivations loses one at no cost. Without a
rank it would be removed and derived again, with all that depends on it. (Deletion and rederivation:
Gupta, Mumick, Subrahmanian, "Maintaining views incrementally", 1993, section 7; deciding by
independent derivations first: Motik, Nenov, Piro, Horrocks, "Incremental update of Datalog
materialisation: the backward/forward algorithm", AAAI 2015.)

Equality is built in: individuals that are ``owl:sameAs`` have each other's triples. But results of
a search for one do not hold for the other: the names that are made for individuals would have names
of their own, without end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from sensorstream.errors import Overrun, TooCostly
from sensorstream.model import owl, rdf
from sensorstream.model.terms import Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import CONTRADICTION
from sensorstream.network.budget import Budget, Limits, Meter
from sensorstream.network.graph_components import reached
from sensorstream.reasoning.dl.bounds.bound_rules import Conclusion
from sensorstream.reasoning.dl.gap.rule_plans import (
    Find,
    RankedDerivation,
    RankedSolution,
    RankedTriples,
    RuleWriter,
    is_found,
    kind_of,
    together,
)
from sensorstream.sparql.algebra import TriplePattern

_Named: TypeAlias = tuple[str, Find]
"""A function with the name of its rule."""


class _Functions(NamedTuple):
    """Functions by the class or property of their triples. A name may be both (punning)."""

    classes: dict[Term, list[_Named]]
    properties: dict[Term, list[_Named]]

    def enter(self, triple: TriplePattern, rule: Conclusion, find: Find) -> None:
        """Add a function for triples like this one."""
        functions = self.properties if triple.predicate != rdf.TYPE else self.classes
        functions.setdefault(kind_of(triple), []).append((rule.name, find))

    def of(self, triple: Triple) -> Sequence[_Named]:
        """The functions for a triple."""
        _, p, o = triple
        return (self.classes.get(o) if p == rdf.TYPE else self.properties.get(p)) or ()


_Made = TypeVar("_Made", RankedSolution, RankedDerivation)
_EQUALITY: Final = "individuals that are equal"
_SAMPLE: Final = 100
"""Equalities that are looked at for what derives them, and the rows that this may take."""
_SEARCHED: Final = 200_000


class AssertionChange(NamedTuple):
    """The triples that hold now and did not before, and those that hold no longer."""

    added: tuple[Triple, ...]
    removed: tuple[Triple, ...]


class DerivedClosure:
    """Assertions and everything that conclusions derive from them.

    ``absent`` premises are about another closure: its changes are passed to :meth:`update`. Cost of
    a change: the solutions that it adds and removes. ``touched`` are the triples with a derivation
    that came or went since it was cleared. ``budget`` limits what a change visits. :meth:`begin`
    derives what follows without assertions.
    """

    def __init__(self, rules: Sequence[Conclusion], budget: Budget) -> None:
        self.touched: dict[Triple, None] = {}
        self._budget = budget
        self._store = RankedTriples(Meter(budget))
        self._told: dict[Triple, None] = {}
        self._counts: dict[Triple, int] = {}
        self._grounded: dict[Triple, int] = {}
        # Triples that will hold, each with its rank and number of grounded derivations.
        self._ahead: dict[Triple, list[int]] = {}
        self._doubted: list[Triple] = []
        self._equalities = 0
        self._weights: dict[Triple, int] = {}
        self._by_premise = _Functions({}, {})
        self._by_absence = _Functions({}, {})
        self._by_head = _Functions({}, {})
        self.sought: frozenset[Term]
        """Kinds of triples of the other closure that must be told of."""
        self._first: list[RankedSolution] = []
        store = self._store
        for rule in together(rules):
            for place, triple in enumerate(rule.premises):
                find = RuleWriter(rule, store).by_premise(place)
                self._by_premise.enter(triple, rule, find)
        for rule in rules:
            for place, (triple,) in enumerate(rule.absent):
                find = RuleWriter(rule, store).by_absence(place)
                self._by_absence.enter(triple, rule, find)
            for place, triple in enumerate(rule.heads):
                find = RuleWriter(rule, store).by_head(place)
                self._by_head.enter(triple, rule, find)
            if not rule.premises:
                alone = RuleWriter(rule, store).without_premises()
                self._first += alone(rdf.TYPE, rdf.TYPE) or ()
        self.sought = frozenset(chain(*self._by_absence))

    def __contains__(self, triple: Triple) -> bool:
        return triple in self._store.ranks

    def __iter__(self) -> Iterator[Triple]:
        return iter(self._store.ranks)

    @property
    def visited(self) -> int:
        """The number of rows visited in the current instant of the budget."""
        return self._store.meter.rows

    def is_told(self, triple: Triple) -> bool:
        """Whether a triple was asserted."""
        return triple in self._told

    def rank(self, triple: Triple) -> int:
        """The rank of a triple that holds."""
        return self._store.ranks[triple]

    def about(self, node: Subject) -> Iterator[Triple]:
        """The triples with an individual as subject."""
        return self._store.index.match(node, None, None)

    def begin(self, told: Iterable[Triple] = (), found: Iterable[Triple] = ()) -> None:
        """Derive from the conclusions without premises, and from what is told; ``found`` are the
        triples of the other closure.

        Raises:
            Overrun: it is too much; the closure is of no use then.
        """
        self._store.closed.update((triple, None) for triple in found)
        self._told.update((triple, None) for triple in told)
        self._ahead.update((triple, [0, 0]) for triple in self._told)
        self._gain(self._first)
        self._first.clear()
        self._add()
        self._weights.clear()
        self.touched.clear()

    def update(
        self,
        added: Iterable[Triple],
        removed: Iterable[Triple],
        *,
        found: Iterable[Triple] = (),
        lost: Iterable[Triple] = (),
    ) -> AssertionChange:
        """Assert triples, and withdraw others that are asserted. ``found`` and ``lost`` are the
        triples that the other closure has now, and has no longer.

        Raises:
            Overrun: too much follows; what holds is as before. Removals have no limit: they were
                counted when they came.
        """
        come, gone = tuple(added), tuple(removed)
        found, lost = tuple(found), tuple(lost)
        try:
            self._withdraw(gone, found, lost)
            self._assert(come)
        except Overrun:
            with self._budget.lift():
                self._withdraw(come, lost, found)
                self._assert(gone)
            self._weights.clear()
            raise
        weights, self._weights = self._weights, {}
        return AssertionChange(
            tuple(triple for triple, weight in weights.items() if weight > 0),
            tuple(triple for triple, weight in weights.items() if weight < 0),
        )

    def derivations(self, triple: Triple) -> list[RankedDerivation]:
        """The derivations of a triple from what holds.

        Raises:
            Overrun: they are too many for this change.
        """
        found = [RankedDerivation(*each) for each in _found(self._by_head, triple)]
        return [*found, *self._counted(self._by_equality(triple))]

    def first_premises(self, triple: Triple) -> tuple[Triple, ...]:
        """The premises of a grounded derivation of a triple that is not asserted."""
        return min(self.derivations(triple), key=lambda each: each.rank).premises

    def grounds(self, triple: Triple) -> list[Triple]:
        """Assertions from which a triple follows, or the triple itself."""
        told = self._told
        behind = reached([triple], lambda each: () if each in told else self.first_premises(each))
        return [each for each in behind if each in told]

    def _equating(self) -> Counter[str]:
        """The names of the rules that derive equalities, with counts, by a sample."""
        facts = [each for each in self._store.ranks if each[1] == owl.SAME_AS]
        found: Counter[str] = Counter()
        with suppress(Overrun), self._budget.within(Limits(_SEARCHED)):
            for fact in facts[:: len(facts) // _SAMPLE + 1]:
                s, _, o = fact
                for name, find in self._by_head.of(fact):
                    found[name] += len(find(s, o) or ())
        return found

    def _withdraw(
        self, removed: Iterable[Triple], found: Iterable[Triple], lost: Iterable[Triple]
    ) -> None:
        """Withdraw assertions; triples that have other derivations are then ahead."""
        store, told = self._store, self._told
        # Left over from a change that was not followed to its end.
        waiting, self._ahead = self._ahead, {}
        with self._budget.lift():
            for triple in removed:
                if triple in told:
                    del told[triple]
                    self._doubted.append(triple)
            for triple in found:
                rows = _found(self._by_absence, triple)
                store.closed[triple] = None
                self._lose(rows)
            for triple in chain(self._drop(), waiting):
                if triple in self._counts and triple not in self._ahead:
                    ranks = [each.rank for each in self.derivations(triple)]
                    rank = min(ranks) + 1
                    self._ahead[triple] = [rank, sum(each < rank for each in ranks)]
            for triple in lost:
                store.closed.pop(triple, None)
                self._gain(_found(self._by_absence, triple))

    def _assert(self, added: Iterable[Triple]) -> None:
        """Assert triples, and add everything that follows from them and from those ahead."""
        for triple in added:
            self._told[triple] = None
            if triple not in self._store.ranks and triple not in self._ahead:
                self._ahead[triple] = [0, 0]
        self._add()

    def _drop(self) -> dict[Triple, None]:
        """Remove triples that are neither asserted nor have a grounded derivation."""
        store, gone = self._store, dict[Triple, None]()
        for triple in self._doubted:  # grows while it is read
            if triple not in store.ranks or triple in self._told or self._grounded.get(triple):
                continue
            rows = self._rows(triple)
            store.remove(triple)
            self._equalities -= triple[1] == owl.SAME_AS
            self._grounded.pop(triple, None)
            self._weigh(triple, -1)
            gone[triple] = None
            self._lose(rows)
        self._doubted.clear()
        return gone

    def _add(self) -> None:
        """Let the triples ahead hold, with their consequences.

        Raises:
            Overrun: it is too much; those that came so far hold, the rest is ahead.
        """
        store, ahead = self._store, self._ahead
        while ahead:
            batch = list(ahead)
            for triple in batch:
                rank, grounded = entry = ahead.pop(triple)
                store.insert(triple, rank)
                self._equalities += triple[1] == owl.SAME_AS
                try:
                    rows = self._rows(triple)
                except Overrun:
                    store.remove(triple)
                    self._equalities -= triple[1] == owl.SAME_AS
                    ahead[triple] = entry
                    raise
                if grounded:
                    self._grounded[triple] = grounded
                self._weigh(triple, 1)
                self._gain(rows)

    def _rows(self, triple: Triple) -> list[RankedSolution]:
        """The solutions that have a triple, which holds, as a premise."""
        rows = _found(self._by_premise, triple)
        if self._equalities:
            rows += self._counted(self._equated(triple))
        return rows

    def _counted(self, made: Iterable[_Made]) -> Iterator[_Made]:
        """The results of equality, counted."""
        take = self._store.meter.take
        for each in made:
            try:
                take(1)
            except Overrun as error:
                raise TooCostly(f"{_EQUALITY}: {error.message}", self._equating()) from None
            yield each

    def _gain(self, rows: Iterable[RankedSolution]) -> None:
        ranks, counts, ahead = self._store.ranks, self._counts, self._ahead
        for rank, heads in rows:
            for head in heads:
                counts[head] = counts.get(head, 0) + 1
                self.touched[head] = None
                own = ranks.get(head)
                if own is not None:
                    if rank < own:
                        self._grounded[head] = self._grounded.get(head, 0) + 1
                elif head in ahead:
                    entry = ahead[head]
                    if rank < entry[0]:
                        entry[1] += 1
                else:
                    ahead[head] = [rank + 1, 1]

    def _lose(self, rows: Iterable[RankedSolution]) -> None:
        ranks, counts, grounded = self._store.ranks, self._counts, self._grounded
        for rank, heads in rows:
            for head in heads:
                if counts[head] == 1:
                    del counts[head]
                else:
                    counts[head] -= 1
                self.touched[head] = None
                own = ranks.get(head)
                if own is not None and rank < own:
                    left = grounded[head] - 1
                    if left:
                        grounded[head] = left
                    else:
                        del grounded[head]
                        self._doubted.append(head)

    def _weigh(self, triple: Triple, weight: int) -> None:
        weight += self._weights.pop(triple, 0)
        if weight:
            self._weights[triple] = weight

    def _equated(self, triple: Triple) -> Iterator[RankedSolution]:
        """The consequences of a triple by equality, with the others about these individuals."""
        s, p, o = triple
        ranks, match = self._store.ranks, self._store.index.match
        own = ranks[triple]
        if _is_of_one_name(triple):
            return
        if p == owl.SAME_AS and not isinstance(o, Literal):
            yield RankedSolution(own, ((o, p, s),))
            for other in self.all_about(s):
                if other != triple and not _is_of_one_name(other):
                    for new in _replaced(other, s, o):
                        yield RankedSolution(max(own, ranks[other]), (new,))
        for equality in match(s, owl.SAME_AS, None):
            same = equality[2]
            if p != owl.SAME_AS or same != o:
                for new in _replaced(triple, s, same, object_too=False):
                    yield RankedSolution(max(own, ranks[equality]), (new,))
        if p != rdf.TYPE and not isinstance(o, Literal):
            for equality in match(o, owl.SAME_AS, None):
                for new in _replaced(triple, o, equality[2], subject_too=False):
                    yield RankedSolution(max(own, ranks[equality]), (new,))

    def _by_equality(self, triple: Triple) -> Iterator[RankedDerivation]:
        """The derivations of a triple by equality: the reverse of :meth:`_equated`."""
        s, p, o = triple
        ranks, match = self._store.ranks, self._store.index.match
        if _is_of_one_name(triple):
            return

        def made(equality: Triple, other: Triple) -> Iterator[RankedDerivation]:
            rank = ranks.get(other)
            if rank is not None and other != equality:
                rank = max(rank, ranks[equality])
                yield RankedDerivation(rank, (equality, other), (triple,))

        if p == owl.SAME_AS and not isinstance(o, Literal):
            rank = ranks.get((o, p, s))
            if rank is not None:
                yield RankedDerivation(rank, ((o, p, s),), (triple,))
        for equality in match(None, owl.SAME_AS, s):
            yield from made(equality, (equality[0], p, o))
        if p != rdf.TYPE and not isinstance(o, Literal):
            for equality in match(None, owl.SAME_AS, o):
                yield from made(equality, (s, p, equality[0]))

    def all_about(self, node: Subject) -> Iterator[Triple]:
        """The triples with an individual at either end."""
        yield from self.about(node)
        for triple in self._store.index.match(None, None, node):
            if triple[1] != rdf.TYPE and triple[0] != node:
                yield triple


def _is_of_one_name(triple: Triple) -> bool:
    """Whether equality leaves a triple alone; each name has contradictions of its own."""
    return triple[1] == CONTRADICTION or is_found(triple)


def _replaced(
    triple: Triple, old: Term, new: Term, *, subject_too: bool = True, object_too: bool = True
) -> Iterator[Triple]:
    """The triple with one end replaced, unless it then says nothing."""
    s, p, o = triple
    if subject_too and s == old and not (p == owl.SAME_AS and new == o):
        assert not isinstance(new, Literal)
        yield new, p, o
    if object_too and o == old and p != rdf.TYPE and not (p == owl.SAME_AS and new == s):
        yield s, p, new


def _found(functions: _Functions, triple: Triple) -> list[Any]:
    s, _, o = triple
    rows: list[Any] = []
    for name, find in functions.of(triple):
        try:
            if found := find(s, o):
                rows += found
        except Overrun as error:
            raise TooCostly(f"{name}: {error.message}", {name: 1}) from None
    return rows
