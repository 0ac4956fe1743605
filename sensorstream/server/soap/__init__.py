"""SOAP 1.1 and 1.2, by hand: one operation, document/literal wrapped."""

from sensorstream.server.soap.endpoint import router

__all__ = ["router"]
