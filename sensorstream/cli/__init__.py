"""The command line: thin wrappers around the application and the server."""

from sensorstream.cli.group import main

__all__ = ["main"]
