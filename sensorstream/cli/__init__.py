"""The command line: thin shells around the application and the server."""

from sensorstream.cli.group import main

__all__ = ["main"]
