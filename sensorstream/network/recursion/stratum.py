"""Rules that are worked off together: counts of derivations, and over-deletion where they recur.

Counting is by Gupta, Mumick, Subrahmanian, "Maintaining views incrementally", 1993 (section 4);
so is deletion before rederivation (section 7), here with the counts instead of a second query
for what still has a derivation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.network.network import Listener, Network
from sensorstream.network.node import Node, operators
from sensorstream.network.recursion.derived import Derived
from sensorstream.network.recursion.rule import Clause
from sensorstream.network.recursion.strata import Layer
from sensorstream.network.rows import Row, cancelled
from sensorstream.sparql.algebra import Pattern, PatternTerm, TriplePattern, Variable

Build: TypeAlias = Callable[[Network, Pattern], Node]
"""Makes the operator of a body in a network."""


class BrokenRules(Exception):
    """Operators of these rules have failed, and by what."""

    def __init__(self, faults: dict[str, Exception]) -> None:
        super().__init__(", ".join(faults))
        self.faults = faults


class Stratum:
    """Clauses that do not wait for each other, over one network.

    ``support`` is how many solutions derive each triple. The network settles before the stratum
    writes, never while it writes: what a written triple makes together with others is found by
    the operators' triggers, each solution at the last of its triples to come (and lost at the
    first to go), and is taken in at the next round. So each solution is counted once,
    whatever is written in one round.
    """

    def __init__(self, layer: Layer, derived: Derived, build: Build) -> None:
        self.support: dict[Triple, int] = {}
        self.recursive = layer.recursive
        self._derived = derived
        self._network = Network()
        self._writers: list[tuple[Clause, Node, Listener]] = []
        # This instant: derived for the first time; with a derivation less; with one more.
        self._new: dict[Triple, None] = {}
        self._lost: dict[Triple, None] = {}
        self._won: dict[Triple, None] = {}
        for clause in layer.clauses:
            try:
                node = build(self._network, clause.body)
                writer = self._writer(clause, node)
                rows = list(node.rows())
            except Exception as error:
                self.close()
                raise BrokenRules({clause.rule.name: error}) from error
            self._network.listen(node, writer)
            self._writers.append((clause, node, writer))
            writer(rows, [])

    def doubt(self, triple: Triple) -> None:
        """Somebody else holds a triple no longer: it may rest on nothing but itself."""
        if self.recursive and triple in self.support:
            self._lost[triple] = None

    def forget(self, rule: str) -> None:
        """Count the derivations of a rule no more; the network must be settled."""
        kept = []
        for clause, node, writer in self._writers:
            if clause.rule.name == rule:
                writer([], list(node.rows()))
                self._network.leave(node, writer)
            else:
                kept.append((clause, node, writer))
        self._writers = kept

    def settle(self) -> None:
        """Bring the derived graph to the least one that is closed under the rules.

        Raises:
            BrokenRules: an operator has failed; what the stratum holds is worth nothing.
        """
        self._settle_network()
        if not self._new and not self._lost:
            self._won.clear()
            return
        if self.recursive:
            self._recur()
        else:
            self._write()

    def close(self) -> None:
        """Watch nothing more."""
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
        """Over-delete in rounds, then add in rounds what has a derivation from what is left.

        A triple that loses a derivation goes, unless it is held elsewhere: the derivations that
        it still has may rest on it. What is left after that has a derivation from what is left,
        and every count is the number of derivations from what is left; so what counts is
        well founded, and comes (back).
        """
        support, new = self.support, self._new
        touched: dict[Triple, None] = {}
        gone: dict[Triple, None] = {}
        while True:
            elsewhere = self._derived.elsewhere
            batch = [t for t in self._lost if t not in new and t not in gone and not elsewhere(t)]
            touched.update(self._lost)
            self._lost.clear()
            if not batch:
                break
            gone.update(dict.fromkeys(batch))
            self._derived.remove(batch)
            self._settle_network()
        ahead: Iterable[Triple] = chain(gone, new)
        while batch := [t for t in ahead if support[t]]:
            for triple in batch:
                del (gone if triple in gone else new)[triple]
            self._won.clear()
            self._derived.add(batch)
            self._settle_network()
            ahead = [t for t in self._won if t in new or t in gone]
        zero = [triple for triple in touched if not support[triple]]
        for triple in zero:
            del support[triple]
        self._derived.remove([t for t in zero if t not in gone and t not in new])
        self._end()

    def _end(self) -> None:
        self._new.clear()
        self._lost.clear()
        self._won.clear()

    def _settle_network(self) -> None:
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

    def _writer(self, clause: Clause, node: Node) -> Listener:
        triples_of = _template(clause.head, node.variables)
        support, new, lost, won = self.support, self._new, self._lost, self._won

        def write(added: list[Row], removed: list[Row]) -> None:
            added, removed = cancelled(added, removed)
            for row in added:
                for triple in triples_of(row):
                    if triple in support:
                        support[triple] += 1
                    else:
                        support[triple] = 1
                        new[triple] = None
                    won[triple] = None
            for row in removed:
                for triple in triples_of(row):
                    support[triple] -= 1
                    lost[triple] = None

        return write


def _template(
    head: Iterable[TriplePattern], variables: tuple[str, ...]
) -> Callable[[Row], Iterator[Triple]]:
    """The triples that a row makes of a head; those that are not well formed are left out."""
    places = {name: place for place, name in enumerate(variables)}
    cells = []
    for triple in head:
        assert isinstance(triple.predicate, IRI | Variable)
        ends = (triple.subject, triple.predicate, triple.object)
        cells.append(tuple(_cell(end, places) for end in ends))

    def triples(row: Row) -> Iterator[Triple]:
        for s, p, o in cells:
            subject, predicate, object_ = s(row), p(row), o(row)
            if subject is None or isinstance(subject, Literal) or object_ is None:
                continue
            if isinstance(predicate, IRI):
                yield subject, predicate, object_

    return triples


def _cell(end: PatternTerm, places: dict[str, int]) -> Callable[[Row], Term | None]:
    if isinstance(end, Variable):
        place = places[end.name]
        return lambda row: row[place]
    return lambda row: end
