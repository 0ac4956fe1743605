"""The ontologies, and with which settings each of them loads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import owlready2

from sensorstream.errors import OntologyError
from sensorstream.model import owl
from sensorstream.model.terms import IRI
from sensorstream.reasoning.ontology import Ontology, load_ontology
from sensorstream.reasoning.ontology_documents import read_document

FOLDER: Final = Path(
    os.environ.get("ONTOLOGIES") or Path(__file__).parents[3] / "shared" / "data" / "ontologies"
)
"""Where the published ontologies are; they are no part of the project."""


@dataclass(frozen=True, slots=True)
class Case:
    """One ontology, of one or several files."""

    name: str
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """An ontology, and what had to be set; or why it is refused whatever is set."""

    ontology: Ontology | None
    needs: str
    why: str = ""


def single_files() -> Iterator[Case]:
    """Every file by itself: those of the folder, and those that owlready2 brings."""
    packaged = Path(owlready2.__file__).parent / "ontos"
    for folder in (FOLDER, FOLDER / "ssn", packaged):
        for file in sorted([*folder.glob("*.owl"), *folder.glob("*.ttl")]):
            yield Case(f"{folder.name}/{file.name}" if folder != FOLDER else file.name, (file,))


def together() -> Iterator[Case]:
    """What belongs together, and single files that are worth reasoning with."""
    ssn = sorted((FOLDER / "ssn").glob("*.ttl"))
    core = tuple(file for file in ssn if file.name.startswith("core"))
    for name in ("koala.owl", "univ-bench.owl", "bot.ttl", "pizza.owl", "time.owl", "food.owl"):
        yield Case(name, (FOLDER / name,))
    yield Case("SOSA and SSN", core)
    yield Case("SOSA, SSN and ssn-system", (*core, FOLDER / "ssn" / "extensions_ssn-system.ttl"))
    yield Case("the same and DUL alignment", tuple(ssn))
    for name in ("primer.owl", "family.owl", "wine.owl"):
        yield Case(name, (FOLDER / name,))
    yield Case("food and wine", (FOLDER / "food.owl", FOLDER / "wine.owl"))


def load(files: Sequence[Path]) -> Loaded:
    """Load an ontology with as few settings as it needs."""
    tries: list[tuple[str, tuple[IRI, ...], str]] = [("", (), "refuse")]
    imports = _imports(files)
    if imports:
        tries.append(("`leave_out`", imports, "refuse"))
    tries.append(("`undeclared`", (), "infer"))
    if imports:
        tries.append(("`leave_out`, `undeclared`", imports, "infer"))
    why = ""
    for needs, leave_out, names in tries:
        try:
            return Loaded(load_ontology(files, leave_out, names), needs, why)
        except OntologyError as error:
            why = why or str(error)
            last = str(error)
    return Loaded(None, "", last)


def _imports(files: Sequence[Path]) -> tuple[IRI, ...]:
    found: dict[IRI, None] = {}
    for file in files:
        try:
            for _, p, o in read_document(file):
                if p == owl.IMPORTS and isinstance(o, IRI):
                    found[o] = None
        except OntologyError:
            continue
    return tuple(found)
