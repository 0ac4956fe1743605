from pathlib import Path

import pytest

from sensorstream.errors import OntologyError
from sensorstream.model import owl
from sensorstream.model.terms import IRI
from sensorstream.reasoning.ontology import Ontology, load_ontology, parse_ontology
from sensorstream.reasoning.ontology_documents import surroundings

OWL = "http://www.w3.org/2002/07/owl#"
CATALOG = """<?xml version="1.0"?>
<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog" prefer="public">
  <group id="Folder Repository" xml:base="{base}">{entries}</group>
</catalog>"""


def ontology(file: Path, name: str, *imports: str) -> Path:
    """A file with the ontology ``name``, which has one class and imports others."""
    imported = "".join(f" ; <{OWL}imports> <http://x.example/{each}>" for each in imports)
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        f"<http://x.example/{name}> a <{OWL}Ontology>{imported} .\n"
        f"<http://x.example/{name}#C> a <{OWL}Class> .\n"
    )
    return file


def catalog(folder: Path, base: str = "", **files: str) -> Path:
    entries = "".join(
        f'<uri id="x" name="http://x.example/{n}" uri="{u}"/>' for n, u in files.items()
    )
    file = folder / "catalog-v001.xml"
    file.write_text(CATALOG.format(base=base, entries=entries))
    return file


def classes(found: Ontology) -> list[str]:
    return sorted(name.removeprefix("http://x.example/") for name in found.schema.classes)


def test_a_catalog_beside_the_ontology_says_where_imports_are(tmp_path: Path) -> None:
    top = ontology(tmp_path / "top.ttl", "top", "a")
    a = ontology(tmp_path / "lib" / "my a.ttl", "elsewhere")
    beside = catalog(tmp_path, a="lib/my%20a.ttl")
    found = load_ontology([top])
    assert classes(found) == ["elsewhere#C", "top#C"]
    assert found.files == (top, a, beside)
    (remark,) = found.remarks
    assert (remark.code, remark.file) == ("import-mapped", top)
    assert (
        remark.text == f"the import of <http://x.example/a> is {a}: the catalog beside it says so"
    )


def test_what_a_mapped_file_imports_is_found_by_the_catalog_beside_that_file(
    tmp_path: Path,
) -> None:
    top = ontology(tmp_path / "top.ttl", "top", "a")
    ontology(tmp_path / "lib" / "a.ttl", "a", "b", "top")
    ontology(tmp_path / "lib" / "b.ttl", "b", "a")
    catalog(tmp_path, base="lib/", a="a.ttl")
    catalog(tmp_path / "lib", b="b.ttl")
    assert classes(load_ontology([top])) == ["a#C", "b#C", "top#C"]
    names = [file.name for file in surroundings([top])]
    assert sorted(names) == ["a.ttl", "b.ttl", "catalog-v001.xml", "catalog-v001.xml"]


def test_a_catalog_may_name_another_one_even_itself(tmp_path: Path) -> None:
    top = ontology(tmp_path / "top.ttl", "top", "a")
    ontology(tmp_path / "lib" / "a.ttl", "a")
    catalog(tmp_path / "lib", a="a.ttl")
    space = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
    following = '<nextCatalog catalog="lib/catalog-v001.xml"/><nextCatalog catalog="own.xml"/>'
    (tmp_path / "catalog-v001.xml").write_text(f'<catalog xmlns="{space}">{following}</catalog>')
    (tmp_path / "own.xml").write_text(f'<catalog xmlns="{space}">{following}</catalog>')
    assert classes(load_ontology([top])) == ["a#C", "top#C"]


def test_a_given_file_counts_before_the_catalog_and_none_is_read_twice(tmp_path: Path) -> None:
    top = ontology(tmp_path / "top.ttl", "top", "a", "b")
    a = ontology(tmp_path / "a.ttl", "a")
    ontology(tmp_path / "other.ttl", "other")
    beside = catalog(tmp_path, a="other.ttl", b="a.ttl")
    found = load_ontology([top, a])
    assert classes(found) == ["a#C", "top#C"]
    assert found.files == (top, a, beside)


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("http://x.example/a.owl", "and nothing is fetched: expected a file"),
        ("file://other.example/a.owl", "and nothing is fetched: expected a file"),
        ("none.ttl", "which is no file"),
    ],
)
def test_a_catalog_that_maps_to_no_file_is_an_error(tmp_path: Path, target: str, told: str) -> None:
    top = ontology(tmp_path / "top.ttl", "top", "a")
    catalog(tmp_path, a=target)
    with pytest.raises(
        OntologyError, match=rf"catalog-v001\.xml: maps <http://x.example/a>.*{told}"
    ):
        load_ontology([top])


def test_a_broken_catalog_counts_only_if_something_is_imported(tmp_path: Path) -> None:
    top = ontology(tmp_path / "top.ttl", "top", "a")
    (tmp_path / "catalog-v001.xml").write_text("<catalog>")
    with pytest.raises(OntologyError, match=r"catalog-v001\.xml:1:\d+: not well-formed XML"):
        load_ontology([top])
    alone = ontology(tmp_path / "alone.ttl", "alone")
    assert classes(load_ontology([alone])) == ["alone#C"]


def test_all_imports_that_are_nowhere_are_named_with_the_ways_out(tmp_path: Path) -> None:
    top = ontology(tmp_path / "top.ttl", "top", "a", "b")
    lower = ontology(tmp_path / "lower.ttl", "lower", "c")
    with pytest.raises(OntologyError) as caught:
        load_ontology([top, lower])
    assert str(caught.value) == (
        f"{top}: imports <http://x.example/a>, <http://x.example/b>; "
        f"{lower}: imports <http://x.example/c>, which are not of the given files: download them "
        "and list them beside this one or in catalog-v001.xml, or name them in [ontology] leave_out"
    )


def test_imports_that_the_settings_name_are_left_out_and_it_is_said(tmp_path: Path) -> None:
    top = ontology(tmp_path / "top.ttl", "top", "a")
    ontology(tmp_path / "a.ttl", "a")
    catalog(tmp_path, a="a.ttl")
    found = load_ontology([top], ["http://x.example/a"])
    assert classes(found) == ["top#C"]
    assert not any(p == owl.IMPORTS for _, p, _ in found.triples)
    (remark,) = found.remarks
    assert remark.code == "import-left-out"
    assert remark.text.startswith("the import of <http://x.example/a> is left out")
    # What is in force can be read again as what it is, wherever that is.
    assert parse_ontology(found.ntriples(), "application/n-triples").triples == found.triples


def test_a_name_to_leave_out_that_is_given_is_not_left_out(tmp_path: Path) -> None:
    top = ontology(tmp_path / "top.ttl", "top", "a")
    a = ontology(tmp_path / "a.ttl", "a")
    found = load_ontology([top, a], ["http://x.example/a"])
    assert classes(found) == ["a#C", "top#C"]
    assert found.remarks == ()
    assert (IRI("http://x.example/top"), owl.IMPORTS, IRI("http://x.example/a")) in found.triples
