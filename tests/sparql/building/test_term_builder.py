from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest

from sensorstream.kb.oxigraph_terms import subject_to_oxigraph, to_oxigraph
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.sparql.algebra import (
    BGP,
    Alternative,
    Construct,
    Inverse,
    NegatedSet,
    OneOrMore,
    Path,
    Sequence,
    TriplePattern,
    ZeroOrMore,
    ZeroOrOne,
)
from sensorstream.sparql.query_parser import parse_query


def first_triple(text: str, base: str | None = None) -> TriplePattern:
    form = parse_query(f"CONSTRUCT {{}} WHERE {{ {text} }}", base=base).form
    assert isinstance(form, Construct)
    assert isinstance(form.pattern, BGP)
    return form.pattern.patterns[0]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("'''a\\n'b'''", Literal("a\n'b")),
        (r'"\u00e9 \\u00e9"', Literal("é \\u00e9")),
        ('"x"@EN-gb', Literal("x", language="en-gb")),
        ("4.0e1", Literal("4.0e1", "http://www.w3.org/2001/XMLSchema#double")),
        ("-.5", Literal("-.5", "http://www.w3.org/2001/XMLSchema#decimal")),
        ("TRUE", Literal("true", "http://www.w3.org/2001/XMLSchema#boolean")),
    ],
)
def test_literals_mean_what_they_say(written: str, meant: Literal) -> None:
    assert first_triple(f"?s ?p {written}").object == meant


def test_a_relative_iri_without_a_base_stays_as_it_is() -> None:
    assert first_triple("<w> ?p ?o").subject == IRI("w")


def test_blank_nodes_in_brackets_get_labels_that_the_text_does_not_use() -> None:
    triple = first_triple("[] ?p _:b0")
    assert triple.object == BlankNode("_:b0")
    assert triple.subject == BlankNode("_:b1")


HEAD = "BASE <http://b.org/c/d> PREFIX : <http://e.org/> PREFIX ex: <http://x.org/> "


@pytest.mark.parametrize(
    "text",
    [
        ":a :p [ :q 1 , 2.50 ; :r [] ] ; a :C .",
        "[ :p ( :a [ :q true ] ( ) ( -1e3 ) ) ] :q 'its'@en . ( 1 ) :p ( 2 ) .",
        """:a :p '''two\nlines\\t"''' , "x"^^ex:t ; :q _:a . _:a :p _:b .""",
        "<../x> <#p> ex:a%20b , ex:c\\,d , : .",
    ],
)
def test_triples_are_those_of_turtle(text: str) -> None:
    form = parse_query(f"{HEAD} CONSTRUCT {{ {text} }} WHERE {{}}").form
    assert isinstance(form, Construct)
    made: list[Any] = [each.parts for each in form.template]
    found = ox.Dataset(
        ox.Quad(subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o)) for s, p, o in made
    )
    expected = ox.Dataset(ox.parse(f"{HEAD} {text}", format=ox.RdfFormat.TURTLE))
    for each in (found, expected):
        each.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    assert found == expected


A, B, C, D = (IRI(name) for name in "abcd")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("<a>/^<b>|!(<c>|^<d>)", Alternative(Sequence(A, Inverse(B)), NegatedSet((C,), (D,)))),
        (
            "(<a>|<b>)*/<c>+/<d>?",
            Sequence(Sequence(ZeroOrMore(Alternative(A, B)), OneOrMore(C)), ZeroOrOne(D)),
        ),
        ("^<a>*", Inverse(ZeroOrMore(A))),
        ("!a", NegatedSet((rdf.TYPE,))),
    ],
)
def test_paths_bind_as_the_grammar_says(path: str, meant: Path) -> None:
    assert first_triple(f"?s {path} ?o").predicate == meant
