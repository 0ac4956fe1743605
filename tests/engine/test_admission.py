"""What is no RDF does not enter, and nothing breaks later."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import InvalidTerm
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Event, Status
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from tests.engine.conftest import Build
from tests.oxigraph import Copy

E = "http://example.org/"
S, P = IRI(f"{E}s"), IRI(f"{E}p")


def counted(engine: Engine) -> int:
    """How many statements ``/sparql`` finds."""
    found = Copy(engine.kb).query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
    assert isinstance(found, ox.QuerySolutions)
    return int(next(found)["n"].value)


def say(engine: Engine, *triples: Triple, time: int = 1) -> Outcome:
    return engine.take(Event(triples, time, f"e{time}"))


pieces = st.lists(
    st.sampled_from(
        [
            "http://e/",
            "urn:",
            "a",
            "/",
            ":",
            "_:",
            "#",
            "%20",
            "%z",
            " ",
            "<",
            "é",
            "\ue000",
            "[::1]",
        ]
    )
    | st.characters(),
    max_size=4,
).map("".join)
languages = st.lists(
    st.sampled_from(["en", "GB", "-", "x", "i-klingon", "ß", "1996", "toolongsubtag", "_"]),
    max_size=4,
).map("".join)
iris = pieces.map(IRI)
nodes = pieces.map(lambda text: BlankNode(f"_:{text}"))
literals = st.one_of(
    st.builds(Literal, st.text(max_size=3), st.just(xsd.STRING) | pieces),
    st.builds(lambda text, tag: Literal(text, language=tag), st.text(max_size=3), languages),
)


def is_rdf(term: Term) -> bool:
    """Whether pyoxigraph accepts a term."""
    try:
        if isinstance(term, IRI):
            ox.NamedNode(term)
        elif isinstance(term, BlankNode):
            ox.BlankNode(term[2:])
        elif term.language is not None:
            ox.Literal(term.lexical, language=term.language)
        else:
            ox.Literal(term.lexical, datatype=ox.NamedNode(term.datatype))
    except ValueError:
        return False
    return True


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(iris | nodes | st.just(S), iris | st.just(P), iris | nodes | literals),
        min_size=1,
        max_size=3,
        unique=True,
    )
)
def test_an_event_enters_if_oxigraph_accepts_its_terms(
    build: Build, said: list[tuple[Subject, IRI, Term]]
) -> None:
    engine = build(window="landmark")
    outcome = say(engine, *said)
    accepted = all(is_rdf(term) for triple in said for term in triple)
    assert outcome.status is (Status.ACCEPTED if accepted else Status.REJECTED)
    assert accepted or isinstance(outcome.rejection, InvalidTerm)
    assert counted(engine) == (len(said) if accepted else 0)
    # The second time it is remembered.
    assert say(engine, *said, time=2).status is outcome.status


@pytest.mark.parametrize(
    "triple",
    [
        (IRI("relative"), P, S),
        (S, IRI("http://e/{x}"), S),
        (S, P, IRI("http://e/a b")),
        (S, P, Literal("x", language="en_GB")),
        (S, P, Literal("x", "no-iri")),
        (S, P, Literal("\ud800")),
        (Literal("x"), P, S),
        (S, BlankNode("_:x"), S),
        (S, P, f"{E}o"),
    ],
)
def test_one_invalid_term_keeps_the_whole_event_out(build: Build, triple: Triple) -> None:
    engine = build(window="landmark")
    for number in (1, 2):
        outcome = say(engine, (S, P, Literal("valid")), triple, time=number)
        assert outcome.status is Status.REJECTED
        assert isinstance(outcome.rejection, InvalidTerm)
        assert outcome.rejection.message_id == f"e{number}"
        assert all(alert.text.encode() for alert in outcome.alerts)
    assert counted(engine) == 0
    assert say(engine, (S, P, Literal("valid")), time=3).status is Status.ACCEPTED
    assert counted(engine) == 1


def test_the_text_of_a_term_says_nothing_of_its_kind(build: Build) -> None:
    engine = build(window="landmark")
    assert say(engine, (S, P, Literal("x"))).status is Status.ACCEPTED
    assert say(engine, (S, P, IRI('"x"')), time=2).status is Status.REJECTED
    assert say(engine, (BlankNode(E), P, S), time=3).status is Status.REJECTED


def test_an_engine_without_a_window_refuses_too(build: Build) -> None:
    assert say(build(), (IRI("relative"), P, S)).status is Status.REJECTED


def test_a_graph_without_a_valid_name_is_refused(build: Build) -> None:
    said = (S, P, S)
    outcome = build().take(Event((said,), 1, "e1", graphs=((said, IRI("no graph")),)))
    assert isinstance(outcome.rejection, InvalidTerm)


def test_a_stream_without_a_valid_name_is_refused(build: Build) -> None:
    outcome = build().take(Event(((S, P, S),), 1, "e1", stream=IRI("no stream")))
    assert isinstance(outcome.rejection, InvalidTerm)


@pytest.mark.parametrize(
    "inserted", ["<http://h:x/>", '"a"^^<http://h:x/>', "<http://e/\ue000>", '"a"@en-toolongsubtag']
)
def test_a_rule_cannot_insert_what_is_no_rdf(build: Build, tmp_path: Path, inserted: str) -> None:
    file = tmp_path / "r.rules"
    file.write_text(f"""prefix : <{E}>
rule r on insert :A as ?x
then sparql {{ INSERT {{ ?x :said {inserted} }} WHERE {{}} }}
""")
    engine = build(window="landmark", rules=[file])
    outcome = say(engine, (S, rdf.TYPE, IRI(f"{E}A")))
    assert isinstance(outcome.rejection, InvalidTerm)
    assert counted(engine) == 0
