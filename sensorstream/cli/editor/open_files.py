"""The files that are open, and the deployments that they belong to; files on disk are read anew
when they have changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pygls import uris

from sensorstream.app.control.file_texts import QUERY_ENDINGS, is_query_file, is_rule_set
from sensorstream.app.control.mapping_files import is_rule_file, read_functions
from sensorstream.cli.editor.open_document import OpenDocument, SourceText
from sensorstream.cli.editor.shown_names import Vocabulary
from sensorstream.errors import SensorStreamError
from sensorstream.mapping.functions.function_definition import Definition, Library
from sensorstream.mapping.functions.function_registry import definitions
from sensorstream.model.frozen import frozen, replace
from sensorstream.reasoning.ontology import Ontology, deployed_ontology
from sensorstream.reasoning.ontology_documents import surroundings
from sensorstream.settings.settings import OntologySettings, RuleSettings, Settings
from sensorstream.settings.settings_file import load_settings

SETTINGS_FILE: Final = "sensorstream.toml"
_MOST: Final = 8
"""Ontologies that are kept at a time."""
_QUERY_FILES: Final = tuple(f"{place}*{ending}" for place in ("", "*/") for ending in QUERY_ENDINGS)
_MOST_QUERIES: Final = 200
"""Files of queries of each kind and place that are looked through."""


@frozen
class EditedDeployment:
    """The settings that apply to a file.

    ``is_part``: they name the file. If not, the file is checked by itself, with the ontology of the
    settings. ``fault`` is that of a settings file that cannot be read.
    """

    settings: Settings
    is_part: bool
    fault: SensorStreamError | None = None


def deployment_of(file: Path) -> EditedDeployment:
    """The deployment of the nearest ``sensorstream.toml`` above a file."""
    alone = RuleSettings(files=(file,))
    for folder in file.parents:
        path = folder / SETTINGS_FILE
        if not path.is_file():
            continue
        try:
            settings = load_settings(path)
        except SensorStreamError as error:
            return EditedDeployment(Settings(path=path, rules=alone), False, error)
        if file in settings.rules.files:
            return EditedDeployment(settings, True)
        return EditedDeployment(replace(settings, rules=alone), False)
    return EditedDeployment(Settings(path=file.parent / SETTINGS_FILE, rules=alone), False)


@lru_cache(maxsize=_MOST)
def _loaded(settings: OntologySettings, *_states: object) -> tuple[Ontology, Vocabulary]:
    ontology = deployed_ontology(settings)
    return ontology, Vocabulary.of(ontology.schema, ontology.triples)


class EditedOntologies:
    """Ontologies, and their names, loaded again only after a file has changed."""

    def __init__(self) -> None:
        self._last: dict[OntologySettings, Vocabulary] = {}

    def load(self, settings: OntologySettings) -> Ontology:
        """The ontology of a deployment; raises OntologyError if a file cannot be loaded."""
        return self._load(settings)[0]

    def names(self, settings: OntologySettings) -> Vocabulary:
        """Its names; those of the last files without fault, while there is a fault in them."""
        try:
            names = self._load(settings)[1]
        except SensorStreamError:
            return self._last.get(settings, Vocabulary())
        self._last[settings] = names
        return names

    def _load(self, settings: OntologySettings) -> tuple[Ontology, Vocabulary]:
        files = (*settings.files, *surroundings(settings.files))
        return _loaded(settings, *map(state_of, files))


def state_of(file: Path) -> tuple[Path, int, int]:
    """A file, and what changes with its content."""
    try:
        found = file.stat()
    except OSError:
        return file, 0, 0
    return file, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=1)
def _functions(files: tuple[Path, ...], *_states: object) -> Mapping[str, Definition]:
    """The functions by name, without those that have faults; ``files`` are the user's."""
    own, _ = read_functions(files)
    return definitions(Library(own=own))


class OpenFiles:
    """Texts as they stand in the editor, and the surroundings of each."""

    def __init__(self) -> None:
        self.ontologies = EditedOntologies()
        self._texts: dict[Path, str] = {}
        self._uris: dict[Path, str] = {}

    def put(self, uri: str, text: str) -> Path:
        """Take the text of a file that was opened or changed."""
        path = path_of(uri)
        self._texts[path] = text
        self._uris[path] = uri
        return path

    def close(self, uri: str) -> Path:
        """Forget a file; from now on its content on disk counts."""
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
        files = settings.functions.files
        functions = _functions(files, *map(state_of, files))
        return OpenDocument(path, text, settings.folder, names, functions)

    def related(self, document: OpenDocument) -> list[OpenDocument]:
        """The file, and the others of its deployment, open or not: rules, queries and rule sets."""
        deployment = deployment_of(document.path)
        settings, own = deployment.settings, document.path
        found = dict.fromkeys((own, *settings.rules.files))
        if settings.path.is_file():
            for pattern in _QUERY_FILES:
                found |= dict.fromkeys(islice(settings.folder.glob(pattern), _MOST_QUERIES))
        for path in self._texts:
            if path.is_relative_to(settings.folder):
                found[path] = None
        return [
            document if path == own else replace(document, path=path, text=self.source(path).text)
            for path in found
            if is_rule_file(path) or is_query_file(path) or is_rule_set(path)
        ]

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
