"""Value functions: they change a value of a message before it is stated."""

from sensorstream.mapping.functions.definition import (
    NO_LIBRARY,
    VALUE,
    Definition,
    Function,
    Library,
    Parameter,
    Tables,
    ValueKind,
)
from sensorstream.mapping.functions.registry import (
    builtins,
    call_of,
    compile_call,
    definition_of,
    definitions,
)

__all__ = [
    "NO_LIBRARY",
    "VALUE",
    "Definition",
    "Function",
    "Library",
    "Parameter",
    "Tables",
    "ValueKind",
    "builtins",
    "call_of",
    "compile_call",
    "definition_of",
    "definitions",
]
