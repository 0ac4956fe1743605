"""Value functions: what a value of a message goes through before it is stated."""

from sensorstream.mapping.functions.registry import Function, Kind, Tables, compile_call

__all__ = ["Function", "Kind", "Tables", "compile_call"]
