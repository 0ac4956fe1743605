"""Rules that are evaluated together: counts of derivations, and over-deletion for recursion.

Counting is by Gupta, Mumick, Subrahmanian, "Maintaining views incrementally", 1993 (section 4); so
is deletion before rederivation (section 7), here with the counts instead of a second query for the
triples that still have a derivation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from sensorstream.model.terms import IRI, Triple
from sensorstream.network.budget import Budget
from sensorstream.network.network import Listener, Network
from sensorstream.network.node import Node, operators
from sensorstream.network.recursion.derivation_rule import RuleClause, meant
from sensorstream.network.recursion.derived_triples import Derived
from sensorstream.network.recursion.equality import Equality, UnitWriter
from sensorstream.network.recursion.linear_rules import FlatClosure
from sensorstream.network.recursion.rule_strata import Layer
from sensorstream.network.recursion.transitive_links import Links, transitive
from sensorstream.network.rows import Row, cancelled, instantiated
from sensorstream.sparql.algebra import Pattern

Build: TypeAlias = Callable[[Network, Pattern], Node]
"""Makes the operator of a body in a network."""
TriplesOf: TypeAlias = Callable[[Iterable[Row]], Iterable[Triple]]


class BrokenRules(Exception):
    """The operators of these rules have failed; has the error by rule."""

    def __init__(self, faults: dict[str, Exception]) -> None:
        super().__init__(", ".join(faults))
        self.faults = faults


class Stratum:
    """Clauses that are evaluated together, over one network.

    ``support`` is the number of solutions that derive each triple. The network settles before the
    stratum writes, never while it writes: the triggers of the operators find the solutions of
    written triples, each when the last of its triples is added (and lost when the first is
    removed), and the next round processes them. So each solution is counted once, independent of
    what one round writes.
    """

    def __init__(
        self,
        layer: Layer,
        derived: Derived,
        build: Build,
        budget: Budget,
        linear: FlatClosure | None = None,
    ) -> None:
        self.support: dict[Triple, int] = {}
        self.recursive = layer.recursive
        self._equality: Equality | None = None
        self._derived: Derived | Equality = derived
        self._linear = linear
        self._budget = budget
        self._network = Network(budget=budget)
        self._writers: list[tuple[RuleClause, Node, Listener]] = []
        # In this instant: triples derived first; with a lost derivation; with a new one.
        self._new: dict[Triple, None] = {}
        self._lost: dict[Triple, None] = {}
        self._won: dict[Triple, None] = {}
        # Triples that were removed, as their derivations may depend on themselves.
        self._gone: dict[Triple, None] = {}
        if layer.equality is not None:
            units = UnitWriter(
                layer.equality.name, derived, linear, self._count, self._is_written, budget
            )
            self._equality = Equality(layer.equality, layer.clauses, derived, linear, units)
            self._derived = self._equality
            derived.held = self._equality.held
        found = {clause: transitive(clause) for clause in layer.clauses if layer.recursive}
        properties = {each for each in found.values() if each is not None}
        copied = None if self._equality is None else self._equality.is_of_unit
        self._links = Links(properties, derived, self._is_written, copied) if properties else None
        for clause in layer.clauses:
            try:
                node, writer = self._operator(clause, found.get(clause), build)
                rows = list(node.rows())
            except Exception as error:
                self.close()
                raise BrokenRules({clause.rule.name: error}) from error
            self._network.listen(node, writer)
            self._writers.append((clause, node, writer))
            writer(rows, [])

    def doubt(self, triple: Triple) -> None:
        """Note a triple that has left another graph or stratum: only itself may support it."""
        if self.recursive and (triple in self.support or self._owned(triple)):
            self._lost[triple] = None

    def forget(self, rule: str) -> None:
        """Stop counting the derivations of a rule; the network must be settled."""
        kept = []
        for clause, node, writer in self._writers:
            if clause.rule.name == rule:
                writer([], list(node.rows()))
                self._network.leave(node, writer)
            else:
                kept.append((clause, node, writer))
        self._writers = kept

    def settle(self) -> None:
        """Update the derived graph to the least graph that is closed under the rules.

        Raises BrokenRules if an operator has failed, and the stratum is invalid; Overrun if the
        conclusions are too many, or take too long.
        """
        self._settle_network()
        equality = self._equality
        if not self._new and not self._lost and (equality is None or not equality.pending):
            self._won.clear()
        elif not self.recursive:
            self._write()
        else:
            self._recur()

    def close(self) -> None:
        self._network.close()

    def _write(self) -> None:
        support = self.support
        gone = [triple for triple in self._lost if not support[triple]]
        for triple in gone:
            del support[triple]
        self._derived.remove([triple for triple in gone if triple not in self._new])
        self._derived.add([triple for triple in self._new if triple in support])
        self._end()

    def _recur(self) -> None:
        """Over-delete in rounds, then add in rounds the triples with a remaining derivation.

        A triple that loses a derivation is removed, unless it is also held elsewhere, because its
        other derivations may depend on it. Each remaining triple has a derivation from remaining
        triples, and every count is the number of derivations from remaining triples; so a removed
        triple with a positive count is well founded, and is added again.
        """
        support, new, gone = self.support, self._new, self._gone
        touched: dict[Triple, None] = {}
        if self._equality is not None:
            self._equality.note()
        while True:
            batch = [t for t in self._lost if self._is_doubtful(t)]
            touched.update(self._lost)
            self._lost.clear()
            if not batch:
                break
            gone.update((t, None) for t in batch if t in support and t not in new)
            along = self._derived.remove(batch)
            gone.update((t, None) for t in along if t in support and t not in new)
            self._settle_network()
        if self._equality is not None and self._equality.pending:
            self._equality.take_in()
            self._settle_network()
        ahead: Iterable[Triple] = chain(gone, new)
        while batch := [t for t in ahead if support.get(t)]:
            for triple in batch:
                del (gone if triple in gone else new)[triple]
            self._won.clear()
            self._derived.add(batch)
            self._settle_network()
            ahead = [t for t in self._won if t in new or t in gone]
        zero = [triple for triple in touched if support.get(triple) == 0]
        for triple in zero:
            del support[triple]
        self._derived.remove([t for t in zero if t not in gone and t not in new])
        self._end()

    def _is_doubtful(self, triple: Triple) -> bool:
        """Whether a triple that has lost a reason may now be supported only by itself."""
        if triple in self._gone or (triple in self._new and not self._owned(triple)):
            return False
        return not self._derived.elsewhere(triple)

    def _owned(self, triple: Triple) -> bool:
        return self._equality is not None and self._equality.owns(triple)

    def _end(self) -> None:
        self._new.clear()
        self._lost.clear()
        self._won.clear()
        self._gone.clear()

    def _settle_network(self) -> None:
        self._network.settle()
        while self._links is not None and self._links.follow():
            self._network.settle()
        faults = self._network.faults
        if faults:
            raise BrokenRules(
                {
                    clause.rule.name: faults[each]
                    for clause, node, _ in self._writers
                    for each in operators(node)
                    if each in faults
                }
            )
        self._budget.check_time()
        kept = len(self.support) + (0 if self._equality is None else self._equality.size)
        if (overrun := self._budget.kept(kept)) is not None:
            raise overrun

    def _operator(
        self, clause: RuleClause, property: IRI | None, build: Build
    ) -> tuple[Node, Listener]:
        """The operator that finds a clause's solutions, and the listener that counts them."""
        linear = self._linear
        if property is None or self._links is None:
            node = build(self._network, clause.body)
            template: TriplesOf = instantiated(clause.head, node.variables, meant)
            if linear is not None:
                template = _with_conclusions(template, linear)
            return node, _writer(template, self._count)
        node, pairs = self._links.operator(self._network, property, linear)
        template = instantiated(pairs, node.variables, meant)
        write_pairs = _writer(template, self._add_up)
        if linear is None:
            return node, write_pairs
        write_others = _writer(_conclusions_alone(template, linear), self._count)

        def write(added: list[Row], removed: list[Row]) -> None:
            write_pairs(added, removed)
            write_others(added, removed)

        return node, write

    def _count(self, added: Iterable[Triple], removed: Iterable[Triple]) -> None:
        """Count one derivation more of each added triple, and one less of each removed one."""
        if self._links is not None:
            added, removed = self._links.counted(added, 1), self._links.counted(removed, -1)
        self._add_up(added, removed)

    def _add_up(self, added: Iterable[Triple], removed: Iterable[Triple]) -> None:
        support, new, lost, won = self.support, self._new, self._lost, self._won
        for triple in added:
            if triple in support:
                support[triple] += 1
            else:
                support[triple] = 1
                new[triple] = None
            won[triple] = None
        for triple in removed:
            support[triple] -= 1
            lost[triple] = None

    def _is_written(self, triple: Triple) -> bool:
        """Whether rules derive a triple, and it has been added."""
        return triple in self.support and triple not in self._new and triple not in self._gone


def _writer(
    triples_of: TriplesOf, count: Callable[[Iterable[Triple], Iterable[Triple]], None]
) -> Listener:
    def write(added: list[Row], removed: list[Row]) -> None:
        added, removed = cancelled(added, removed)
        count(triples_of(added), triples_of(removed))

    return write


def _with_conclusions(template: TriplesOf, linear: FlatClosure) -> TriplesOf:
    def triples(rows: Iterable[Row]) -> Iterable[Triple]:
        made = tuple(template(rows))
        return chain(made, linear.conclusions(*made))

    return triples


def _conclusions_alone(template: TriplesOf, linear: FlatClosure) -> TriplesOf:
    """Make a function for what follows from the first triple of a row, beside the others."""

    def triples(rows: Iterable[Row]) -> Iterator[Triple]:
        for row in rows:
            made = tuple(template((row,)))
            yield from (each for each in linear.conclusions(made[0]) if each not in made)

    return triples
