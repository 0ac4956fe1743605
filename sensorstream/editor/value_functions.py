"""The value functions that rules may call, read again only after a file has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sensorstream.app.function_files import read_functions
from sensorstream.editor.deployment import state_of
from sensorstream.mapping.functions import Definition, Library, definitions


class Functions:
    """The functions that are built in, and those of the user's own."""

    def __init__(self) -> None:
        self._states: object = None
        self._found: Mapping[str, Definition] = {}

    def known(self, files: Sequence[Path]) -> Mapping[str, Definition]:
        """All functions by name; ``files`` are those of the user. Those with faults are missing."""
        states = tuple(map(state_of, files))
        if states != self._states:
            own, _ = read_functions(files)
            self._found, self._states = definitions(Library(own=own)), states
        return self._found
