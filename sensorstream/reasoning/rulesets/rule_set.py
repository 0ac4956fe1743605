"""The rules of a file, and several files as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sensorstream.errors import Position
from sensorstream.language.syntax import RuleFile
from sensorstream.model.terms import Triple
from sensorstream.network.recursion.rule import DerivationRule
from sensorstream.reasoning.rulesets.renaming import renamed


@dataclass(frozen=True, slots=True)
class Note:
    """What a file says of a rule: where it stands, and the comment below its name."""

    position: Position
    comment: str


@dataclass(frozen=True, slots=True)
class RuleSet:
    """``rules`` in the order of the text; ``facts`` hold in any case (axiomatic triples).

    ``state_rules`` are those that delete, each as a file of the rule language.
    """

    name: str
    rules: tuple[DerivationRule, ...]
    facts: tuple[Triple, ...]
    notes: Mapping[str, Note]
    """By the name of a rule."""
    state_rules: tuple[RuleFile, ...] = ()

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of the rules that delete."""
        return tuple(rule.name for file in self.state_rules for rule in file.rules)


def combined(sets: Iterable[RuleSet]) -> RuleSet:
    """All rules of several sets; one that several have in common counts once.

    A rule with the name of another one is named after its set as well, as in ``rdfs2 (mine)``.
    """
    several = tuple(sets)
    kept: dict[object, DerivationRule] = {}
    notes: dict[str, Note] = {}
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
