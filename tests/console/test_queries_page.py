from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from selenium.common.exceptions import WebDriverException

from sensorstream import QueryReport, Results
from sensorstream.console.operator_drawing import (
    GridSpot,
    ShownChange,
    ShownStep,
    details,
    drawing,
    layout,
    step_at,
    steps_of,
    words,
)
from sensorstream.console.queries_page import lines_of, presets
from tests.console.browsing import Pages
from tests.waiting import eventually

NAME = "urn:x:places"
QUERY = """PREFIX : <http://sensorstream.example/tracking#>
REGISTER QUERY <urn:x:places> AS
SELECT RSTREAM ?x (COUNT(?p) AS ?people) { ?p :hasXLocation ?x } GROUP BY ?x"""


_FITS = """const page = document.querySelector('main').getBoundingClientRect();
  return [...document.querySelectorAll('.operators.wide svg text')].every(each => {
    const box = each.parentNode.querySelector('rect').getBoundingClientRect();
    return each.getBoundingClientRect().right <= Math.min(box.right, page.right) })"""


def node(number: int, depth: int) -> dict[str, Any]:
    return {"id": number, "depth": depth}


def test_an_operator_stands_to_the_right_of_all_that_feed_it() -> None:
    graph = {
        "windows": [{}],
        "nodes": [node(1, 0), node(2, 0), node(3, 1), node(4, 2)],
        "edges": [{"from": 1, "to": 3}, {"from": 2, "to": 4}, {"from": 3, "to": 4}],
    }
    assert layout(graph) == [
        GridSpot("w0", 0, 0),
        GridSpot("1", 1, 0),
        GridSpot("2", 1, 1),
        GridSpot("3", 2, 0),
        GridSpot("4", 3, 0),
    ]


def test_what_stands_in_a_query_is_no_markup_in_its_picture() -> None:
    counts = {"added": 2, "removed": 1, "memory": 0, "seconds": 0.3}
    graph = {
        "windows": [{"window": "last 5 <b>", "triples": 3, "feeds": [1]}],
        "nodes": [
            {**node(1, 0), **counts, "operator": 'Filter ?x = "<script>"'},
            {**node(2, 1), **counts, "operator": "Distinct", "seconds": 0.1},
        ],
        "edges": [{"from": 1, "to": 2}],
    }
    for narrow in (False, True):
        drawn = drawing(graph, {1: (0.5, 2.25, 0.0)}, [1], narrow=narrow)
        assert "<script>" not in drawn
        assert "<b>" not in drawn
        assert ">+2 -1<" in drawn
        assert ">+0.5\u00a0/s -2.25\u00a0/s<" in drawn
        assert ">3 triples<" in drawn
        assert 'class="operator heat-4 active"' in drawn
        assert 'class="operator heat-2"' in drawn
        assert {">75%<", ">25%<", ">FILTER<", ">DISTINCT<"} <= {
            f">{each}<" for each in re.findall(r">([^<>]*)<", drawn)
        }


def test_a_graph_is_as_wide_as_its_page() -> None:
    counts = {"added": 0, "removed": 0, "memory": 0, "seconds": 0.0, "operator": "Distinct"}
    for depth in (2, 4, 12):
        graph = {
            "windows": [],
            "nodes": [{**node(each, each), **counts} for each in range(depth)],
            "edges": [{"from": each, "to": each + 1} for each in range(depth - 1)],
        }
        wide, narrow = drawing(graph, {}), drawing(graph, {}, narrow=True)
        width = int(wide.partition('viewBox="0 0 ')[2].partition(" ")[0])
        assert width == (272 if depth > 4 else 272 + (depth - 1) * 314) + 2
        assert 'viewBox="0 0 314 ' in narrow


def test_a_box_has_the_querys_own_words() -> None:
    prefixes = {"http://e.org/": "", "http://e.org/long/": "l"}
    hidden = {"?.agg1": "COUNT(*)"}
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    for operator, told in {
        f"Match ?x {kind} <http://e.org/C> . ?x <http://e.org/long/p> ?y -> ?x ?y": (
            "Pattern",
            "?x a :C . ?x l:p ?y",
        ),
        'Filter (?x > "10"^^<http://e.org/integer>) -> ?x': ("FILTER", "(?x > 10)"),
        "Group by ?x: ?n = SUM(?y), ?.agg1 = COUNT(*)": ("GROUP BY", "?x: ?n = SUM(?y), COUNT(*)"),
        "Filter (?.agg1 > 2)": ("FILTER", "(COUNT(*) > 2)"),
        "LeftJoin on ?x": ("OPTIONAL", "on ?x"),
        "In the scope of its window": ("In the scope of its window", ""),
    }.items():
        assert words(operator, prefixes, hidden) == told


def test_a_line_is_a_number_with_the_other_values_of_its_row() -> None:
    def report(time: int, *rows: tuple[Any, ...]) -> QueryReport:
        return QueryReport(str(time), "q", time, "=", Results(("room", "n"), rows))

    reports = [report(1, ("a", 2), ("b", 3)), report(2, ("a", 4.5))]
    by_number = [report(1, (70, 2), (0, 3)), report(2, (70, 4))]
    assert lines_of(by_number, ["room"]) == {"?n 70": [(1, 2.0), (2, 4.0)], "?n 0": [(1, 3.0)]}
    gone = QueryReport("3", "q", 3, "-", Results(("room", "n"), (("a", 9),)))
    assert lines_of([*reports, gone], []) == {"?n a": [(1, 2.0), (2, 4.5)], "?n b": [(1, 3.0)]}


def test_an_address_leads_to_a_step() -> None:
    none = ShownChange((), (), 0)
    steps = [
        ShownStep(7, None, "came", (), none),
        ShownStep(7, 4, "a", (), none),
        ShownStep(9, 4, "a", (), none),
    ]
    assert [step_at(steps, "7", None), step_at(steps, "9", "4")] == [0, 2]
    assert step_at(steps, "8", "4") is None


def test_a_box_of_the_picture_has_details() -> None:
    counts: dict[str, Any] = {
        "added": 2000,
        "removed": 1,
        "memory": 0,
        "users": 1,
        "variables": ["x"],
    }
    counts["seconds"] = 0.002
    graph = {
        "windows": [{"window": "last 5", "triples": 3, "moves": 9, "feeds": [1]}],
        "nodes": [{**node(1, 0), **counts, "operator": "Pattern ?x a ?y"}],
        "edges": [{"from": 1, "to": 3}],
    }
    assert details(graph, "w0") == {
        "Window": "last 5",
        "Triples": "3",
        "Moves at": "9",
        "Feeds": "operator 1",
    }
    assert details(graph, "1", {1: (0.0, 0.0, 0.5)}) == {
        "Operator 1": "Pattern ?x a ?y",
        "Variables": "?x",
        "Gave out": "2,000 added, 1 removed",
        "Busy": "2\u00a0ms, 100% of the query's, now 50.00% of the time",
        "Keeps": "0 rows",
        "Is fed by": "none",
        "Feeds": "operator 3",
        "Number of its users": "1",
    }
    assert details(graph, "2") == {}


def test_steps_tell_what_came_and_what_each_operator_gave_out() -> None:
    instant = {
        "time": 7,
        "graphs": [
            {
                "graph": "outside the windows",
                "added": ["<http://e.org/s> <http://e.org/p> <http://e.org/o>"],
                "added_count": 3,
                "removed": [],
                "removed_count": 0,
            }
        ],
        "steps": [
            {
                "id": 4,
                "operator": "Pattern ?s <http://e.org/p> ?o",
                "in": [
                    {
                        "from": 2,
                        "added": [{"s": {"type": "literal", "value": "7"}}],
                        "added_count": 1,
                        "removed": [],
                        "removed_count": 0,
                    }
                ],
                "out": {
                    "added": [],
                    "added_count": 0,
                    "removed": [{"s": {"type": "uri", "value": "http://e.org/s"}}],
                    "removed_count": 1,
                },
            }
        ],
    }
    came, gave = steps_of([instant])
    assert (came.operator, came.out) == (None, ShownChange(("s p o",), (), 2))
    assert (gave.operator, gave.title, gave.out.removed) == (4, "Pattern ?s p ?o", ("?s = s",))
    assert gave.came == (ShownChange(("?s = 7",), (), 0),)


def test_the_papers_queries_are_there_to_begin_with() -> None:
    known = {each.name: each for each in presets()}
    assert {"auctions/figure-6.rq", "fire/fire.dotr", "stocks/query-1.rq"} <= known.keys()
    assert known["stocks/query-1.rq"].about.startswith("A fall by more than 30 percent")


def test_a_researcher_registers_a_query_and_steps_through_it(pages: Pages) -> None:
    pages.open("/queries?preset=stocks%2Fquery-1.rq", "Its vocabulary is that of examples/stocks")
    pages.write(QUERY.replace("COUNT", "CONT"))
    pages.press("Try it on recent messages")
    pages.see("line 3, column")
    pages.write(QUERY)
    pages.press("Try it on recent messages")
    pages.see("No fault was found")
    pages.take_picture("queries")
    pages.press("Register")
    pages.see("Results", "State\nrunning")
    try:
        pages.show("Steps")
        pages.press("Read the last instants")
        pages.see("Nothing has happened since the record began")
        for number in range(901, 905):
            pages.send_face(number)

        def is_read() -> bool:
            pages.press("Read the last instants")
            return "Step 1 of" in pages.shown()

        eventually(is_read)
        assert "+ human-90" in pages.shown()
        pages.find("[aria-label=Next]").click()
        pages.see("Step 2 of")
        # Its operator is marked; nothing flows in what has been.
        eventually(lambda: pages.has(".operators .active"))
        assert "/s" not in pages.find(".operators").text
        # The picture is not wider than its page, nor are its words.
        assert pages.browser.execute_script(_FITS)
        pages.take_picture("steps")
        eventually(lambda: "operator=" in pages.browser.current_url)
        here = pages.shown().partition("Step 2 of")[2].splitlines()[0].partition(",")[2]
        pages.browser.get(pages.browser.current_url)
        pages.see(here)
        pages.show("Results")
        pages.see("Last report at")
        pages.take_picture("results")
        pages.show("Operators")
        pages.see("Group by ?x")

        def is_told() -> bool:
            with suppress(WebDriverException):  # It may just be drawn anew.
                pages.find("svg [data-key]").click()
            return "Gave out" in pages.shown()

        eventually(is_told)
        pages.see("Busy", "of the query's")
        assert pages.find(".operators .share").text.endswith("%")
        assert pages.browser.execute_script(_FITS)
        pages.take_picture("operators")
        pages.press("Stop this query")
        pages.see("No query runs.")
        pages.client.register(QUERY)
        eventually(lambda: NAME in pages.shown())
        pages.press("Stop")
        eventually(lambda: NAME not in pages.shown())
        assert pages.client.queries() == []
    finally:
        for each in pages.client.queries():
            pages.client.unregister(each["name"])


def test_a_line_that_begins_late_stands_at_its_own_time(pages: Pages) -> None:
    query = """PREFIX : <http://sensorstream.example/tracking#>
REGISTER QUERY <urn:x:each> AS SELECT RSTREAM ?person (COUNT(?x) AS ?number)
FROM NAMED WINDOW <urn:w> [RANGE 1 STEP 1] WHERE { WINDOW <urn:w> { ?person :hasXLocation ?x } }
GROUP BY ?person"""
    drawn = """const chart = document.querySelector('.chart');
      const options = chart && getElement(chart.id.slice(1))?.chart?.getOption();
      return (options?.series ?? []).map(each => [each.name, each.data.map(point => point[0])])"""
    axis = "return getElement(document.querySelector('.chart').id.slice(1)).chart"
    axis += ".getOption().xAxis[0].type"
    pages.client.register(query)
    try:
        pages.open("/query?name=urn%3Ax%3Aeach")
        # Far apart: the time of the query goes on with the clock while no message comes.
        now = int(pages.client.window()["now"] or 0)
        times = [now + 1000 * number for number in (1, 2, 3)]
        for each in times:
            pages.send_face(each)

        def found() -> dict[str, list[int]]:
            return dict(pages.browser.execute_script(drawn))

        human = "?number human-"
        names = [f"{human}{each}" for each in times[:2]]
        eventually(lambda: set(names) <= found().keys())

        def in_order() -> bool:
            lines = found()
            first, second = (lines[each] for each in names)
            return max(first) < min(second)

        eventually(in_order)
        assert pages.browser.execute_script(axis) == "value"
    finally:
        pages.client.unregister("urn:x:each")
