from pathlib import Path

import pytest

from sensorstream.errors import OntologyError
from sensorstream.model import rdfs, xsd
from sensorstream.model.terms import IRI, BlankNode
from sensorstream.reasoning.ontology import load_ontology
from tests.reasoning.test_loading import written

ONTOLOGIES = Path(__file__).parents[2] / "ontologies"
TURTLE = """
@prefix : <http://x.example/o#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://x.example/o> a owl:Ontology .
:A a owl:Class ; rdfs:subClassOf :B .
:B a owl:Class .
"""
NTRIPLES = """
<http://x.example/o#A> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://x.example/o#B> .
"""
RDF_XML = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ <!ENTITY o "http://x.example/o#"> ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
    xmlns:owl="http://www.w3.org/2002/07/owl#">
  <owl:Class rdf:about="&o;A"><rdfs:subClassOf rdf:resource="&o;B"/></owl:Class>
</rdf:RDF>
"""
OWL_XML = """<?xml version="1.0"?>
<Ontology xmlns="http://www.w3.org/2002/07/owl#" xml:base="http://x.example/o"
    ontologyIRI="http://x.example/o">
  <Declaration><Class IRI="#A"/></Declaration>
  <Declaration><Class IRI="#B"/></Declaration>
  <SubClassOf><Class IRI="#A"/><Class IRI="#B"/></SubClassOf>
</Ontology>
"""
A, B = IRI("http://x.example/o#A"), IRI("http://x.example/o#B")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("o.ttl", TURTLE),
        ("o.nt", NTRIPLES),
        ("o.rdf", RDF_XML),
        ("o.owl", RDF_XML),
        ("o.owx", OWL_XML),
        ("o.owl", OWL_XML),
        ("o.owl", TURTLE),
    ],
)
def test_every_syntax_tells_the_same(tmp_path: Path, name: str, text: str) -> None:
    ontology = load_ontology([written(tmp_path, name, text)])
    assert (A, rdfs.SUBCLASS_OF, B) in ontology.triples
    assert ontology.schema.superclasses(A) == {B}


def test_both_shipped_ontologies_load_together() -> None:
    ontology = load_ontology([ONTOLOGIES / "tracking.ttl", ONTOLOGIES / "city.ttl"])
    tracking = IRI("http://sensorstream.example/tracking#hasTime")
    assert ontology.schema.datatype_of(tracking) == xsd.INTEGER
    city = "http://sensorstream.example/city#"
    assert ontology.schema.superclasses(IRI(f"{city}Congestion")) == {
        IRI(f"{city}TrafficObservation"),
        IRI("http://www.w3.org/ns/sosa/Observation"),
    }


def test_two_loads_of_the_same_files_are_equal() -> None:
    files = [ONTOLOGIES / "city.ttl", ONTOLOGIES / "tracking.ttl"]
    assert load_ontology(files) == load_ontology(files)


def test_blank_nodes_of_different_files_stay_apart(tmp_path: Path) -> None:
    text = "<http://x.example/{}> <http://x.example/p> _:same ."
    files = [written(tmp_path, f"{n}.nt", text.format(n)) for n in (1, 2)]
    nodes = {o for _, _, o in load_ontology(files).triples if isinstance(o, BlankNode)}
    assert len(nodes) == 2


def test_a_syntax_error_has_file_line_and_column(tmp_path: Path) -> None:
    file = written(tmp_path, "o.ttl", "@prefix : <http://x.example/> .\n:a :b\n  :c :d .\n")
    with pytest.raises(OntologyError) as caught:
        load_ontology([file])
    assert str(caught.value).startswith(f"{file}:3:")


def test_broken_xml_has_file_and_line(tmp_path: Path) -> None:
    file = written(tmp_path, "o.rdf", RDF_XML.replace("</owl:Class>", ""))
    with pytest.raises(OntologyError, match=r"o\.rdf:7:\d+: not well-formed XML"):
        load_ontology([file])


def test_an_import_that_is_not_given_is_named(tmp_path: Path) -> None:
    text = TURTLE + "<http://x.example/o> owl:imports <http://elsewhere.example/z> ."
    file = written(tmp_path, "o.ttl", text)
    with pytest.raises(OntologyError, match=r"o\.ttl: imports <http://elsewhere\.example/z>"):
        load_ontology([file])
    owl_xml = OWL_XML.replace("<Decl", "<Import>http://elsewhere.example/z</Import><Decl", 1)
    with pytest.raises(OntologyError, match=r"o\.owx: imports <http://elsewhere\.example/z>"):
        load_ontology([written(tmp_path, "o.owx", owl_xml)])


def test_an_import_among_the_given_files_is_fine(tmp_path: Path) -> None:
    text = TURTLE + "<http://x.example/o> owl:imports <http://elsewhere.example/z> ."
    other = "<http://elsewhere.example/z> a <http://www.w3.org/2002/07/owl#Ontology> ."
    files = [written(tmp_path, "o.ttl", text), written(tmp_path, "z.ttl", other)]
    assert load_ontology(files).schema.classes == {A, B}


@pytest.mark.parametrize(
    ("values", "way"),
    [
        ("", "it has no values here: delete one of its declarations"),
        (':a :p 1 , "b" .', r"its values here \(2\) are literals: delete its owl:ObjectProperty"),
        (":a :p :b .", r"its values here \(1\) are individuals: delete its owl:DatatypeProp"),
        (":a :p :b , 1 .", "1 are literals and 1 individuals: give the property for literals"),
    ],
)
def test_a_property_of_both_kinds_is_refused_with_what_its_values_show(
    tmp_path: Path, values: str, way: str
) -> None:
    text = f"{TURTLE} :p a owl:ObjectProperty , owl:DatatypeProperty . {values}"
    told = rf"o#p> is both an object and a datatype property: .*; .*{way}"
    with pytest.raises(OntologyError, match=told):
        load_ontology([written(tmp_path, "o.ttl", text)])


@pytest.mark.parametrize(
    "text",
    [
        ":Relation a owl:Class ; rdfs:subClassOf owl:ObjectProperty . :p a :Relation .",
        ":C a owl:Class , :C . :p a owl:ObjectProperty , :C , owl:Class .",
    ],
)
def test_what_owlready2_has_no_python_class_for_is_said_and_loads(
    tmp_path: Path, text: str
) -> None:
    found = load_ontology([owl(tmp_path, text)])
    assert any("its check is left out" in each.text for each in found.remarks)
    assert {each.code for each in found.remarks} == {"owlready2"}


def test_classes_that_are_members_of_each_other_load(tmp_path: Path) -> None:
    text = ":A a owl:Class , :B . :B a owl:Class , :A ."
    assert not load_ontology([owl(tmp_path, text)]).remarks


def test_what_owlready2_warns_of_is_a_remark_and_no_output(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = ":A a owl:Class ; rdfs:subClassOf :B . :B a owl:Class ; rdfs:subClassOf :A ."
    (remark,) = load_ontology([owl(tmp_path, text)]).remarks
    assert "cyclic" in remark.text
    assert capfd.readouterr().err == ""


def owl(folder: Path, text: str) -> Path:
    file = folder / "o.ttl"
    file.write_text(
        "@prefix : <http://x.example/#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        f"@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n{text}"
    )
    return file


def test_a_restriction_on_an_undeclared_property_is_refused(tmp_path: Path) -> None:
    text = TURTLE + (
        ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :B ] ."
    )
    with pytest.raises(OntologyError, match=r"on <http://x\.example/o#p>, which is not declared"):
        load_ontology([written(tmp_path, "o.ttl", text)])


def test_a_missing_file_and_an_unknown_kind_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(OntologyError, match="cannot be read: No such file"):
        load_ontology([tmp_path / "none.ttl"])
    with pytest.raises(OntologyError, match=r"unknown kind of file: expected one of \.fss"):
        load_ontology([written(tmp_path, "o.docx", TURTLE)])


def test_no_file_is_an_empty_ontology() -> None:
    assert load_ontology([]).triples == ()
