"""Terms keep their form in a graph of rdflib."""

from __future__ import annotations

import pytest

from sensorstream.kb.rdflib_terms import from_rdflib, to_rdflib
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Term

A, B = IRI("http://example.org/a"), IRI("http://example.org/b")


@pytest.mark.parametrize(
    "term",
    [
        A,
        BlankNode("_:x"),
        Literal("text"),
        Literal("text", language="en"),
        Literal("007", xsd.INTEGER),
        Literal("1e400", xsd.DOUBLE),
        Literal("no number", xsd.INTEGER),
        Literal("2014-02-30T25:00:00", xsd.DATE_TIME),
        Literal("POINT(1 2)", xsd.GEO_WKT),
        Literal("<b>", "http://example.org/kind"),
    ],
)
def test_a_term_comes_back_as_it_was_written(term: Term) -> None:
    [(subject, predicate, found)] = to_rdflib([(A, B, term)])
    assert (from_rdflib(subject), from_rdflib(predicate)) == (A, B)
    assert from_rdflib(found) == term
