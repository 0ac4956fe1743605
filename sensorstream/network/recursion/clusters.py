"""Clusters of names for one thing, and units of triples that differ only in such names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product
from typing import TypeAlias

from sensorstream.model import owl
from sensorstream.model.terms import IRI, Literal, Term, Triple


class Cluster:
    """Names for one thing, in order of arrival, with the literals that are said to equal it.

    Literals cannot be subjects, so they are no members: they stand where a member is an object.
    ``units`` are those that have the cluster in any place.
    """

    __slots__ = ("members", "units", "values")

    def __init__(self, members: Iterable[Term] = ()) -> None:
        self.members: dict[Term, None] = dict.fromkeys(members)
        self.values: dict[Literal, None] = {}
        self.units: dict[KeyTriples, None] = {}


Part: TypeAlias = Term | Cluster
Key: TypeAlias = tuple[Part, Part, Part]
Link: TypeAlias = tuple[Part, Part]
"""A pair that is said to be the same."""
Block: TypeAlias = tuple[Sequence[Term], Sequence[Term], Sequence[Term]]
"""The triples of a unit: every choice of one term for each place."""


class KeyTriples:
    """A unit: the triples of a key; ``own`` hold for another reason than equality."""

    __slots__ = ("key", "own")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.own: dict[Triple, None] = {}


def block_of(key: Key, known: dict[Cluster, tuple[Term, ...]] | None = None) -> Block:
    """The triples of a unit; ``known`` caches the members of clusters."""
    known = {} if known is None else known
    places: list[Sequence[Term]] = []
    for part in key:
        if not isinstance(part, Cluster):
            places.append((part,))
            continue
        if part not in known:
            known[part] = tuple(part.members)
        places.append(known[part])
    subjects, properties, objects = places
    if isinstance(key[1], Cluster):
        properties = tuple(each for each in properties if isinstance(each, IRI))
    return subjects, properties, objects


def triples_of(block: Block) -> Iterator[Triple]:
    """The triples of a block, each once."""
    return product(*block)  # type: ignore[return-value]


def beyond(block: Block, parts: Sequence[Block]) -> Iterator[Triple]:
    """The triples of a block that are in none of its parts; O(these, and all but the largest)."""
    if not parts:
        return triples_of(block)
    largest = max(parts, key=_size)
    there = {each for part in parts if part is not largest for each in triples_of(part)}
    return (each for each in _beyond(block, largest) if each not in there)


def _beyond(block: Block, part: Block) -> Iterator[Triple]:
    """The triples of a block that are not in a part of it; O(1) each."""
    found: list[Iterator[Triple]] = []
    before: list[Sequence[Term]] = []
    for place, terms in enumerate(part):
        here = frozenset(terms)
        new = [term for term in block[place] if term not in here]
        found.append(triples_of((*before, new, *block[place + 1 :])))  # type: ignore[arg-type]
        before.append(terms)
    return chain.from_iterable(found)


def _size(block: Block) -> int:
    subjects, properties, objects = block
    return len(subjects) * len(properties) * len(objects)


def values_of(key: Key) -> Iterable[Literal]:
    """The literals that are said to equal the object of a unit."""
    return key[2].values if isinstance(key[2], Cluster) else ()


class Clusters:
    """An index of clusters by name and of units by key; a change costs O(1) per unit or name.

    ``properties``: whether properties are names as well. Without ``literals``, a triple with a
    literal mentions a cluster only if it is ``owl:sameAs``.
    """

    def __init__(self, *, properties: bool, literals: bool) -> None:
        self.properties = properties
        self.literals = literals
        self.at: dict[Term, Cluster] = {}
        self.units: dict[Key, KeyTriples] = {}

    def key(self, triple: Triple) -> Key | None:
        """The key of a triple; None if it mentions no cluster."""
        at = self.at
        if not at:
            return None
        s, p, o = triple
        if not self.literals and isinstance(o, Literal) and p != owl.SAME_AS:
            return None
        subject, object_ = at.get(s), at.get(o)
        property = at.get(p) if self.properties else None
        if subject is None and property is None and object_ is None:
            return None
        return subject or s, property or p, object_ or o

    def property(self, name: IRI) -> Part:
        """The part that a property is in keys."""
        return self.at.get(name, name) if self.properties else name

    def unit(self, triple: Triple) -> KeyTriples | None:
        key = self.key(triple)
        return None if key is None else self.units.get(key)

    def make(self, key: Key) -> KeyTriples:
        """Make a unit for a key that has none."""
        unit = self.units[key] = KeyTriples(key)
        for part in key:
            if isinstance(part, Cluster):
                part.units[unit] = None
        return unit

    def give(self, triple: Triple) -> KeyTriples:
        """Add a triple that mentions a cluster to the own ones of its unit; returns the unit."""
        key = self.key(triple)
        assert key is not None, "it mentions no cluster"
        unit = self.units.get(key) or self.make(key)
        unit.own[triple] = None
        return unit

    def drop(self, unit: KeyTriples) -> None:
        """Remove a unit, which keeps its own triples."""
        del self.units[unit.key]
        for part in unit.key:
            if isinstance(part, Cluster):
                part.units.pop(unit, None)

    def is_there(self, unit: KeyTriples) -> bool:
        return self.units.get(unit.key) is unit
