"""The entailments of a window's assertions: the lower bound, and facts the reasoner confirms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sensorstream.errors import Inconsistent, TermError
from sensorstream.model import owl, rdf
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import CONTRADICTION
from sensorstream.reasoning.dl.bounds.clauses import THING
from sensorstream.reasoning.dl.gap.bounds_pair import BoundsMoved, BoundsPair, is_whole
from sensorstream.reasoning.dl.gap.fact_components import (
    Component,
    Components,
    Renewed,
    individuals_of,
    is_own,
)
from sensorstream.reasoning.dl.gap.twin_individuals import ConnectedPart, TwinKind, Twins
from sensorstream.reasoning.dl.islands import (
    Answer,
    Island,
    IslandQuestions,
    names,
    of_facts,
    unlinked,
)
from sensorstream.reasoning.dl.terminology import MemberEntailments, Terminology, triples_of


@frozen
class _Decided:
    """The reasoner's decision about a component, and how many individuals it was asked about."""

    confirmed: tuple[Triple, ...]
    members: int


@frozen
class _Question:
    """An island with two of each kind of twins, under names to show, and its members' own names.
    ``members`` are how many there are with all twins.
    """

    island: Island
    asked: tuple[Subject, ...]
    twins: Twins
    members: int


class _Equal(Exception):
    """An individual that samples represent is the same as another one."""

    def __init__(self, kinds: list[TwinKind]) -> None:
        super().__init__()
        self.kinds = kinds


class Answers:
    """The entailments, kept up to date as assertions come and go. Between the bounds the reasoner
    decides, about the assertions that such a fact depends on. The bounds know two of all twins.
    """

    def __init__(
        self, terminology: Terminology, questions: IslandQuestions, pair: BoundsPair
    ) -> None:
        self._terminology = terminology
        self._questions = questions
        self._pair = pair
        self._components = Components(pair, self._is_asked)
        self._twins = Twins(terminology, questions.classes, "window")
        # The consequences of the axioms alone, which the first change includes.
        self._begun: BoundsMoved | None = pair.held()
        self._decided: dict[Component, _Decided] = {}
        self._confirmed: dict[Triple, None] = {}
        self._confirmed_about: dict[Term, dict[Triple, None]] = {}

    @property
    def largest(self) -> int:
        """The most individuals that are asked about together; 1: each is alone. For any thread."""
        # A single step of the interpreter, because another thread may change it.
        return max((each.members for each in list(self._decided.values())), default=1) or 1

    def follows(self, fact: Triple) -> bool:
        """Whether a fact that can be said of named individuals follows, or is asserted."""
        of_samples = self._twins.sampled(fact)
        return of_samples is not None and self._holds(of_samples)

    def _holds(self, fact: Triple) -> bool:
        return fact in self._confirmed or fact in self._pair.least

    def all(self) -> Iterator[Triple]:
        """Everything that follows; O(all of it)."""
        for fact in (*filter(self._is_sayable, self._pair.least), *self._confirmed):
            yield from self._twins.all_of(fact)

    def update(self, added: list[Triple], removed: list[Triple]) -> list[Triple]:
        """Take in assertions that come and go; return the facts about named individuals that may
        follow now and did not, or the other way.

        Raises:
            Inconsistent: there is no model; nothing has changed.
            Overrun: too much follows; nothing has changed.
            ReasonerError: the reasoner's process failed; nothing has changed.
        """
        while True:
            shift = self._twins.update(added, removed)
            changed: dict[Triple, None] = {}
            for part in shift.gone:
                changed.update(dict.fromkeys(self._all_about(part, shift.gone)))
            try:
                told = self._update(list(shift.come), list(shift.left))
            except _Equal as error:
                self._twins.undo()
                self._twins.set_apart(error.kinds)
                continue
            except Exception:
                self._twins.undo()
                raise
            for fact in told:
                changed.update(dict.fromkeys(self._twins.all_of(fact)))
            for part in shift.new:
                changed.update(dict.fromkeys(self._all_about(part, ())))
            return list(changed)

    def _all_about(self, part: ConnectedPart, gone: Iterable[ConnectedPart]) -> Iterator[Triple]:
        """The entailments about the individuals of a part, by those about the first sample."""
        for name in part.kind.names[0]:
            for fact in (*self._pair.least.all_about(name), *self._confirmed_about.get(name, ())):
                if self._is_sayable(fact):
                    yield from self._twins.all_of(fact, part, gone)

    def _update(self, added: list[Triple], removed: list[Triple]) -> list[Triple]:
        try:
            moved = self._pair.update(added, removed)
        except TermError as error:
            raise Inconsistent(error.message) from None
        if self._begun is not None:
            moved = moved.after(self._begun)
        renewed: Renewed | None = None
        try:
            self._check(moved)
            renewed = self._components.renew(moved)
            decided = self._ask(renewed.new)
            self._check_equalities(moved, decided)
        except Exception:
            if renewed is not None:
                self._components.undo(renewed)
            with self._pair.budget.lift():
                self._pair.update(removed, added)
            raise
        self._begun = None
        changed: dict[Triple, None] = {}
        for component in renewed.gone:
            before = self._decided.pop(component)
            for fact in before.confirmed:
                self._confirmed.pop(fact, None)
                for end in (fact[0], fact[2]):
                    self._confirmed_about.get(end, {}).pop(fact, None)
                changed[fact] = None
        for component, now in decided.items():
            self._decided[component] = now
            for fact in now.confirmed:
                self._confirmed[fact] = None
                for end in (fact[0], fact[2]):
                    self._confirmed_about.setdefault(end, {})[fact] = None
                changed[fact] = None
        for fact in (*moved.least.added, *moved.least.removed):
            if self._is_sayable(fact):
                changed[fact] = None
        return list(changed)

    def _check(self, moved: BoundsMoved) -> None:
        """Check that the lower bound does not contradict itself."""
        for fact in moved.least.added:
            if fact[1] == CONTRADICTION:
                raise self._inconsistent([fact])

    def _check_equalities(self, moved: BoundsMoved, decided: dict[Component, _Decided]) -> None:
        """Check that no sample, and so no twin, is the same as another individual."""
        confirmed = (fact for now in decided.values() for fact in now.confirmed)
        same = (f for f in (*moved.least.added, *confirmed) if f[1] == owl.SAME_AS)
        kinds = [kind for fact in same for kind in self._twins.kinds_of(fact)]
        if kinds:
            raise _Equal(kinds)

    def _ask(self, components: Iterable[Component]) -> dict[Component, _Decided]:
        questions = [self._question(each) for each in components]
        answers = self._questions.ask([each.island for each in questions])
        decided = {}
        for component, question, answer in zip(components, questions, answers, strict=True):
            if answer is None:
                raise self._inconsistent(component.given)
            confirmed = self._confirmed_of(component, question, answer)
            decided[component] = _Decided(confirmed, question.members)
        return decided

    def _question(self, component: Component) -> _Question:
        individuals = {
            one: None
            for fact in (*component.given, *component.roots)
            for one in individuals_of(fact)
        }
        twins = Twins(self._terminology, self._questions.classes, "question")
        # Individuals without given facts can be twins, too.
        anything = [(one, rdf.TYPE, THING) for one in individuals]
        given = unlinked(self._terminology, component.given)
        told = twins.update([*given, *anything], ()).come
        members = {one: None for fact in told for one in individuals_of(fact)}
        island = of_facts(self._terminology, members, told)
        shown = tuple(self._twins.shown(twins.shown(each)) for each in members)
        return _Question(replace(island, members=shown), tuple(members), twins, len(individuals))

    def _confirmed_of(
        self, component: Component, question: _Question, answer: Answer
    ) -> tuple[Triple, ...]:
        assert answer is not None
        asked, twins = question.asked, question.twins
        told = dict(zip(asked, answer, strict=True))
        numbers = {member: number for number, member in enumerate(asked)}
        found = []
        for fact in component.roots:
            if self._is_sayable(fact):
                of_samples = twins.sampled(fact)
                if of_samples and _says(told[of_samples[0]], of_samples, numbers):
                    found.append(fact)
        for one in asked if component.whole else ():
            follow = triples_of(told[one], numbers[one], asked)
            types = ((one, rdf.TYPE, each) for each in told[one].types)
            for of_samples in (*types, *follow):
                for fact in twins.all_of(of_samples):
                    if fact[0] in component.whole and self._is_news(fact):
                        found.append(fact)
        same = {fact: None for fact in found if fact[1] == owl.SAME_AS}
        if same:
            found += [
                fact for fact in component.roots if fact not in same and self._is_shared(fact, same)
            ]
            found += filter(self._is_news, self._shared(component.whole, same))
        return tuple(dict.fromkeys(found))

    def _is_shared(self, fact: Triple, same: dict[Triple, None]) -> bool:
        """Whether a property value holds of other names of the same individuals. Properties that
        the reasoner answers are left out, because it knows the equality.
        """
        s, p, o = fact
        if p in (rdf.TYPE, owl.SAME_AS) or not self._is_sayable(fact):
            return False
        subjects = [other for one, _, other in same if one == s and not isinstance(other, Literal)]
        objects: list[Term] = [other for one, _, other in same if one == o]
        return any(
            (one, p, other) in self._pair.least for one in (s, *subjects) for other in (o, *objects)
        )

    def _shared(self, nodes: Iterable[Subject], same: dict[Triple, None]) -> Iterator[Triple]:
        """The property values that individuals share with equal ones."""
        names: dict[Term, list[Subject]] = {}
        for one, _, other in same:
            names.setdefault(other, []).append(one)
        for node in nodes:
            if node in names:
                for s, p, o in self._pair.least.all_about(node):
                    for one in (s, *names.get(s, ())):
                        for other in (o, *names.get(o, ())):
                            if p not in (rdf.TYPE, owl.SAME_AS):
                                yield one, p, other

    def _is_news(self, fact: Triple) -> bool:
        """Whether a fact can be said, and does not follow by the lower bound."""
        return self._is_sayable(fact) and fact not in self._pair.least

    def _is_asked(self, fact: Triple) -> bool:
        """Whether a fact, if it is open, is to be decided."""
        # Most facts are in both bounds.
        if not self._pair.is_open(fact):
            return False
        return fact[1] == CONTRADICTION or is_whole(fact) or self._is_sayable(fact)

    def _is_sayable(self, fact: Triple) -> bool:
        """Whether a fact is about named individuals, in the words of the ontology."""
        s, p, o = fact
        schema = self._terminology.schema
        if is_own(fact):
            return False
        if p == rdf.TYPE:
            return o in schema.classes
        if p == owl.SAME_AS:
            return s != o
        if isinstance(o, Literal):
            return p in schema.datatype_properties
        return p in schema.object_properties

    def _inconsistent(self, facts: Iterable[Triple]) -> Inconsistent:
        members: dict[Subject, None] = {}
        with self._pair.budget.lift():
            for fact in facts:
                for ground in self._pair.least.grounds(fact):
                    if not is_own(ground):
                        members[self._twins.shown(ground[0])] = None
        return Inconsistent(
            "the message contradicts the ontology: no world is possible in which all is true "
            f"that is asserted of {names(members)}",
            individuals=tuple(member.n3 for member in members),
        )


def _says(entailed: MemberEntailments, fact: Triple, numbers: dict[Subject, int]) -> bool:
    _, p, o = fact
    if p == rdf.TYPE:
        return o in entailed.types
    if isinstance(o, Literal):
        return (p, o) in entailed.values
    number = numbers[o]
    return number in entailed.same if p == owl.SAME_AS else (p, number) in entailed.links
