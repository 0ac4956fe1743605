"""Magics over an engine and over a client, and graphs of rdflib both ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

from sensorstream import Engine, Event, Results, build_engine, from_graph, to_graph
from sensorstream.client.clients import Client
from sensorstream.client.results import QueryGraph, QueryPlan, QueryReport
from sensorstream.errors import MissingExtra, SettingsError, TermError
from sensorstream.kb.graph_text import GraphReader
from sensorstream.model.terms import IRI
from sensorstream.model.xsd import XSD

E = "http://example.org/"
OF = "urn:sensorstream:function:"
DATA = f'<{E}a> a <{E}C> ; <{E}v> 3 , "x \\"y\\" <b>"@en , [ <{E}v> 2.50 ] .'
QUERY = f"SELECT ?s ?v {{ ?s <{E}v> ?v FILTER(isNumeric(?v)) }}"


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = build_engine(window="sliding 100 individuals", line="integer")
    made.take(from_graph(rdflib.Graph().parse(data=DATA, format="turtle"), 1, "m1"))
    yield made
    made.close()


@pytest.fixture
def shell(engine: Engine) -> Iterator[Any]:
    made: Any = InteractiveShell
    made = made(user_ns={"engine": engine})
    made.extension_manager.load_extension("sensorstream")
    yield made
    made.restore_sys_module_state()


def run(shell: Any, cell: str) -> Any:
    done = shell.run_cell(cell)
    done.raise_error()
    return done.result


def test_sparql_asks_the_engine_that_was_chosen(shell: Any, engine: Engine) -> None:
    with pytest.raises(SettingsError, match="expected '%sensorstream URL'"):
        run(shell, "%%sparql\nASK {}")
    with pytest.raises(SettingsError, match="'nothing': expected the URL"):
        run(shell, "%sensorstream nothing")
    run(shell, "%sensorstream engine")
    answer = run(shell, f"%%sparql found\n{QUERY}")
    assert shell.user_ns["found"] is answer
    assert sorted(float(row["v"]) for row in answer) == [2.5, 3]
    assert run(shell, f"%%sparql\nASK {{ <{E}a> a <{E}C> }}") is True
    # As a server answers: literals as they were written, functions of SensorStream.
    engine.take(Event(GraphReader().read(f"<{E}b> <{E}w> 007 .", ""), 2, "m2"))
    same = run(shell, f"%%sparql\nSELECT ?v {{ ?s <{E}w> ?v }}")
    assert [str(row["v"]) for row in same] == ["7"]
    told = run(shell, f"%%sparql\nSELECT (STR(?v) AS ?t) {{ ?s <{E}w> ?v }}")
    assert [row["t"] for row in told] == ["007"]
    assert run(shell, f"%%sparql\nASK {{ FILTER(<{OF}isOf>(7.0, <{XSD}byte>)) }}") is True
    graph = run(shell, f"%%sparql\nCONSTRUCT WHERE {{ ?s <{E}w> ?v }}")
    assert [str(each) for each in graph.objects()] == ["007"]
    graph = run(shell, f"%%sparql\nCONSTRUCT WHERE {{ ?s a <{E}C> }}")
    assert (rdflib.URIRef(f"{E}a"), rdflib.RDF.type, rdflib.URIRef(f"{E}C")) in graph


def test_a_cell_is_the_query_of_its_name(shell: Any, engine: Engine) -> None:
    run(shell, "%sensorstream engine")
    for pattern in (f"?s <{E}v> ?v", f"?s a <{E}C>"):
        graph = run(shell, f"%%sensorstream mine\nSELECT ?s {{ {pattern} }}")
        assert isinstance(graph, QueryGraph)
        assert f"<{E}" in graph["nodes"][0]["operator"]
    assert list(engine.queries.processor.queries) == ["mine"]


def test_the_magics_ask_a_server_by_its_client(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def answers(name: str, answer: Any) -> None:
        def called(_client: Client, *given: str) -> Any:
            asked.append((name, *given))
            return answer

        monkeypatch.setattr(Client, name, called)

    answers("query", Results(("s",), ()))
    answers("ask", False)
    answers("construct", f"<{E}a> <{E}b> 1 .")
    answers("queries", [{"name": "mine"}])
    answers("unregister", None)
    answers("register", {"name": "urn:x:mine"})
    answers("query_graph", QueryGraph(query="mine"))
    run(shell, "%sensorstream http://127.0.0.1:9")
    assert run(shell, "%%sparql\nSELECT * {}") == Results(("s",), ())
    assert run(shell, "%%sparql\nASK {}") is False
    assert len(run(shell, "%%sparql\nDESCRIBE <urn:x:a>")) == 1
    run(shell, "%%sensorstream mine\nSELECT * {}")
    assert [name for name, *_ in asked] == [
        *("query", "ask", "construct", "queries", "unregister", "register", "query_graph"),
    ]
    assert asked[-1] == ("query_graph", "urn:x:mine")


def test_a_graph_becomes_an_event_and_an_event_a_graph(engine: Engine) -> None:
    graph = rdflib.Graph().parse(data=DATA, format="turtle")
    event = from_graph(graph, 3, "m", stream=f"{E}stream", end=5)
    assert (event.time, event.end, event.stream) == (3, 5, IRI(f"{E}stream"))
    assert to_graph(event).isomorphic(graph)
    assert to_graph(engine).isomorphic(graph)
    assert len(to_graph(QueryReport("1-1", "q", 1, "+", graph=f"<{E}a> <{E}b> 1 ."))) == 1
    relative = rdflib.Graph()
    relative.add((rdflib.URIRef("a"), rdflib.RDF.type, rdflib.URIRef(f"{E}C")))
    with pytest.raises(TermError, match=r"a term of the graph is none of RDF 1\.1"):
        from_graph(relative, 1, "m2")


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00")))
def test_texts_come_back(text: str) -> None:
    graph = rdflib.Graph()
    graph.add((rdflib.URIRef(f"{E}a"), rdflib.URIRef(f"{E}b"), rdflib.Literal(text)))
    [(_, _, said)] = from_graph(graph, 1, "m").triples
    assert said.lexical == text  # type: ignore[union-attr]
    assert {str(o) for _, _, o in to_graph(from_graph(graph, 1, "m"))} == {text}


def test_what_a_notebook_shows_is_escaped(engine: Engine) -> None:
    engine.register("q", "SELECT ?v { ?s ?p ?v FILTER(?v < 3) }")
    outcome = engine.take(Event((), 2, "<m>"))
    results = Results(("<b>", "n"), (("<i>", None),) * 70, truncated=True)
    plan = QueryPlan(algebra=["<a>"], sql="", plan="b")
    report = QueryReport("1-1", "<q>", 4, "+", results=results)
    shown = [each._repr_html_() for each in (outcome, results, plan, report)]
    assert all(each.count("<i>") == each.count("<b>&lt;") == 0 for each in shown)
    assert "<th>&lt;m&gt;</th>" in shown[0]
    assert "70 rows, 60 shown; the server left out more" in shown[1]
    assert shown[2] == "<b>algebra</b><pre>&lt;a&gt;</pre><b>plan</b><pre>b</pre>"
    assert "+ at 4: &lt;q&gt;" in shown[3]
    assert (
        QueryReport("1-1", "q", 4, "=", answer=True)._repr_html_() == "<pre>= at 4: q\nTrue</pre>"
    )


def test_polars_reads_results_by_arrow() -> None:
    frame = polars.DataFrame(Results(("a", "b"), ((1, "x"), (2, None))))
    assert frame.to_dicts() == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]


def test_without_rdflib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rdflib", None)
    with pytest.raises(MissingExtra, match=r"rdflib, .*'sensorstream\[notebook\]'"):
        to_graph("")
