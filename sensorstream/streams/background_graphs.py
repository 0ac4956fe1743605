"""Background knowledge of offline queries: RDF files as graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast
from urllib.parse import unquote, urlsplit

import pyoxigraph as ox

from sensorstream.errors import BackgroundError, Position, TermError
from sensorstream.kb.graph_text import quads_in, renamed, syntax_of
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.rdf_formats import RDF_TYPES
from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.algebra import Dataset


@dataclass(slots=True)
class Background:
    """RDF files as separate graphs; together they are the default graph. The ``named`` graphs in
    files of TriG, N-Quads and JSON-LD are graphs of their own besides.

    A query names a file by its ``file:`` IRI, or by any IRI that ends in the file's name, with this
    or another suffix. A query that names no file reads all of them.
    """

    files: dict[Path, TripleIndex] = field(default_factory=dict)
    named: dict[IRI, TripleIndex] = field(default_factory=dict)

    def read(self, files: Sequence[Path]) -> None:
        """Read files in a format of RDF, by suffix.

        Raises BackgroundError if a file cannot be read, with the line where it is known.
        """
        for file in files:
            if file.resolve() in self.files:
                continue
            index = self.files[file.resolve()] = TripleIndex()
            for triple, graph in _statements(file, len(self.files)):
                index.add(triple)
                if graph:
                    self.named.setdefault(graph, TripleIndex()).add(triple)

    def triples(self) -> Iterator[Triple]:
        """The triples of all files, file by file; a triple may come several times."""
        for index in self.files.values():
            yield from index.match(None, None, None)

    def graphs(self) -> dict[IRI, TripleIndex]:
        """The graphs of the files by ``file:`` IRI; a lookup finds a file by any of its names."""
        return _Graphs(self)

    def chosen(self, dataset: Dataset, file: Path) -> dict[IRI, TripleIndex]:
        """The graphs that GRAPH matches in a query: those of FROM NAMED, or all files without it.

        Raises BackgroundError if a FROM clause names a file that is not there.
        """
        for name in dataset.default:
            self.find(name, "FROM", file)
        named = {name: self.find(name, "FROM NAMED", file) for name in dataset.named}
        return named or self.graphs()

    def find(self, name: IRI, clause: str, query: Path) -> TripleIndex:
        """The graph that a clause of a query names; raises BackgroundError if it cannot be read."""
        if found := self.named.get(name):
            return found
        parts = urlsplit(name)
        last = unquote(parts.path.rsplit("/", 1)[-1])
        for path, index in self.files.items():
            if path.as_uri() == name or path.name == last:
                return index
        # The file may be given in another format: SensorRepository.n3 for SensorRepository.rdf.
        alike = [each for path, each in self.files.items() if path.stem == Path(last).stem]
        if len(alike) == 1:
            return alike[0]
        if parts.scheme in ("", "file"):
            path = (query.parent / unquote(parts.path)).resolve()
            if path.is_file():
                self.read([path])
                return self.files[path]
        known = ", ".join(path.name for path in self.files) or "none"
        raise BackgroundError(
            f"{query}: {clause} <{name}>: expected the name of a --static file; given: {known}"
        )


class _Graphs(dict[IRI, TripleIndex]):
    """Graphs of files by ``file:`` IRI; other names of a file find it too, but are not keys."""

    def __init__(self, background: Background) -> None:
        files = {IRI(path.as_uri()): each for path, each in background.files.items()}
        super().__init__({**files, **background.named})
        self._background = background

    def __missing__(self, name: IRI) -> TripleIndex:
        try:
            return self._background.find(name, "FROM NAMED", Path())
        except BackgroundError as error:
            raise KeyError(name) from error


def _statements(file: Path, number: int) -> list[tuple[Triple, IRI | None]]:
    """The triples of a file, each with the name of its graph."""
    kind = RDF_TYPES.get(file.suffix.lower())
    if kind is None:
        raise BackgroundError(
            f"{file}: unknown kind of file: expected one of {', '.join(sorted(RDF_TYPES))}"
        )
    syntax, base = syntax_of(kind), file.resolve().as_uri()
    found = []
    try:
        for quad in quads_in(file.read_bytes(), syntax, base):
            parts = (quad.subject, quad.predicate, quad.object)
            # Blank nodes of different files are different.
            triple = cast(Triple, tuple(renamed(each, f"s{number}-") for each in parts))
            name = quad.graph_name
            found.append((triple, IRI(name.value) if isinstance(name, ox.NamedNode) else None))
        return found
    except OSError as error:
        raise BackgroundError(f"{file}: cannot be read: {error.strerror}") from None
    except SyntaxError as error:
        position = Position(str(file), error.lineno or 1, error.offset or 1)
        raise BackgroundError(str(error.msg), position=position) from None
    except TermError as error:
        raise BackgroundError(f"{file}: {error.message}") from None
