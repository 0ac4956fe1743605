"""Islands: individuals that the reasoner is asked about together, with assertions about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from sensorstream.errors import Contradiction, Inconsistent, TermError
from sensorstream.kb.graph import KnowledgeBase, Origin
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
    """Individuals; ``facts`` number them in the order of ``members``."""

    members: tuple[Subject, ...]
    facts: IslandFacts


def whole_window(kb: KnowledgeBase, terminology: Terminology) -> Island:
    """Every individual of window, static graph and axioms, with all that is asserted of them.

    Raises:
        Inconsistent: a literal is not in its datatype's lexical space.
    """
    links = terminology.schema.object_properties | _EQUALITY
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
    """These individuals, with no other facts than these about them.

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
    """The same facts, where a link that joins nobody is what it says of each of its ends."""
    for triple in triples:
        s, p, o = triple
        joins = p in terminology.linking or p in (RDF_TYPE, OWL_SAME_AS, OWL_DIFFERENT_FROM)
        if joins or isinstance(o, Literal):
            yield triple
            continue
        ends = terminology.local.get(p, _NO_ENDS)
        yield from ((s, RDF_TYPE, IRI(name)) for name in ends.subject)
        yield from ((o, RDF_TYPE, IRI(name)) for name in ends.object)


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
