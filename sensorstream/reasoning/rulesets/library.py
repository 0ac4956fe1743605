"""The rule sets that come with SensorStream; each is a text to read, and to copy and edit."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from sensorstream.errors import ProgramError
from sensorstream.reasoning.rulesets.reader import read
from sensorstream.reasoning.rulesets.rule_set import RuleSet

SUMMARIES: Final = {
    "rdf": "RDF (RDF 1.1 Semantics, 8.1.1)",
    "rdfs": "RDF and RDFS (RDF 1.1 Semantics, 8.1.1 and 9.2.1)",
    "rhodf": "rho-df, the minimal RDFS (Muñoz, Pérez, Gutierrez, 2007, Table 1)",
    "dstar": "D*: RDFS with datatypes (ter Horst, 2005, Table 4)",
    "pdstar": "pD*: D* and a part of OWL (ter Horst, 2005, Tables 4 and 7)",
    "owl2rl": "OWL 2 RL (OWL 2 Profiles, Tables 4 to 9)",
    "swclos2": "what SWCLOS2 adds to pD* (SWCLOS2 manual, Table 13.4)",
    "rdf-literals": "a blank node for each literal, of its datatype (RDF 1.1 Semantics, 8.1.1)",
    "rdf-values": "numbers and booleans in canonical form, too (RDF 1.1 Semantics, 7)",
    "rdfs-unsatisfiable": "what contradicts itself by datatypes (RDF 1.1 Semantics, 7.1 and 9)",
    "owl2rl-unsatisfiable": "what contradicts itself by OWL 2 RL (OWL 2 Profiles, Tables 4 to 8)",
    "swclos2-unsatisfiable": "what contradicts itself by SWCLOS2 (SWCLOS2 manual, Table 13.5)",
    "rdf-axioms": "the axiomatic triples of RDF (RDF 1.1 Semantics, 8)",
    "rdfs-axioms": "the axiomatic triples of RDFS (RDF 1.1 Semantics, 9)",
    "owl2rl-axioms": "rules of OWL 2 RL without premises (OWL 2 Profiles, Tables 5, 6 and 8)",
    "swclos2-axioms": "what SWCLOS2 adds to OWL's definition (SWCLOS2 manual, Table 13.2)",
    "rdfs-containers": "the axioms of rdf:_1, rdf:_2, … that are used (RDF 1.1 Semantics, 9)",
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


def plain_rules() -> RuleSet:
    """The rules of the plain profile, with which it can be told why it infers a triple.

    At run time :mod:`sensorstream.reasoning.schema_closure` composes the same from the schema.
    """
    return read(_file("plain").read_text(encoding="utf-8"), "plain")


def _file(name: str) -> Traversable:
    return resources.files(__package__) / f"{name}.ru"
