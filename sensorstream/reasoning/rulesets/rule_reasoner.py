"""The conclusions of rule sets from a static graph and a window, kept up to date with the window.

The static graph is closed once, by the rules as they are. Then they are specialised to it: the rest
are rules over streamed triples. Those with one premise are composed to flat conclusions
(:mod:`sensorstream.network.recursion.linear_rules`); the others run as a
:class:`~sensorstream.network.recursion.derivation_program.DerivationProgram`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from sensorstream.errors import (
    Contradiction,
    Inconsistent,
    InternalFault,
    OntologyError,
    Overrun,
    ProgramError,
)
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta, net_delta
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.model.vocabulary import CONTRADICTION
from sensorstream.network.budget import NO_LIMITS, Budget, Limits
from sensorstream.network.recursion.derivation_program import DerivationProgram
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.recursion.equality_rules import apart
from sensorstream.network.recursion.implied_triples import Implied, unknown
from sensorstream.network.recursion.linear_rules import FlatClosure, LinearTable, parted
from sensorstream.reasoning.dl.axioms import line_of
from sensorstream.reasoning.reasoner import Limited, change_between
from sensorstream.reasoning.rulesets.derivation import Applications, grounds
from sensorstream.reasoning.rulesets.graphs_read import GraphsRead
from sensorstream.reasoning.rulesets.rule_set import RuleSet, lasting
from sensorstream.reasoning.rulesets.schema_lists import schema_kinds, unrolled
from sensorstream.reasoning.rulesets.specialise import Specialisation, numbered

_MOST_APPLICATIONS: Final = 2_000
"""The most applications for an explanation; the engine waits meanwhile."""


def contradicting(
    triple: Triple, kb: KnowledgeBase, applications: Applications, facts: Collection[Triple]
) -> Inconsistent:
    """The error for a conclusion that is a contradiction, with the statements it follows from: a
    minimal set of the window's; ``axioms`` are the rules on the way, and further statements of the
    static graph. ``facts`` are those of the rule set.
    """
    subject, _, text = triple
    said, found = grounds(triple, applications, kb, frozenset(facts), most=_MOST_APPLICATIONS)
    told = contradiction_text(subject, text)
    limits = f"the statements are not narrowed down: {found.limits}" if found.limits else ""
    premises = dict.fromkeys(each for step in found.steps.values() for each in step.premises)
    static = [each for each in premises if each not in found.steps and each not in said]
    rules = dict.fromkeys(step.rule for step in found.steps.values())
    axioms = (told, *(f"rule {each}" for each in rules), *map(line_of, static))
    return Inconsistent(
        f"the message contradicts the ontology: {told}",
        individuals=(subject.n3,),
        contradiction=Contradiction(tuple(map(line_of, said)), axioms, limits),
    )


def contradiction_text(subject: Term, text: Term) -> str:
    """The text of a rule about an individual."""
    said = text.lexical if isinstance(text, Literal) else str(text)
    return f"{said}: {subject.n3}"


_LOG = logging.getLogger(__name__)
_KNOWN: Final = Origin.STATIC | Origin.STATIC_INFERRED
_MANY: Final = 1000
"""Lost triples from which on it may be quicker to derive a window anew."""


@frozen
class AtWork:
    """The numbers of rules that are looked up, with one premise, and that join streamed triples."""

    looked_up: int = 0
    joining: int = 0


class RuleReasoner(Limited):
    """Incremental materialisation of rule sets.

    Cost of a change: for rules with one premise the triples and their conclusions; for others that
    of :class:`~sensorstream.network.recursion.derivation_program.DerivationProgram`. While the
    window holds or implies triples of the schema that make other rules, the rules run as they are,
    which is exact but slower: ``unspecialised`` says so. If a window loses most of its triples at
    once, everything is derived again from the rest.
    """

    def __init__(self, rule_set: RuleSet, limits: Limits = NO_LIMITS) -> None:
        """Keep the rules; ``limits`` are for one change."""
        self.rule_set = rule_set
        super().__init__(Budget(limits))
        self._lasting = lasting(rule_set.rules)
        self._all_last = len(self._lasting) == len(rule_set.rules)
        # The kinds of triples of the schema, by property.
        self._schema: dict[IRI | None, dict[Term | None, None]] = {}
        for kind in schema_kinds(rule_set.rules):
            self._schema.setdefault(kind.predicate, {})[kind.object] = None
        self._special: Specialisation | None = None
        self._kb: KnowledgeBase | None = None
        self._run: _Run | None = None
        self._backward: tuple[_Run | None, Applications] | None = None
        # Triples of the schema in the window, or implied by it, that make other rules.
        self._foreign: dict[Triple, None] = {}

    @property
    def unspecialised(self) -> bool:
        """Whether the rules run as they are, because the window has triples of the schema."""
        return self._run is not None and not self._run.special

    @property
    def at_work(self) -> AtWork:
        """The numbers of rules that run now."""
        return AtWork() if self._run is None else self._run.at_work

    @property
    def rules(self) -> Sequence[DerivationRule]:
        """The rules about streamed triples; names of the rule set with numbers."""
        return () if self._special is None else self._special.rules

    @property
    def tables(self) -> int:
        """The number of rules looked up in the schema, which are not among :attr:`rules`."""
        return 0 if self._special is None else len(self._special.tables)

    def start(self, kb: KnowledgeBase) -> None:
        self.close()
        try:
            with self.budget.lift():
                self._begin(kb)
        except (ProgramError, Overrun) as error:
            # The lists of the ontology do not fit or made other rules, or nodes are made of nodes.
            raise OntologyError(f"the rule sets do not fit the ontology: {error.message}") from None

    def react(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        """Follow a change as :class:`~sensorstream.reasoning.reasoner.Reasoner`.

        Raises:
            Inconsistent: a rule concludes a contradiction.
            Overrun: the change takes more than the limits; graph and state are as before.
        """
        try:
            change = self._follow(kb, delta)
            self._check(kb, change)
        except (Inconsistent, Overrun) as error:
            kb.apply(Origin.WINDOW, delta.inverse())
            try:
                with self.budget.lift():
                    if isinstance(error, Overrun):
                        self._anew(kb, delta.time)
                    else:
                        self._follow(kb, delta.inverse())
            finally:
                kb.apply(Origin.WINDOW, delta)
            raise
        return change

    def conclusions(self, triple: Triple) -> Iterable[Triple]:
        return () if self._run is None else self._run.closure.conclusions(triple)

    def close(self) -> None:
        """Forget everything; graphs stay as they are."""
        if self._run is not None:
            self._run.leave()
        self._run = self._kb = self._backward = None
        self._foreign.clear()

    def _begin(self, kb: KnowledgeBase) -> None:
        self._close_static(kb)
        for subject, _, text in kb.match(None, CONTRADICTION, None):
            told = contradiction_text(subject, text)
            raise OntologyError(f"the ontology contradicts itself: {told}")
        self._special = Specialisation(self.rule_set.rules, kb.index, kb.fixed)
        self._kb = kb
        self._run = self._begun(kb, self._special.rules, special=True)
        if self._all_last:
            self._run.settle(0)

    def _close_static(self, kb: KnowledgeBase) -> None:
        kb.add(Origin.STATIC_INFERRED, self.rule_set.facts)
        known: list[DerivationRule] = []
        # Conclusions may make other nodes lists of a rule.
        while (rules := numbered(unrolled(self._lasting, kb.index))) != known:
            run = _Run(kb, rules, (), self.budget, special=False, closed=True, of_static=True)
            run.change(Delta(0, tuple(kb.index)))
            run.leave()
            known = rules

    def _follow(self, kb: KnowledgeBase, delta: Delta) -> Delta:
        run = self._run
        if run is None or kb is not self._kb:
            self._kb = kb
            # The limits are for one message, and the whole window is more.
            with self.budget.lift():
                return self._anew(kb, delta.time)
        touched = self._note(kb, delta)
        if (run.special and self._foreign) or _loses_most(kb, delta):
            return self._anew(kb, delta.time)
        change = run.change(delta)
        touched |= self._note(kb, change)
        if touched and (run.special == bool(self._foreign) or run.is_stale(self.rule_set.rules)):
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
            try:
                rules = self._special.rules if special else _whole(self.rule_set.rules, kb)
                run = self._run = self._begun(kb, rules, special=special)
            except ProgramError as error:
                raise Overrun(
                    f"with what the message says of the schema: {error.message}"
                ) from None
            run.change(Delta(time, window))
            after = dict.fromkeys(kb.triples(Origin.INFERRED))
            schema = self._of_schema(chain(window, after))
            self._foreign = {each: None for each in schema if self._is_foreign(kb, each)}
            if special and self._foreign:
                special = False
            elif not run.is_stale(self.rule_set.rules):
                break
            run.leave()
            kb.apply(Origin.INFERRED, Delta(time, removed=tuple(after)))
        if not special:
            _LOG.warning(
                "the window says something of the schema: rules are not specialised to the static "
                "graph, and are slower, for as long as it does"
            )
        return change_between(time, before, after)

    def _begun(self, kb: KnowledgeBase, rules: list[DerivationRule], *, special: bool) -> _Run:
        tables = self._special.tables if special and self._special is not None else ()
        return _Run(kb, rules, tables, self.budget, special=special, closed=self._all_last)

    def _note(self, kb: KnowledgeBase, change: Delta) -> bool:
        """Note triples of the schema that come and go; return whether there are any."""
        added = self._of_schema(change.added)
        removed = self._of_schema(change.removed)
        for triple in added:
            if self._is_foreign(kb, triple):
                self._foreign[triple] = None
        for triple in removed:
            if triple not in kb:
                self._foreign.pop(triple, None)
        return bool(added or removed)

    def _of_schema(self, triples: Iterable[Triple]) -> list[Triple]:
        schema = self._schema
        return [
            triple
            for triple in triples
            if triple[1] in schema
            and (triple[2] in (objects := schema[triple[1]]) or None in objects)
        ]

    def _is_foreign(self, kb: KnowledgeBase, triple: Triple) -> bool:
        """Whether a triple of the schema makes other rules."""
        assert self._special is not None
        return not kb.fixed(triple) and self._special.is_outdated(triple, kb.index, kb.fixed)

    def _check(self, kb: KnowledgeBase, change: Delta) -> None:
        for triple in change.added:
            if triple[1] == CONTRADICTION:
                raise contradicting(triple, kb, self._backwards(kb), self.rule_set.facts)

    def _backwards(self, kb: KnowledgeBase) -> Applications:
        """The rules backwards; while they run, no other lists come."""
        assert self._run is not None, "it was not started"
        if self._backward is None or self._backward[0] is not self._run:
            rules = unrolled(self.rule_set.rules, kb.index)
            self._backward = self._run, Applications(rules, kb)
        return self._backward[1]


class _Run:
    """Rules at work over one knowledge base; their conclusions are the inferred graph,
    ``of_static`` that of the static graph. ``closed``: the static graphs are closed under all of
    the rules.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        rules: list[DerivationRule],
        tables: Sequence[LinearTable],
        budget: Budget,
        *,
        special: bool,
        closed: bool,
        of_static: bool = False,
    ) -> None:
        self.special = special
        self._kb = kb
        self._rules = rules
        equality, rest = apart(rules)
        linear, others = parted(rest)
        self.at_work = AtWork(len(linear) + len(tables), len(others))
        self.closure = FlatClosure(linear, tables, kb.fixed)
        self._implied = Implied(self.closure.conclusions)
        self._into = Origin.STATIC_INFERRED if of_static else Origin.INFERRED
        self._program: DerivationProgram | None = None
        self._graphs = GraphsRead(kb, others)
        if equality or others:
            self._program = DerivationProgram(
                kb,
                self._into,
                (*equality, *others),
                self._graphs.build,
                budget,
                linear=self.closure,
                known=Origin.STATIC if of_static else _KNOWN,
            )
        self._closed = closed

    def change(self, delta: Delta) -> Delta:
        """Follow a change of the window; return that of the inferred graph, which is applied."""
        if not self._closed:
            self._closed = True
            delta = replace(delta, added=(*self._not_closed(), *delta.added))
        implied = self._implied.change(delta)
        if self._program is None:
            implied = unknown(self._kb, implied)
            self._kb.apply(self._into, implied)
            return implied
        self._program.hold(implied)
        return self.settle(delta.time)

    def settle(self, time: Instant) -> Delta:
        """Take in what has changed."""
        if self._program is None:
            return Delta(time)
        change = self._program.settle(time)
        for name, error in self._program.faults.items():
            raise InternalFault(f"rule {name}: {error}")
        return change

    def _not_closed(self) -> Iterator[Triple]:
        """Static triples from which something follows that the static graphs do not hold."""
        fixed = self._kb.fixed
        for triple in filter(fixed, self._kb.index):
            if not all(map(fixed, self.closure.conclusions(triple))):
                yield triple

    def is_stale(self, rules: Sequence[DerivationRule]) -> bool:
        """Whether there are other lists now."""
        return not self.special and _whole(rules, self._kb) != self._rules

    def leave(self) -> None:
        """Stop watching; what is derived stays."""
        if self._program is not None:
            self._program.leave()
            self._program = None
        self._graphs.close()


def _loses_most(kb: KnowledgeBase, delta: Delta) -> bool:
    """Whether it costs less to derive the rest again than to take back what is gone."""
    gone = len(delta.removed)
    kept = kb.size(Origin.WINDOW) - len(delta.added)
    # A new start builds the rules again, and looks through all graphs.
    return gone >= _MANY and kept < gone and len(kb) < 10 * gone


def _whole(rules: Sequence[DerivationRule], kb: KnowledgeBase) -> list[DerivationRule]:
    """The rules as they are, for the lists that a knowledge base holds."""
    return numbered(unrolled(rules, kb.index))
