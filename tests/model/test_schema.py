from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model import owl, rdf, rdfs, xsd
from sensorstream.model.schema import Schema, local_name, transitive
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.model.xsd import XSD
from sensorstream.testing import triples
from tests.prefixes import TURTLE

CLASS = IRI(f"{OWL}Class")
OBJECT_PROPERTY = IRI(f"{OWL}ObjectProperty")
DATATYPE_PROPERTY = IRI(f"{OWL}DatatypeProperty")


def x(name: str) -> IRI:
    return IRI(f"http://x.example/#{name}")


def owl_name(name: str) -> IRI:
    return IRI(f"{OWL}{name}")


def listed(*members: Term) -> tuple[Subject, list[Triple]]:
    nodes: list[Subject] = [BlankNode(f"_:l{i}") for i in range(len(members))]
    rest = [*nodes[1:], IRI(f"{RDF}nil")]
    triples: list[Triple] = []
    for node, member, following in zip(nodes, members, rest, strict=True):
        triples += [(node, IRI(f"{RDF}first"), member), (node, IRI(f"{RDF}rest"), following)]
    return nodes[0], triples


def test_hierarchies_are_closed_transitively_without_owl_thing() -> None:
    schema = Schema.of(
        [
            (x("Human"), rdfs.SUBCLASS_OF, x("Actor")),
            (x("Actor"), rdfs.SUBCLASS_OF, x("Entity")),
            (x("Entity"), rdfs.SUBCLASS_OF, owl.THING),
        ]
    )
    assert schema.superclasses(x("Human")) == {x("Actor"), x("Entity")}
    assert schema.subclasses(x("Entity")) == {x("Actor"), x("Human")}
    assert schema.superclasses(x("Entity")) == frozenset()
    assert schema.classes == {x("Human"), x("Actor"), x("Entity")}


def test_a_cycle_makes_its_members_equivalent() -> None:
    schema = Schema.of(
        [
            (x("A"), rdfs.SUBCLASS_OF, x("B")),
            (x("B"), rdfs.SUBCLASS_OF, x("C")),
            (x("C"), rdfs.SUBCLASS_OF, x("A")),
            (x("C"), rdfs.SUBCLASS_OF, x("D")),
            (x("D"), rdfs.SUBCLASS_OF, x("D")),
        ]
    )
    assert schema.superclasses(x("A")) == {x("B"), x("C"), x("D")}
    assert schema.superclasses(x("B")) == {x("A"), x("C"), x("D")}
    assert schema.superclasses(x("D")) == frozenset()


def test_equivalent_names_stand_above_each_other() -> None:
    schema = Schema.of([(x("Person"), owl_name("equivalentClass"), x("Human"))])
    assert schema.superclasses(x("Human")) == {x("Person")}
    assert schema.superclasses(x("Person")) == {x("Human")}


def test_the_named_members_of_an_intersection_stand_above_the_class() -> None:
    head, members = listed(x("Human"), BlankNode("_:restriction"))
    both = BlankNode("_:both")
    schema = Schema.of(
        [
            *members,
            (both, owl_name("intersectionOf"), head),
            (x("Sure"), owl_name("equivalentClass"), both),
            (x("Human"), rdfs.SUBCLASS_OF, x("Actor")),
        ]
    )
    assert schema.superclasses(x("Sure")) == {x("Human"), x("Actor")}
    assert schema.superclasses(x("Human")) == {x("Actor")}


def test_a_list_that_bites_its_own_tail_ends() -> None:
    node, both = BlankNode("_:l"), BlankNode("_:both")
    schema = Schema.of(
        [
            (node, IRI(f"{RDF}first"), x("A")),
            (node, IRI(f"{RDF}rest"), node),
            (both, owl_name("intersectionOf"), node),
            (x("B"), rdfs.SUBCLASS_OF, both),
        ]
    )
    assert schema.superclasses(x("B")) == {x("A")}


def test_intersections_may_hold_themselves_and_be_very_deep() -> None:
    nodes: list[Subject] = [BlankNode(f"_:e{n}") for n in range(3000)]
    triples: list[Triple] = [(x("A"), rdfs.SUBCLASS_OF, nodes[0])]
    for number, (node, following) in enumerate(zip(nodes, [*nodes[1:], nodes[0]], strict=True)):
        head, cells = listed(following, x(f"B{number % 2}"))
        own: dict[Term, Subject] = {
            cell: BlankNode(f"{cell}of{number}") for cell in (head, BlankNode("_:l1"))
        }
        triples.append((node, owl_name("intersectionOf"), own[head]))
        triples += [(own[s], p, own.get(o, o)) for s, p, o in cells]
    assert Schema.of(triples).superclasses(x("A")) == {x("B0"), x("B1")}


def test_kinds_domains_and_ranges_are_inherited_from_above() -> None:
    schema = Schema.of(
        [
            (x("located"), rdf.TYPE, OBJECT_PROPERTY),
            (x("located"), rdfs.DOMAIN, x("Entity")),
            (x("located"), rdfs.RANGE, x("Place")),
            (x("inRoom"), rdf.TYPE, OBJECT_PROPERTY),
            (x("inRoom"), rdfs.SUBPROPERTY_OF, x("located")),
            (x("inRoom"), rdfs.RANGE, x("Room")),
        ]
    )
    assert schema.object_properties == {x("located"), x("inRoom")}
    assert schema.superproperties(x("inRoom")) == {x("located")}
    assert schema.domains(x("inRoom")) == {x("Entity")}
    assert schema.ranges(x("inRoom")) == {x("Room"), x("Place")}
    assert schema.datatype_of(x("inRoom")) is None


def test_the_nearest_told_datatype_wins() -> None:
    schema = Schema.of(
        [
            (x("value"), rdf.TYPE, DATATYPE_PROPERTY),
            (x("value"), rdfs.RANGE, IRI(f"{RDFS}Literal")),
            (x("number"), rdfs.SUBPROPERTY_OF, x("value")),
            (x("number"), rdfs.RANGE, IRI(xsd.INTEGER)),
            (x("age"), rdfs.SUBPROPERTY_OF, x("number")),
            (x("unknown"), rdf.TYPE, DATATYPE_PROPERTY),
        ]
    )
    assert schema.datatype_of(x("age")) == xsd.INTEGER
    assert schema.datatype_of(x("value")) == f"{RDFS}Literal"
    assert schema.datatype_of(x("unknown")) is None


def test_a_datatype_of_the_ontology_counts_as_what_it_is_defined_as() -> None:
    text = f"""{TURTLE}
        @prefix : <http://x.example/#> . @prefix rdf: <{RDF}> .
        :Small a rdfs:Datatype ; owl:equivalentClass [ owl:onDatatype :Whole ] .
        :Whole a rdfs:Datatype ; owl:equivalentClass xsd:short .
        :size a owl:DatatypeProperty ; rdfs:range :Small .
        :band a owl:DatatypeProperty ; rdfs:range [ owl:onDatatype xsd:integer ] .
        :level a owl:DatatypeProperty ; rdfs:range [ a rdfs:Datatype ; owl:oneOf ( 1 2 ) ] .
        :mixed a owl:DatatypeProperty ; rdfs:range [ a rdfs:Datatype ; owl:oneOf ( 1 "x" ) ] .
        :real a owl:DatatypeProperty ; rdfs:range owl:real .
        :page a owl:DatatypeProperty ; rdfs:range rdf:HTML .
        :Lamp a owl:Class ; owl:equivalentClass [ a owl:Class ; owl:oneOf ( :red :green ) ] .
    """
    schema = Schema.of(triples(text))
    names = ("size", "band", "level", "mixed", "real", "page")
    assert [schema.datatype_of(x(name)) for name in names] == [
        *(f"{XSD}short", xsd.INTEGER, xsd.INTEGER, None, xsd.DECIMAL, f"{RDF}HTML")
    ]
    assert schema.classes == {x("Lamp")}
    assert not schema.superclasses(x("Lamp"))


def test_a_datatype_that_is_defined_as_a_class_is_none() -> None:
    range_ = BlankNode("_:range")
    schema = Schema.of(
        [
            (x("age"), owl_name("equivalentClass"), range_),
            (range_, rdf.TYPE, IRI(f"{RDFS}Datatype")),
            (x("named"), rdf.TYPE, IRI(f"{RDFS}Datatype")),
            (x("named"), owl_name("equivalentClass"), x("age")),
            (x("Old"), owl_name("equivalentClass"), x("Aged")),
        ]
    )
    assert schema.classes == {x("Old"), x("Aged")}


def test_the_range_of_a_plain_rdf_property_tells_its_kind() -> None:
    rdf_property = IRI(f"{RDF}Property")
    schema = Schema.of(
        [
            (x("age"), rdf.TYPE, rdf_property),
            (x("age"), rdfs.RANGE, IRI(xsd.INTEGER)),
            (x("knows"), rdf.TYPE, rdf_property),
        ]
    )
    assert schema.datatype_properties == {x("age")}
    assert schema.object_properties == {x("knows")}


def test_a_class_has_the_properties_of_the_classes_above_it() -> None:
    schema = Schema.of(
        [
            (x("Human"), rdfs.SUBCLASS_OF, x("Actor")),
            (x("hasName"), rdf.TYPE, DATATYPE_PROPERTY),
            (x("hasName"), rdfs.DOMAIN, x("Actor")),
            (x("hasWidth"), rdf.TYPE, DATATYPE_PROPERTY),
            (x("hasWidth"), rdfs.DOMAIN, x("Room")),
        ]
    )
    assert schema.properties_of(x("Human")) == {x("hasName")}


def test_labels_prefer_english_and_fall_back_to_the_local_name() -> None:
    label = IRI(f"{RDFS}label")
    schema = Schema.of(
        [
            (x("Human"), label, Literal("Mensch", language="de")),
            (x("Human"), label, Literal("human being", language="en")),
            (x("Room"), label, Literal("Raum", language="de")),
        ]
    )
    assert schema.label(x("Human")) == "human being"
    assert schema.label(x("Room")) == "Raum"
    assert schema.label(x("Actor")) == "Actor"


def test_local_names_of_hash_slash_and_urn() -> None:
    assert local_name("http://x/a#B") == "B"
    assert local_name("http://x/a/B/") == "B"
    assert local_name("urn:x:B") == "B"


NAMES = st.sampled_from([x(c) for c in "ABCDEF"])


@given(st.dictionaries(NAMES, st.sets(NAMES)))
def test_the_transitive_closure_equals_the_textbook_one(edges: dict[IRI, set[IRI]]) -> None:
    pairs = {(a, b) for a, ends in edges.items() for b in ends}
    while more := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
        pairs |= more
    expected = {a: {b for c, b in pairs if c == a and b != a} for a in edges}
    assert transitive(edges) == expected
