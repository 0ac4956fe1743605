"""The W3C's SPARQL test suites, read from their manifests.

The suites lie beside the repository. Their tests are run by a command (``conformance``) and,
one by one, by pytest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

import pyoxigraph as ox
import pytest

SUITES: Final = Path(__file__).parents[3] / "shared" / "suites" / "w3c" / "sparql"
VERSIONS: Final = ("sparql10", "sparql11")
MISSING: Final = (
    "the W3C's suites are not beside the repository: put the folders sparql10 and sparql11 of "
    f"https://github.com/w3c/rdf-tests (in sparql/) into {SUITES}"
)

ENTAILMENT: Final = "entailment"
"""The category whose tests say what is inferred before a query is answered."""

# What these categories test is not the language: who answers, and how.
OUTSIDE: Final = {
    "graph-store-protocol": "HTTP, not the language: [below](#http)",
    "protocol": "HTTP, not the language: [below](#http)",
    "service-description": "HTTP, not the language: [below](#http)",
    "http-rdf-update": "replaced by graph-store-protocol",
    "service": "federation: a query cannot call other endpoints",
}

_MF: Final = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_QT: Final = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
_UT: Final = "http://www.w3.org/2009/sparql/tests/test-update#"
_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
_SD: Final = "http://www.w3.org/ns/sparql-service-description#"
_ENT: Final = "http://www.w3.org/ns/entailment/"

_SYNTAX: Final = {
    "PositiveSyntaxTest": (True, False),
    "PositiveSyntaxTest11": (True, False),
    "NegativeSyntaxTest": (False, False),
    "NegativeSyntaxTest11": (False, False),
    "PositiveUpdateSyntaxTest11": (True, True),
    "NegativeUpdateSyntaxTest11": (False, True),
}
_EVALUATION: Final = ("QueryEvaluationTest", "CSVResultFormatTest")


@dataclass(frozen=True, slots=True)
class Case:
    """One test; ``category`` is its folder, such as ``sparql11/aggregates``."""

    name: str
    category: str
    text: Path

    @property
    def base(self) -> str:
        """The IRI of the document that holds the text."""
        return self.text.as_uri()

    @property
    def label(self) -> str:
        return f"{self.category}/{self.name}"


@dataclass(frozen=True, slots=True)
class SyntaxCase(Case):
    """A text that can be read, or must not be."""

    positive: bool
    update: bool


@dataclass(frozen=True, slots=True)
class Data:
    """Files to load: of the default graph, and of named ones."""

    default: tuple[Path, ...] = ()
    named: tuple[tuple[str, Path], ...] = ()


@dataclass(frozen=True, slots=True)
class QueryCase(Case):
    """A query, its data and its result; ``lax`` results may repeat solutions or not."""

    data: Data
    result: Path
    lax: bool


@dataclass(frozen=True, slots=True)
class EntailmentCase(QueryCase):
    """A query whose result is right under each of ``regimes``, such as ``RDFS``."""

    regimes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SemanticsCase:
    """Whether ``premise`` entails ``conclusion``; with None, whether it is inconsistent."""

    name: str
    holds: bool
    regime: str
    premise: Path
    conclusion: Path | None
    recognising: bool
    """Whether any datatype is recognised."""


@dataclass(frozen=True, slots=True)
class UpdateCase(Case):
    """A request, the data before it and the data after it."""

    before: Data
    after: Data


@cache
def cases() -> tuple[Case, ...]:
    """Every test of the language, in the order of the manifests; none without the suites."""
    return tuple(
        case
        for version in VERSIONS
        if (SUITES / version).is_dir()
        for case in _cases_of(SUITES / version)
    )


def query_cases() -> tuple[QueryCase, ...]:
    """The tests that evaluate a query."""
    return tuple(case for case in cases() if isinstance(case, QueryCase))


def update_cases() -> tuple[UpdateCase, ...]:
    """The tests that evaluate an update."""
    return tuple(case for case in cases() if isinstance(case, UpdateCase))


def syntax_cases() -> tuple[SyntaxCase, ...]:
    """The tests that read a text."""
    return tuple(case for case in cases() if isinstance(case, SyntaxCase))


@cache
def entailment_cases() -> tuple[EntailmentCase, ...]:
    """The tests of entailment regimes, in the order of their manifest."""
    file = SUITES / "sparql11" / ENTAILMENT / "manifest.ttl"
    return tuple(Manifest(file).entailment_cases()) if file.is_file() else ()


def parameters(found: Sequence[Case]) -> list[object]:
    """Cases for ``pytest.mark.parametrize``; without the suites one that is skipped."""
    if not found:
        return [pytest.param(None, marks=pytest.mark.skip(reason=MISSING))]
    return [pytest.param(case, id=case.label) for case in found]


def _cases_of(version: Path) -> Iterator[Case]:
    for manifest in sorted(version.glob("*/manifest.ttl")):
        if manifest.parent.name not in (ENTAILMENT, *OUTSIDE):
            yield from Manifest(manifest).cases()


class Manifest:
    """The tests that one manifest lists."""

    def __init__(self, file: Path) -> None:
        self._category = f"{file.parent.parent.name}/{file.parent.name}"
        self._graph = ox.Store()
        self._graph.load(
            path=file, format=ox.RdfFormat.TURTLE, base_iri=file.as_uri(), lenient=True
        )

    def cases(self) -> Iterator[Case]:
        """Tests of the language.

        Raises:
            ValueError: a test is of an unknown kind.
        """
        for entry in self._entries():
            kind = self._iri(entry, f"{_RDF}type").removeprefix(_MF)
            action = self._one(entry, f"{_MF}action")
            result = self._one(entry, f"{_MF}result")
            assert action is not None
            if kind in _SYNTAX:
                positive, update = _SYNTAX[kind]
                yield SyntaxCase(*self._case(entry, action), positive, update)
            elif kind == "UpdateEvaluationTest":
                text = self._one(action, f"{_UT}request")
                assert text is not None
                assert result is not None
                before, after = self._data(action, _UT), self._data(result, _UT)
                yield UpdateCase(*self._case(entry, text), before, after)
            elif kind in _EVALUATION:
                yield QueryCase(*self._query(entry))
            else:
                raise ValueError(f"{self._category}: a test of the unknown kind {kind}")

    def entailment_cases(self) -> Iterator[EntailmentCase]:
        """Queries with the regimes under which they are to be answered."""
        for entry in self._entries():
            action = self._one(entry, f"{_MF}action")
            named = self._one(action, f"{_SD}entailmentRegime")
            regimes = [named] if isinstance(named, ox.NamedNode) else self._members(named)
            names = tuple(_value(each).removeprefix(_ENT) for each in regimes)
            yield EntailmentCase(*self._query(entry), names)

    def entailments(self) -> Iterator[SemanticsCase]:
        """Pairs of graphs of which one entails the other, or does not."""
        for entry in self._entries():
            kind = self._iri(entry, f"{_RDF}type").removeprefix(_MF)
            result = self._one(entry, f"{_MF}result")
            yield SemanticsCase(
                self._iri(entry, f"{_MF}name"),
                {"PositiveEntailmentTest": True, "NegativeEntailmentTest": False}[kind],
                self._iri(entry, f"{_MF}entailmentRegime"),
                _path(self._one(entry, f"{_MF}action")),
                _path(result) if isinstance(result, ox.NamedNode) else None,
                any(self._members(self._one(entry, f"{_MF}recognizedDatatypes"))),
            )

    def _entries(self) -> Iterator[object]:
        (entries,) = self._graph.quads_for_pattern(None, ox.NamedNode(f"{_MF}entries"), None)
        return self._members(entries.object)

    def _query(self, entry: object) -> tuple[str, str, Path, Data, Path, bool]:
        action = self._one(entry, f"{_MF}action")
        text = self._one(action, f"{_QT}query")
        result = self._one(entry, f"{_MF}result")
        assert text is not None
        assert result is not None
        lax = self._one(entry, f"{_MF}resultCardinality") is not None
        return *self._case(entry, text), self._data(action, _QT), _path(result), lax

    def _case(self, entry: object, text: object) -> tuple[str, str, Path]:
        assert isinstance(entry, ox.NamedNode)
        return entry.value.rpartition("#")[2], self._category, _path(text)

    def _data(self, node: object, vocabulary: str) -> Data:
        named = []
        for graph in self._all(node, f"{vocabulary}graphData"):
            file = self._one(graph, f"{vocabulary}graph")
            label = self._one(graph, f"{_RDFS}label")
            if file is None:
                named.append((_value(graph), _path(graph)))
            else:
                named.append((_value(file if label is None else label), _path(file)))
        default = tuple(map(_path, self._all(node, f"{vocabulary}data")))
        return Data(default, tuple(named))

    def _members(self, cell: object) -> Iterator[object]:
        while cell != ox.NamedNode(f"{_RDF}nil"):
            yield self._one(cell, f"{_RDF}first")
            cell = self._one(cell, f"{_RDF}rest")

    def _all(self, node: object, verb: str) -> list[object]:
        if not isinstance(node, ox.NamedNode | ox.BlankNode):
            return []
        found = self._graph.quads_for_pattern(node, ox.NamedNode(verb), None)
        return sorted((quad.object for quad in found), key=str)

    def _one(self, node: object, verb: str) -> object | None:
        return next(iter(self._all(node, verb)), None)

    def _iri(self, node: object, verb: str) -> str:
        return _value(self._one(node, verb))


def _value(node: object) -> str:
    assert isinstance(node, ox.NamedNode | ox.Literal)
    return node.value


def _path(node: object) -> Path:
    return Path(unquote(urlparse(_value(node)).path))
