"""What follows from the assertions of a window: the lower bound, and what the reasoner confirms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sensorstream.errors import Inconsistent, TermError
from sensorstream.model.terms import Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import (
    CONTRADICTION,
    OWL_SAME_AS,
    RDF_TYPE,
)
from sensorstream.reasoning.dl.gap.components import (
    Component,
    Components,
    Renewed,
    individuals_of,
    is_own,
)
from sensorstream.reasoning.dl.gap.pair import Moved, Pair
from sensorstream.reasoning.dl.gap.whole import is_whole
from sensorstream.reasoning.dl.islands import Island, names, of_facts
from sensorstream.reasoning.dl.memo import Answer
from sensorstream.reasoning.dl.probes import Entailed, triples_of
from sensorstream.reasoning.dl.questions import Questions
from sensorstream.reasoning.dl.terminology import Terminology


class IslandSizes:
    """The size of every island of two or more members; O(members that change) each.

    :attr:`largest` may be read in any thread.
    """

    __slots__ = ("_members", "_of")

    def __init__(self) -> None:
        self._of: dict[Subject, int] = {}
        self._members: Counter[int] = Counter()

    @property
    def largest(self) -> int:
        """The members of the largest island; 1: every individual is alone."""
        # One step of the interpreter, while another thread may add and remove sizes.
        return max(list(self._members), default=1)

    def update(self, nodes: Iterable[Subject], sizes: Mapping[Subject, int]) -> None:
        """Set the sizes of the islands of some individuals: those not in ``sizes`` are alone."""
        for node in nodes:
            before, now = self._of.get(node, 1), sizes.get(node, 1)
            if before == now:
                continue
            if before > 1:
                self._members[before] -= 1
                if not self._members[before]:
                    del self._members[before]
            if now > 1:
                self._of[node] = now
                self._members[now] += 1
            else:
                del self._of[node]

    def clear(self) -> None:
        """Forget all of them."""
        self._of.clear()
        self._members.clear()


@dataclass(frozen=True, slots=True)
class _Decided:
    """What the reasoner has said of a component, and how many individuals it was asked about."""

    confirmed: tuple[Triple, ...]
    members: int
    first: Subject | None


class Answers:
    """What follows, kept up to date as assertions come and go.

    Between the bounds the reasoner decides, about the assertions that such a fact depends on.
    """

    def __init__(self, terminology: Terminology, questions: Questions, pair: Pair) -> None:
        self._terminology = terminology
        self._questions = questions
        self._pair = pair
        self._components = Components(pair, self._is_asked)
        # What follows from the axioms alone, which the first change tells of.
        self._begun: Moved | None = pair.held()
        self._decided: dict[Component, _Decided] = {}
        self._confirmed: dict[Triple, None] = {}
        self.sizes = IslandSizes()

    def follows(self, fact: Triple) -> bool:
        """Whether a fact that can be said of named individuals follows, or is asserted."""
        return fact in self._confirmed or fact in self._pair.least

    def all(self) -> Iterator[Triple]:
        """Everything that follows; O(all of it)."""
        yield from filter(self._is_sayable, self._pair.least)
        yield from self._confirmed

    def update(self, added: list[Triple], removed: list[Triple]) -> list[Triple]:
        """Take in assertions that come and go.

        Returns:
            The facts about named individuals that may follow now and did not, or the other way.

        Raises:
            Inconsistent: there is no model; nothing has changed.
            Overrun: too much follows; nothing has changed.
            ReasonerError: the reasoner's process failed; nothing has changed.
        """
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
                changed[fact] = None
            if before.first is not None:
                self.sizes.update([before.first], {})
        for component, now in decided.items():
            self._decided[component] = now
            for fact in now.confirmed:
                self._confirmed[fact] = None
                changed[fact] = None
            if now.first is not None:
                self.sizes.update([now.first], {now.first: now.members})
        for fact in (*moved.least.added, *moved.least.removed):
            if self._is_sayable(fact):
                changed[fact] = None
        return list(changed)

    def _check(self, moved: Moved) -> None:
        """The lower bound must not contradict itself."""
        for fact in moved.least.added:
            if fact[1] == CONTRADICTION:
                raise self._inconsistent([fact])

    def _ask(self, components: Iterable[Component]) -> dict[Component, _Decided]:
        islands = [self._island(each) for each in components]
        answers = self._questions.ask(islands)
        decided = {}
        for component, island, answer in zip(components, islands, answers, strict=True):
            if answer is None:
                raise self._inconsistent(component.given)
            confirmed = self._confirmed_of(component, island, answer)
            first = island.members[0] if island.members else None
            decided[component] = _Decided(confirmed, len(island.members), first)
        return decided

    def _island(self, component: Component) -> Island:
        members: dict[Subject, None] = {}
        for fact in (*component.given, *component.roots):
            members.update(dict.fromkeys(individuals_of(fact)))
        return of_facts(self._terminology, members, component.given)

    def _confirmed_of(
        self, component: Component, island: Island, answer: Answer
    ) -> tuple[Triple, ...]:
        assert answer is not None
        told = dict(zip(island.members, answer, strict=True))
        numbers = {member: number for number, member in enumerate(island.members)}
        found = [
            fact
            for fact in component.roots
            if self._is_sayable(fact) and _says(told[fact[0]], fact, numbers)
        ]
        for one in component.whole:
            follow = triples_of(told[one], numbers[one], island.members, OWL_SAME_AS)
            types = ((one, RDF_TYPE, each) for each in told[one].types)
            found += [fact for fact in (*types, *follow) if self._is_news(fact)]
        same = {fact: None for fact in found if fact[1] == OWL_SAME_AS}
        if same:
            found += [
                fact for fact in component.roots if fact not in same and self._is_shared(fact, same)
            ]
            found += filter(self._is_news, self._shared(component.whole, same))
        return tuple(dict.fromkeys(found))

    def _is_shared(self, fact: Triple, same: dict[Triple, None]) -> bool:
        """Whether a property value holds of other names of the same individuals.

        Properties that the reasoner answers are left out, because it knows the equality.
        """
        s, p, o = fact
        if p in (RDF_TYPE, OWL_SAME_AS) or not self._is_sayable(fact):
            return False
        subjects = [other for one, _, other in same if one == s and not isinstance(other, Literal)]
        objects: list[Term] = [other for one, _, other in same if one == o]
        return any(
            (one, p, other) in self._pair.least for one in (s, *subjects) for other in (o, *objects)
        )

    def _shared(self, nodes: Iterable[Subject], same: dict[Triple, None]) -> Iterator[Triple]:
        """The property values of individuals that equal others have, too."""
        names: dict[Term, list[Subject]] = {}
        for one, _, other in same:
            names.setdefault(other, []).append(one)
        for node in nodes:
            if node in names:
                for s, p, o in self._pair.least.all_about(node):
                    for one in (s, *names.get(s, ())):
                        for other in (o, *names.get(o, ())):
                            if p not in (RDF_TYPE, OWL_SAME_AS):
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
        if p == RDF_TYPE:
            return o in schema.classes
        if p == OWL_SAME_AS:
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
                        members[ground[0]] = None
        return Inconsistent(
            "the message contradicts the ontology: no world is possible in which all is true "
            f"that is asserted of {names(members)}",
            individuals=tuple(member.n3 for member in members),
        )


def _says(entailed: Entailed, fact: Triple, numbers: dict[Subject, int]) -> bool:
    _, p, o = fact
    if p == RDF_TYPE:
        return o in entailed.types
    if isinstance(o, Literal):
        return (p, o) in entailed.values
    number = numbers[o]
    return number in entailed.same if p == OWL_SAME_AS else (p, number) in entailed.links
