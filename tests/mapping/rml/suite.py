"""The published test cases of RML with XML sources, read from their folders beside the checkout."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pyoxigraph as ox

from sensorstream.app.control.mapping_files import MappingFiles
from sensorstream.errors import SensorStreamError
from sensorstream.mapping import MappingPlan, parse_document
from sensorstream.model.events import Event, Message
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline

SUITE: Final = Path(__file__).parents[4] / "shared" / "suites" / "rml"
MISSING: Final = (
    "the test cases of RML are not beside the repository: put the folders RMLTC*-XML of "
    "https://github.com/kg-construct/rml-core (commit 0cc03bae, the last that has them) and "
    "RMLIOREGTC0003* of https://github.com/kg-construct/rml-io-registry (commit d008dbc8) into "
    f"{SUITE}"
)
BASE: Final = "http://example.com/base/"
"""The base IRI that the suite gives to processors."""

CONTRADICTIONS: Final = {
    "RMLIOREGTC0003b": (
        "it expects an error for a reference that finds nothing; by RML-Core (Generated RDF Term "
        "of a Term Map, rule 1) a missing value makes no term and is no error, and RMLTC0009a "
        'relies on that. `ss:missing "reject"` makes it an error'
    ),
    "RMLIOREGTC0003d": (
        "its mapping declares the namespace `http://example.org`, its message is in "
        "`http://example.org/`, and its paths have steps without a prefix: by XPath 1.0 (2.3) "
        "they find nothing in a namespace"
    ),
}
"""Cases that contradict a specification or another case, and in what."""


@dataclass(frozen=True, slots=True)
class RmlCase:
    """A case: a mapping, its files, and the output as N-Quads; None: an error is expected."""

    folder: Path
    name: str
    title: str
    output: str | None

    @property
    def group(self) -> str:
        """The specification that the case is about."""
        return "RML-IO-Registry, XPath" if "IOREG" in self.name else "RML-Core, XML"


@cache
def rml_cases() -> tuple[RmlCase, ...]:
    """All cases, by name; none if the suite is not there."""
    return tuple(_case(folder) for folder in sorted(SUITE.glob("RML*")))


def _case(folder: Path) -> RmlCase:
    readme = (folder / "README.md").read_text("utf-8")
    title = re.search(r'\*\*Title\*\*: "?([^"\n]*)', readme)
    fails = re.search(r"\*\*Error expected\?\*\* (Yes|No)", readme)
    assert title is not None, folder
    assert fails is not None, folder
    output = None if fails[1] == "Yes" else (folder / "output.nq").read_text("utf-8")
    return RmlCase(folder, folder.name.removesuffix("-XML"), title[1].strip(), output)


def run_case(case: RmlCase) -> str:
    """The output of a case as N-Quads: each of its files is a message, from a source of its name.

    Raises:
        SensorStreamError: the mapping or a message is refused.
    """
    plan = plan_of(case.folder / "mapping.ttl")
    lines: list[str] = []
    for file in sorted(case.folder.glob("*.xml")):
        lines += quads(plan, file.read_bytes(), file.name)
    return "\n".join(lines)


def plan_of(mapping: Path, base: str = BASE) -> MappingPlan:
    """The plan of an RML file."""
    return MappingFiles([mapping], Schema(), Timeline.INTEGER, base).added_to(MappingPlan(()), [])


def quads(plan: MappingPlan, xml: bytes, source: str = "") -> list[str]:
    """What a plan makes of a message, as lines of N-Quads."""
    document = parse_document(xml, max_depth=50)
    mapped = plan.apply(document, Message("m", xml, received=0, source=source))
    return [line for event in mapped.events for line in _lines(event)]


def _lines(event: Event) -> list[str]:
    named = {triple for triple, _ in event.graphs}
    plain = ((triple, None) for triple in event.triples if triple not in named)
    return [
        f"{s.n3} {p.n3} {o.n3} {graph.n3 if graph else ''} ."
        for (s, p, o), graph in (*plain, *event.graphs)
    ]


def canonical(nquads: str) -> set[ox.Quad]:
    """The quads, with blank nodes renamed so that isomorphic datasets are equal."""
    dataset = ox.Dataset(ox.parse(nquads, format=ox.RdfFormat.N_QUADS))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(dataset)


def fault_of_rml(case: RmlCase) -> str | None:
    """What is wrong with our result; None if it is the published one."""
    try:
        found = run_case(case)
    except SensorStreamError as error:
        return None if case.output is None else f"refused: {error}"
    if case.output is None:
        return "an error is expected, and there was none"
    if canonical(found) != canonical(case.output):
        return f"another output: {found or 'nothing'}"
    return None
