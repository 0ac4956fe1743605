"""The reasons of a firing: the statements that its conditions matched with a solution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Basis, Evidence, Matched, RuleWait
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.rules.conditions import Solution
from sensorstream.rules.rule_effects import RuleFiring, RulesRun
from sensorstream.sparql.algebra import PatternTerm, TriplePattern, Variable

MOST_MESSAGES: Final = 1000
"""The most messages that are named for an alert, the newest ones."""
MOST_STATEMENTS: Final = 50
"""The most statements kept for an alert, including those of earlier rules."""
MOST_CHARACTERS: Final = 16_000
"""The most characters of values and statements kept for an alert, together."""
_MOST_STEPS: Final = 20_000
_WINDOW: Final = int(Origin.WINDOW)
_INFERRED: Final = int(Origin.INFERRED)


def grounds_of(firing: RuleFiring) -> tuple[tuple[str, ...], Evidence]:
    """The ids of the messages behind a firing, in order, and its evidence; O(matches), bounded.

    The messages are those that said, or caused, what the conditions matched in the present
    knowledge base; the message at hand is always among them. A variable without a value in the
    solution, such as an aggregated one, matches all it can. A statement that a rule inserted in an
    earlier round has the reasons of that rule.
    """
    search = _Search(firing.run)
    evidence = search.evidence(firing)
    search.messages.discard("")
    # Ids are counters: a longer one is later.
    ordered = sorted(search.messages, key=lambda each: (len(each), each))
    return tuple(ordered[-MOST_MESSAGES:]), evidence


@dataclass(slots=True)
class _Search:
    """The messages and statements found for a firing, and for those before it."""

    run: RulesRun
    messages: set[str] = field(init=False)
    steps: Iterator[int] = field(init=False)
    statements: int = MOST_STATEMENTS
    characters: int = MOST_CHARACTERS
    told: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.messages = {self.run.message.id}
        self.steps = iter(range(_MOST_STEPS))

    def evidence(self, firing: RuleFiring) -> Evidence:
        """The evidence of a firing; its messages are added."""
        self.told.add(id(firing))
        bindings = tuple(
            (name, value)
            for name, value in sorted(firing.solution.items())
            if self._has_room(len(value))
        )
        left_out = len(firing.solution) - len(bindings)
        kept: list[Matched] = []
        for each in self._matched(firing):
            s, p, o = each.triple
            if self.statements > 0 and self._has_room(len(s) + len(p) + len(o)):
                self.statements -= 1
                kept.append(each)
            else:
                left_out += 1
        if self.run.made:
            kept = [self._explained(each) for each in kept]
        return Evidence(firing.rule.digest, bindings, tuple(kept), left_out, _since(firing))

    def _has_room(self, length: int) -> bool:
        if length > self.characters:
            return False
        self.characters -= length
        return True

    def _matched(self, firing: RuleFiring) -> Iterator[Matched]:
        """The statements that the rule matched, each once; all messages behind it are added."""
        host, solution, made = firing.run.host, firing.solution, self.run.made
        kb, messages = host.kb, self.messages
        seen: set[Triple] = set()
        for part in firing.rule.blocks:
            known = solution
            if part.visible is not None:
                known = {n: term for n, term in solution.items() if n in part.visible}
            for triple in _matched(kb, part.patterns, known, self.steps):
                if triple in seen:
                    continue
                seen.add(triple)
                said = list(host.said_by(triple))
                messages.update(said)
                first = said[0] if said else ""
                marks = kb.marks(triple)
                if triple in made:
                    yield Matched(triple, Basis.RULE, first, made[triple].rule.name)
                elif marks & _WINDOW:
                    yield Matched(triple, Basis.SAID, first)
                else:
                    inferred = marks & _INFERRED
                    yield Matched(triple, Basis.INFERRED if inferred else Basis.ONTOLOGY, first)
        if host.departures:
            values = frozenset(solution.values())
            for departure in host.departures:
                left = departure.individual
                if left.name in values:
                    messages.add(left.message)
                    for triple, provenance in left.statements.items():
                        messages.add(provenance.message)
                        yield Matched(triple, Basis.LEFT, provenance.message)

    def _explained(self, matched: Matched) -> Matched:
        """The statement of a rule with the reasons of its firing; a firing is explained once."""
        made = self.run.made.get(matched.triple)
        if matched.basis is not Basis.RULE or made is None or id(made) in self.told:
            return matched
        because = self.evidence(made)
        return Matched(matched.triple, matched.basis, matched.message, matched.rule, because)


def _since(firing: RuleFiring) -> RuleWait | None:
    """The start of the wait of a rule whose time has come."""
    run, rule, solution = firing.run, firing.rule, firing.solution
    if not rule.waiting:
        return None
    key = tuple((name, solution[name]) for name in sorted(rule.waiting) if name in solution)
    # The memory from before this run: a rule that fires begins to wait anew.
    held = run.memory.held.get(rule.name, {}).get(key)
    if held is None or held.due is None or held.due > run.time:
        return None
    individual = solution.get(rule.silent)
    if individual is None or isinstance(individual, Literal):
        return RuleWait(held.since)
    stay = run.host.stay(individual)
    # A rule may have made statements about it since then, and it may have been watched only since
    # then.
    spoken = "" if stay is None or stay.time != held.since else stay.message
    return RuleWait(held.since, spoken)


def _matched(
    kb: KnowledgeBase, patterns: Sequence[TriplePattern], known: Solution, steps: Iterator[int]
) -> Iterator[Triple]:
    """The triples of all ways in which the patterns match together."""
    if not patterns:
        return
    first, others = patterns[0], patterns[1:]
    if others:
        first = max(
            patterns, key=lambda each: sum(_value(part, known) is not None for part in _of(each))
        )
        others = [each for each in patterns if each is not first]
    subject, predicate, value = (_value(part, known) for part in _of(first))
    if isinstance(subject, Literal) or not isinstance(predicate, IRI | None):
        return
    whole = subject is not None and predicate is not None and value is not None
    for triple in list(kb.match(subject, predicate, value)):
        if next(steps, None) is None:
            return
        bound = known if whole else _bound(first, triple, known)
        if bound is None:
            continue
        if not others:
            yield triple
            continue
        with_others = False
        for each in _matched(kb, others, bound, steps):
            with_others = True
            yield each
        if with_others:
            yield triple


def _bound(pattern: TriplePattern, triple: Triple, known: Solution) -> Solution | None:
    """The solution extended by a match of pattern and triple; None: they do not match."""
    bound = dict(known)
    for part, term in zip(_of(pattern), triple, strict=True):
        name = _name(part)
        if name is not None and bound.setdefault(name, term) != term:
            return None
    return bound


def _of(pattern: TriplePattern) -> tuple[PatternTerm, PatternTerm, PatternTerm]:
    predicate = cast(PatternTerm, pattern.predicate)
    return pattern.subject, predicate, pattern.object


def _value(part: PatternTerm, known: Solution) -> Term | None:
    if isinstance(part, Variable):
        return known.get(part.name)
    # A blank node of a query is a variable (SPARQL 1.1, section 4.1.4).
    return known.get(part) if isinstance(part, BlankNode) else part


def _name(part: PatternTerm) -> str | None:
    """The name of a variable."""
    if isinstance(part, Variable):
        return part.name
    return part if isinstance(part, BlankNode) else None
