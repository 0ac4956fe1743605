"""Notes on rules that write axioms under a profile that reads them from the ontology alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sensorstream.analysis import Note
from sensorstream.language.syntax import IndividualAction, Name, RuleFile
from sensorstream.language.walk import nodes
from sensorstream.reasoning.profiles import says_axiom

_PROFILES: Final = frozenset({"plain", "hermit", "pellet"})


def axiom_notes(files: Iterable[RuleFile], profile: str) -> Iterator[Note]:
    """A note for each name of an axiom that a rule says of its individuals."""
    if profile not in _PROFILES:
        return
    for file in files:
        for rule in file.rules:
            for name in _said(rule):
                if name.is_constant and says_axiom(word := file.resolve(name)):
                    yield Note(
                        "axiom-unread",
                        f"rule {rule.name}: nothing follows from {word.n3} in a message: the "
                        f"profile {profile} reads axioms from the ontology alone: put it into the "
                        "ontology, or choose a profile with rule sets that read it",
                        name.position,
                    )


def _said(rule: object) -> Iterator[Name]:
    for action in nodes(rule, IndividualAction):
        yield from action.classes
        yield from (each.property for each in action.properties)
