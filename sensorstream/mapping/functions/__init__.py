"""Value functions: they change a value of a message before it is stated."""

from sensorstream.mapping.functions.registry import Function, Tables, ValueKind, compile_call

__all__ = ["Function", "Tables", "ValueKind", "compile_call"]
