"""The W3C's SHACL test suite, in both ways: by pySHACL on the whole, and kept in step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

from sensorstream.errors import ShapesError
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Term
from sensorstream.shapes.shape_graph import ShapeGraph, Violation, read_shapes
from sensorstream.shapes.validation import Validator
from tests.shapes.oracle import Compared, Network, compared, found_by_pyshacl
from tests.w3c.manifests import SUITES
from tests.w3c.network import streamed
from tests.w3c.page_tables import counted, reasons

FOLDER: Final = SUITES.parents[1] / "shacl" / "tests"
MISSING: Final = (
    "the W3C's SHACL suite is not beside the repository: put the folder "
    f"data-shapes-test-suite/tests of https://github.com/w3c/data-shapes into {FOLDER}"
)
WHOLE: Final = {
    "core/path/path-strange-002": "the shapes of shapes, which come with pySHACL, refuse the path",
    "core/property/uniqueLang-002": 'pySHACL takes "1"^^xsd:boolean for true, the suite does not',
    "sparql/node/prefixes-001": "pySHACL does not follow owl:imports to prefixes",
    "sparql/pre-binding/shapesGraph-001": "$shapesGraph, which is optional",
}
"""Tests that do not pass by pySHACL, and why."""
LIVE: Final = {
    "core/complex/shacl-shacl": "more than 100 patterns in a query: refused",
    "core/property/property-001": "what two ways find is told once",
    "core/validation-reports/shared": "what two ways find is told once",
    "sparql/pre-binding/shapesGraph-001": "$shapesGraph, which is optional: refused",
}
"""Tests that do not pass where violations are kept in step, and why."""
_MF: Final = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_SHT: Final = "http://www.w3.org/ns/shacl-test#"


@dataclass(frozen=True, slots=True)
class ShaclCase:
    """A test; without ``results`` a failure is expected."""

    name: str
    group: str
    data: Path
    shapes: Path
    results: Counter[Compared] | None


@cache
def shacl_cases() -> tuple[ShaclCase, ...]:
    """Every test, in the order of the manifests; none without the suite."""
    file = FOLDER / "manifest.ttl"
    return tuple(_cases(file)) if file.is_file() else ()


def fault_of_whole(case: ShaclCase) -> str | None:
    """What is wrong with how pySHACL validates the data."""
    try:
        data = read_shapes([case.data]).index
        found = found_by_pyshacl(Validator(read_shapes([case.shapes])), data)
    except ShapesError as error:
        return None if case.results is None else str(error)
    return _wrong(case, found)


def fault_of_live(case: ShaclCase) -> str | None:
    """What is wrong with the violations that are kept in step while the data come."""
    data = read_shapes([case.data]).index
    try:
        network = Network(read_shapes([case.shapes]))
    except ShapesError as error:
        return None if case.results is None else f"refused: {error}"
    for index, triple, there in streamed([(TripleIndex(), each) for each in data]):
        del index
        network.change(triple, there)
        network.settle()
    return _wrong(case, network.violations()) or "; ".join(network.anew) or None


def _wrong(case: ShaclCase, found: Counter[Compared]) -> str | None:
    if case.results is None:
        return "a failure is expected"
    more, less = found - case.results, case.results - found
    told = [f"{sign} {each}" for sign, part in (("+", more), ("-", less)) for each in part]
    return "; ".join(told) or None


def _cases(file: Path) -> Iterator[ShaclCase]:
    graph = read_shapes([file])
    index = graph.index
    for _, _, included in index.match(None, IRI(f"{_MF}include"), None):
        yield from _cases(_path(included))
    for _, _, entries in index.match(None, IRI(f"{_MF}entries"), None):
        for entry in graph.items(entries):
            (action,) = graph.objects(entry, IRI(f"{_MF}action"))
            (result,) = graph.objects(entry, IRI(f"{_MF}result"))
            (data,) = graph.objects(action, IRI(f"{_SHT}dataGraph"))
            (shapes,) = graph.objects(action, IRI(f"{_SHT}shapesGraph"))
            results = None
            if result != IRI(f"{_SHT}Failure"):
                told = read_shapes(list(dict.fromkeys([file, _path(shapes)])))
                results = Counter(
                    compared(_violation(graph, told, each))
                    for each in graph.objects(result, "result")
                )
            group = file.parent.relative_to(FOLDER.resolve()).as_posix()
            yield ShaclCase(f"{group}/{file.stem}", group, _path(data), _path(shapes), results)


def _violation(graph: ShapeGraph, shapes: ShapeGraph, result: Term) -> Violation:
    def one(name: str) -> Term | None:
        return graph.one(result, name)

    shape, path, focus = one("sourceShape"), one("resultPath"), one("focusNode")
    assert shape is not None
    assert focus is not None
    return Violation(
        shapes.name(shape),
        focus,
        None if path is None else graph.path_told(path),
        one("value"),
        str(one("sourceConstraintComponent")),
        str(one("resultSeverity")),
        "",
    )


def _path(name: Term) -> Path:
    return Path(unquote(urlparse(str(name)).path))


_SECTION: Final = """## SHACL

[Shapes](../use/shapes.md) on the W3C's SHACL suite, in both ways: **by pySHACL** the whole graph
is validated, as `sensorstream validate` does; **kept in step** the data come triple by triple
through the [network](architecture.md#the-network), with junk that comes and goes among them. The
violations have the suite's shape, focus node, path, value, component and severity, equally often;
or a failure is expected and the shapes are refused.
"""
_COLUMNS: Final = ("tests", "by pySHACL: passed", "deviates", "kept in step: passed", "not passed")


def failed_shapes() -> Mapping[str, str]:
    """What is wrong beyond what is known, by test and way."""
    found: dict[str, str] = {}
    for way, fault, known in _WAYS:
        for case in shacl_cases():
            told = fault(case)
            if bool(told) is not (case.name in known):
                found[f"{case.name}, {way}"] = told or "it passes: take it out of the table"
    return found


_WAYS: Final = (("as a whole", fault_of_whole, WHOLE), ("kept in step", fault_of_live, LIVE))


def shacl_section(failed: Mapping[str, str]) -> Iterator[str]:
    """The lines of the section; ``failed`` as of :func:`failed_shapes`."""
    yield _SECTION
    rows = []
    for case in shacl_cases():
        labels = ["tests"]
        for place, (way, _, known) in enumerate(_WAYS):
            wrong = case.name in known or f"{case.name}, {way}" in failed
            labels.append(_COLUMNS[2 * place + 1 + wrong])
        rows.append((case.group, labels))
    yield from counted("group", _COLUMNS, rows)
    yield from ("", *reasons("deviates by pySHACL", WHOLE))
    yield from ("", *reasons("not passed in step", LIVE), "")
