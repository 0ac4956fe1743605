"""Facts between the bounds, in components that depend on each other, with their premises.

Source: Zhou et al., *PAGOdA*, JAIR 54 (2015), section 6: to decide a fact that only the upper bound
has, the assertions suffice that its derivations there use, with those that contradictions use. A
fact of the lower bound follows, so it replaces everything that it was derived from.

Why they suffice: given the facts of the lower bound, a proof consists of clauses whose atoms the
upper bound has all derived. Read backwards from the fact and from contradictions, each step is a
derivation in the upper bound, and the alternatives of a clause are collected together. Facts that
share no derivation have no atom in common, so their clauses are satisfied independently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from sensorstream.errors import Overrun, TooCostly
from sensorstream.model import rdf
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.network.budget import Meter
from sensorstream.network.graph_components import reached
from sensorstream.reasoning.dl.bounds.clauses import PREFIX, THING
from sensorstream.reasoning.dl.gap.bounds_pair import BoundsMoved, BoundsPair, whole
from sensorstream.reasoning.dl.gap.rule_plans import RankedDerivation, owner_of

_ROWS_OF_A_FACT: Final = 50
"""To find the derivations of a fact takes about as long as to visit so many rows."""
_PARTS: Final = ("roots", "open", "given", "shared", "joins", "whole")
_Key = TypeVar("_Key", Triple, Subject)


@dataclass(slots=True, eq=False)
class Component:
    """Facts to decide together: ``roots`` are these facts, ``open`` all open facts connected with
    them, ``given`` the facts of the lower bound that they depend on, without names of the bounds'
    own.
    """

    roots: dict[Triple, None] = field(default_factory=dict)
    open: dict[Triple, None] = field(default_factory=dict)
    given: dict[Triple, None] = field(default_factory=dict)
    individuals: dict[Subject, None] = field(default_factory=dict)
    shared: dict[Triple, None] = field(default_factory=dict)
    """Open facts of names that several individuals share; each component has its own."""
    joins: dict[Triple, None] = field(default_factory=dict)
    """Facts of such names that join all individuals from whom they follow."""
    whole: dict[Subject, None] = field(default_factory=dict)
    """Individuals of which everything is asked; ``given`` has all that is known of them."""
    waiting: dict[Subject, list[RankedDerivation]] = field(default_factory=dict)
    """Derivations of shared facts that concern the component only if an individual joins it; known
    while components are being found.
    """
    into: Component | None = None
    """The component that it has become a part of."""

    def whole_part(self) -> Component:
        """The component that it belongs to now; O(1) on average, as parts remember it."""
        found = self
        while found.into is not None:
            found = found.into
        part = self
        while part.into is not None:
            part.into, part = found, part.into
        return found


@frozen
class Renewed:
    """The components that a change removed, and the new ones. While components are being found,
    :class:`Components` finds new ones by their open facts only.
    """

    gone: dict[Component, None] = field(default_factory=dict)
    new: dict[Component, None] = field(default_factory=dict)


@frozen
class _Ahead:
    """Facts to enter: ``known`` ones, in other components, come first because they are cheap."""

    components: dict[Triple, Component]
    new: list[Triple] = field(default_factory=list)
    known: list[Triple] = field(default_factory=list)

    def add(self, fact: Triple) -> None:
        (self.known if fact in self.components else self.new).append(fact)


class Components:
    """The components of all roots; a change costs the components that it touches. ``is_root`` says
    which open facts are to be decided.
    """

    def __init__(self, pair: BoundsPair, is_root: Callable[[Triple], bool]) -> None:
        self._pair = pair
        self._is_root = is_root
        self._meter = Meter(pair.budget)
        self._of_open: dict[Triple, Component] = {}
        self._of_given: dict[Triple, dict[Component, None]] = {}
        self._of_join: dict[Triple, dict[Component, None]] = {}
        self._with_shared: dict[Subject, dict[Component, None]] = {}

    def renew(self, moved: BoundsMoved) -> Renewed:
        """Find the components anew that a change of the bounds concerns.

        Raises:
            Overrun: they depend on too much; nothing has changed.
        """
        renewed = Renewed()
        try:
            self._renew(moved, renewed)
        except Overrun:
            for component in renewed.new:
                for fact in component.open:
                    del self._of_open[fact]
            renewed.new.clear()
            self.undo(renewed)
            raise
        for component in renewed.new:
            component.waiting.clear()
            self._enter(component)
        return renewed

    def _renew(self, moved: BoundsMoved, renewed: Renewed) -> None:
        roots: dict[Triple, None] = {}
        for component in self._concerned(moved):
            self._leave(component)
            renewed.gone[component] = None
            roots.update(component.roots)
        for fact in (*moved.most.added, *moved.least.removed):
            if self._is_root(fact) and fact not in self._of_open:
                roots[fact] = None
        # Facts about nobody in particular come last: what they need is in components then.
        joined: dict[Triple, tuple[Triple, ...]] = {}
        for root in sorted(roots, key=lambda each: not individuals_of(each)):
            if root not in roots or not self._pair.is_open(root) or root in self._of_open:
                continue
            component = Component()
            renewed.new[component] = None
            for part in (seeds := self._seeds(root, joined)):
                component = self._explore(component, part, renewed, roots)
            component.joins.update((each, None) for each in seeds if not individuals_of(each))

    def undo(self, renewed: Renewed) -> None:
        """Undo :meth:`renew`."""
        for component in renewed.new:
            self._leave(component)
        for component in renewed.gone:
            self._enter(component)

    def _concerned(self, moved: BoundsMoved) -> dict[Component, None]:
        found: dict[Component, None] = {}
        individuals: dict[Subject, None] = {}
        for fact in (*moved.touched, *moved.most.removed, *moved.least.added):
            component = self._of_open.get(fact)
            if component is not None:
                found[component] = None
            found.update(self._of_join.get(fact, {}))
        for fact in moved.least.removed:
            found.update(self._of_given.get(fact, {}))
        if self._pair.may_be_whole:
            for fact in (*moved.least.added, *moved.least.removed):
                for one in individuals_of(fact):
                    component = self._of_open.get(whole(one))
                    if component is not None:
                        found[component] = None
        if self._with_shared:
            changes = (*moved.least, *moved.most, moved.touched)
            for facts in changes:
                for fact in facts:
                    individuals.update(dict.fromkeys(individuals_of(fact)))
            for one in individuals:
                found.update(self._with_shared.get(one, {}))
        return found

    def _seeds(self, root: Triple, joined: dict[Triple, tuple[Triple, ...]]) -> list[Triple]:
        """The root, after the facts of individuals that a root about nobody in particular needs."""

        def needed(fact: Triple) -> tuple[Triple, ...]:
            if individuals_of(fact):
                return ()
            if fact not in joined:
                joined[fact] = self._joined(fact)
            return joined[fact]

        return sorted(reached([root], needed), key=lambda each: not individuals_of(each))

    def _joined(self, fact: Triple) -> tuple[Triple, ...]:
        """The open facts from which a fact follows, or with which it is said. The latter are about
        those who share the name.
        """
        parts = (
            part
            for derivation in self._pair.most.derivations(fact)
            for part in (*derivation.premises, *derivation.heads)
        )
        return tuple(dict.fromkeys(filter(self._pair.is_open, parts)))

    def _explore(
        self, component: Component, seed: Triple, renewed: Renewed, roots: dict[Triple, None]
    ) -> Component:
        """Enter the facts that a fact depends on, unless another component has them; return the
        component with the fact, which may have become a part of another new one.
        """
        ahead = _Ahead(self._of_open)
        ahead.add(seed)
        while True:
            while ahead.known:
                other = self._of_open[ahead.known.pop()].whole_part()
                if other in renewed.new:
                    component = self._join(component, other, renewed, ahead)
                else:
                    self._absorb(component, other, renewed, ahead)
            if not ahead.new:
                return component
            fact = ahead.new.pop()
            if fact in self._of_open:
                ahead.known.append(fact)
                continue
            if fact in component.shared:
                continue
            self._count()
            if self._is_root(fact):
                component.roots[fact] = None
                roots.pop(fact, None)
            about = individuals_of(fact)
            if about:
                component.open[fact] = None
                self._of_open[fact] = component
                self._arrive(component, about, ahead)
                for derivation in self._pair.most.derivations(fact):
                    self._take(component, derivation, ahead)
            else:
                component.shared[fact] = None
                for derivation in self._pair.most.derivations(fact):
                    self._consider(component, derivation, ahead)

    def _count(self) -> None:
        try:
            self._meter.take(_ROWS_OF_A_FACT)
        except Overrun as error:
            # Many axioms with a choice made them, and none of them by itself is the cause.
            raise TooCostly(f"facts to decide together: {error.message}") from None

    def _absorb(
        self, component: Component, other: Component, renewed: Renewed, ahead: _Ahead
    ) -> None:
        """Enter a component of before the change; the premises of its facts were found then."""
        self._leave(other)
        renewed.gone[other] = None
        for name in _PARTS:
            getattr(component, name).update(getattr(other, name))
        self._of_open.update((fact, component) for fact in other.open)
        self._arrive(component, other.individuals, ahead)
        for fact in other.shared:
            for derivation in self._pair.most.derivations(fact):
                self._consider(component, derivation, ahead)

    def _join(
        self, component: Component, other: Component, renewed: Renewed, ahead: _Ahead
    ) -> Component:
        """Make one of two new components; the smaller one becomes a part of the larger one."""
        if component is other:
            return component
        if len(component.open) < len(other.open):
            component, other = other, component
        del renewed.new[other]
        other.into = component
        for name in _PARTS:
            mine, theirs = getattr(component, name), getattr(other, name)
            if len(theirs) > len(mine):
                mine, theirs = theirs, mine
                setattr(component, name, mine)
            mine.update(theirs)
        arrived = [each for each in other.individuals if each not in component.individuals]
        component.individuals.update(other.individuals)
        for one, derivations in other.waiting.items():
            component.waiting.setdefault(one, []).extend(derivations)
        for one in (*arrived, *other.waiting):
            if one in component.individuals:
                for derivation in component.waiting.pop(one, ()):
                    self._consider(component, derivation, ahead)
        return component

    def _arrive(self, component: Component, individuals: Iterable[Subject], ahead: _Ahead) -> None:
        """Enter individuals, and the derivations that waited for them."""
        for one in individuals:
            if one in component.individuals:
                continue
            component.individuals[one] = None
            for derivation in component.waiting.pop(one, ()):
                self._consider(component, derivation, ahead)
            if one not in component.whole and self._pair.is_whole(one):
                self._take_whole(component, one, ahead)

    def _take_whole(self, component: Component, one: Subject, ahead: _Ahead) -> None:
        """Enter all known and all open facts about an individual."""
        component.whole[one] = None
        ahead.add(whole(one))
        for fact in self._pair.least.about(one):
            if not is_own(fact):
                component.given[fact] = None
        for fact in self._pair.most.about(one):
            if self._pair.is_open(fact):
                ahead.add(fact)

    def _consider(self, component: Component, derivation: RankedDerivation, ahead: _Ahead) -> None:
        """Take in a derivation of a shared fact once all its individuals are in the component."""
        for premise in derivation.premises:
            for one in individuals_of(premise):
                if one not in component.individuals:
                    component.waiting.setdefault(one, []).append(derivation)
                    return
        self._take(component, derivation, ahead)

    def _take(self, component: Component, derivation: RankedDerivation, ahead: _Ahead) -> None:
        """Enter the premises of a derivation, and its other heads, which are alternatives."""
        for premise in derivation.premises:
            if premise in self._pair.least:
                self._give(component, premise)
            else:
                ahead.add(premise)
        for head in derivation.heads:
            if self._pair.is_open(head):
                ahead.add(head)

    def _give(self, component: Component, fact: Triple) -> None:
        """Enter a fact of the lower bound, or those that it was derived from."""
        least = self._pair.least

        def behind(each: Triple) -> tuple[Triple, ...]:
            is_given = not is_own(each) or least.is_told(each) or each[2] == THING
            return () if is_given else least.first_premises(each)

        found = reached([fact], behind)
        component.given.update((each, None) for each in found if not is_own(each))

    def _enter(self, component: Component) -> None:
        for fact in component.open:
            self._of_open[fact] = component
        for fact in component.given:
            self._of_given.setdefault(fact, {})[component] = None
        for fact in component.joins:
            self._of_join.setdefault(fact, {})[component] = None
        if component.shared:
            for one in component.individuals:
                self._with_shared.setdefault(one, {})[component] = None

    def _leave(self, component: Component) -> None:
        for fact in component.open:
            del self._of_open[fact]
        for fact in component.given:
            _discard(self._of_given, fact, component)
        for fact in component.joins:
            _discard(self._of_join, fact, component)
        if component.shared:
            for one in component.individuals:
                _discard(self._with_shared, one, component)


def _discard(found: dict[_Key, dict[Component, None]], key: _Key, component: Component) -> None:
    del found[key][component]
    if not found[key]:
        del found[key]


def is_own(fact: Triple) -> bool:
    """Whether a fact has a name of the bounds' own."""
    s, p, o = fact
    return (
        p.startswith(PREFIX)
        or (isinstance(s, IRI) and s.startswith(PREFIX))
        or (isinstance(o, IRI) and o.startswith(PREFIX))
    )


def individuals_of(fact: Triple) -> Iterable[Subject]:
    """The individuals that a fact is about, by their names or by names made for them."""
    s, p, o = fact
    found = []
    for end in (s,) if p == rdf.TYPE else (s, o):
        one = _individual(end)
        if one is not None:
            found.append(one)
    return found


def _individual(term: Term) -> Subject | None:
    if isinstance(term, Literal):
        return None
    if isinstance(term, BlankNode) or not term.startswith(PREFIX):
        return term
    return owner_of(term)
