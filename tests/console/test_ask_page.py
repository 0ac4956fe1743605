from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from selenium.webdriver.common.keys import Keys

from sensorstream import Results
from sensorstream.console.answer_views import csv_of, lines_of, places_of
from sensorstream.console.ask_page import form_of, moment_at
from sensorstream.console.drawings import DEGREES, point
from tests.console.browsing import Pages
from tests.waiting import eventually


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
    assert lines_of(("room", "n", "t"), rows) == {"n": [("a", 1.0)], "t": [("a", 2.5), ("b", 3.0)]}
    assert lines_of(("hour", "n"), ((1, 5), (2, 7))) == {"n": [("1", 5.0), ("2", 7.0)]}
    assert lines_of(("name",), (("a",), ("b",))) == {}


def test_places_are_found_by_points_and_by_coordinates() -> None:
    a = {"name": "a", "there": "/console/individual?iri=http%3A%2F%2Fe.org%2Fa"}
    assert places_of(("s", "at"), (("http://e.org/a", "POINT(1 2)"), ("b", None))) == [
        point(DEGREES, 1.0, 2.0, **a)
    ]
    (road,) = places_of(("at", "s"), (("LINESTRING(1 2, 3 4)", "road"),))
    assert (road.name, road.there, [*road.corners()]) == ("road", "", [(1, 2), (3, 4)])
    assert places_of(("s", "lat", "lon"), (("a", 60, 24.5), ("b", None, 1))) == [
        point(DEGREES, 24.5, 60.0, name="a")
    ]


def test_csv_quotes_what_it_must() -> None:
    assert csv_of(Results(("a", "b"), (('x "y", z', None),))) == 'a,b\r\n"x ""y"", z",\r\n'


def test_a_researcher_asks_about_now_and_about_history(pages: Pages) -> None:
    pages.send_face(951)
    pages.open("/ask", "Jobs")
    pages.write("SELECT ?p { ?p")
    pages.press("Ask")
    pages.see("line 1, column")
    eventually(lambda: pages.marked() == ["p"])
    pages.write(
        "PREFIX : <http://sensorstream.example/tracking#>\n"
        'SELECT ?person ?x { ?person :hasXLocation ?x ; :hasName "951" }',
    )
    pages.press("Ask")
    eventually(lambda: "human-951\n72" in pages.shown() or "human-951 72" in pages.shown())
    assert pages.marked() == []
    assert "text=PREFIX" in pages.browser.current_url
    pages.press("Explain")
    pages.see("Project ?person ?x")
    assert "Oxigraph answers this" in pages.shown()
    pages.take_picture("ask")
    pages.open("/ask?language=sql&on=history&text=select+40%2B2+as+answer", "Jobs")
    pages.press("Ask")
    pages.see("42")
    pages.press("Explain")
    pages.see("Result")
    # A moment that would not count cannot be given.
    assert "SQL says its moment itself" in pages.shown()
    assert not pages.field("As of (a moment)").is_displayed()


def test_open_and_saved_questions_are_kept_by_the_browser(pages: Pages) -> None:
    pages.send_face(952)
    # What is no list of questions is none.
    for kept in ("{", '{"open": 7, "saved": [], "at": "x"}'):
        # A page of questions would keep its own.
        pages.open("/settings")
        pages.browser.execute_script(
            "localStorage.setItem('sensorstream-questions', arguments[0])", kept
        )
        pages.open("/ask", "New question")
    pages.open("/settings")
    pages.browser.execute_script("localStorage.clear()")
    pages.open("/ask?text=ASK+%7B%7D&on=all", "ASK {}", "Ctrl+Enter asks")
    eventually(lambda: pages.has(".cm-content[contenteditable=true]"))
    pages.find(".cm-content").send_keys(Keys.CONTROL + Keys.ENTER)
    pages.see("\ntrue\n")
    pages.find("[aria-label='New question']").click()
    pages.see("New question")
    pages.write(
        "PREFIX : <http://sensorstream.example/tracking#>\n"
        'SELECT ?who (?x / 7 AS ?part) { ?who :hasXLocation ?x ; :hasName "952" }'
    )
    pages.find(".cm-content").send_keys(Keys.CONTROL + Keys.ENTER)
    pages.see("human-952", "10.2857", "1 rows, in ", "SELECT ?who (?x / 7 AS ?pa …")
    assert "10.28571" not in pages.shown()
    lead = pages.find("main td a")
    assert "individual?iri=" in str(lead.get_attribute("href"))
    assert str(lead.get_attribute("title")).endswith("tracking#human-952")
    pages.find("[aria-label='Save this question']").click()
    eventually(
        lambda: pages.has(".q-dialog input") and pages.find(".q-dialog input").is_displayed()
    )
    pages.find(".q-dialog input").send_keys("A seventh" + Keys.ENTER)
    eventually(lambda: not pages.has(".q-dialog input"))
    pages.write("ASK { ?nobody ?asked ?this }")
    # Elsewhere and back: what was written there too.
    pages.open("/settings")
    pages.open("/ask", "ASK { ?nobody ?asked ?this")
    pages.show("ASK {}")
    eventually(lambda: pages.find(".cm-content").text == "ASK {}")
    eventually(lambda: pages.field("About").get_attribute("value") == "now and history")
    pages.field("Begin with").click()
    eventually(
        lambda: pages.has(".q-menu .q-item") and pages.find(".q-menu .q-item").is_displayed()
    )
    pages.find(".q-menu .q-item").click()
    eventually(lambda: "?x / 7" in pages.find(".cm-content").text)
    pages.find("[aria-label='Close this question']").click()
    eventually(lambda: "?nobody" in pages.find(".cm-content").text)
    pages.browser.execute_script("localStorage.clear()")


def test_an_address_with_unknown_choices_leads_to_the_first_ones(pages: Pages) -> None:
    pages.open("/ask?language=none&on=nothing&text=ASK+%7B%7D", "Jobs")
    pages.press("Ask")
    pages.see("\ntrue\n")
    chosen = [pages.field(each).get_attribute("value") for each in ("Language", "About")]
    assert chosen == ["SPARQL", "what holds now"]


@pytest.mark.parametrize(
    ("language", "text", "part"),
    [
        ("sql", "select count(*) as n from messages", "SQL"),
        ("sparql", "SELECT ?s { ?s a ?class }", "Algebra"),
    ],
)
def test_spark_plans_a_question_in_a_job_that_shows_its_plan(
    pages: Pages, language: str, text: str, part: str
) -> None:
    pages.open(f"/ask?language={language}&on=spark", "Jobs")
    pages.write(text)
    pages.press("Explain")
    pages.see("waits for Spark, which plans it.")
    # Questions that other pages asked may run still.
    (job,) = (each for each in pages.client.jobs() if each["text"] == text)
    assert (job["text"], job["plan"]) == (text, True)
    pages.see(f"plan of {text}")
    eventually(lambda: "SHOW" in pages.shown().upper().split())
    pages.press("Show")
    pages.see("== Physical Plan ==")
    assert part in pages.shown().splitlines()
    pages.client.delete_job(job["id"])
