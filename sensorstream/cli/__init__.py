"""The command line: thin wrappers around the application and the server."""

from sensorstream.cli.command_group import main

__all__ = ["main"]
