"""The files that are open in the editor, by path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from pygls import uris

from sensorstream.app.control.mapping_files import read_functions
from sensorstream.editor.deployment import Ontologies, deployment_of, state_of
from sensorstream.editor.document import OpenDocument
from sensorstream.editor.text import SourceText
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


class OpenFiles:
    """Texts as they stand in the editor, and what is known around each."""

    def __init__(self) -> None:
        self.ontologies = Ontologies()
        self._functions = Functions()
        self._texts: dict[Path, str] = {}
        self._uris: dict[Path, str] = {}

    def put(self, uri: str, text: str) -> Path:
        """Take the text of a file that was opened or changed."""
        path = path_of(uri)
        self._texts[path] = text
        self._uris[path] = uri
        return path

    def close(self, uri: str) -> Path:
        """Forget a file; from now on what is on disk counts."""
        path = path_of(uri)
        self._texts.pop(path, None)
        self._uris.pop(path, None)
        return path

    def unsaved(self) -> dict[Path, str]:
        """A copy of all texts."""
        return dict(self._texts)

    def uri(self, path: Path) -> str:
        """The name of a file in the protocol, as the editor writes it."""
        return self._uris.get(path) or path.as_uri()

    def document(self, uri: str) -> OpenDocument | None:
        """An open file with its surroundings; None if it is not open."""
        path = path_of(uri)
        text = self._texts.get(path)
        if text is None:
            return None
        settings = deployment_of(path).settings
        names = self.ontologies.names(settings.ontology)
        functions = self._functions.known(settings.functions.files)
        return OpenDocument(path, text, settings.folder, names, functions)

    def source(self, path: Path) -> SourceText:
        """The text of a file, open or not; empty if it cannot be read."""
        text = self._texts.get(path)
        if text is None:
            try:
                text = path.read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                text = ""
        return SourceText(text)


def path_of(uri: str) -> Path:
    """The path of a file; a text that was never saved gets one in the working folder."""
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return Path(path) if path else Path.cwd() / quote(uri, safe="")
