"""What is refused of ontologies that others have made, and what is only noted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from sensorstream.app.control.file_faults import faults
from sensorstream.cli import main
from sensorstream.errors import OntologyError
from sensorstream.reasoning.ontology import load_ontology
from sensorstream.reasoning.ontology_survey import without_rules
from sensorstream.reasoning.profiles import make_reasoner
from sensorstream.settings.settings import ReasoningSettings
from sensorstream.settings.settings_file import load_settings
from tests.prefixes import TURTLE

PREFIXES = f"""{TURTLE}
@prefix swrl: <http://www.w3.org/2003/11/swrl#> .
@prefix swrlb: <http://www.w3.org/2003/11/swrlb#> .
"""
CALLING = (
    PREFIXES
    + """:A a owl:Class . :B a owl:Class . :d a owl:DatatypeProperty .
:x a swrl:Variable . :v a swrl:Variable .
[] a swrl:Imp ; swrl:body ( [ a swrl:ClassAtom ; swrl:classPredicate :A ; swrl:argument1 :x ]
  [ a swrl:DatavaluedPropertyAtom ; swrl:propertyPredicate :d ; swrl:argument1 :x ;
    swrl:argument2 :v ]
  [ a swrl:BuiltinAtom ; swrl:builtin swrlb:greaterThan ; swrl:arguments ( :v 5 ) ] ) ;
  swrl:head ( [ a swrl:ClassAtom ; swrl:classPredicate :B ; swrl:argument1 :x ] ) .
"""
)


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    return file


@pytest.mark.parametrize("suffix", ["nt", "ttl", "owl"])
def test_a_name_with_xmlns_in_it_makes_no_xml(tmp_path: Path, suffix: str) -> None:
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    text = f"<http://xmlns.com/foaf/0.1/Person> {kind} <http://www.w3.org/2002/07/owl#Class> .\n"
    found = load_ontology([written(tmp_path, f"foaf.{suffix}", text)])
    assert found.schema.classes == {"http://xmlns.com/foaf/0.1/Person"}


def test_an_invalid_annotation_is_noted_with_its_place(tmp_path: Path) -> None:
    text = PREFIXES + ':A a owl:Class ; rdfs:label "a" ;\n  rdfs:comment "abc"^^xsd:date .\n'
    found = load_ontology([written(tmp_path, "o.ttl", text)])
    (remark,) = found.remarks
    assert remark.code == "invalid-literal"
    assert remark.text.startswith(
        'line 8: the value "abc"^^<http://www.w3.org/2001/XMLSchema#date>'
    )
    assert "'abc' is not an xsd:date" in remark.text


def test_an_invalid_value_of_an_individual_is_refused_with_its_place(tmp_path: Path) -> None:
    text = PREFIXES + ':d a owl:DatatypeProperty .\n:i :d "zz"^^xsd:integer .\n'
    file = written(tmp_path, "o.ttl", text)
    with pytest.raises(OntologyError, match="'zz' is not an xsd:integer") as refused:
        load_ontology([file])
    assert str(refused.value.position) == f"{file}:8:1"


def test_a_built_in_of_a_rule_is_refused_by_a_check_as_by_a_start(tmp_path: Path) -> None:
    file = written(tmp_path, "o.ttl", CALLING)
    text = '[ontology]\nfiles = ["o.ttl"]\n[reasoning]\nprofile = "hermit"\n'
    deployed = load_settings(written(tmp_path, "sensorstream.toml", text), {})
    (fault,) = faults(deployed)
    with pytest.raises(OntologyError, match="greaterThan>, and HermiT knows none: ") as refused:
        make_reasoner("hermit", load_ontology([file]))
    assert str(fault) == str(refused.value)
    assert str(fault.position) == f"{file}:12:45"
    assert list(faults(replace(deployed, reasoning=ReasoningSettings("pellet")))) == []


def test_who_is_asked_about_has_a_name(tmp_path: Path) -> None:
    text = PREFIXES + (
        ":d a owl:DatatypeProperty ; rdfs:range [ a rdfs:Datatype ; owl:onDatatype xsd:dateTime ;"
        ' owl:withRestrictions ( [ xsd:minInclusive "2020-01-01T00:00:00Z"^^xsd:dateTime ] ) ] .'
    )
    *_, told = without_rules(load_ontology([written(tmp_path, "o.ttl", text)]), frozenset())
    assert told == "who has <http://example.org/d> is asked about with all that is linked to it"


def test_a_check_notes_what_the_reasoner_will_be_asked(tmp_path: Path) -> None:
    text = PREFIXES + (
        ":p a owl:ObjectProperty . :A a owl:Class ; rdfs:subClassOf [ a owl:Restriction ;"
        ' owl:onProperty :p ; owl:maxCardinality "42"^^xsd:nonNegativeInteger ] .'
    )
    written(tmp_path, "o.ttl", text)
    deployed = '[ontology]\nfiles = ["o.ttl"]\n[reasoning]\nprofile = "hermit"\n'
    config = written(tmp_path, "sensorstream.toml", deployed)
    done = CliRunner().invoke(main, ["check", "--config", str(config)])
    assert done.exit_code == 0, done.output
    assert "note: counted: who has 43 neighbours or more is asked about" in done.output
