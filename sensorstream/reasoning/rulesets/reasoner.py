"""What rule sets conclude from a static graph and a window, kept up to date as the window changes.

The static graph is closed once, by the rules as they are. Then they are specialised to it: what is
left are rules over streamed triples. Those with one premise are composed to flat conclusions
(:mod:`sensorstream.network.recursion.linear`); the others run as a
:class:`~sensorstream.network.recursion.program.Program`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from sensorstream.errors import Contradiction, Inconsistent, InternalFault, OntologyError, Overrun
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta, net_delta
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.model.vocabulary import CONTRADICTION
from sensorstream.network.budget import NO_LIMITS, Budget, Limits
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.plan.planner import plan_in_step
from sensorstream.network.recursion.linear import FlatClosure, Implied, parted
from sensorstream.network.recursion.program import Program
from sensorstream.network.recursion.rule import DerivationRule
from sensorstream.network.recursion.stratum import Build
from sensorstream.network.sources import Source, Sources
from sensorstream.reasoning.rulesets.lasting import lasting
from sensorstream.reasoning.rulesets.lists import unrolled
from sensorstream.reasoning.rulesets.rule_set import RuleSet
from sensorstream.reasoning.rulesets.schema_vocabulary import schema_kinds
from sensorstream.reasoning.rulesets.specialise import Specialisation, numbered
from sensorstream.sparql.algebra import Pattern

_LOG = logging.getLogger(__name__)
_STATIC: Final = Origin.STATIC | Origin.STATIC_INFERRED


class RuleReasoner:
    """Incremental materialisation of rule sets.

    Cost of a change: for rules with one premise the triples and what they imply; for others what
    :class:`~sensorstream.network.recursion.program.Program` says. While the window holds or implies
    triples of the schema that make other rules, the rules run as they are, which is exact but
    slower: ``unspecialised`` says so.
    """

    def __init__(self, rule_set: RuleSet, limits: Limits = NO_LIMITS) -> None:
        """``limits`` are for what one change may take."""
        self._rule_set = rule_set
        self._budget = Budget(limits)
        self._lasting = lasting(rule_set.rules)
        # The kinds of triples of the schema, by property.
        self._schema: dict[IRI | None, dict[Term | None, None]] = {}
        for kind in schema_kinds(rule_set.rules):
            self._schema.setdefault(kind.predicate, {})[kind.object] = None
        self._special: Specialisation | None = None
        self._kb: KnowledgeBase | None = None
        self._run: _Run | None = None
        # What the window says or implies of the schema that makes other rules.
        self._foreign: dict[Triple, None] = {}

    @property
    def unspecialised(self) -> bool:
        """Whether the rules run as they are, because of what the window says of the schema."""
        return self._run is not None and not self._run.special

    @property
    def rules(self) -> Sequence[DerivationRule]:
        """The rules about what streams; names of the rule set with numbers."""
        return () if self._special is None else self._special.rules

    def start(self, kb: KnowledgeBase) -> None:
        """See :class:`~sensorstream.reasoning.reasoner.Reasoner`."""
        self.close()
        self._budget.lifted = True
        try:
            self._close_static(kb)
            for subject, _, text in kb.match(None, CONTRADICTION, None):
                raise OntologyError(f"the ontology contradicts itself: {_told(subject, text)}")
            self._special = Specialisation(self._rule_set.rules, kb.index)
            self._kb = kb
            self._run = _Run(kb, self._special.rules, self._budget, special=True)
            if len(self._lasting) == len(self._rule_set.rules):
                self._run.settle(0)
        finally:
            self._budget.lifted = False

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """See :class:`~sensorstream.reasoning.reasoner.Reasoner`.

        Raises:
            Inconsistent: a rule concludes a contradiction.
            Overrun: the change takes more than the limits; graph and state are as before.
        """
        try:
            change = self._follow(kb, delta)
            self._check(change)
        except (Inconsistent, Overrun) as error:
            kb.apply(Origin.WINDOW, delta.inverse())
            self._budget.lifted = True
            try:
                if isinstance(error, Overrun):
                    self._anew(kb, delta.time)
                else:
                    self._follow(kb, delta.inverse())
            finally:
                self._budget.lifted = False
                kb.apply(Origin.WINDOW, delta)
            raise
        return change

    def conclusions(self, triple: Triple) -> Iterable[Triple]:
        """See :class:`~sensorstream.reasoning.reasoner.Reasoner`."""
        return () if self._run is None else self._run.closure.conclusions(triple)

    def close(self) -> None:
        """Forget everything; graphs stay as they are."""
        if self._run is not None:
            self._run.leave()
        self._run = self._kb = None
        self._foreign.clear()

    def _close_static(self, kb: KnowledgeBase) -> None:
        kb.add(Origin.STATIC_INFERRED, self._rule_set.facts)
        known: list[DerivationRule] = []
        # Conclusions may make other nodes lists of a rule.
        while (rules := numbered(unrolled(self._lasting, kb.index))) != known:
            linear, others = parted(rules)
            closure = FlatClosure(linear)
            program = Program(
                kb,
                Origin.STATIC_INFERRED,
                others,
                _builder(kb),
                linear=closure,
                known=Origin.STATIC,
            )
            implied = (each for triple in list(kb.index) for each in closure.conclusions(triple))
            program.hold(Delta(0, tuple(dict.fromkeys(implied))))
            program.settle(0)
            _check_faults(program)
            program.leave()
            known = rules

    def _follow(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        run = self._run
        if run is None or kb is not self._kb:
            self._kb = kb
            return self._anew(kb, delta.time)
        touched = self._note(kb, delta)
        if run.special and self._foreign:
            return self._anew(kb, delta.time)
        change = run.change(delta)
        touched |= self._note(kb, change)
        if touched and (run.special == bool(self._foreign) or run.is_stale(self._rule_set.rules)):
            return net_delta(delta.time, (change, self._anew(kb, delta.time)))
        return change

    def _anew(self, kb: KnowledgeBase, time: Instant) -> Delta:
        """Derive everything again."""
        assert self._special is not None, "it was not started"
        if self._run is not None:
            self._run.leave()
        before = dict.fromkeys(kb.triples(Origin.INFERRED))
        kb.apply(Origin.INFERRED, Delta(time, removed=tuple(before)))
        window = tuple(kb.triples(Origin.WINDOW))
        special = True
        while True:
            rules = self._special.rules if special else _whole(self._rule_set.rules, kb)
            run = self._run = _Run(kb, rules, self._budget, special=special)
            run.change(Delta(time, window))
            after = dict.fromkeys(kb.triples(Origin.INFERRED))
            schema = filter(self._is_schema, chain(window, after))
            self._foreign = {each: None for each in schema if self._is_foreign(kb, each)}
            if special and self._foreign:
                special = False
            elif not run.is_stale(self._rule_set.rules):
                break
            run.leave()
            kb.apply(Origin.INFERRED, Delta(time, removed=tuple(after)))
        if not special:
            _LOG.warning(
                "the window says something of the schema: rules are not specialised to the static "
                "graph, and are slower, for as long as it does"
            )
        return Delta(
            time,
            tuple(triple for triple in after if triple not in before),
            tuple(triple for triple in before if triple not in after),
        )

    def _note(self, kb: KnowledgeBase, change: Delta) -> bool:
        """Note what comes and goes of the schema; whether there is any."""
        added = list(filter(self._is_schema, change.added))
        removed = list(filter(self._is_schema, change.removed))
        for triple in added:
            if self._is_foreign(kb, triple):
                self._foreign[triple] = None
        for triple in removed:
            if triple not in kb:
                self._foreign.pop(triple, None)
        return bool(added or removed)

    def _is_schema(self, triple: Triple) -> bool:
        objects = self._schema.get(triple[1])
        return objects is not None and (None in objects or triple[2] in objects)

    def _is_foreign(self, kb: KnowledgeBase, triple: Triple) -> bool:
        """Whether a triple of the schema makes other rules."""
        assert self._special is not None

        def is_static(triple: Triple) -> int:
            return kb.marks(triple) & _STATIC

        return not is_static(triple) and self._special.is_outdated(triple, kb.index, is_static)

    def _check(self, change: Delta) -> None:
        for subject, predicate, text in change.added:
            if predicate == CONTRADICTION:
                told = _told(subject, text)
                raise Inconsistent(
                    f"the message contradicts the ontology: {told}",
                    individuals=(subject.n3,),
                    contradiction=Contradiction(
                        (), (told,), "the statements are not narrowed down"
                    ),
                )


class _Run:
    """Rules at work over one knowledge base; what follows is the inferred graph."""

    def __init__(
        self, kb: KnowledgeBase, rules: list[DerivationRule], budget: Budget, *, special: bool
    ) -> None:
        self.special = special
        self._kb = kb
        self._rules = rules
        linear, others = parted(rules)
        self.closure = FlatClosure(linear)
        self._implied = Implied(self.closure.conclusions)
        self._program: Program | None = None
        if others:
            self._program = Program(
                kb,
                Origin.INFERRED,
                others,
                _builder(kb),
                budget,
                linear=self.closure,
                known=_STATIC,
            )

    def change(self, delta: Delta) -> Delta:
        """Follow a change of the window; returns that of the inferred graph, which is applied."""
        implied = self._implied.change(self._kb, delta)
        if self._program is None:
            self._kb.apply(Origin.INFERRED, implied)
            return implied
        self._program.hold(implied)
        return self.settle(delta.time)

    def settle(self, time: Instant) -> Delta:
        """Take in what has changed."""
        if self._program is None:
            return Delta(time)
        change = self._program.settle(time)
        _check_faults(self._program)
        return change

    def is_stale(self, rules: Sequence[DerivationRule]) -> bool:
        """Whether there are other lists now."""
        return not self.special and _whole(rules, self._kb) != self._rules

    def leave(self) -> None:
        """Stop watching; what is derived stays."""
        if self._program is not None:
            self._program.leave()
            self._program = None


def _whole(rules: Sequence[DerivationRule], kb: KnowledgeBase) -> list[DerivationRule]:
    """The rules as they are, for the lists that a knowledge base holds."""
    return numbered(unrolled(rules, kb.index))


def _builder(kb: KnowledgeBase) -> Build:
    graph = Source(id(kb.index), "graphs")

    def of(network: Network, body: Pattern) -> Node:
        return build(plan_in_step(body, Sources(graph), None), network, {graph: kb.index})

    return of


def _check_faults(program: Program) -> None:
    for name, error in program.faults.items():
        raise InternalFault(f"rule {name}: {error}")


def _told(subject: Term, text: Term) -> str:
    said = text.lexical if isinstance(text, Literal) else str(text)
    return f"{said}: {subject.n3}"
