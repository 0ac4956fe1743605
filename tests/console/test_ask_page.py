from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from selenium import webdriver

from sensorstream import Client, Results
from sensorstream.console.answer_views import csv_of, lines_of, places_of
from sensorstream.console.ask_page import form_of, moment_at
from sensorstream.console.drawings import DEGREES, DrawnShape
from tests.console.browsing import (
    faults,
    field,
    marked,
    open_page,
    press,
    send_face,
    shown,
    take_picture,
    write,
)
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("PREFIX ask: <http://e.org/select#> # construct\nASK { ?s ?p ?o }", "ASK"),
        ("describe <x:ask>", "DESCRIBE"),
        ('BASE <x:> SELECT ("ask" AS ?a) {}', "SELECT"),
        ("nonsense", "SELECT"),
    ],
)
def test_the_form_of_a_query_is_its_keyword(text: str, form: str) -> None:
    assert form_of(text) == form


def test_a_moment_lies_between_the_first_and_the_last() -> None:
    assert moment_at(10, 20, 0.5) == "15"
    first, last = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 3, tzinfo=UTC)
    assert moment_at(first, last, 0.5) == "2026-01-02T00:00:00Z"
    assert moment_at("2026-01-01T00:00:00+00:00", last, 1.0) == "2026-01-03T00:00:00Z"


def test_numbers_are_lines_over_the_first_other_column() -> None:
    rows = (("http://e.org/a", 1, Decimal("2.5")), ("http://e.org/b", None, Decimal(3)))
    assert lines_of(("room", "n", "t"), rows) == {
        "n": [("a", 1.0)],
        "t": [("a", 2.5), ("b", 3.0)],
    }
    assert lines_of(("hour", "n"), ((1, 5), (2, 7))) == {"n": [("1", 5.0), ("2", 7.0)]}
    assert lines_of(("name",), (("a",), ("b",))) == {}


def test_places_are_found_by_points_and_by_coordinates() -> None:
    assert places_of(("s", "at"), (("http://e.org/a", "POINT(1 2)"), ("b", None))) == [
        ("a", DrawnShape(DEGREES, ((1.0, 2.0),)))
    ]
    assert places_of(("at", "s"), (("LINESTRING(1 2, 3 4)", "road"),)) == [
        ("road", DrawnShape(DEGREES, lines=(((1.0, 2.0), (3.0, 4.0)),)))
    ]
    assert places_of(("s", "lat", "lon"), (("a", 60, 24.5), ("b", None, 1))) == [
        ("a", DrawnShape(DEGREES, ((24.5, 60.0),)))
    ]


def test_csv_quotes_what_it_must() -> None:
    assert csv_of(Results(("a", "b"), (('x "y", z', None),))) == 'a,b\r\n"x ""y"", z",\r\n'


def test_a_researcher_asks_about_now_and_about_history(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    with Client(keyed.url, key=keyed.key) as client:
        send_face(client, 951)
    open_page(browser, keyed, "/ask")
    eventually(lambda: "Jobs" in shown(browser))
    write(browser, "SELECT ?p { ?p")
    press(browser, "Ask")
    eventually(lambda: "line 1, column" in shown(browser))
    eventually(lambda: marked(browser) == ["p"])
    write(
        browser,
        "PREFIX : <http://sensorstream.example/tracking#>\n"
        'SELECT ?person ?x { ?person :hasXLocation ?x ; :hasName "951" }',
    )
    press(browser, "Ask")
    eventually(lambda: "human-951\n72" in shown(browser) or "human-951 72" in shown(browser))
    assert marked(browser) == []
    assert "text=PREFIX" in browser.current_url
    press(browser, "Explain")
    eventually(lambda: "Project ?person ?x" in shown(browser))
    assert "Oxigraph answers this" in shown(browser)
    take_picture(browser, "ask")
    open_page(browser, keyed, "/ask?language=sql&on=history&text=select+40%2B2+as+answer")
    eventually(lambda: "Jobs" in shown(browser))
    press(browser, "Ask")
    eventually(lambda: "42" in shown(browser))
    press(browser, "Explain")
    eventually(lambda: "Result" in shown(browser))
    # A moment that would not count cannot be given.
    assert "SQL says its moment itself" in shown(browser)
    assert not field(browser, "As of (a moment)").is_displayed()


def test_an_address_with_unknown_choices_leads_to_the_first_ones(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    open_page(browser, keyed, "/ask?language=none&on=nothing&text=ASK+%7B%7D")
    eventually(lambda: "Jobs" in shown(browser))
    press(browser, "Ask")
    eventually(lambda: "\ntrue\n" in shown(browser))
    assert faults(browser) == []


@pytest.mark.parametrize(
    ("language", "text", "part"),
    [
        ("sql", "select count(*) as n from messages", "SQL"),
        ("sparql", "SELECT ?s { ?s a ?class }", "Algebra"),
    ],
)
def test_spark_plans_a_question_in_a_job_that_shows_its_plan(
    keyed: Keyed,
    browser: webdriver.Chrome,
    eventually: Eventually,
    language: str,
    text: str,
    part: str,
) -> None:
    open_page(browser, keyed, f"/ask?language={language}&on=spark")
    eventually(lambda: "Jobs" in shown(browser))
    write(browser, text)
    press(browser, "Explain")
    eventually(lambda: "waits for Spark, which plans it." in shown(browser))
    with Client(keyed.url, key=keyed.key) as client:
        (job,) = client.jobs()
        assert (job["text"], job["plan"]) == (text, True)
        eventually(lambda: f"plan of {text}" in shown(browser))
        eventually(lambda: "SHOW" in shown(browser).upper().split())
        press(browser, "Show")
        eventually(lambda: "== Physical Plan ==" in shown(browser))
        assert part in shown(browser).splitlines()
        client.delete_job(job["id"])
    assert faults(browser) == []
