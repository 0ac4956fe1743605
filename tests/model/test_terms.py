from __future__ import annotations

import copy
import pickle
import re

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import TermError
from sensorstream.model import terms as terms_module
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, iri, literal, term
from sensorstream.model.xsd import RDF_LANG_STRING, XSD

# What XML 1.0 can carry, and so what a message can bring; no lone surrogates.
texts = st.text(st.characters(exclude_categories=["Cs"]))
languages = st.from_regex(terms_module._LANGUAGE, fullmatch=True)
datatypes = st.sampled_from([xsd.STRING, xsd.INTEGER, f"{XSD}dateTime", "http://example.org/own"])
literals = st.one_of(
    st.builds(Literal, texts, datatypes),
    st.builds(lambda text, tag: Literal(text, language=tag), texts, languages),
)
names = st.from_regex(r"\Ahttp://example\.org/[a-zA-Z0-9/#é~-]*\Z").map(IRI)
blank_nodes = st.from_regex(r"\A_:[a-zA-Z0-9]+\Z").map(BlankNode)
terms: st.SearchStrategy[Term] = st.one_of(literals, names, blank_nodes)


@given(terms)
def test_a_term_is_read_back_from_its_text(each: Term) -> None:
    read = term(each.n3)
    assert read == each
    assert type(read) is type(each)
    if isinstance(each, Literal) and isinstance(read, Literal):
        assert (read.lexical, read.datatype, read.language) == (
            each.lexical,
            each.datatype,
            each.language,
        )


@given(terms, terms)
def test_terms_are_equal_when_their_parts_are(one: Term, other: Term) -> None:
    def parts(each: Term) -> tuple[object, ...]:
        if isinstance(each, Literal):
            return each.lexical, each.datatype, each.language
        return type(each), str(each)

    assert (one == other) == (parts(one) == parts(other))
    if one == other:
        assert hash(one) == hash(other)


@given(literals)
def test_oxigraph_writes_literals_alike(each: Literal) -> None:
    if each.language is not None:
        theirs = ox.Literal(each.lexical, language=each.language)
    else:
        theirs = ox.Literal(each.lexical, datatype=ox.NamedNode(each.datatype))
    quad = ox.Quad(ox.NamedNode("x:s"), ox.NamedNode("x:p"), theirs)
    line = ox.serialize([quad], format=ox.RdfFormat.N_TRIPLES)
    assert line is not None
    read = next(iter(ox.parse(f"<x:s> <x:p> {each.n3} .", format=ox.RdfFormat.N_TRIPLES)))
    assert read.object == theirs
    match = re.fullmatch(r"<x:s> <x:p> (.*) \.\n", line.decode(), re.S)
    assert match is not None
    assert term(match[1]) == each


@given(literals)
def test_rdflib_reads_what_we_write(each: Literal) -> None:
    graph = rdflib.Graph()
    graph.parse(data=f"<x:s> <x:p> {each.n3} .", format="nt11")
    (value,) = graph.objects()
    assert isinstance(value, rdflib.Literal)
    assert str(value) == each.lexical
    assert (value.language or None) == each.language


@given(terms)
def test_a_term_survives_pickling_and_copying(each: Term) -> None:
    for twin in (pickle.loads(pickle.dumps(each)), copy.deepcopy(each)):
        assert twin == each
        assert type(twin) is type(each)
        assert twin.n3 == each.n3


def test_the_three_kinds_never_coincide() -> None:
    assert len({IRI("http://example.org/"), BlankNode("_:a"), Literal("_:a"), Literal("a")}) == 4


def test_language_tags_are_compared_in_lower_case() -> None:
    assert Literal("colour", language="en-GB") == Literal("colour", language="en-gb")
    assert Literal("colour", language="en").datatype == RDF_LANG_STRING


def test_a_value_is_parsed_from_the_form() -> None:
    assert literal("072", xsd.INTEGER).value == 72
    assert Literal("072", xsd.INTEGER) != Literal("72", xsd.INTEGER)
    assert Literal("text").value == "text"
    with pytest.raises(TermError, match="five"):
        literal("five", xsd.INTEGER)


@pytest.mark.parametrize("bad", ["", "e", "en_GB", "en-", "en-toolongsubtag", "1n", "en\n"])
def test_what_is_no_language_tag_is_refused(bad: str) -> None:
    with pytest.raises(TermError, match="language tag"):
        literal("five", language=bad)
    with pytest.raises(ValueError, match=r".+"):
        ox.Literal("five", language=bad)


@pytest.mark.parametrize("good", ["http://example.org/é", "urn:x:y", "mailto:a@b", "x:%C3%A4"])
def test_an_absolute_iri_is_taken(good: str) -> None:
    assert iri(good) == good
    assert ox.NamedNode(good).value == good


@pytest.mark.parametrize(
    "bad", ["", "relative", "//host/x", "http://a b", "http://a<b>", "http://a/{b}", "x:a%2", "1:x"]
)
def test_what_is_no_absolute_iri_is_refused(bad: str) -> None:
    with pytest.raises(TermError, match=r"expected|percent-encoded"):
        iri(bad)
    with pytest.raises(ValueError, match=r".+"):
        ox.NamedNode(bad)


@pytest.mark.parametrize("bad", ["", "plain", '"open', '"a"^^x', '"a"@', '"a" .', "<open"])
def test_what_is_no_term_is_refused(bad: str) -> None:
    with pytest.raises(TermError, match="N-Triples"):
        term(bad)


def test_escapes_of_n_triples_are_read() -> None:
    assert term(r'"\u00e4\U0001F600\t\b\n\r\f\"\'\\"') == Literal("ä😀\t\b\n\r\f\"'\\")
