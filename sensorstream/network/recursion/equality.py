"""Equality (``owl:sameAs``) and its consequences, without a derivation for each pair of names.

Terms that are the same are one *cluster*. Triples that differ only in names of the same clusters
are one *unit*: all of them hold as soon as one does for a reason of its own. So a triple costs one
step, not one for each of the triples that it could be derived from.

Source: Motik, Nenov, Piro, Horrocks, "Handling owl:sameAs via rewriting", AAAI 2015, and "Combining
rewriting and incremental materialisation maintenance for Datalog programs with equality", IJCAI
2015. Unlike there, all triples are written, as queries and other rules read them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from sensorstream.errors import Overrun
from sensorstream.model import owl
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.network.budget import Budget, Meter
from sensorstream.network.graph_components import components, reached
from sensorstream.network.recursion.clusters import (
    Cluster,
    Clusters,
    Key,
    KeyTriples,
    Link,
    Part,
    beyond,
    block_of,
    triples_of,
    values_of,
)
from sensorstream.network.recursion.derivation_rule import RuleClause
from sensorstream.network.recursion.derived_triples import Derived
from sensorstream.network.recursion.equality_rules import EqualityRules
from sensorstream.network.recursion.linear_rules import FlatClosure
from sensorstream.network.recursion.triple_kinds import KindIndex, TriplesRead, reads, written
from sensorstream.sparql.algebra import TriplePattern

_TOGETHER: Final = 1024
"""Triples that are written before the budget is checked again."""


class UnitWriter:
    """Writes triples of units to the derived graph; O(triples and what follows).

    ``count`` gets what begins and what ceases to follow from them: copies with the literals that
    their objects are said to be, and the conclusions of ``linear``. ``is_written`` tells whether
    rules derive a triple that was added. ``size`` is the number of triples of units, and
    ``at_work`` says that the graph changes because of this writer. Its methods raise Overrun, with
    the ``name`` of the rule, if the triples are too many, or take too long.
    """

    def __init__(
        self,
        name: str,
        derived: Derived,
        linear: FlatClosure | None,
        count: Callable[[Iterable[Triple], Iterable[Triple]], None],
        is_written: Callable[[Triple], bool],
        budget: Budget,
    ) -> None:
        self.is_written = is_written
        self.size = 0
        self.at_work = False
        self._name = name
        self._derived = derived
        self._linear = linear
        self._count = count
        self._meter = Meter(budget)

    def write_alone(self, triples: Iterable[Triple]) -> None:
        """Write derived triples that are of no unit."""
        self.at_work = True
        self._derived.add(triples)
        self.at_work = False

    def write(
        self, triples: Iterator[Triple], values: Iterable[Literal], *, joined: bool = False
    ) -> None:
        """Write triples of a unit; if it was ``joined``, rules may have written some."""
        while part := list(islice(triples, _TOGETHER)):
            self._take(len(part))
            new = [each for each in part if not self.is_written(each)] if joined else part
            self.write_alone(new)
            self._derived.touch(part)
            self.size += len(part)
            self._count(self._following(part, values), ())

    def erase(
        self, triples: Iterator[Triple], values: Iterable[Literal], kept: Container[Triple] = ()
    ) -> None:
        """Remove triples from a unit; those ``kept`` stay in the graph."""
        while part := list(islice(triples, _TOGETHER)):
            self._take(len(part))
            self._derived.remove([each for each in part if each not in kept])
            self._derived.touch(part)
            self.size -= len(part)
            self._count((), self._following(part, values))

    def _following(self, part: Sequence[Triple], values: Iterable[Literal]) -> Iterator[Triple]:
        """The triples that follow from some of a unit, beside those of the unit."""
        return chain(self._copied(part, values), self._concluded(part))

    def exchange(
        self, triples: Sequence[Triple], new: Iterable[Literal], gone: Iterable[Literal]
    ) -> None:
        """Replace literals that the objects of a unit's triples are said to be by others."""
        self._take(len(triples))
        self._count(self._copied(triples, new), self._copied(triples, gone))

    def _copied(self, part: Iterable[Triple], values: Iterable[Literal]) -> Iterator[Triple]:
        """The triples with the values as their objects, and what follows from these."""
        copies: list[Triple] = [(s, p, value) for value in values for s, p, _ in part]
        return chain(copies, self._concluded(copies))

    def _concluded(self, triples: Iterable[Triple]) -> Iterable[Triple]:
        return () if self._linear is None else self._linear.conclusions(*triples)

    def _take(self, triples: int) -> None:
        try:
            self._meter.take(triples)
        except Overrun as error:
            raise Overrun(f"{self._name}: {error.message}") from None


def feeding(
    goal: TriplesRead, clauses: Iterable[RuleClause], linear: FlatClosure | None = None
) -> frozenset[TriplesRead]:
    """The goal, and all kinds of premises from which rules may conclude it, in several steps.

    Conclusions whose two ends are the same do not count.
    """
    writers: KindIndex[frozenset[TriplesRead]] = KindIndex()
    for clause in clauses:
        premises = frozenset(read.kind for read in reads(clause.body.pattern))
        for kind in _linking(clause.head):
            writers.add(kind, premises)
    if linear is not None:
        for premise, head in linear.steps():
            for kind in _linking(head):
                writers.add(kind, frozenset((written(premise),)))
        for table in linear.tables:
            for kind in table.heads:
                writers.add(kind, frozenset((TriplesRead(table.predicate, None),)))
    return frozenset(reached((goal,), lambda kind: chain.from_iterable([*writers.meeting(kind)])))


def _linking(head: Iterable[TriplePattern]) -> Iterator[TriplesRead]:
    return (written(triple) for triple in head if triple.subject != triple.object)


class Equality:
    """Writes what a stratum derives, and what follows from it by equality.

    The triples of a unit are derived as long as one of its ``own`` is asserted, derived by another
    stratum, or by a rule of this one. When a unit loses one of these, the others may follow from it
    by way of rules: unless one is certain (held from outside the stratum), the unit is removed, and
    :meth:`remove` tells the stratum which triples of its rules went along; it adds those again that
    are still derived. A cluster that loses a link is split into the parts that certain links hold
    together.

    Cost: what is written or removed; for a cluster that loses a link a look at its other links, and
    where it falls apart, at the triples that mention it. A triple that mentions no cluster: up to
    three look-ups, or one if there are no clusters. Memory: the clusters, and the own triples of
    units. In the graph n names have n² triples of ``owl:sameAs``.
    """

    def __init__(
        self,
        rules: EqualityRules,
        clauses: Iterable[RuleClause],
        derived: Derived,
        linear: FlatClosure | None,
        writer: UnitWriter,
    ) -> None:
        """Work together with ``clauses``, over the graph of ``derived``."""
        self._clusters = Clusters(properties=rules.properties, literals=rules.literals)
        self._clauses = tuple(clauses)
        self._feeding: KindIndex[TriplesRead] | None = None
        self._derived = derived
        self._linear = linear
        self._writer = writer
        # Triples from outside since the last settling that may be of a unit.
        said = derived.kb.match(None, owl.SAME_AS, None)
        self._come: dict[Triple, None] = {each: None for each in said if each[0] != each[2]}

    # -- from outside the stratum ---------------------------------------------------------------

    def held(self, triples: Sequence[Triple]) -> None:
        """Note triples that come from outside, or have one more reason there."""
        at = self._clusters.at
        for triple in () if self._writer.at_work else triples:
            subject, predicate, object_ = triple
            if (predicate == owl.SAME_AS and subject != object_) or (
                at and (subject in at or object_ in at or predicate in at)
            ):
                self._come[triple] = None

    @property
    def size(self) -> int:
        return self._writer.size

    @property
    def pending(self) -> bool:
        """Whether triples have come that :meth:`take_in` has not seen."""
        return bool(self._come)

    def elsewhere(self, triple: Triple) -> bool:
        """Whether a triple that is derived here holds for a reason from outside as well."""
        return self._derived.elsewhere(triple)

    def is_of_unit(self, triple: Triple) -> bool:
        """Whether a triple has a name of a cluster, so that it may be a copy of another one."""
        return self._clusters.key(triple) is not None

    def owns(self, triple: Triple) -> bool:
        """Whether a triple is one of the own triples of its unit."""
        unit = self._clusters.unit(triple)
        return unit is not None and triple in unit.own

    def note(self) -> None:
        """Add triples that have come to the own ones of the units that exist already."""
        for triple in list(self._come):
            unit = self._clusters.unit(triple)
            if unit is not None and self.elsewhere(triple):
                unit.own[triple] = None
                del self._come[triple]

    def take_in(self) -> None:
        """Derive what follows from the triples that have come."""
        opened: list[KeyTriples] = []
        links: list[Link] = []
        come, self._come = self._come, {}
        for triple in come:
            if triple not in self._derived.kb:
                continue
            key = self._clusters.key(triple)
            if key is not None:
                self._hold(key, triple, opened)
                links += self._links([self._clusters.units[key]])
            elif triple[1] == owl.SAME_AS:
                links.append((triple[0], triple[2]))
        self._open(opened, links)

    # -- from the rules of the stratum ----------------------------------------------------------

    def add(self, triples: Iterable[Triple]) -> None:
        """Add triples that rules derive now, and did not before."""
        alone: list[Triple] = []
        opened: list[KeyTriples] = []
        links: list[Link] = []
        for triple in triples:
            key = self._clusters.key(triple)
            if key is not None:
                self._hold(key, triple, opened)
                continue
            alone.append(triple)
            if triple[1] == owl.SAME_AS and triple[0] != triple[2]:
                links.append((triple[0], triple[2]))
        self._writer.write_alone(alone)
        self._open(opened, links)

    def remove(self, triples: Iterable[Triple]) -> Iterable[Triple]:
        """Remove triples that rules derive no longer, or only perhaps.

        Returns the own triples of the units that are removed with them.
        """
        alone: list[Triple] = []
        hit: dict[KeyTriples, None] = {}
        for triple in triples:
            key = self._clusters.key(triple)
            if key is None:
                alone.append(triple)
                continue
            unit = self._clusters.units.get(key)
            if unit is not None and triple in unit.own and not self.elsewhere(triple):
                del unit.own[triple]
                hit[unit] = None
        self._derived.remove(alone)
        along: dict[Triple, None] = {}
        doubted: dict[Cluster, None] = {}
        for unit in hit:
            subject, predicate, _ = unit.key
            if predicate == self._same and isinstance(subject, Cluster):
                doubted[subject] = None
            if any(map(self.elsewhere, unit.own)):
                doubted.update(self._depending(unit))
            else:
                self._clusters.drop(unit)
                along.update(unit.own)
                self._writer.erase(triples_of(block_of(unit.key)), values_of(unit.key))
        while doubted:
            self._check(doubted.popitem()[0], along, doubted)
        return along

    # -- units ----------------------------------------------------------------------------------

    @property
    def _same(self) -> Part:
        """The part that ``owl:sameAs`` is in keys."""
        return self._clusters.property(owl.SAME_AS)

    def _hold(self, key: Key, triple: Triple, opened: list[KeyTriples]) -> None:
        """Add a triple to the own ones of its unit, which goes into ``opened`` if it is new."""
        unit = self._clusters.units.get(key)
        if unit is None:
            unit = self._clusters.make(key)
            opened.append(unit)
        unit.own[triple] = None

    def _open(self, units: Sequence[KeyTriples], links: Iterable[Link]) -> None:
        """Write the triples of new units, and join clusters that are the same now."""
        for unit in units:
            self._writer.write(triples_of(block_of(unit.key)), values_of(unit.key))
        ahead = [*links, *self._links(units)]
        while ahead:
            ahead = list(self._links(self._join(ahead)))

    def _links(self, units: Iterable[KeyTriples]) -> Iterator[Link]:
        """The pairs that units say are the same."""
        for unit in units:
            subject, predicate, object_ = unit.key
            if predicate == self._same and subject is not object_:
                yield subject, object_

    # -- clusters -------------------------------------------------------------------------------

    def _join(self, links: Iterable[Link]) -> list[KeyTriples]:
        """Make one cluster of all that is linked; returns the units with new keys."""
        near: dict[Part, dict[Part, None]] = {}
        values: list[tuple[Part, Literal]] = []
        for one, other in links:
            ahead = near.setdefault(one, {})
            if isinstance(other, Literal):
                values.append((one, other))
            else:
                ahead[other] = None
                near.setdefault(other, {})[one] = None
        joined: list[KeyTriples] = []
        for parts in components(near, lambda part: near[part]):
            if len(parts) > 1 or not isinstance(parts[0], Cluster):
                joined += self._merge(parts)
        for part, value in values:
            name = next(iter(part.members)) if isinstance(part, Cluster) else part
            cluster = self._clusters.at[name]
            self._mean(cluster, {**cluster.values, value: None})
        return [unit for unit in joined if self._clusters.is_there(unit)]

    def _merge(self, parts: Sequence[Part]) -> list[KeyTriples]:
        """Put parts into the largest cluster among them; returns its units."""
        clusters = [part for part in parts if isinstance(part, Cluster)]
        kept = max(clusters, key=lambda each: len(each.members), default=Cluster())
        others = [each for each in clusters if each is not kept]
        names = [part for part in parts if not isinstance(part, Cluster)]
        values = {value: None for each in clusters for value in each.values}
        for each in clusters:
            self._mean(each, {})
        moved = {unit: None for each in others for unit in each.units}
        found: list[Triple] = []
        for triple in chain.from_iterable(map(self._mentions, names)):
            unit = self._clusters.unit(triple)
            if unit is None:
                found.append(triple)
            else:
                moved[unit] = None
        known: dict[Cluster, tuple[Term, ...]] = {}
        blocks = {unit: block_of(unit.key, known) for unit in chain(kept.units, moved)}
        grown = {unit: [blocks[unit]] for unit in kept.units if unit not in moved}
        for unit in moved:
            self._clusters.drop(unit)
        for name in chain(names, *(each.members for each in others)):
            kept.members[name] = None
            self._clusters.at[name] = kept
        for unit in moved:
            target = self._clusters.give(next(iter(unit.own)))
            target.own.update(unit.own)
            grown.setdefault(target, []).append(blocks[unit])
        for triple in found:
            if self._clusters.key(triple) is not None:
                grown.setdefault(self._clusters.give(triple), [])
        known.clear()
        for unit, before in grown.items():
            new = beyond(block_of(unit.key, known), before)
            self._writer.write(new, values_of(unit.key), joined=True)
        self._mean(kept, values)
        return list(grown)

    def _mentions(self, name: Part) -> list[Triple]:
        match = self._derived.kb.match
        assert isinstance(name, IRI | BlankNode), "literals are the same as nothing"
        found = [*match(name, None, None), *match(None, None, name)]
        if self._clusters.properties and isinstance(name, IRI):
            found += match(None, name, None)
        return list(dict.fromkeys(found))

    def _mean(self, cluster: Cluster, values: dict[Literal, None]) -> None:
        """Set the literals that a cluster is said to equal."""
        old, cluster.values = cluster.values, values
        new = [value for value in values if value not in old]
        gone = [value for value in old if value not in values]
        if not new and not gone:
            return
        for unit in cluster.units:
            if unit.key[2] is cluster:
                self._writer.exchange(list(triples_of(block_of(unit.key))), new, gone)

    def _depending(self, unit: KeyTriples) -> dict[Cluster, None]:
        """The clusters of a unit, if their links may follow from its triples.

        When the unit has lost an own triple, such links may support themselves by way of the rest.
        """
        if self._feeding is None:
            self._feeding = KindIndex()
            for kind in feeding(TriplesRead(owl.SAME_AS, None), self._clauses, self._linear):
                self._feeding.add(kind, kind)
        _, properties, objects = block_of(unit.key)
        kinds = (TriplesRead(p, o) for p in properties for o in objects if isinstance(p, IRI))
        if all(next(self._feeding.meeting(kind), None) is None for kind in kinds):
            return {}
        return {part: None for part in unit.key if isinstance(part, Cluster)}

    def _check(
        self, cluster: Cluster, along: dict[Triple, None], doubted: dict[Cluster, None]
    ) -> None:
        """Split a cluster if no certain links hold it together."""
        if self._clusters.at.get(next(iter(cluster.members))) is not cluster:
            return
        same = self._same
        values = [
            unit.key[2]
            for unit in cluster.units
            if unit.key[:2] == (cluster, same) and isinstance(unit.key[2], Literal)
        ]
        self._mean(cluster, dict.fromkeys(values))
        unit = self._clusters.units.get((cluster, same, cluster))
        near: dict[Term, list[Term]] = {name: [] for name in cluster.members}
        for triple in () if unit is None else unit.own:
            if self.elsewhere(triple):
                near[triple[0]].append(triple[2])
                near[triple[2]].append(triple[0])
        parts = components(near, lambda name: near[name])
        if len(parts) == 1 and (len(near) > 1 or values):
            return
        self._split(cluster, parts, along, doubted)
        if owl.SAME_AS in near:
            doubted.update(dict.fromkeys(self._clusters.at.values()))

    def _split(
        self,
        cluster: Cluster,
        parts: Sequence[Sequence[Term]],
        along: dict[Triple, None],
        doubted: dict[Cluster, None],
    ) -> None:
        """Split a cluster into parts; what nothing certain holds there is removed."""
        self._mean(cluster, {})
        units = list(cluster.units)
        blocks = [block_of(unit.key) for unit in units]
        before = [values_of(unit.key) for unit in units]
        for unit in units:
            self._clusters.drop(unit)
        for part in parts:
            new = Cluster(part)
            for name in part:
                if len(part) > 1:
                    self._clusters.at[name] = new
                else:
                    del self._clusters.at[name]
        # The new units of the triples of each old unit.
        made: dict[KeyTriples, dict[KeyTriples, None]] = {unit: {} for unit in units}
        ruled: set[Triple] = set()
        for unit in units:
            for triple in unit.own:
                if self._clusters.key(triple) is not None:
                    made[unit][self._clusters.give(triple)] = None
                elif not self.elsewhere(triple):
                    along[triple] = None
                else:
                    if triple[1] == owl.SAME_AS and triple[0] != triple[2]:
                        self._come[triple] = None
                    if self._writer.is_written(triple):
                        ruled.add(triple)
        kept: list[KeyTriples] = []
        for unit, block, values in zip(units, blocks, before, strict=True):
            left = [each for each in made[unit] if any(map(self.elsewhere, each.own))]
            for each in made[unit]:
                if each not in left:
                    self._clusters.drop(each)
                    along.update(each.own)
            gone = beyond(block, [block_of(each.key) for each in left])
            self._writer.erase(gone, values, ruled)
            kept += left
        for unit in kept:
            doubted.update(self._depending(unit))
            subject, predicate, object_ = unit.key
            if predicate != self._same:
                continue
            if not isinstance(subject, Cluster):
                self._come.update(unit.own)
            elif isinstance(object_, Literal):
                self._mean(subject, {**subject.values, object_: None})
