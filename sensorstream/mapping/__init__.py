"""Mapping rules: an XML message becomes events."""

from sensorstream.mapping.check import check
from sensorstream.mapping.compile import compile_mapping
from sensorstream.mapping.document import parse_document
from sensorstream.mapping.plan import MappedMessage, MappingPlan

__all__ = ["MappedMessage", "MappingPlan", "check", "compile_mapping", "parse_document"]
