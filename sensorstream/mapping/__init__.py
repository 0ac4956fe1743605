"""Mapping rules: an XML message becomes events."""

from sensorstream.mapping.mapping_check import check
from sensorstream.mapping.mapping_compiler import compile_mapping
from sensorstream.mapping.mapping_plan import MappedMessage, MappingPlan
from sensorstream.mapping.xml_document import parse_document

__all__ = ["MappedMessage", "MappingPlan", "check", "compile_mapping", "parse_document"]
