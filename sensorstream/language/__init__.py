"""The rule language: text to syntax tree and back, for mapping and for semantic rules."""

from sensorstream.language.rule_parser import parse, parse_with_faults
from sensorstream.language.rule_printer import print_rules
from sensorstream.language.syntax import MappingRule, RuleFile, SemanticRule

__all__ = ["MappingRule", "RuleFile", "SemanticRule", "parse", "parse_with_faults", "print_rules"]
