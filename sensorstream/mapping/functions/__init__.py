"""Value functions: what a value of a message goes through before it is stated."""

from sensorstream.mapping.functions.registry import Function, Tables, ValueKind, compile_call

__all__ = ["Function", "Tables", "ValueKind", "compile_call"]
