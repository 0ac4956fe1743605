"""RML: mappings in RDF (http://w3id.org/rml/), the standard alternative to the rule language."""

from sensorstream.mapping.rml.rml_compiler import (
    Surroundings,
    compile_maps,
    compile_rml,
    joined_files,
)
from sensorstream.mapping.rml.rml_reader import read_rml

__all__ = ["Surroundings", "compile_maps", "compile_rml", "joined_files", "read_rml"]
