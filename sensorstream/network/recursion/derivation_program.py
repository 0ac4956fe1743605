"""Rules whose conclusions are written to the knowledge base that they read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sensorstream.errors import Overrun, ProgramError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant
from sensorstream.network.budget import Budget
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.recursion.derived_triples import Derived
from sensorstream.network.recursion.evaluated_stratum import BrokenRules, Build, Stratum
from sensorstream.network.recursion.linear_rules import FlatClosure
from sensorstream.network.recursion.rule_strata import Layer, stratified

_NO_GRAPH: Final = Origin(0)


class DerivationProgram:
    """Derivation rules, whose conclusions are maintained as a knowledge base and windows change.

    The graph ``origin`` of the knowledge base belongs to the program: after :meth:`settle` it holds
    the conclusions of the rules from everything else, stratum by stratum (the stratified
    semantics), independent of the order of changes. A triple may be both asserted and derived.
    ``build`` makes the operator of a body, over the union of the knowledge base's graphs and the
    windows of the caller; each change of these, an expiry included, is processed at the next
    :meth:`settle`. Continuous queries on the same knowledge base settle afterwards, so they see one
    change at each instant.

    It terminates: recursive rules make finitely many new terms, so the number of triples is finite;
    where that depends on the data, nodes that are made of nodes have a bounded depth.

    Cost of a change: the triples it adds and removes, times the rules that read them; in recursive
    strata also the triples that lose some but not all derivations (they are removed and added
    again). So it is O(change) for chains and trees; within a dense cycle it may be the whole cycle.
    Memory: a number per derived triple and stratum; bodies of triple patterns store nothing, other
    operators what their documentation states (:mod:`sensorstream.network.operators`).

    Rules that say what equality is
    (:data:`~sensorstream.network.recursion.equality_rules.EQUALITY`) are replaced by
    :class:`~sensorstream.network.recursion.equality.Equality`, at much less cost.

    The conclusions of ``linear`` follow from each triple that a rule concludes; those from asserted
    triples come from the caller by :meth:`hold`. Triples of the graphs ``known``, which never
    change, are not derived.

    Raises ProgramError if two rules have one name, or
    :func:`~sensorstream.network.recursion.rule_strata.stratified` refuses them.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        origin: Origin,
        rules: Iterable[DerivationRule],
        build: Build,
        budget: Budget | None = None,
        *,
        linear: FlatClosure | None = None,
        known: Origin = _NO_GRAPH,
    ) -> None:
        self.faults: dict[str, Exception] = {}
        """The rules that could not be evaluated, with the reason: they do not apply any more."""
        self._rules: dict[str, DerivationRule] = {}
        for rule in rules:
            if rule.name in self._rules:
                raise ProgramError(f"two rules are named {rule.name}: expected a name for each")
            self._rules[rule.name] = rule
        self._linear = linear
        self._layers: list[Layer] = stratified(self._rules.values(), linear)
        self._build = build
        self._budget = Budget() if budget is None else budget
        self._strata: list[Stratum] = []
        self._forgotten: list[str] = []
        self._anew = False
        self._derived = Derived(kb, origin, self._doubt, known)

    def settle(self, time: Instant) -> Delta:
        """Process all changes since the last call, at first everything; returns the derived change.

        Raises Overrun if that takes more than the budget; the program cannot be used afterwards.
        """
        self._derived.time = time
        while True:
            try:
                with self._budget.alone():
                    self._settle()
                return self._derived.taken()
            except BrokenRules as broken:
                for name, error in broken.faults.items():
                    if isinstance(error, Overrun):
                        raise Overrun(f"{name}: {error.message}") from None
                self.faults.update(broken.faults)
                for name in broken.faults:
                    self._rules.pop(name, None)
                # The counts of their operators are lost; the other rules start anew.
                self._clear()
                self._layers = stratified(self._rules.values(), self._linear)

    def hold(self, change: Delta) -> None:
        """Derive triples for a reason from outside, or end that, before a settling."""
        self._derived.time = change.time
        self._derived.remove(change.removed)
        self._derived.add(change.added)

    def drop(self, rule: str) -> None:
        """Stop applying a rule of the program, from the next :meth:`settle` on.

        The strata stay, so there may be more than necessary; without a rule of equality, everything
        is derived anew.
        """
        del self._rules[rule]
        self._forgotten.append(rule)
        if any(layer.needs(rule) for layer in self._layers):
            self._layers = stratified(self._rules.values(), self._linear)
            self._anew = True

    def leave(self) -> None:
        """Stop watching; the derived triples stay."""
        for stratum in self._strata:
            stratum.close()
        self._strata.clear()
        self._derived.close()

    def close(self, time: Instant) -> Delta:
        """Remove all derived triples, and stop watching."""
        self._derived.time = time
        self._clear()
        self._derived.close()
        return self._derived.taken()

    def _settle(self) -> None:
        if self._anew:
            self._clear()
        for place, layer in enumerate(self._layers):
            if place == len(self._strata):
                stratum = Stratum(layer, self._derived, self._build, self._budget, self._linear)
                self._strata.append(stratum)
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
        self._anew = False

    def _doubt(self, triple: Triple) -> None:
        for stratum in self._strata:
            stratum.doubt(triple)
