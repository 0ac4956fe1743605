from __future__ import annotations

from collections.abc import Callable

from selenium import webdriver

from sensorstream import Client
from sensorstream.console.ontology_page import Term, trees_of
from tests.console.browsing import (
    faults,
    field,
    follow,
    open_page,
    press,
    send_face,
    shown,
    take_picture,
)
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]


def test_terms_stand_below_each_term_above_them() -> None:
    pairs = [("b", "a"), ("c", "a"), ("d", "b"), ("d", "c"), ("e", None)]
    d = Term("d", ())
    assert trees_of(pairs) == (Term("a", (Term("b", (d,)), Term("c", (d,)))), Term("e", ()))


def test_a_cycle_is_cut() -> None:
    assert trees_of([("a", "b"), ("b", "a")]) == (Term("a", (Term("b", ()),)),)


def test_an_engineer_sees_how_many_members_a_class_has(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    with Client(keyed.url, key=keyed.key) as client:
        send_face(client, 701)
        rows = client.query(
            "SELECT (COUNT(*) AS ?n) { ?s a <http://sensorstream.example/tracking#Action> }"
        ).rows
    open_page(browser, keyed, "/ontology")
    eventually(lambda: f"Action: {rows[0][0]} now" in shown(browser))
    assert "Properties" in shown(browser)
    press(browser, "Count history too")
    take_picture(browser, "ontology")
    field(browser, "Name contains").send_keys("xloc")
    eventually(lambda: "Action" not in shown(browser) and "name=xloc" in browser.current_url)
    browser.refresh()
    # The name of the address is looked for, and a property leads to its uses.
    eventually(lambda: "hasXLocation" in shown(browser) and "hasName" not in shown(browser))
    follow(browser, "hasXLocation")
    eventually(lambda: "Jobs" in shown(browser) and "/ask?" in browser.current_url)
    press(browser, "Ask")
    # One of those that have it: other tests of pages share the window, and a table has pages.
    eventually(lambda: "human-" in shown(browser))
    assert faults(browser) == []
