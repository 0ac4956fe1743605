"""The generated ontologies and rules are what the tables say they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from benchmarks.paper import variations
from sensorstream.app.control.wiring import read_rules
from sensorstream.reasoning.ontology import load_ontology


@pytest.mark.parametrize("classes", [31, 32, 100, 300])
def test_an_ontology_has_as_many_classes_as_it_is_called(classes: int, folder: Path) -> None:
    ontology = load_ontology((variations.ontology_of(classes, folder),))
    named = {name for name in ontology.schema.classes if name.startswith("http")}
    assert len(named) == classes


def test_no_further_class_lies_below_a_defined_one(folder: Path) -> None:
    text = variations.ontology_of(1000, folder).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(":Further")]
    defined = {line.split()[0] for line in lines if "equivalentClass" in line}
    above = {line.split()[-2] for line in lines if "subClassOf" in line}
    assert len(defined) == 97
    assert not defined & above


@pytest.mark.parametrize(
    ("write", "mapping", "semantic"),
    [
        (variations.sleeping_rules, 1, 8),
        (variations.watching_rules, 1, 8),
        (variations.other_mappings, 8, 1),
    ],
)
def test_further_rules_stand_beside_the_papers_two(
    write: object, mapping: int, semantic: int, folder: Path
) -> None:
    assert callable(write)
    (file,) = read_rules([write(7, folder)])
    assert len(file.mapping_rules) == mapping
    assert len(file.semantic_rules) == semantic


@pytest.mark.parametrize("statements", [5, 10, 50])
def test_a_message_has_a_value_for_each_statement_but_the_type(statements: int) -> None:
    (content,) = variations.wide_messages(statements, 1)
    message = etree.fromstring(content)
    further = [n for n in message.findall(".//person")[0].attrib if str(n).startswith("v")]
    assert len(further) + 4 + 1 == statements
