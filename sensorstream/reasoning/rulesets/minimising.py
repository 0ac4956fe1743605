"""The rules of a set that an ontology, and queries, need.

A rule can be left out if the others conclude, from any stream, all that it helps to conclude. A
trial decides that for each specialised rule: its premises are stated about new names, and the
others must conclude the same (uniform containment: Sagiv, "Optimizing Datalog programs", 1988).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from sensorstream.errors import OntologyError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf
from sensorstream.model.events import Delta
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.model.vocabulary import CONTRADICTION, OWL, RDF, RDFS
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.recursion.triple_kinds import TriplesRead, reads, written
from sensorstream.reasoning.reasoner import Aside
from sensorstream.reasoning.rulesets.pattern_solutions import filled_triple, triples_of
from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set import RuleSet, lasting, renamed
from sensorstream.reasoning.rulesets.specialise import Specialisation, standard_name
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern, Query, TriplePattern, Variable
from sensorstream.sparql.walk import nodes, triple_variables

_SPACES = (RDF, RDFS, OWL, "http://www.w3.org/2001/XMLSchema#")


@frozen
class TripleKind:
    """A kind of triple that may occur; ``loop``: with one term as subject and object only."""

    kind: TriplesRead
    loop: bool = False


def vocabulary_of(static: Iterable[Triple]) -> Iterator[TripleKind]:
    """The kinds of triples that may stream under an ontology: with its names as properties and as
    classes, and those of its own triples. Of the names of RDF, RDFS and OWL only ``rdf:type``
    streams.
    """
    for triple in static:
        yield _of_triple(triple)
        for term in triple:
            if isinstance(term, IRI) and not term.startswith(_SPACES):
                yield TripleKind(TriplesRead(term, None))
                yield TripleKind(TriplesRead(rdf.TYPE, term))


def firing(
    rules: Sequence[DerivationRule], occurring: Iterable[TripleKind]
) -> list[DerivationRule]:
    """The rules whose patterns may all match, and which then conclude something new. A loop alone
    (``?x owl:sameAs ?x``, as eq-ref makes it) does not make others fire that only repeat it.
    """
    known = set(occurring)
    found: dict[int, DerivationRule] = {}
    while True:
        before = len(known)
        for number, rule in enumerate(rules):
            made = _concluded(rule, known)
            if made:
                found[number] = rule
                known |= made
        if len(known) == before:
            return [found[number] for number in sorted(found)]


def reaching(
    rules: Sequence[DerivationRule],
    goals: Iterable[TriplesRead],
    reads: dict[int, tuple[TriplesRead, ...]],
) -> list[DerivationRule]:
    """The rules whose conclusions are of the goals' kinds, or are read by such rules. ``reads`` are
    the kinds that a rule reads, by its place in ``rules``.
    """
    wanted = set(goals)
    found: dict[int, DerivationRule] = {}
    while True:
        before = len(found)
        for number, rule in enumerate(rules):
            if number in found:
                continue
            heads = [written(triple) for triple in rule.head]
            if any(head.meets(each) for head in heads for each in wanted):
                found[number] = rule
                wanted.update(reads[number])
        if len(found) == before:
            return [found[number] for number in sorted(found)]


def _of_triple(triple: Triple) -> TripleKind:
    s, p, o = triple
    return TripleKind(TriplesRead(p, o if p == rdf.TYPE else None), loop=s == o)


def _concluded(rule: DerivationRule, known: set[TripleKind]) -> set[TripleKind]:
    """The conclusions of a rule from triples of known kinds; empty: none."""
    premises = list(triples_of(rule.body))
    same: dict[Variable, Variable] = {}
    for triple in premises:
        kind = written(triple)
        fitting = [each for each in known if each.kind.meets(kind)]
        if not fitting:
            return set()
        if all(each.loop for each in fitting):
            if not isinstance(triple.subject, Variable) or not isinstance(triple.object, Variable):
                continue
            one, other = _root(same, triple.subject), _root(same, triple.object)
            if one != other:
                same[one] = other
    for node in nodes(rule.body):
        if isinstance(node, algebra.Filter) and any(
            _root(same, one) == _root(same, other) for one, other in distinctions(node.condition)
        ):
            return set()
    given = {_merged(triple, same) for triple in premises}
    made = {_merged(triple, same) for triple in rule.head} - given
    return {TripleKind(written(each), loop=each.subject == each.object) for each in made}


def distinctions(condition: Expression) -> Iterator[tuple[Variable, Variable]]:
    """The variables that a condition requires to be different terms."""
    match condition:
        case algebra.And(left, right):
            yield from distinctions(left)
            yield from distinctions(right)
        case algebra.Not(algebra.Call("SAMETERM", (Variable() as left, Variable() as right))):
            yield left, right


def _root(same: dict[Variable, Variable], variable: Variable) -> Variable:
    while variable in same:
        variable = same[variable]
    return variable


def _merged(triple: TriplePattern, same: dict[Variable, Variable]) -> TriplePattern:
    s, p, o = (
        _root(same, end) if isinstance(end, Variable) else end
        for end in (triple.subject, triple.predicate, triple.object)
    )
    return TriplePattern(s, p, o)  # type: ignore[arg-type]


_FOUND: Final = IRI(f"{CONTRADICTION}-found")
"""In the place of a contradiction, which would end a trial."""
_NEW: Final = "urn:sensorstream:new:"
_MOST_NAMES: Final = 5
"""More variables of one rule can be equal in too many ways (52 of five)."""
_ANYTHING: Final = TriplesRead(None, None)


def kinds_asked(query: Query) -> list[TriplesRead]:
    """The kinds of triples that a query reads from graphs, not from windows over streams."""
    if isinstance(query.form, algebra.Describe):
        return [_ANYTHING]
    return [each.kind for each in reads(query.form.pattern)]


@frozen
class Minimised:
    """The names of rules: ``kept`` are needed, in their order; ``idle`` cannot fire, or their
    conclusions reach no query; the others also make the conclusions of ``implied``.
    """

    kept: tuple[str, ...]
    idle: tuple[str, ...]
    implied: tuple[str, ...]


def minimised(
    rule_set: RuleSet, static: Iterable[Triple], asked: Iterable[TriplesRead] | None = None
) -> Minimised:
    """The rules that are needed.

    A rule is left out if it cannot fire, if its conclusions help no answer, or if the others
    conclude the same. Streamed triples have the names of the static graph as properties and
    classes. Then all possible queries have the same answers: ``asked`` are the kinds of triples
    that queries read, None is everything. Contradictions count as asked.

    Raises:
        OntologyError: the static graph contradicts itself.
        ProgramError: a list does not fit; see :func:`.lists.unrolled`.
    """
    given = tuple(static)
    rules = [_harmless(rule) for rule in rule_set.rules]
    goals = [_ANYTHING] if asked is None else [*asked, TriplesRead(_FOUND, None)]
    whole = _closed(rule_set, rules, given)
    found = next(iter(whole.match(None, _FOUND, None)), None)
    if found is not None:
        text = found[2].lexical if isinstance(found[2], Literal) else found[2].n3
        raise OntologyError(f"the ontology contradicts itself: {text}: {found[0].n3}")
    special = Specialisation(rules, whole.index).rules
    fired = firing(special, vocabulary_of(whole.index))
    read = {n: tuple(each.kind for each in reads(rule.body)) for n, rule in enumerate(fired)}
    needed = reaching(fired, goals, read)
    facts = [
        triple
        for triple in whole.triples(Origin.STATIC_INFERRED)
        if any(goal.meets(TriplesRead(triple[1], triple[2])) for goal in goals)
    ]
    busy = {standard_name(rule) for rule in needed}
    trial = _Trial(rule_set, given, needed, facts)
    kept = _without_idle(rules, busy, trial)
    idle = tuple(rule.name for rule in rules if rule not in kept)
    for rule in reversed(kept):
        rest = [each for each in kept if each is not rule]
        if trial.is_enough(rest):
            kept = rest
    names = tuple(rule.name for rule in kept)
    implied = (rule.name for rule in rules if rule.name not in {*names, *idle})
    return Minimised(names, idle, tuple(implied))


def _without_idle(
    rules: Sequence[DerivationRule], busy: Collection[str], trial: _Trial
) -> list[DerivationRule]:
    """The rules without those that make nothing needed; together, else one by one."""
    kept = [rule for rule in rules if rule.name in busy]
    if trial.is_enough(kept):
        return kept
    kept = list(rules)
    for rule in reversed(rules):
        rest = [each for each in kept if each is not rule]
        if rule.name not in busy and trial.is_enough(rest):
            kept = rest
    return kept


class _Trial:
    """A trial without some rules: the specialised rules and static triples that must follow."""

    def __init__(
        self,
        rule_set: RuleSet,
        static: Sequence[Triple],
        needed: Sequence[DerivationRule],
        facts: Sequence[Triple],
    ) -> None:
        self._rule_set = rule_set
        self._static = static
        self._needed = [(renamed(rule), rule) for rule in needed]
        self._facts = facts

    def is_enough(self, rules: Sequence[DerivationRule]) -> bool:
        """Whether some of the rules conclude as much as all."""
        closed = _closed(self._rule_set, rules, self._static)
        if any(fact not in closed for fact in self._facts):
            return False
        there = {renamed(rule) for rule in Specialisation(rules, closed.index).rules}
        missing = [rule for meaning, rule in self._needed if meaning not in there]
        if not all(map(_can_be_tried, missing)):
            return False
        if not missing:
            return True
        # The trial is about new names alone; a rule that loses conclusions may differ for others.
        monotone = set(map(id, lasting(rules)))
        general = [rule for rule in rules if id(rule) in monotone and _is_general(rule.body)]
        aside = Aside(list(closed.index), RuleReasoner(_set_of(self._rule_set, general)))
        return all(_follows(aside, rule) for rule in missing)


def _closed(
    rule_set: RuleSet, rules: Sequence[DerivationRule], static: Sequence[Triple]
) -> KnowledgeBase:
    whole = replace(_set_of(rule_set, rules), facts=rule_set.facts)
    return Aside(static, RuleReasoner(whole)).kb


def _set_of(rule_set: RuleSet, rules: Iterable[DerivationRule]) -> RuleSet:
    return RuleSet(rule_set.name, tuple(rules), (), {})


def _harmless(rule: DerivationRule) -> DerivationRule:
    """The rule with another property for contradictions."""
    head = tuple(
        replace(triple, predicate=_FOUND) if triple.predicate == CONTRADICTION else triple
        for triple in rule.head
    )
    return replace(rule, head=head)


def _follows(aside: Aside, rule: DerivationRule) -> bool:
    """Whether the conclusions of a rule follow from its premises, whatever they are about."""
    for names in _namings(rule):
        premises = tuple(
            dict.fromkeys(filled_triple(each, names) for each in triples_of(rule.body))
        )
        delta = Delta(0, tuple(each for each in premises if each not in aside.kb))
        aside.change(delta)
        found = all(
            isinstance(conclusion[0], Literal) or conclusion in aside.kb
            for conclusion in (filled_triple(each, names) for each in rule.head)
        )
        aside.change(delta.inverse())
        if not found:
            return False
    return True


def _namings(rule: DerivationRule) -> Iterator[dict[str, Term]]:
    """New names for the variables of a rule, in all the ways in which they may be equal. An object
    may be a literal, which is no subject of others.
    """
    premises = list(triples_of(rule.body))
    variables = sorted(_variables(rule), key=lambda each: each.name)
    first = {end for each in premises for end in (each.subject, each.predicate)}
    unequal = [
        pair
        for node in nodes(rule.body)
        if isinstance(node, algebra.Filter)
        for pair in distinctions(node.condition)
    ]
    for groups in _partitions(variables):
        if any(groups[one] == groups[other] for one, other in unequal):
            continue
        named = {groups[each] for each in variables if each in first}
        free = sorted({*groups.values()} - named)
        for chosen in product((IRI, Literal), repeat=len(free)):
            kinds = dict(zip(free, chosen, strict=True))
            yield {
                each.name: kinds.get(number, IRI)(f"{_NEW}{number}")
                for each, number in groups.items()
            }


def _partitions(variables: Sequence[Variable]) -> Iterator[dict[Variable, int]]:
    """The ways in which variables can be equal: the number of a group for each."""
    if not variables:
        yield {}
        return
    *others, last = variables
    for groups in _partitions(others):
        for number in range(len(set(groups.values())) + 1):
            yield {**groups, last: number}


def _variables(rule: DerivationRule) -> set[Variable]:
    triples = (*triples_of(rule.body), *rule.head)
    return {each for triple in triples for each in triple_variables(triple)}


def _can_be_tried(rule: DerivationRule) -> bool:
    """Whether the premises are triples, with no other condition than that terms differ."""
    return (
        _is_general(rule.body)
        and all(
            isinstance(each, algebra.BGP | algebra.Join | algebra.Filter)
            for each in _patterns(rule.body)
        )
        and all(isinstance(each.predicate, IRI | Variable) for each in triples_of(rule.body))
        and len(_variables(rule)) <= _MOST_NAMES
    )


def _is_general(body: Pattern) -> bool:
    """Whether a body that matches triples of new names matches them with any others."""
    return all(
        isinstance(each, algebra.BGP | algebra.Join | algebra.Each)
        or (isinstance(each, algebra.Filter) and _only_distinguishes(each.condition))
        for each in _patterns(body)
    )


def _patterns(body: Pattern) -> Iterator[Pattern]:
    return (each for each in nodes(body) if isinstance(each, Pattern))


def _only_distinguishes(condition: Expression) -> bool:
    match condition:
        case algebra.And(left, right):
            return _only_distinguishes(left) and _only_distinguishes(right)
    return any(True for _ in distinctions(condition))
