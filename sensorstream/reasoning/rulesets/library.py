"""The rule sets that come with SensorStream; each is a text to read, and to copy and edit."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from sensorstream.errors import ProgramError
from sensorstream.reasoning.rulesets.reader import read
from sensorstream.reasoning.rulesets.rule_set import RuleSet

SUMMARIES: Final = {
    "rdfs": "RDF and RDFS (RDF 1.1 Semantics, 8.1.1 and 9.2.1)",
    "rhodf": "rho-df, the minimal RDFS (Muñoz, Pérez, Gutierrez, 2007, Table 1)",
}
"""What each set is, by its name."""


def text_of(name: str) -> str:
    """The text of a rule set.

    Raises:
        ProgramError: there is none of that name.
    """
    if name not in SUMMARIES:
        raise ProgramError(
            f"there is no rule set '{name}': expected one of {', '.join(SUMMARIES)}, or a file"
        )
    return _file(name).read_text(encoding="utf-8")


def bundled_rules(name: str) -> RuleSet:
    """A rule set that comes with SensorStream.

    Raises:
        ProgramError: there is none of that name.
    """
    return read(text_of(name), name)


def _file(name: str) -> Traversable:
    return resources.files(__package__) / f"{name}.ru"
