from __future__ import annotations

import pytest

from sensorstream.model import rdfs
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.xsd import XSD
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.bounds.clauses import Untreated
from sensorstream.reasoning.dl.bounds.data_ranges import DataRange, read_range
from sensorstream.reasoning.dl.datatypes import value_of
from tests.reasoning.dl.test_random_ontologies import BASE, ontology

DAY = "2026-01-01T00:00:00"


def read(text: str, more: str = "") -> DataRange:
    axioms = Axioms(ontology(f":d rdfs:range {text} . {more}").triples)
    node: Term | None = axioms.value(IRI(f"{BASE}d"), rdfs.RANGE)
    assert node is not None
    return read_range(axioms, node)


def facet(base: str, *facets: str) -> str:
    told = " ".join(f"[ xsd:{each} ]" for each in facets)
    return f"[ a rdfs:Datatype ; owl:onDatatype {base} ; owl:withRestrictions ( {told} ) ]"


def one_of(*values: str) -> str:
    return f"[ a rdfs:Datatype ; owl:oneOf ( {' '.join(values)} ) ]"


def without(inner: str) -> str:
    return f"[ a rdfs:Datatype ; owl:datatypeComplementOf {inner} ]"


def both(*parts: str) -> str:
    return f"[ a rdfs:Datatype ; owl:intersectionOf ( {' '.join(parts)} ) ]"


def either(*parts: str) -> str:
    return f"[ a rdfs:Datatype ; owl:unionOf ( {' '.join(parts)} ) ]"


def of(lexical: str, kind: str) -> Literal:
    return Literal(lexical, f"{XSD}{kind}")


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("xsd:integer", of("2.0", "decimal"), of("2.5", "decimal")),
        ("xsd:integer", of("2", "byte"), of("2", "double")),
        ("xsd:byte", of("127", "integer"), of("128", "integer")),
        ("xsd:decimal", of("2", "int"), of("2", "float")),
        ("xsd:token", of("a b", "string"), of("a  b", "string")),
        ("xsd:normalizedString", of(" a", "string"), of("a\tb", "string")),
        ("xsd:language", of("en-GB", "string"), of("en_GB", "string")),
        ("xsd:NCName", of("a.b", "string"), of("a:b", "string")),
        ("xsd:Name", of("a:b", "string"), of("1a", "string")),
        ("xsd:NMTOKEN", of("1a", "string"), of("a b", "string")),
        ("xsd:dateTimeStamp", of(f"{DAY}Z", "dateTime"), of(DAY, "dateTime")),
        ("xsd:dayTimeDuration", of("PT1H", "duration"), of("P1M", "duration")),
        ("xsd:yearMonthDuration", of("P1M", "duration"), of("P1MT1S", "duration")),
        ("xsd:date", of("2026-01-01", "date"), of(f"{DAY}Z", "dateTime")),
        ("rdfs:Literal", of("abc", "string"), None),
        (facet("xsd:integer", "minInclusive 4"), of("4", "integer"), of("3", "integer")),
        (facet("xsd:integer", "minInclusive 4"), of("5", "integer"), of("4.5", "decimal")),
        (facet("xsd:decimal", "maxExclusive 4"), of("3.99", "decimal"), of("4", "integer")),
        (facet("xsd:double", "minExclusive 0.0e0"), of("1", "double"), of("-0", "double")),
        (facet("xsd:double", "minInclusive 0.0e0"), of("-0", "double"), of("NaN", "double")),
        (facet("xsd:double", "maxInclusive 0.0e0"), of("0", "double"), of("1", "double")),
        (facet("xsd:double", "maxExclusive 0.0e0"), of("-1", "double"), of("-0", "double")),
        (one_of("4", '"a"'), of("04", "integer"), of("4", "double")),
        (without(one_of("4")), of("4", "double"), of("4", "int")),
        (without(without("xsd:integer")), of("4", "int"), of("a", "string")),
        (both("xsd:integer", without("xsd:byte")), of("200", "int"), of("100", "int")),
        (either("xsd:string", "xsd:boolean"), of("1", "boolean"), of("1", "integer")),
    ],
)  # fmt: skip
def test_a_range_holds_some_values_and_not_others(
    text: str, inside: Literal, outside: Literal | None
) -> None:
    found = read(text)
    assert found.holds(value_of(inside))
    assert outside is None or not found.holds(value_of(outside))
    assert found.of_space(value_of(inside).space) is not False
    assert outside is None or found.of_space(value_of(outside).space) is not True


def test_a_datatype_of_the_ontology_is_its_definition() -> None:
    defined = (
        f":age a rdfs:Datatype ; owl:equivalentClass {facet('xsd:integer', 'minInclusive 0')} ."
    )
    found = read(":age", defined)
    assert found.holds(value_of(of("0", "integer")))
    assert not found.holds(value_of(of("-1", "integer")))


def test_a_datatype_that_nobody_defines_holds_its_own_literals() -> None:
    found = read(":unit")
    assert found.holds(value_of(Literal("5 m", f"{BASE}unit")))
    assert not found.holds(value_of(of("5 m", "string")))


@pytest.mark.parametrize(
    ("of_facet", "inside", "outside"),
    [
        ("minLength 2", ["ab", "é€x"], ["", "a"]),
        ("maxLength 2", ["", "ab"], ["abc"]),
        ("length 1", ["€"], ["", "ab"]),
        ('pattern "[A-Z]{2}-[^0]\\\\d?"', ["AB-1", "AB-12"], ["AB-0", "xAB-1", "AB-1x", "AB-1\n"]),
    ],
)
def test_a_facet_of_texts_is_decided_for_each(
    of_facet: str, inside: list[str], outside: list[str]
) -> None:
    found = read(facet("xsd:string", of_facet))
    assert [found.holds(value_of(Literal(each))) for each in inside] == [True] * len(inside)
    assert [found.holds(value_of(Literal(each))) for each in outside] == [False] * len(outside)
    assert not found.holds(value_of(Literal("ab", language="en")))
    assert not found.holds(value_of(of("12", "integer")))


@pytest.mark.parametrize(
    ("text", "more", "why"),
    [
        (facet("xsd:anyURI", "minLength 2"), "", "the facet"),
        (facet("xsd:string", 'pattern "a\\\\w*"'), "", "the facet"),
        (facet("xsd:string", 'pattern "("'), "", "not a valid regular"),
        (facet("xsd:dateTime", 'minInclusive "2026-01-01T00:00:00Z"^^xsd:dateTime'), "", "facet"),
        (facet("xsd:integer", "minInclusive 4.0e0"), "", "of http"),
        ("owl:rational", "", "the data range"),
        (one_of('"x"^^xsd:integer'), "", "is not an xsd:integer"),
        (one_of(":o1"), "", "among values"),
        (":age", ":age a rdfs:Datatype ; owl:equivalentClass :age .", "nested too deeply"),
    ],
)
def test_a_range_that_cannot_be_decided_is_refused_with_the_reason(
    text: str, more: str, why: str
) -> None:
    with pytest.raises(Untreated, match=why):
        read(text, more)
