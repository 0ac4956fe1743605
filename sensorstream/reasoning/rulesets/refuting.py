"""Which statements and which rules make a message contradict what is known, by rule sets."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sensorstream.errors import Contradiction, Inconsistent
from sensorstream.kb.graph import KnowledgeBase
from sensorstream.model.terms import Literal, Term, Triple
from sensorstream.reasoning.rulesets.applications import Applications
from sensorstream.reasoning.rulesets.derivation import grounds

_MOST_APPLICATIONS: Final = 2_000
"""The engine waits meanwhile."""


def contradicting(
    triple: Triple, kb: KnowledgeBase, applications: Applications, facts: Collection[Triple]
) -> Inconsistent:
    """The error for a conclusion that is a contradiction, with the statements it follows from.

    They are a minimal set of what the window says; ``axioms`` are the rules on the way, and what
    the static graph says besides. ``facts`` are those of the rule set.
    """
    subject, _, text = triple
    said, found = grounds(triple, applications, kb, frozenset(facts), most=_MOST_APPLICATIONS)
    told = contradiction_text(subject, text)
    limits = f"the statements are not narrowed down: {found.limits}" if found.limits else ""
    premises = dict.fromkeys(each for step in found.steps.values() for each in step.premises)
    static = [each for each in premises if each not in found.steps and each not in said]
    rules = dict.fromkeys(step.rule for step in found.steps.values())
    axioms = (told, *(f"rule {each}" for each in rules), *map(_line, static))
    return Inconsistent(
        f"the message contradicts the ontology: {told}",
        individuals=(subject.n3,),
        contradiction=Contradiction(tuple(map(_line, said)), axioms, limits),
    )


def contradiction_text(subject: Term, text: Term) -> str:
    """What a rule says of an individual."""
    said = text.lexical if isinstance(text, Literal) else str(text)
    return f"{said}: {subject.n3}"


def _line(triple: Triple) -> str:
    return " ".join(each.n3 for each in triple) + " ."
