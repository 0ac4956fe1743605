"""The published test cases of RML, as far as they are about XML; `data/README.md` names them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest

from sensorstream.errors import LanguageError, MappingError
from sensorstream.mapping import MappingPlan, parse_document
from sensorstream.mapping.rml import compile_rml, read_rml
from sensorstream.mapping.rml.model import RmlMapping
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline

DATA = Path(__file__).parent / "data"
CASES = sorted(DATA.glob("*/RML*"))

# What the reader refuses: errors of the mapping, and what has no place here.
REFUSED = {
    "RMLTC0004b": "term type rml:Literal: expected one of rml:IRI",
    "RMLTC0006a": "graph ex:graph/student: all events go to the window's graph",
    "RMLTC0007b": "graph ex:PersonGraph",
    "RMLTC0007e": "graph ex:PersonGraph",
    "RMLTC0007f": "graph ex:PersonGraph",
    "RMLTC0007h": "graph",
    "RMLTC0008a": "graph",
    "RMLTC0009a": r"<TriplesMap2> reads another source \('sport.xml'\)",
    "RMLTC0009b": "graph",
    "RMLTC0012c": "no subject",
    "RMLTC0012d": "more than one subject",
    "RMLTC0015b": "'a-(english|spanish)' is not a language tag",
    "RMLIOREGTC0003c": "not XPath 1.0",
}
# An invalid IRI rejects the message, so that nothing is lost unseen.
INVALID = {"RMLTC0019b": "Juan Daniel", "RMLTC0020b": "Emily Smith"}
# A missing file and a missing value are no errors of a mapping whose next message may have both;
# see the README.
WITHOUT_ERROR = {"RMLTC0002e", "RMLIOREGTC0003b", "RMLIOREGTC0003d"}


def mapping_of(case: Path) -> RmlMapping:
    return read_rml((case / "mapping.ttl").read_text("utf-8"), "mapping.ttl")


def run(mapping: RmlMapping, xml: bytes) -> set[str]:
    plan = MappingPlan(compile_rml([mapping], Schema(), Timeline.INTEGER))
    mapped = plan.apply(parse_document(xml, max_depth=20), Message("m", xml, received=0))
    return {f"{s.n3} {p.n3} {o.n3} ." for event in mapped.events for s, p, o in event.triples}


def results(case: Path) -> set[str]:
    """Each file is a message; of a case with several files each map gets the one it names."""
    mapping = mapping_of(case)
    found: set[str] = set()
    for file in case.glob("*.xml"):
        maps = tuple(each for each in mapping.maps if each.source.name == file.name)
        if maps:
            found |= run(replace(mapping, maps=maps), file.read_bytes())
    return found


def canonical(quads: str) -> set[ox.Quad]:
    dataset = ox.Dataset(ox.parse(quads, format=ox.RdfFormat.N_QUADS))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(dataset)


def test_every_case_is_here() -> None:
    assert len(CASES) == 43


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c.name not in REFUSED | INVALID and c.name not in WITHOUT_ERROR],
    ids=lambda case: case.name,
)
def test_a_case_gives_its_published_output(case: Path) -> None:
    expected = (case / "output.nq").read_text("utf-8")
    assert canonical("\n".join(results(case))) == canonical(expected)


@pytest.mark.parametrize("name", REFUSED)
def test_a_mapping_that_asks_for_what_there_is_not_is_refused(name: str) -> None:
    (case,) = DATA.glob(f"*/{name}")
    with pytest.raises(LanguageError, match=REFUSED[name]) as caught:
        results(case)
    assert caught.value.position is not None
    assert caught.value.position.line > 1


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_iri_rejects_the_message(name: str) -> None:
    (case,) = DATA.glob(f"*/{name}")
    with pytest.raises(MappingError, match=INVALID[name]):
        results(case)


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_iri_may_be_passed_over_as_the_case_expects(name: str) -> None:
    (case,) = DATA.glob(f"*/{name}")
    mapping = mapping_of(case)
    (only,) = mapping.maps
    lenient = replace(only, subject=replace(only.subject, if_valid=True))
    (file,) = case.glob("*.xml")
    found = run(replace(mapping, maps=(lenient,)), file.read_bytes())
    assert canonical("\n".join(found)) == canonical((case / "output.nq").read_text("utf-8"))


def test_a_case_with_a_value_that_is_nowhere_says_nothing() -> None:
    case = DATA / "rml-io-registry" / "RMLIOREGTC0003b"
    assert results(case) == set()


def test_a_case_with_a_value_that_is_nowhere_is_an_error_if_the_value_is_needed() -> None:
    case = DATA / "rml-io-registry" / "RMLIOREGTC0003b"
    text = (case / "mapping.ttl").read_text("utf-8")
    needed = text.replace('"NON_EXISTING"', '"NON_EXISTING"; ss:missing "reject"')
    mapping = read_rml(f"@prefix ss: <urn:sensorstream:mapping#> .\n{needed}")
    with pytest.raises(MappingError, match=r"NON_EXISTING.*line 4.*found nothing"):
        run(mapping, (case / "student.xml").read_bytes())


def test_the_case_with_a_namespace_works_once_mapping_and_message_name_the_same() -> None:
    case = DATA / "rml-io-registry" / "RMLIOREGTC0003d"
    xml = (case / "student.xml").read_bytes()
    text = (case / "mapping.ttl").read_text("utf-8")
    assert run(read_rml(text), xml) == set()
    for wrong, right in (
        ('"http://example.org"', '"http://example.org/"'),
        ("/ex:students/student", "/ex:students/ex:student"),
        ('"Name"', '"ex:Name"'),
        ("{Name}", "{ex:Name}"),
    ):
        assert wrong in text
        text = text.replace(wrong, right)
    expected = (case / "output.nq").read_text("utf-8")
    assert canonical("\n".join(run(read_rml(text), xml))) == canonical(expected)


def test_a_well_formed_tag_that_no_language_has_is_a_tag() -> None:
    case = DATA / "rml-core" / "RMLTC0015b"
    text = (case / "mapping.ttl").read_text("utf-8").replace('"a-', '"')
    found = run(read_rml(text), (case / "country_en.xml").read_bytes())
    assert any('"Ireland"@english' in line for line in found)
