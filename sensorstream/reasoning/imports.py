"""Where the imports of an ontology are found: given files, and catalogs beside them.

Source: OWL 2 Structural Specification, section 3.4 (imports); OASIS XML Catalogs 1.1, sections 6
and 7, of which Protégé writes ``catalog-v001.xml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

from lxml import etree

from sensorstream.errors import OntologyError
from sensorstream.model.terms import IRI
from sensorstream.reasoning.documents import parse_xml

CATALOG: Final = "catalog-v001.xml"
"""The file beside an ontology that maps the IRIs of imports to files."""

_SPACE: Final = "{urn:oasis:names:tc:entity:xmlns:xml:catalog}"
_BASE: Final = "{http://www.w3.org/XML/1998/namespace}base"


@dataclass(frozen=True, slots=True)
class Missing:
    """An import that is not among the given files: ``target``, and the file that imports it."""

    target: IRI
    file: Path


class Catalogs:
    """The catalogs of some folders; each is read once. ``files`` are those that were read."""

    def __init__(self) -> None:
        self.files: dict[Path, None] = {}
        self._read: dict[Path, dict[str, str]] = {}

    def file_of(self, missing: Missing) -> Path | None:
        """The file that stands for an import; None: no catalog beside the importing file has it.

        Raises:
            OntologyError: the catalog cannot be read, or maps it to something that is no file.
        """
        catalog = missing.file.parent / CATALOG
        mapped = self.entries(catalog).get(missing.target)
        if mapped is None:
            return None
        file = _file(mapped)
        if file is None:
            raise OntologyError(
                f"{catalog}: maps <{missing.target}> to <{mapped}>, and nothing is fetched: "
                "expected a file"
            )
        if not file.is_file():
            raise OntologyError(f"{catalog}: maps <{missing.target}> to {file}, which is no file")
        return file

    def entries(self, catalog: Path) -> dict[str, str]:
        """What a catalog, and those it names as next, map; the first entry for a name counts.

        Raises:
            OntologyError: a catalog is not well-formed XML.
        """
        if catalog not in self._read:
            found: dict[str, str] = {}
            ahead, seen = [catalog], set()
            while ahead:
                each = ahead.pop(0)
                if each in seen or not each.is_file():
                    continue
                seen.add(each)
                self.files[each] = None
                root = parse_xml(each, each.read_bytes())
                for name, target in _mapped(root, each.resolve().as_uri()):
                    found.setdefault(name, target)
                ahead += _next(root, each)
            self._read[catalog] = found
        return self._read[catalog]


def surroundings(files: Iterable[Path]) -> tuple[Path, ...]:
    """The catalogs beside files, and all files that they map; what cannot be read is left out.

    Cheaper than loading the ontologies, to see whether one of their files has changed.
    """
    found: dict[Path, None] = {}
    seen: set[Path] = set()
    ahead = list(files)
    while ahead:
        catalog = ahead.pop().parent / CATALOG
        if catalog in seen:
            continue
        seen.add(catalog)
        catalogs = Catalogs()
        with suppress(OntologyError, OSError):
            mapped = [file for file in map(_file, catalogs.entries(catalog).values()) if file]
            found.update(dict.fromkeys(mapped))
            ahead += mapped
        found.update(catalogs.files)
    return tuple(found)


def unresolved(targets: Iterable[Missing]) -> OntologyError:
    """The error for imports that are nowhere, and the ways out."""
    by_file: dict[Path, list[str]] = {}
    for each in targets:
        by_file.setdefault(each.file, []).append(f"<{each.target}>")
    told = "; ".join(f"{file}: imports {', '.join(names)}" for file, names in by_file.items())
    several = sum(map(len, by_file.values())) > 1
    which, it = ("which are", "them") if several else ("which is", "it")
    return OntologyError(
        f"{told}, {which} not {'' if several else 'one '}of the given files: download {it} and "
        f"list {it} beside this one or in {CATALOG}, or name {it} in [ontology] leave_out"
    )


def _file(address: str) -> Path | None:
    """The file of an address; None: it is elsewhere."""
    parts = urlsplit(address)
    local = parts.scheme == "file" and parts.netloc in ("", "localhost")
    return Path(unquote(parts.path)) if local else None


def _mapped(root: etree._Element, base: str) -> Iterator[tuple[str, str]]:
    for element in root.iter(f"{_SPACE}uri", f"{_SPACE}system"):
        name = element.get("name") or element.get("systemId")
        target = element.get("uri")
        if name and target:
            yield name, urljoin(_base_of(element, base), target)


def _next(root: etree._Element, catalog: Path) -> Iterator[Path]:
    for element in root.iter(f"{_SPACE}nextCatalog"):
        yield catalog.parent / unquote(element.get("catalog", ""))


def _base_of(element: etree._Element, base: str) -> str:
    for each in [*reversed(list(element.iterancestors())), element]:
        base = urljoin(base, each.get(_BASE, ""))
    return base
