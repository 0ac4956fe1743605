"""Entailments from questions about whole islands, for axioms that have no complete bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from sensorstream.errors import Inconsistent
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Literal, Subject, Triple
from sensorstream.model.vocabulary import OWL_SAME_AS, RDF_TYPE
from sensorstream.reasoning.dl.claims import Claims
from sensorstream.reasoning.dl.decisions import Decisions
from sensorstream.reasoning.dl.islands import Island, Islands, names
from sensorstream.reasoning.dl.memo import Answer
from sensorstream.reasoning.dl.neighbours import set_apart
from sensorstream.reasoning.dl.probes import triples_of
from sensorstream.reasoning.dl.questions import Questions
from sensorstream.reasoning.dl.sharing import Sharing
from sensorstream.reasoning.dl.sizes import IslandSizes
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.schema_closure import SchemaClosure

# Triples in one of these graphs are not new.
_KNOWN: Final = int(Origin.STATIC | Origin.WINDOW | Origin.STATIC_INFERRED)
_NO_TYPES: Final[frozenset[IRI]] = frozenset()
_NO_TRIPLES: Final[frozenset[Triple]] = frozenset()
_NO_NODES: Final[frozenset[Subject]] = frozenset()
_T = TypeVar("_T")


@dataclass(slots=True)
class _Findings:
    """The answers about the individuals that a change affects, removed ones included."""

    types: dict[Subject, frozenset[IRI]]
    triples: dict[Subject, frozenset[Triple]] = field(default_factory=dict)
    names: dict[Subject, frozenset[Subject]] = field(default_factory=dict)
    sizes: dict[Subject, int] = field(default_factory=dict)
    mainland: frozenset[Subject] = _NO_NODES


class WholeIslands:
    """Keeps all entailments about every individual: its classes, values and other names.

    Per change the reasoner's process is asked about the islands of the changed individuals.
    Islands that named individuals, or ``terminology.whole``, may reach are asked about
    together: they are the *mainland*.
    """

    def __init__(self, terminology: Terminology, questions: Questions) -> None:
        self._terminology = terminology
        self._questions = questions
        self._closure = SchemaClosure(terminology.schema, types=False)
        self._decisions: Decisions | None = None
        self._types: dict[Subject, frozenset[IRI]] = {}
        self._triples: dict[Subject, frozenset[Triple]] = {}
        self._shares: dict[Subject, frozenset[Triple]] = {}
        self._names: dict[Subject, frozenset[Subject]] = {}
        self._mainland: frozenset[Subject] = terminology.named
        self._claims = Claims()
        self._sizes = IslandSizes()

    @property
    def largest_island(self) -> int:
        """The most individuals that are asked about together; for any thread."""
        return self._sizes.largest

    def start(self, kb: KnowledgeBase) -> None:
        """Derive the entailments about the static individuals.

        Raises:
            Inconsistent: they have no model.
            ReasonerError: the reasoner's process failed.
        """
        self.close()
        self._decisions = _decisions(self._terminology)
        terminology = self._terminology
        self._check_links(kb)
        known = (*terminology.individuals, *sorted(terminology.named))
        found = self._find(kb, dict.fromkeys(known))
        types = self._decide(kb, found.types)
        self._names, self._mainland = found.names, found.mainland
        self._sizes.update(found.types, found.sizes)
        sharing = Sharing(kb, terminology)
        derived = {t: None for node, each in types.items() for t in _typed(node, each)}
        for triples in found.triples.values():
            derived.update(dict.fromkeys(sorted(triples)))
        for node in self._names:
            derived.update(dict.fromkeys(sharing.of(node, self._names)))
        for triple in kb.triples(Origin.STATIC):
            derived.update(dict.fromkeys(terminology.roles.conclusions(triple)))
        self._closure.start(kb)
        kb.add(Origin.STATIC_INFERRED, derived)

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """See :class:`~sensorstream.reasoning.reasoner.Reasoner`."""
        if self._decisions is not None and self._decisions.are_spoilt_by(delta.added):
            self._decisions = None
        found = self._find(kb, self._islands(kb).touched(delta))
        # Nothing below fails: from here on the state may change.
        added: list[Triple] = []
        removed: list[Triple] = []
        for node, types in self._decide(kb, found.types).items():
            before = self._types.get(node, _NO_TYPES)
            if types != before:
                added += _typed(node, types - before)
                removed += _typed(node, before - types)
                _put(self._types, node, types)
        for node in found.types:
            self._claim(self._triples, node, found.triples.get(node, _NO_TRIPLES))
        self._share(kb, delta, found)
        self._mainland = found.mainland
        self._sizes.update(found.types, found.sizes)
        roles = self._terminology.roles
        for triple in delta.removed:
            self._claims.drop(roles.conclusions(triple))
        for triple in delta.added:
            self._claims.add(roles.conclusions(triple))
        properties = self._claims.changes(delta.time)
        change = Delta(delta.time, (*added, *properties.added), (*removed, *properties.removed))
        kb.apply(Origin.INFERRED, change)
        return change

    def close(self) -> None:
        """Forget everything."""
        self._closure.close()
        self._mainland = self._terminology.named
        self._types.clear()
        self._triples.clear()
        self._shares.clear()
        self._names.clear()
        self._claims.clear()
        self._sizes.clear()

    def _islands(self, kb: KnowledgeBase) -> Islands:
        if self._decisions is not None:
            return Islands(kb, self._decisions.terminology)
        return Islands(kb, self._terminology)

    def _check_links(self, kb: KnowledgeBase) -> None:
        decisions = self._decisions
        if decisions is not None and decisions.are_spoilt_by(kb.triples(Origin.STATIC)):
            self._decisions = None

    def _find(self, kb: KnowledgeBase, nodes: dict[Subject, None]) -> _Findings:
        """The entailments about the nodes and all other members of their islands."""
        # A node that is in no island now has no types.
        found = _Findings(dict.fromkeys(nodes, _NO_TYPES), mainland=self._mainland)
        if not nodes:
            return found
        search = self._islands(kb)
        free, attached = self._parted(search.around(nodes))
        for island, answer in free:
            _take(kb, found, island, answer)
        if attached or not self._mainland.isdisjoint(found.types):
            stays = self._mainland.difference(found.types)
            start = dict.fromkeys(sorted(self._terminology.named | stays))
            start.update((node, None) for island in attached for node in island.members)
            whole = search.joined(start)
            [answer] = self._questions.ask([whole])
            _take(kb, found, whole, answer)
            found.mainland = frozenset(whole.members)
        return found

    def _parted(
        self, islands: Iterable[Island]
    ) -> tuple[list[tuple[Island, Answer]], list[Island]]:
        """The independent islands, with the entailments about them; and the other islands."""
        named = self._terminology.named
        if self._terminology.whole:
            return [], list(islands)
        alone = list(islands)
        if not named:
            return list(zip(alone, self._questions.ask(alone), strict=True)), []
        attached = [island for island in alone if not named.isdisjoint(island.members)]
        alone = [island for island in alone if named.isdisjoint(island.members)]
        free: list[tuple[Island, Answer]] = []
        answers = self._questions.ask(alone)
        for island, answer in zip(alone, answers, strict=True):
            if answer is None:
                raise _inconsistent(island)
        # Entailments without named individuals cannot depend on these, and no model of this island
        # can affect them (docs/reasoning.md has the argument).
        elsewhere = self._questions.ask(alone, unnamed=True)
        for island, answer, without in zip(alone, answers, elsewhere, strict=True):
            if without is not None and list(without) == list(answer or ()):
                free.append((island, answer))
            else:
                attached.append(island)
        return free, attached

    def _decide(
        self, kb: KnowledgeBase, found: Mapping[Subject, frozenset[IRI]]
    ) -> dict[Subject, frozenset[IRI]]:
        """The inferences about the nodes found, and about their neighbours with definitions."""
        inferred = {node: _new_types(kb, node, types) for node, types in found.items()}
        decisions = self._decisions
        if decisions is None:
            return inferred
        for node, decided in decisions.update(kb, found).items():
            types = inferred.get(node, self._types.get(node, _NO_TYPES))
            inferred[node] = (types - decisions.names) | _new_types(kb, node, decided)
        return inferred

    def _share(self, kb: KnowledgeBase, delta: Delta, found: _Findings) -> None:
        """Update the triples that the names of one individual share."""
        before = {node: self._names[node] for node in found.types if node in self._names}
        if not before and not found.names and not self._names:
            return
        sharing = Sharing(kb, self._terminology)
        for node in found.types:
            _put(self._names, node, found.names.get(node, _NO_NODES))
        changed = {n for n in found.types if before.get(n) != self._names.get(n)}
        for s, _, o in (*delta.added, *delta.removed):
            changed.add(s)
            if not isinstance(o, Literal):
                changed.add(o)
        for node in sorted(sharing.affected(changed, before, self._names)):
            shares = sharing.of(node, self._names)
            self._claim(self._shares, node, frozenset(_news(kb, shares)))

    def _claim(
        self,
        held: dict[Subject, frozenset[Triple]],
        node: Subject,
        triples: frozenset[Triple],
    ) -> None:
        before = held.get(node, _NO_TRIPLES)
        if triples != before:
            self._claims.drop(sorted(before - triples))
            self._claims.add(sorted(triples - before))
            _put(held, node, triples)


def _decisions(terminology: Terminology) -> Decisions | None:
    apart = set_apart(terminology)
    return None if apart is None else Decisions(apart)


def _take(kb: KnowledgeBase, found: _Findings, island: Island, answer: Answer) -> None:
    """Enter the answer about an island."""
    if answer is None:
        raise _inconsistent(island)
    members = island.members
    if len(members) > 1:
        found.sizes.update(dict.fromkeys(members, len(members)))
    for number, (member, entailed) in enumerate(zip(members, answer, strict=True)):
        found.types[member] = entailed.types
        if entailed.links or entailed.values or entailed.same:
            follow = triples_of(entailed, number, members, OWL_SAME_AS)
            found.triples[member] = frozenset(_news(kb, follow))
        if entailed.same:
            others = {members[other] for other in entailed.same}
            found.names[member] = frozenset(others | {member})


def _inconsistent(island: Island) -> Inconsistent:
    return Inconsistent(
        "the message contradicts the ontology: no world is possible in which all is true "
        f"that is asserted of {names(island.members)}",
        individuals=tuple(member.n3 for member in island.members),
    )


def _news(kb: KnowledgeBase, triples: Iterable[Triple]) -> Iterator[Triple]:
    return (triple for triple in triples if not kb.marks(triple) & _KNOWN)


def _new_types(kb: KnowledgeBase, node: Subject, types: Iterable[IRI]) -> frozenset[IRI]:
    return frozenset(c for c in types if not kb.marks((node, RDF_TYPE, c)) & _KNOWN)


def _typed(node: Subject, types: frozenset[IRI]) -> list[Triple]:
    return [(node, RDF_TYPE, each) for each in sorted(types)]


def _put(held: dict[Subject, frozenset[_T]], node: Subject, value: frozenset[_T]) -> None:
    """Set an entry, or remove it if the value is empty."""
    if value:
        held[node] = value
    else:
        held.pop(node, None)
