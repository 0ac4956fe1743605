"""Why a continuous query has no solution for an individual, against what the query finds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sensorstream.rules.why_not as why_no_solution_module
from sensorstream.errors import Position
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.budget import Limits
from sensorstream.network.network import Network
from sensorstream.rules.why_not import WhyNot, individuals_of, why_no_solution
from sensorstream.sparql.algebra import (
    Dataset,
    Join,
    Pattern,
    Project,
    Query,
    Select,
    Variable,
    Window,
    WindowDefinition,
)
from sensorstream.sparql.query_parser import read_query
from sensorstream.sparql.variable_scope import in_scope
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report
from tests.network.oracle import GRAPHS, patterns, triples
from tests.rules.conftest import E, triple
from tests.streams.test_random_queries import STREAMS, over_windows

HEAD = f"PREFIX : <{E}>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"
WINDOW = "FROM NAMED WINDOW :w ON :cameras [RANGE PT10S]"


def ignored(report: Report) -> None:
    """Reports do not matter here."""


def running(default: Sequence[Triple]) -> tuple[StreamProcessor, TripleIndex]:
    index = TripleIndex()
    for each in default:
        index.add(each)
    return StreamProcessor(index, instant=lambda literal: 0, second=1), index


def why(
    where: str,
    name: str,
    known: Sequence[str] = (),
    seen: Sequence[str] = (),
    *,
    dataset: str = WINDOW,
    alert: str = "",
    select: str = "*",
) -> WhyNot:
    text = f"{HEAD}SELECT {select} {dataset} {alert} {where}"
    parsed = read_query(text, start=Position("query", 1, 1))
    processor, index = running([triple(each) for each in known])
    query = processor.register("q", text, parsed.meaning, ignored)
    processor.push(StreamEvent(3, tuple(map(triple, seen)), IRI(f"{E}cameras")))
    processor.advance(4)
    return why_no_solution(query, index, parsed.prefixes, IRI(E + name))


SEEN = ("ann in kitchen", "ann a Human", f'ann age "29"{INTEGER}')


@pytest.mark.parametrize(
    ("where", "text", "note"),
    [
        ("{ WINDOW :w { ?x :in ?r ; a :Dog } }", "?x a :Dog", ":ann a is :Human"),
        # What no query reads is in the window as well.
        ("{ WINDOW :w { ?x :in ?r ; :near ?y } }", "?x :near ?y",
         ":ann has no :near; it has :in, a, :age"),
        ("{ WINDOW :w { ?x :age ?v FILTER(?v > 30) } }", "FILTER(?v > 30)", "?v is 29"),
        ("{ WINDOW :w { ?x :in ?r } ?r a :Watched }", "?r a :Watched", ":kitchen a is :Room"),
        ("{ ?x :knows ?y . WINDOW :w { ?y :in ?r } }", "?x :knows ?y", "nothing is known of :ann"),
        ("{ WINDOW :w { ?x :in ?r } } GROUP BY ?x HAVING (COUNT(?r) > 1)",
         "FILTER(COUNT(?r) > 1)", "COUNT(?r) is 1"),
        ("{ WINDOW :w { ?x ?p ?o } } ORDER BY DESC(?x) LIMIT 1", "LIMIT or OFFSET", ""),
        ("{ ?r a :Room OPTIONAL { WINDOW :w { ?x :in ?r FILTER(?x != :ann) } } }",
         "all parts together", ""),
    ],
)  # fmt: skip
def test_the_first_part_that_leaves_nothing_is_told(where: str, text: str, note: str) -> None:
    select = "?x" if "GROUP" in where else "*"
    known, seen = ("kitchen a Room",), (*SEEN, "bob in hall")
    found = why(where, "ann", known, seen, select=select)
    assert (found.variable, found.holds) == ("x", False)
    failed = next(each for each in found.steps if not each.held)
    assert (failed.text, failed.note) == (text, note)
    told = note or "nothing matches"
    assert found.answer == f"query q has no solution for :ann: {text}: {told}"


def test_a_window_that_is_part_of_the_default_graph_is_looked_into() -> None:
    dataset = WINDOW.replace("NAMED WINDOW", "WINDOW")
    found = why("{ ?x :in ?r ; a :Dog }", "ann", ("ann a Cat",), SEEN, dataset=dataset)
    assert found.answer.endswith("?x a :Dog: :ann a is :Cat, :Human")


@pytest.mark.parametrize(
    ("relation", "told"),
    [
        ("", "when the solution comes, and again only after it has gone"),
        ("REGISTER ISTREAM :s AS ", "when the solution comes"),
        ("REGISTER RSTREAM :s AS ", "at each report"),
        ("REGISTER DSTREAM :s AS ", "when the solution goes"),
    ],
)
def test_of_what_has_a_solution_is_told_when_its_alert_is_raised(relation: str, told: str) -> None:
    text = f'{HEAD}{relation}SELECT ?x ALERT info "{{?x}}" WHERE {{ ?x :in ?r }}'
    parsed = read_query(text, start=Position("query", 1, 1))
    processor, index = running([triple("ann in kitchen")])
    query = processor.register("q", text, parsed.meaning, ignored)
    found = why_no_solution(query, index, parsed.prefixes, IRI(f"{E}ann"))
    assert found.holds
    assert found.answer == f"query q has a solution for :ann: its alert is raised {told}"


def test_a_query_without_individuals_says_so() -> None:
    found = why("{ ?x :age ?v }", "ann", dataset="", select="(COUNT(*) AS ?n)")
    assert found.answer == "query q has no solution for :ann: it returns no individual"


def test_a_path_of_no_steps_does_not_lead_from_a_stranger() -> None:
    found = why("{ WINDOW :w { ?x :partOf* ?y } }", "bob", ("bob a Human",), SEEN)
    assert not found.holds


def test_of_many_pairs_only_those_with_the_individual_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # All pairs would be a million rows.
    limits = Limits(rows=20_000)
    monkeypatch.setattr(why_no_solution_module, "Network", partial(Network, limits))
    seen = [f"p{n} in hall" for n in range(1000)]
    where = "{ WINDOW :w { ?x :in ?r . ?y :in ?r ; a :Dog } }"
    found = why(where, "p7", (), seen)
    assert [each.solutions for each in found.steps] == [1, 1000, 0]


def test_a_count_of_nothing_is_a_solution_and_what_it_counts_is_nobody_outside() -> None:
    counted = "{ SELECT (COUNT(?x) AS ?n) { ?x :near ?x } }"
    found = why(f"{{ WINDOW :w {{ {counted} }} ?x a :Dog }}", "rex", ("rex a Dog",), SEEN)
    assert found.holds
    assert all(each.held for each in found.steps)


@settings(max_examples=50)
@given(
    background=st.lists(triples, max_size=4, unique=True),
    inner=patterns(depth=2),
    windowed=patterns(depth=1),
    said=st.lists(st.lists(triples, min_size=1, max_size=3), max_size=4),
)
def test_a_query_has_a_solution_if_its_result_has_one(
    background: list[Triple], inner: Pattern, windowed: Pattern, said: list[list[Triple]]
) -> None:
    pattern = Join(Window(GRAPHS[0], over_windows(windowed)), over_windows(inner))
    names = sorted(in_scope(pattern))
    windows = (
        WindowDefinition(GRAPHS[0], STREAMS[0], range=timedelta(seconds=2)),
        WindowDefinition(GRAPHS[1], None, range=2, in_default=True),
    )
    query = Query(Select(Project(pattern, tuple(map(Variable, names)))), Dataset(windows=windows))
    processor, index = running(background)
    registered = processor.register("q", "", query, ignored)
    for time, each in enumerate(said):
        processor.push(StreamEvent(time, tuple(each), STREAMS[0]))
    processor.advance(len(said))
    rows = [dict(zip(registered.variables, row, strict=False)) for row in registered.result()]
    stranger = IRI(f"{E}stranger")
    individuals = {stranger} | {
        each[0] for each in (*background, *(t for one in said for t in one))
    }
    for name in individuals_of(query):
        for individual in sorted(individuals):
            found = why_no_solution(registered, index, {}, individual, name)
            assert found.holds is any(row[name] == individual for row in rows)
            assert all(each.held for each in found.steps) is found.holds
