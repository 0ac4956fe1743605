"""Rules whose conclusions are written back to the knowledge base that they read."""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.errors import ProgramError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.recursion.derived import Derived
from sensorstream.network.recursion.rule import DerivationRule
from sensorstream.network.recursion.strata import Layer, stratified
from sensorstream.network.recursion.stratum import BrokenRules, Build, Stratum


class Program:
    """Derivation rules over a knowledge base, kept in step with it and with their windows.

    The graph ``origin`` of the knowledge base belongs to the program: after :meth:`settle` it
    holds what follows from everything else by the rules, stratum by stratum (the stratified
    semantics), however facts came and went. Triples may be asserted and derived at once.
    ``build`` makes the operator of a body, over the union of the knowledge base's graphs and
    whichever windows the caller knows; whatever changes these, an expiry included, is taken in at
    the next :meth:`settle`. Continuous queries on the same knowledge base settle afterwards: they
    see one change an instant.

    It ends: rules that recur make no new terms, so that there are only so many triples.

    Cost of a change: what it adds and removes, times the rules that look at it, and in recursive
    strata also what loses a derivation without losing all (it goes and comes back). So it is
    O(change) for chains and trees; within a dense cycle it may be the whole cycle. Memory: a
    number per derived triple and stratum; bodies of triple patterns keep nothing, other operators
    what they say (:mod:`sensorstream.network.operators`).

    Raises:
        ProgramError: two rules have one name, or
            :func:`~sensorstream.network.recursion.strata.stratified` refuses them.
    """

    def __init__(
        self, kb: KnowledgeBase, origin: Origin, rules: Iterable[DerivationRule], build: Build
    ) -> None:
        self.faults: dict[str, Exception] = {}
        """Rules that could not be evaluated, and why: they are not in force any more."""
        self._rules: dict[str, DerivationRule] = {}
        for rule in rules:
            if rule.name in self._rules:
                raise ProgramError(f"two rules are named {rule.name}: expected a name for each")
            self._rules[rule.name] = rule
        self._layers: list[Layer] = stratified(self._rules.values())
        self._build = build
        self._strata: list[Stratum] = []
        self._forgotten: list[str] = []
        self._derived = Derived(kb, origin, self._doubt)

    def settle(self, time: Instant) -> Delta:
        """Take in what has changed; at the first time, everything.

        Returns:
            The change of the derived graph, at that time.
        """
        self._derived.time = time
        while True:
            try:
                self._settle()
                return self._derived.taken()
            except BrokenRules as broken:
                self.faults.update(broken.faults)
                for name in broken.faults:
                    self._rules.pop(name, None)
                # What their operators have counted is lost; the others start anew.
                self._clear()
                self._layers = stratified(self._rules.values())

    def drop(self, rule: str) -> None:
        """Let a rule of the program be in force no longer, from the next :meth:`settle` on.

        The strata stay as they are: without a rule they can only be finer than they need to be.
        """
        del self._rules[rule]
        self._forgotten.append(rule)

    def close(self, time: Instant) -> Delta:
        """Give back whatever has been derived, and watch nothing more."""
        self._derived.time = time
        self._clear()
        self._derived.close()
        return self._derived.taken()

    def _settle(self) -> None:
        for place, layer in enumerate(self._layers):
            if place == len(self._strata):
                self._strata.append(Stratum(layer, self._derived, self._build))
            self._strata[place].settle()
        if self._forgotten:
            for stratum in self._strata:
                for name in self._forgotten:
                    stratum.forget(name)
            for stratum in self._strata:
                stratum.settle()
            self._forgotten.clear()

    def _clear(self) -> None:
        for stratum in self._strata:
            stratum.close()
        self._strata.clear()
        self._forgotten.clear()
        self._derived.clear()

    def _doubt(self, triple: Triple) -> None:
        for stratum in self._strata:
            stratum.doubt(triple)
