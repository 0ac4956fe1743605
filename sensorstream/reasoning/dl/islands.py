"""Islands: groups of individuals that the reasoner is asked about together, and the questions.

There are as few requests to the process as possible, and answers are kept. Islands of equal shape
have equal answers. The shape of an island consists of its assertions, with a number for each member
and a class for each value (:mod:`.value_classes`). Members are ordered by the assertions about them
and their neighbours; if the order is not unique, equal islands may get different shapes and are
asked about twice, but different islands never get the same shape.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from sensorstream.errors import Contradiction, Inconsistent, ReasonerError, TermError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import owl, rdf
from sensorstream.model.frozen import frozen, mutable
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Triple
from sensorstream.reasoning.dl.axioms import EQUALITY, Axioms, line_of
from sensorstream.reasoning.dl.datatypes import OpaqueValues
from sensorstream.reasoning.dl.reasoner_messages import IslandFacts
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.reasoning.dl.terminology import (
    HELPER,
    MemberEntailments,
    PropertyEnds,
    Terminology,
)
from sensorstream.reasoning.dl.value_classes import ValueClasses

_ASSERTED: Final = int(Origin.STATIC | Origin.WINDOW)
_NO_ENDS: Final = PropertyEnds()


@frozen
class Island:
    """A group of individuals; ``facts`` number them in the order of ``members``."""

    members: tuple[Subject, ...]
    facts: IslandFacts


def whole_window(kb: KnowledgeBase, terminology: Terminology) -> Island:
    """Every individual of window, static graph and axioms, with all assertions about them.

    Raises:
        Inconsistent: a literal is not in its datatype's lexical space.
    """
    links = terminology.schema.object_properties | EQUALITY
    members: dict[Subject, None] = dict.fromkeys(sorted(terminology.named))
    members.update(dict.fromkeys(terminology.individuals))
    for s, p, o in kb.triples(Origin.WINDOW):
        members[s] = None
        if p in links and not isinstance(o, Literal):
            members[o] = None
    told = (triple for member in members for triple in kb.match(member, None, None))
    return of_facts(terminology, members, (t for t in told if kb.marks(t) & _ASSERTED))


def of_facts(
    terminology: Terminology, members: Iterable[Subject], triples: Iterable[Triple]
) -> Island:
    """An island of these individuals, with no other facts than these about them.

    Raises:
        Inconsistent: a literal is not in its datatype's lexical space.
    """
    numbers = {member: number for number, member in enumerate(members)}
    named = terminology.named
    facts = IslandFacts([m if m in named else None for m in numbers], [], [], [], [], [])
    values = terminology.datatypes.numbers()
    for triple in unlinked(terminology, triples):
        if triple[0] in numbers:
            _tell(terminology, facts, triple, numbers, values)
    return Island(tuple(numbers), facts)


def unlinked(terminology: Terminology, triples: Iterable[Triple]) -> Iterator[Triple]:
    """The same facts, with a link that joins nobody replaced by its meaning for its two ends."""
    for triple in triples:
        s, p, o = triple
        joins = p in terminology.linking or p == rdf.TYPE or p in EQUALITY
        if joins or isinstance(o, Literal):
            yield triple
            continue
        ends = terminology.local.get(p, _NO_ENDS)
        yield from ((s, rdf.TYPE, IRI(name)) for name in ends.subject)
        yield from ((o, rdf.TYPE, IRI(name)) for name in ends.object)


def _tell(
    terminology: Terminology,
    facts: IslandFacts,
    triple: Triple,
    members: dict[Subject, int],
    values: OpaqueValues,
) -> None:
    """Add a triple to the facts about an island."""
    s, p, o = triple
    number = members[s]
    if isinstance(o, Literal):
        if p in terminology.data and terminology.datatypes.is_told(o.datatype):
            facts.values.append((number, p, *_checked(triple, o, values)))
    elif p == rdf.TYPE:
        if o in terminology.schema.classes:
            facts.types.append((number, o))
        elif helper := terminology.helpers.get(o):
            facts.types.append((number, helper))
        elif o.startswith(HELPER):
            facts.types.append((number, o))
    elif p in terminology.linking:
        facts.links.append((number, p, members[o]))
    elif p == owl.SAME_AS:
        facts.same.append((number, members[o]))
    elif p == owl.DIFFERENT_FROM:
        facts.different.append((number, members[o]))


def _checked(triple: Triple, value: Literal, values: OpaqueValues) -> tuple[str, str, str | None]:
    """A literal in the form of the reasoner; an invalid one would damage its state."""
    try:
        told = values.tell(value)
    except TermError as error:
        wrong = Contradiction((line_of(triple),))
        where = f"{triple[0].n3} {triple[1].n3}: {error.message}"
        raise Inconsistent(where, contradiction=wrong) from None
    return told.lexical, told.datatype, told.language


def names(members: Iterable[Subject], limit: int = 5) -> str:
    """The first members of an island, as text."""
    listed = [m.n3 if isinstance(m, IRI | BlankNode) else str(m) for m in members]
    more = f" and {len(listed) - limit} more" if len(listed) > limit else ""
    return ", ".join(listed[:limit]) + more


Answer: TypeAlias = Sequence[MemberEntailments] | None
"""The entailments about each member; None if the island contradicts the axioms."""

_ROUNDS = 2
_LARGEST = 64


class IslandShape(NamedTuple):
    """The key of an island, and its members in the order of the key."""

    key: Hashable
    order: Sequence[int] | None


class Memo:
    """The answers for the shapes used last; ``hits`` and ``misses`` count look-ups."""

    __slots__ = ("_answers", "_classes", "_size", "hits", "misses")

    def __init__(self, classes: ValueClasses, size: int) -> None:
        self._classes = classes
        self._size = size
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()
        self.hits = 0
        self.misses = 0

    def shape(self, facts: IslandFacts) -> IslandShape | None:
        """The shape of an island; None if it is so large that it will probably not occur again."""
        count = len(facts.names)
        if count > _LARGEST or not self._size:
            return None
        values = set(self._classes.told(facts.values))
        if count == 1:
            # Sets, because repeated assertions have no effect.
            told = (frozenset(facts.types), frozenset(values), frozenset(facts.links))
            return IslandShape((facts.names[0], *told, bool(facts.different)), None)
        order = _order(facts, values)
        place = {member: number for number, member in enumerate(order)}
        return IslandShape(
            (
                tuple(facts.names[member] for member in order),
                frozenset((place[n], c) for n, c in facts.types),
                frozenset((place[n], p, each) for n, p, each in values),
                frozenset((place[n], p, place[m]) for n, p, m in facts.links),
                frozenset((place[n], place[m]) for n, m in facts.same),
                frozenset((place[n], place[m]) for n, m in facts.different),
            ),
            order,
        )

    def look_up(self, shape: IslandShape | None) -> tuple[Answer] | None:
        """The answer in a 1-tuple, as it may be None (contradiction); None if it is not known."""
        if shape is None or shape.key not in self._answers:
            self.misses += 1
            return None
        self.hits += 1
        self._answers.move_to_end(shape.key)
        answer = self._answers[shape.key]
        if answer is None or shape.order is None:
            return (answer,)
        back = shape.order
        members = [MemberEntailments()] * len(back)
        for number, each in enumerate(answer):
            members[back[number]] = _renumbered(each, back)
        return (members,)

    def store(self, shape: IslandShape, answer: Answer) -> None:
        """Store an answer; the least recently used one is removed."""
        if answer is not None and shape.order is not None:
            place = [0] * len(shape.order)
            for number, member in enumerate(shape.order):
                place[member] = number
            answer = [_renumbered(answer[member], place) for member in shape.order]
        self._answers[shape.key] = answer
        if len(self._answers) > self._size:
            self._answers.popitem(last=False)


def _renumbered(entailed: MemberEntailments, place: Sequence[int]) -> MemberEntailments:
    if not entailed.links and not entailed.same:
        return entailed
    return MemberEntailments(
        entailed.types,
        frozenset((role, place[other]) for role, other in entailed.links),
        entailed.values,
        frozenset(place[other] for other in entailed.same),
    )


def _order(facts: IslandFacts, values: set[tuple[int, str, Hashable]]) -> list[int]:
    """The members, ordered by the assertions about them and their neighbours."""
    told: list[list[str]] = [[name or ""] for name in facts.names]
    for n, name in facts.types:
        told[n].append(name)
    for n, prop, each in values:
        told[n].append(f"{prop} {each}")
    around: list[list[tuple[str, int]]] = [[] for _ in told]
    pairs = [("=", facts.same), ("≠", facts.different)]
    edges = [*facts.links, *((n, kind, m) for kind, some in pairs for n, m in some)]
    for n, role, m in edges:
        around[n].append((f"> {role}", m))
        around[m].append((f"< {role}", n))
    ranks = _ranked([tuple(sorted(set(each))) for each in told])
    for _ in range(_ROUNDS):
        ranks = _ranked(
            [
                (rank, tuple(sorted({(role, ranks[m]) for role, m in near})))
                for rank, near in zip(ranks, around, strict=True)
            ]
        )
    return sorted(range(len(ranks)), key=ranks.__getitem__)


def _ranked(colours: Sequence[tuple[object, ...]]) -> list[int]:
    number = {colour: rank for rank, colour in enumerate(sorted(set(colours)))}
    return [number[colour] for colour in colours]


# The time limit is per exchange, so a large change is split into questions about so many
# individuals, or about one island. If a question may be left open, it is about one island.
_AT_ONCE: Final = 64
_FIRST_WAIT: Final = 10
"""Questions like one that has failed that are not asked next."""
_LONGER: Final = 10
"""How many times as many after each further failure."""
_Question: TypeAlias = tuple[int, IslandFacts]
"""The number of an island, and what is asked about it."""


@mutable
class _Hard:
    """Questions of one vocabulary and at least ``size`` facts, one of which has failed. The next
    ``left`` of ``wait`` are not asked.
    """

    size: int
    wait: int
    left: int


class IslandQuestions:
    """The entailments about the members of islands, from the process or from the cache.

    With ``leaves_open``, a question that the process cannot answer, though it works otherwise, is
    left open: nothing follows by it. Similar questions are then left open, too, and asked again
    from time to time. ``left_open`` tells of each, until somebody takes it.
    """

    __slots__ = ("_hard", "_probes", "_worker", "classes", "leaves_open", "left_open", "memo")

    def __init__(self, terminology: Terminology, worker: Worker, remembered: int) -> None:
        self.leaves_open = False
        self.left_open: list[str] = []
        self._hard: dict[frozenset[str], _Hard] = {}
        classes = ValueClasses(
            Axioms(terminology.axioms),
            terminology.schema.object_properties,
            terminology.datatypes,
        )
        self.memo = Memo(classes, remembered)
        self.classes = classes
        self._probes = terminology.probes
        self._worker = worker

    def ask(self, islands: Sequence[Island]) -> list[Answer]:
        """The answer about each island.

        Raises:
            ReasonerError: the process failed, or (with ``leaves_open``) does not start.
        """
        answers: list[Answer] = [None] * len(islands)
        open_: dict[int, IslandShape | None] = {}
        for number, island in enumerate(islands):
            shape = self.memo.shape(island.facts)
            known = self.memo.look_up(shape)
            if known is not None:
                (answers[number],) = known
            elif self._is_hard(island.facts):
                answers[number] = self._left_open(island, "such questions have failed")
            else:
                open_[number] = shape
        asked = [(shape, islands[number]) for number, shape in open_.items()]
        for number, answer in zip(open_, self._asked(asked), strict=True):
            answers[number] = answer
        return answers

    def _asked(self, islands: Sequence[tuple[IslandShape | None, Island]]) -> Iterator[Answer]:
        if not self.leaves_open:
            found = self._exchange([island.facts for _, island in islands])
            for (shape, island), answer in zip(islands, found, strict=True):
                yield self._kept(shape, island, answer)
            return
        for shape, island in islands:
            try:
                with self._worker.one_question():
                    (one,) = self._exchange([island.facts])
            except ReasonerError as error:
                # The new process shows if the fault is the question's: else nothing can be asked.
                self._worker.close()
                self._worker.start()
                yield self._failed(island, error)
            else:
                yield self._kept(shape, island, one)

    def _kept(self, shape: IslandShape | None, island: Island, answer: Answer) -> Answer:
        self._hard.pop(_vocabulary(island.facts), None)
        if shape is not None:
            self.memo.store(shape, answer)
        return answer

    def _failed(self, island: Island, error: ReasonerError) -> Answer:
        size, key = _size(island.facts), _vocabulary(island.facts)
        before = self._hard.get(key)
        wait = _FIRST_WAIT if before is None else before.wait * _LONGER
        least = size if before is None else min(size, before.size)
        self._hard[key] = _Hard(least, wait, wait)
        return self._left_open(island, error.message)

    def _is_hard(self, facts: IslandFacts) -> bool:
        """Whether a question is not asked now because others like it have failed."""
        hard = self._hard.get(_vocabulary(facts)) if self._hard else None
        if hard is None or _size(facts) < hard.size or not hard.left:
            return False
        hard.left -= 1
        return True

    def _left_open(self, island: Island, why: str) -> Answer:
        self.left_open.append(f"what follows of {names(island.members)} is not decided: {why}")
        return [MemberEntailments() for _ in island.facts.names]

    def _exchange(self, islands: Sequence[IslandFacts]) -> list[Answer]:
        questions = [(n, each) for n, f in enumerate(islands) for each in self._probes.questions(f)]
        told: list[list[list[list[str]]] | None] = [[] for _ in islands]
        for part in _parts(questions):
            answers = self._worker.ask([facts for _, facts in part])
            for (number, _), answer in zip(part, answers, strict=True):
                so_far = told[number]
                if answer is None or so_far is None:
                    told[number] = None
                else:
                    so_far.append(answer)
        return [
            None if answer is None else self._probes.read(answer, facts)
            for answer, facts in zip(told, islands, strict=True)
        ]


def _vocabulary(facts: IslandFacts) -> frozenset[str]:
    """The classes and properties that a question is about."""
    return frozenset(
        [
            *(name for _, name in facts.types),
            *(name for _, name, _ in facts.links),
            *(name for _, name, *_ in facts.values),
        ]
    )


def _size(facts: IslandFacts) -> int:
    told = len(facts.types) + len(facts.links) + len(facts.values)
    return told + len(facts.same) + len(facts.different)


def _parts(questions: Sequence[_Question]) -> Iterator[list[_Question]]:
    """Questions that are asked at once, in their order."""
    part: list[_Question] = []
    size = 0
    for each in questions:
        members = len(each[1].names)
        if part and size + members > _AT_ONCE:
            yield part
            part, size = [], 0
        part.append(each)
        size += members
    if part:
        yield part
