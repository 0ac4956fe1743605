"""The published test cases of RML, as far as they are about XML; ``suite`` says where they are."""

from __future__ import annotations

import pytest

from sensorstream.errors import LanguageError, MappingError
from tests.mapping.rml.suite import (
    CONTRADICTIONS,
    MISSING,
    RmlCase,
    canonical,
    fault_of_rml,
    plan_of,
    quads,
    rml_cases,
    run_case,
)

pytestmark = pytest.mark.skipif(not rml_cases(), reason=MISSING)

# What an expected error says.
SAID = {
    "RMLIOREGTC0003c": "not XPath 1.0",
    "RMLTC0002e": "'student2.xml': there is no such file",
    "RMLTC0004b": "term type rml:Literal: expected one of rml:IRI",
    "RMLTC0007h": "graph map: term type rml:Literal: expected one of rml:IRI",
    "RMLTC0012c": "no subject",
    "RMLTC0012d": "more than one subject",
    "RMLTC0015b": "'a-english' is not a language tag",
}


def case_of(name: str) -> RmlCase:
    (found,) = (each for each in rml_cases() if each.name == name)
    return found


def test_every_case_is_here() -> None:
    assert len(rml_cases()) == 43


@pytest.mark.parametrize("case", rml_cases(), ids=lambda case: case.name)
def test_a_case_gives_what_is_published(case: RmlCase) -> None:
    if case.name in CONTRADICTIONS:
        assert fault_of_rml(case) is not None
    else:
        assert fault_of_rml(case) is None


@pytest.mark.parametrize("name", SAID)
def test_an_expected_error_names_its_cause_and_place(name: str) -> None:
    with pytest.raises(LanguageError, match=SAID[name]) as caught:
        run_case(case_of(name))
    assert caught.value.position is not None
    assert caught.value.position.line > 1


def test_an_invalid_iri_rejects_the_message() -> None:
    with pytest.raises(MappingError, match=r"Juan Daniel.*must be percent-encoded"):
        run_case(case_of("RMLTC0019b"))


def test_a_value_that_is_nowhere_makes_no_term() -> None:
    assert run_case(case_of("RMLIOREGTC0003b")) == ""


def test_the_case_with_a_namespace_works_once_mapping_and_message_name_the_same(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    case = case_of("RMLIOREGTC0003d")
    assert run_case(case) == ""
    text = (case.folder / "mapping.ttl").read_text("utf-8")
    for wrong, right in (
        ('"http://example.org"', '"http://example.org/"'),
        ("/ex:students/student", "/ex:students/ex:student"),
        ('"Name"', '"ex:Name"'),
        ("{Name}", "{ex:Name}"),
    ):
        assert wrong in text
        text = text.replace(wrong, right)
    folder = tmp_path_factory.mktemp("case")
    xml = (case.folder / "student.xml").read_bytes()
    (folder / "mapping.ttl").write_text(text)
    (folder / "student.xml").write_bytes(xml)
    found = quads(plan_of(folder / "mapping.ttl"), xml)
    assert case.output is not None
    assert canonical("\n".join(found)) == canonical(case.output)
