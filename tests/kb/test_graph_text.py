from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import TermError
from sensorstream.kb import graph_text
from sensorstream.kb.graph_text import GraphReader
from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.xsd import XSD

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def by_oxigraph(text: str, blank: str) -> tuple[Triple, ...] | None:
    """What pyoxigraph makes of a text, blank nodes renamed; None if it is not Turtle."""

    def term(found: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> Term:
        ours = from_oxigraph(found)
        return BlankNode(f"_:{blank}{ours[2:]}") if isinstance(ours, BlankNode) else ours

    try:
        encoded = text.encode()
        read = list(ox.parse(encoded, ox.RdfFormat.TURTLE))
        triples = [(term(each.subject), term(each.predicate), term(each.object)) for each in read]
    except (SyntaxError, TermError, UnicodeEncodeError):
        return None
    return tuple(dict.fromkeys(triples))  # type: ignore[arg-type]


def by_reader(reader: GraphReader, text: str, blank: str) -> tuple[Triple, ...] | None:
    try:
        return reader.read(text, blank)
    except (SyntaxError, TermError):
        return None


IRIS = st.one_of(
    st.sampled_from(
        [
            "http://example.org/a",
            "http://example.org",
            "http://example.org:80/a?b=c#d",
            "http://example.org:x/a",
            "http://user@example.org/",
            "HTTP://EXAMPLE.org/%41/../b",
            "http://example.org/a b",
            "http://example.org//a",
            "http:///a",
            "x:",
            "x:y:z",
            "a/b",
            "",
            "#here",
            "1x:a",
            "http://[::1]/",
            "http://example.org/ä",
            "http://example.org/\\u0041",
            "http://example.org/#a#b",
            "http://example.org/%zz",
        ]
    ),
    st.text('abc:/?#[]@%.~-é\\<>"{} 1', max_size=12).map(lambda tail: f"http:{tail}"),
    st.text("abc:/?#@.-1", max_size=12),
)
LABELS = st.sampled_from(["a", "b", "1", "a.b", "a.", "a-b", "_", "ä", "", "a:b"])
LEXICAL = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        ["", "a\\nb", "\\u00e9", "\\U0001F600", "\\ud83d", "\\x", '\\"', "\t", "\x00", "\ud83d"]
    ),
)
SUFFIXES = st.one_of(
    st.just(""),
    st.sampled_from(["@en", "@en-GB", "@EN", "@de-419", "@toolonglanguage", "@en-", "@en--ltr"]),
    st.sampled_from([f"{XSD}integer", f"{XSD}string", f"{RDF}langString", "x:y", "y"]).map(
        lambda iri: f"^^<{iri}>"
    ),
)
WHITE = st.sampled_from(["", " ", "  ", "\t", "\n", "\r\n", "# a comment\n"])


@st.composite
def statements(draw: st.DrawFn) -> str:
    """N-Triples, nearly always: some are broken, some are Turtle only."""
    iri = IRIS.map(lambda text: f"<{text}>")
    blank = LABELS.map(lambda label: f"_:{label}")
    literal = st.tuples(LEXICAL, SUFFIXES).map(lambda two: f'"{two[0]}"{two[1]}')
    parts = [
        draw(iri | blank),
        draw(WHITE | st.just(" ")),
        draw(iri | st.just("a")),
        draw(WHITE | st.just(" ")),
        draw(iri | blank | literal | st.sampled_from(["5", "true", '"""long"""', "'x'"])),
        draw(WHITE),
        draw(st.sampled_from([".", ".", ".", ".", ";", ""])),
        draw(WHITE),
    ]
    return "".join(parts)


plain_iri = st.sampled_from([f"<http://example.org/{name}>" for name in "abc"])
plain_object = st.one_of(
    plain_iri, st.sampled_from(["_:a", "_:b2", '"x"', '"x"@en', f'"1"^^<{XSD}integer>', '"a\\tb"'])
)
plain_statements = st.tuples(plain_iri | st.just("_:a"), plain_iri, plain_object).map(
    lambda three: " ".join((*three, ".\n"))
)


@given(st.lists(statements() | plain_statements, max_size=4))
def test_a_text_means_what_pyoxigraph_says_or_is_refused_as_there(parts: list[str]) -> None:
    text, reader = "".join(parts), GraphReader()
    expected = by_oxigraph(text, "e1-")
    assert by_reader(reader, text, "e1-") == expected
    # Remembered terms make no difference.
    assert by_reader(reader, text, "e1-") == expected


@given(st.lists(plain_statements, max_size=6))
def test_plain_n_triples_are_read_without_pyoxigraph(parts: list[str]) -> None:
    text = "".join(parts)
    assert GraphReader()._statements(text, "e1-") is not None
    assert by_reader(GraphReader(), text, "e1-") == by_oxigraph(text, "e1-")


@given(st.lists(plain_statements, max_size=6))
def test_a_statement_a_line_without_blank_nodes_is_split_at_its_spaces(parts: list[str]) -> None:
    text = "".join(parts)
    found = GraphReader()._lines(text)
    assert (found is None) == ("_:" in text)
    assert found is None or tuple(dict.fromkeys(found)) == by_oxigraph(text, "e1-")


@pytest.mark.parametrize(
    "line",
    [
        '"a" <x:p> <x:o> .',
        "<x:s> a <x:o> .",
        "<x:s> <x:p> true .",
        "<x:s> <x:p> <x:o> . <x:s> <x:p> <x:q> .",
        "<x:s> <x:p> <x:o>, <x:q> .",
        "<x:s>  <x:p> <x:o> .",
        "# nothing",
    ],
)
def test_any_other_text_is_not_split_at_its_spaces(line: str) -> None:
    assert GraphReader()._lines(line) is None
    assert by_reader(GraphReader(), line, "") == by_oxigraph(line, "")


def test_terms_are_of_our_classes_and_made_once() -> None:
    reader = GraphReader()
    line = f'<x:s> <x:p> "7"^^<{XSD}integer> .'
    ((subject, _, value),) = reader.read(line, "")
    assert (type(subject), type(value)) == (IRI, Literal)
    assert value == Literal("7", f"{XSD}integer")
    assert reader.read(line, "")[0][2] is value


def test_remembered_terms_do_not_grow_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_text, "MOST_TERMS", 10)
    reader = GraphReader()
    for number in range(100):
        assert reader.read(f"<x:{number}> <x:p> <x:o> .", "")[0][0] == f"x:{number}"
        sizes = [len(reader._terms), len(reader._names), len(reader._ends)]
        assert max(sizes) <= 14


def test_half_of_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(SyntaxError, match="surrogate"):
        GraphReader().read('<x:s> <x:p> "\ud83d" .', "")
