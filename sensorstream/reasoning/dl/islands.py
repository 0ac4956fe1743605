"""Islands: individuals that the asserted graphs connect, with the assertions about them.

If the disjoint union of models is a model, the entailments about an individual depend only on its
own island (docs/reasoning.md has the argument and the condition).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from sensorstream.errors import Contradiction, Inconsistent, TermError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Triple
from sensorstream.model.vocabulary import OWL_DIFFERENT_FROM, OWL_SAME_AS, RDF_TYPE
from sensorstream.reasoning.dl.datatypes import Numbers
from sensorstream.reasoning.dl.protocol import IslandFacts
from sensorstream.reasoning.dl.terminology import HELPER, PropertyEnds, Terminology

_ASSERTED: Final = int(Origin.STATIC | Origin.WINDOW)
_EQUALITY: Final = frozenset({OWL_SAME_AS, OWL_DIFFERENT_FROM})
_NO_ENDS: Final = PropertyEnds()


@dataclass(frozen=True, slots=True)
class Island:
    """Connected individuals; ``facts`` number them in the order of ``members``."""

    members: tuple[Subject, ...]
    facts: IslandFacts


class Islands:
    """Finds islands in a knowledge base; O(triples of the island) each."""

    __slots__ = ("_ends", "_joining", "_joins", "_kb", "_terminology")

    def __init__(self, kb: KnowledgeBase, terminology: Terminology) -> None:
        self._kb = kb
        self._terminology = terminology
        self._joins = terminology.linking | _EQUALITY
        self._joining = self._joins | terminology.schema.object_properties
        self._ends = [
            (role, each.object) for role, each in terminology.local.items() if each.object
        ]

    def touched(self, delta: Delta) -> dict[Subject, None]:
        """The individuals whose island a change of the window touches, removed ones included."""
        nodes: dict[Subject, None] = {}
        for triples in (delta.added, delta.removed):
            for s, p, o in triples:
                nodes[s] = None
                if p in self._joining and not isinstance(o, Literal):
                    nodes[o] = None
        return nodes

    def around(self, nodes: Iterable[Subject]) -> Iterator[Island]:
        """The islands of those ``nodes`` that exist; each island once.

        Raises:
            Inconsistent: a literal is not in its datatype's lexical space.
        """
        seen: set[Subject] = set()
        for node in nodes:
            if node not in seen and self._exists(node):
                island = self.joined([node])
                seen.update(island.members)
                yield island

    def joined(self, start: Iterable[Subject]) -> Island:
        """Some individuals and everything that is connected with them, as one island.

        Raises:
            Inconsistent: a literal is not in its datatype's lexical space.
        """
        told = self._members(start)
        named = self._terminology.named
        facts = IslandFacts([m if m in named else None for m in told], [], [], [], [], [])
        numbers = {member: number for number, member in enumerate(told)}
        values = self._terminology.datatypes.numbers()
        for number, (node, triples) in enumerate(told.items()):
            for triple in triples:
                _tell(self._terminology, facts, triple, numbers, values)
            for role, ends in self._ends:
                if any(map(self._is_asserted, self._kb.match(None, role, node))):
                    facts.types.extend((number, name) for name in ends)
        return Island(tuple(told), facts)

    def whole(self) -> Island:
        """Every individual of window, static graph and axioms, as one island.

        Raises:
            Inconsistent: a literal is not in its datatype's lexical space.
        """
        start: dict[Subject, None] = dict.fromkeys(sorted(self._terminology.named))
        start.update(dict.fromkeys(self._terminology.individuals))
        for s, p, o in self._kb.triples(Origin.WINDOW):
            start[s] = None
            if p in self._joining and not isinstance(o, Literal):
                start[o] = None
        return self.joined(start)

    def _exists(self, node: Subject) -> bool:
        if any(self._is_asserted(t) for t in self._kb.match(node, None, None)):
            return True
        into = self._kb.match(None, None, node)
        return any(t[1] in self._joining and self._is_asserted(t) for t in into)

    def _members(self, start: Iterable[Subject]) -> dict[Subject, list[Triple]]:
        """Everything connected with ``start``, each individual with the assertions about it."""
        joins = self._joins
        members: dict[Subject, list[Triple]] = {}
        ahead = list(start)
        for node in ahead:  # grows while it is read
            if node in members:
                continue
            told = [t for t in self._kb.match(node, None, None) if self._is_asserted(t)]
            members[node] = told
            ahead.extend(o for _, p, o in told if p in joins and not isinstance(o, Literal))
            # By property: thousands may point at a node by properties that do not join.
            for role in joins:
                into = self._kb.match(None, role, node)
                ahead.extend(triple[0] for triple in into if self._is_asserted(triple))
        return members

    def _is_asserted(self, triple: Triple) -> bool:
        return self._kb.marks(triple) & _ASSERTED != 0


def of_facts(
    terminology: Terminology, members: Iterable[Subject], triples: Iterable[Triple]
) -> Island:
    """These individuals, with no other facts than these about them.

    Raises:
        Inconsistent: a literal is not in its datatype's lexical space.
    """
    numbers = {member: number for number, member in enumerate(members)}
    named = terminology.named
    facts = IslandFacts([m if m in named else None for m in numbers], [], [], [], [], [])
    values = terminology.datatypes.numbers()
    for triple in triples:
        _tell(terminology, facts, triple, numbers, values)
    return Island(tuple(numbers), facts)


def _tell(
    terminology: Terminology,
    facts: IslandFacts,
    triple: Triple,
    members: dict[Subject, int],
    values: Numbers,
) -> None:
    """Add a triple to the facts about an island."""
    s, p, o = triple
    number = members[s]
    if isinstance(o, Literal):
        if p in terminology.data and terminology.datatypes.is_told(o.datatype):
            facts.values.append((number, p, *_checked(triple, o, values)))
    elif p == RDF_TYPE:
        if o in terminology.schema.classes:
            facts.types.append((number, o))
        elif helper := terminology.helpers.get(o):
            facts.types.append((number, helper))
        elif o.startswith(HELPER):
            facts.types.append((number, o))
    elif p in terminology.linking:
        facts.links.append((number, p, members[o]))
    elif p == OWL_SAME_AS:
        facts.same.append((number, members[o]))
    elif p == OWL_DIFFERENT_FROM:
        facts.different.append((number, members[o]))
    else:
        ends = terminology.local.get(p, _NO_ENDS)
        facts.types.extend((number, name) for name in ends.subject)
        if o in members:
            facts.types.extend((members[o], name) for name in ends.object)


def _checked(triple: Triple, value: Literal, values: Numbers) -> tuple[str, str, str | None]:
    """A literal in the form of the reasoner; an invalid one would damage its state."""
    try:
        told = values.tell(value)
    except TermError as error:
        wrong = Contradiction((" ".join(term.n3 for term in triple) + " .",))
        where = f"{triple[0].n3} {triple[1].n3}: {error.message}"
        raise Inconsistent(where, contradiction=wrong) from None
    return told.lexical, told.datatype, told.language


def names(members: Iterable[Subject], limit: int = 5) -> str:
    """The first members of an island, as text."""
    listed = [m.n3 if isinstance(m, IRI | BlankNode) else str(m) for m in members]
    more = f" and {len(listed) - limit} more" if len(listed) > limit else ""
    return ", ".join(listed[:limit]) + more
