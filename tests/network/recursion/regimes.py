"""Rules of equality as rule sets write them."""

from __future__ import annotations

from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.network.recursion.equality_rules import EQUALITY
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules
from tests.network.recursion.world import rule

SAME = "<http://www.w3.org/2002/07/owl#sameAs>"
TOLD = rule("told", f"{{ ?x {SAME} ?y }} WHERE {{ ?x :p1 ?y . ?y :p1 ?x }}")
PD_STAR = {
    each.name: each
    for each in bundled_rules("pdstar").rules
    if each.name in ("rdfp5a", "rdfp5b", "rdfp6", "rdfp7", "rdfp11")
}
REGIMES: dict[str, tuple[tuple[DerivationRule, ...], tuple[DerivationRule, ...]]] = {
    "owl2rl": (EQUALITY, ()),
    "without properties": (tuple(e for e in EQUALITY if e.name != "eq-rep-p"), ()),
    "pdstar": (
        tuple(PD_STAR[name] for name in ("rdfp6", "rdfp7", "rdfp11")),
        (PD_STAR["rdfp5a"], PD_STAR["rdfp5b"]),
    ),
}
"""Rules of equality, and others that they need beside them."""
