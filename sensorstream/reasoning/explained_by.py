"""The rules with which it can be told why a reasoner inferred a triple."""

from __future__ import annotations

from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.reasoning.resilient import ResilientReasoner
from sensorstream.reasoning.rulesets.plain import plain_rules
from sensorstream.reasoning.rulesets.reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set import RuleSet
from sensorstream.reasoning.schema_closure import SchemaClosure


def rules_of(reasoner: Reasoner) -> RuleSet | None:
    """The rules of a reasoner; None: it has none, because it is HermiT or Pellet, or infers
    nothing.
    """
    if isinstance(reasoner, RuleReasoner):
        return reasoner.rule_set
    if isinstance(reasoner, SchemaClosure):
        return plain_rules()
    if isinstance(reasoner, ResilientReasoner) and reasoner.degraded:
        return plain_rules()
    return None
