"""The deployment that an open file belongs to, read anew when a file on disk has changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sensorstream.editor.vocabulary import Vocabulary
from sensorstream.errors import SensorStreamError
from sensorstream.reasoning.documents import surroundings
from sensorstream.reasoning.ontology import Ontology, deployed_ontology
from sensorstream.settings import OntologySettings, RuleSettings, Settings
from sensorstream.settings_file import load_settings

SETTINGS_FILE: Final = "sensorstream.toml"
_MOST: Final = 8
"""Ontologies that are kept at a time."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """The settings that apply to a file.

    ``is_part``: they name the file. If not, the file is checked by itself, with the ontology of the
    settings. ``fault`` is that of a settings file that cannot be read.
    """

    settings: Settings
    is_part: bool
    fault: SensorStreamError | None = None


def deployment_of(file: Path) -> Deployment:
    """The deployment of the nearest ``sensorstream.toml`` above a file."""
    alone = RuleSettings(files=(file,))
    for folder in file.parents:
        path = folder / SETTINGS_FILE
        if not path.is_file():
            continue
        try:
            settings = load_settings(path)
        except SensorStreamError as error:
            return Deployment(Settings(path=path, rules=alone), False, error)
        if file in settings.rules.files:
            return Deployment(settings, True)
        return Deployment(replace(settings, rules=alone), False)
    return Deployment(Settings(path=file.parent / SETTINGS_FILE, rules=alone), False)


class Ontologies:
    """Ontologies, and their names, loaded again only after a file has changed."""

    def __init__(self) -> None:
        self._kept: dict[object, tuple[Ontology, Vocabulary]] = {}
        self._last: dict[OntologySettings, Vocabulary] = {}

    def load(self, settings: OntologySettings) -> Ontology:
        """The ontology of a deployment.

        Raises:
            OntologyError: a file cannot be loaded.
        """
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
        key = (settings, *map(state_of, files))
        if key not in self._kept:
            ontology = deployed_ontology(settings)
            if len(self._kept) >= _MOST:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = ontology, Vocabulary.of(ontology.schema, ontology.triples)
        return self._kept[key]


def state_of(file: Path) -> tuple[Path, int, int]:
    """A file, and what changes with its content."""
    try:
        found = file.stat()
    except OSError:
        return file, 0, 0
    return file, found.st_mtime_ns, found.st_size
