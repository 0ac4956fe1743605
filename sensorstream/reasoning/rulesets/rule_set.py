"""The rules of a file, several files as one, and tests for rules that are alike, or lasting."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from sensorstream.errors import Position
from sensorstream.language.syntax import RuleFile
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import Triple
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.recursion.triple_kinds import reads, written
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import TriplePattern, Variable
from sensorstream.sparql.walk import nodes, replaced


def renamed(rule: DerivationRule) -> Hashable:
    """Head and body with variables named by their order: equal for rules that mean the same. Blocks
    of triples are sets, so their order is left out as far as their text alone decides it.
    """
    names: dict[str, str] = {}
    if isinstance(rule.body, algebra.BGP):
        # By far the most frequent body.
        body = frozenset([_renamed(each, names) for each in rule.body.patterns])
        return tuple([_renamed(each, names) for each in rule.head]), body

    def new(part: object) -> object | None:
        if isinstance(part, Variable):
            return Variable(names.setdefault(part.name, str(len(names))))
        return None

    return replaced(replaced(rule.body, new), _unordered), replaced(rule.head, new)


def _renamed(triple: TriplePattern, names: dict[str, str]) -> Hashable:
    return tuple(
        [
            (names.setdefault(part.name, str(len(names))),) if isinstance(part, Variable) else part
            for part in (triple.subject, triple.predicate, triple.object)
        ]
    )


def _unordered(part: object) -> object | None:
    return (
        algebra.BGP(tuple(sorted(set(part.patterns), key=str)))
        if isinstance(part, algebra.BGP)
        else None
    )


_LOOSING = (algebra.Exists, algebra.Group, algebra.LeftJoin, algebra.Minus, algebra.Slice)


def lasting(rules: Sequence[DerivationRule]) -> list[DerivationRule]:
    """The rules without NOT EXISTS and its like, that read nothing which rules with it conclude."""
    kept = [rule for rule in rules if not _may_lose(rule)]
    lost = [rule for rule in rules if _may_lose(rule)]
    while lost:
        made = {written(triple) for rule in lost for triple in rule.head}
        lost = [
            rule
            for rule in kept
            if any(read.kind.meets(kind) for read in reads(rule.body) for kind in made)
        ]
        kept = [rule for rule in kept if rule not in lost]
    return kept


def _may_lose(rule: DerivationRule) -> bool:
    return any(isinstance(node, _LOOSING) for node in nodes(rule.body))


@frozen
class RuleComment:
    """The place of a rule in its file, and the comment below its name."""

    position: Position
    comment: str


@frozen
class RuleSet:
    """Rules: ``rules`` in the order of the text; ``facts`` hold in any case (axiomatic triples).
    ``state_rules`` are those that delete, each as a file of the rule language.
    """

    name: str
    rules: tuple[DerivationRule, ...]
    facts: tuple[Triple, ...]
    notes: Mapping[str, RuleComment]
    """By the name of a rule."""
    state_rules: tuple[RuleFile, ...] = ()

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of the rules that delete."""
        return tuple(rule.name for file in self.state_rules for rule in file.rules)


def combined(sets: Iterable[RuleSet]) -> RuleSet:
    """The rules of several sets; one that several have in common counts once. A rule with the name
    of another one is named after its set as well, as in ``rdfs2 (mine)``.
    """
    several = tuple(sets)
    kept: dict[object, DerivationRule] = {}
    notes: dict[str, RuleComment] = {}
    for each in several:
        for rule in each.rules:
            meaning = renamed(rule)
            if meaning in kept:
                continue
            name = rule.name
            if name in notes:
                name = f"{name} ({each.name})"
            number = 2
            while name in notes:
                name = f"{rule.name} ({each.name}, {number})"
                number += 1
            kept[meaning] = replace(rule, name=name)
            notes[name] = each.notes[rule.name]
        notes.update((name, each.notes[name]) for name in each.state_names if name not in notes)
    facts = dict.fromkeys(fact for each in several for fact in each.facts)
    return RuleSet(
        " + ".join(each.name for each in several),
        tuple(kept.values()),
        tuple(facts),
        notes,
        tuple(file for each in several for file in each.state_rules),
    )
