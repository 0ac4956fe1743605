"""Random shapes over random streams: after every change the network finds what pySHACL finds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model import rdf, rdfs, xsd
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.shapes.validation import Validator
from tests.shapes.oracle import Network, found_by_pyshacl, shapes_of

EX = "http://example.org/"
HEAD = (
    f"@prefix : <{EX}> . @prefix sh: <http://www.w3.org/ns/shacl#> . "
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
)
NODES = [IRI(EX + name) for name in "abc"]
PROPERTIES = [IRI(EX + name) for name in "pq"]
CLASSES = [IRI(EX + name) for name in "AB"]
LITERALS: list[Term] = [
    *(Literal(str(n), xsd.INTEGER) for n in (0, 1, 2)),
    Literal("x", xsd.INTEGER),
    Literal("x"),
    Literal("xy", language="en"),
    Literal("z", language="en"),
    Literal("z", language="de"),
]

properties = st.sampled_from([":p", ":q"])
nodes = st.sampled_from([":a", ":b", "1", '"x"', '"z"@en'])
small = st.integers(0, 2)
triples: st.SearchStrategy[Triple] = st.one_of(
    st.tuples(
        st.sampled_from(NODES), st.sampled_from(PROPERTIES), st.sampled_from([*NODES, *LITERALS])
    ),
    st.tuples(st.sampled_from(NODES), st.just(rdf.TYPE), st.sampled_from(CLASSES)),
    st.tuples(
        st.sampled_from(CLASSES), st.just(rdfs.SUBCLASS_OF), st.sampled_from([*CLASSES, *NODES])
    ),
)
targets = st.sampled_from(
    ["sh:targetClass :A", "sh:targetNode :a, 1", "sh:targetSubjectsOf :p", "sh:targetObjectsOf :q"]
)


@st.composite
def paths(draw: st.DrawFn, depth: int = 2) -> str:
    kind = draw(st.integers(0, 8)) if depth else 0
    if kind < 4:
        return draw(properties)
    inner = paths(depth - 1)
    if kind == 4:
        return f"( {draw(inner)} {draw(inner)} )"
    if kind == 5:
        return f"[ sh:alternativePath ( {draw(inner)} {draw(inner)} ) ]"
    name = ["inversePath", "zeroOrMorePath", "zeroOrOnePath"][kind - 6]
    return f"[ sh:{name} {draw(inner)} ]"


@st.composite
def constraints(draw: st.DrawFn, depth: int, *, of_property: bool) -> str:
    """The constraints of a shape, with a semicolon after each."""
    told = []
    simple = {
        "class": st.sampled_from([":A", ":B"]),
        "datatype": st.sampled_from(["xsd:integer", "xsd:string"]),
        "nodeKind": st.sampled_from(["sh:IRI", "sh:Literal", "sh:BlankNodeOrIRI"]),
        "minInclusive": small,
        "maxExclusive": small,
        "minLength": small,
        "maxLength": small,
        "pattern": st.sampled_from(['"^x"', '"[0-9]{1}"']),
        "languageIn": st.just('( "en" )'),
        "hasValue": nodes,
        "in": st.lists(nodes, max_size=3).map(lambda found: f"( {' '.join(found)} )"),
        "equals": properties,
        "disjoint": properties,
        "closed": st.just("true ; sh:ignoredProperties ( :q )"),
    }
    if of_property:
        simple |= {"minCount": small, "maxCount": small, "uniqueLang": st.just("true")}
        simple |= {"lessThan": properties}
    for name in draw(st.lists(st.sampled_from(sorted(simple)), max_size=2, unique=True)):
        told.append(f"sh:{name} {draw(simple[name])} ;")
    if not depth:
        return " ".join(told)
    inner = shapes(depth - 1)
    kinds = ["property", "node", "not", "and", "or", "xone"]
    kinds += ["qualifiedValueShape"] if of_property else []
    for name in draw(st.lists(st.sampled_from(kinds), max_size=2, unique=True)):
        if name == "property":
            told.append(f"sh:property {draw(shapes(depth - 1, of_property=True))} ;")
        elif name == "node":
            told.append(f"sh:node {draw(shapes(depth - 1, of_property=False))} ;")
        elif name == "not":
            told.append(f"sh:not {draw(inner)} ;")
        elif name == "qualifiedValueShape":
            most = draw(st.sampled_from(["qualifiedMinCount", "qualifiedMaxCount"]))
            told.append(f"sh:{name} {draw(inner)} ; sh:{most} {draw(small)} ;")
        else:
            members = draw(st.lists(inner, min_size=1, max_size=2))
            told.append(f"sh:{name} ( {' '.join(members)} ) ;")
    return " ".join(told)


@st.composite
def shapes(draw: st.DrawFn, depth: int, *, of_property: bool | None = None) -> str:
    """A shape without a name."""
    own = draw(st.booleans()) if of_property is None else of_property
    inner = draw(constraints(depth, of_property=own))
    return f"[ sh:path {draw(paths())} ; {inner} ]" if own else f"[ a sh:NodeShape ; {inner} ]"


@st.composite
def shape_files(draw: st.DrawFn) -> str:
    told = [HEAD]
    for number in range(draw(st.integers(1, 2))):
        inner = draw(constraints(2, of_property=False))
        told.append(f":S{number} a sh:NodeShape ; {draw(targets)} ; {inner} .")
    return "\n".join(told)


streams = st.lists(
    st.lists(st.tuples(triples, st.booleans()), min_size=1, max_size=4), min_size=1, max_size=5
)


@given(shape_files(), streams)
@settings(max_examples=60, deadline=None)
def test_after_every_change_the_violations_are_those_of_the_whole(
    text: str, stream: list[list[tuple[Triple, bool]]]
) -> None:
    graph = shapes_of(text)
    network, validator = Network(graph), Validator(graph)
    assert network.anew == []
    for delta in stream:
        for triple, there in delta:
            network.change(triple, there)
        network.settle()
        assert set(network.violations()) == set(found_by_pyshacl(validator, network.index))
