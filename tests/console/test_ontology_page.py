from __future__ import annotations

from sensorstream.console.ontology_page import Term, trees_of
from tests.console.browsing import Pages
from tests.waiting import eventually


def test_terms_stand_below_each_term_above_them() -> None:
    pairs = [("b", "a"), ("c", "a"), ("d", "b"), ("d", "c"), ("e", None)]
    d = Term("d", ())
    assert trees_of(pairs) == (Term("a", (Term("b", (d,)), Term("c", (d,)))), Term("e", ()))


def test_a_cycle_is_cut() -> None:
    assert trees_of([("a", "b"), ("b", "a")]) == (Term("a", (Term("b", ()),)),)


def test_an_engineer_sees_how_many_members_a_class_has(pages: Pages) -> None:
    pages.send_face(701)
    rows = pages.client.query(
        "SELECT (COUNT(*) AS ?n) { ?s a <http://sensorstream.example/tracking#Action> }"
    ).rows
    pages.open("/ontology", f"Action\n{rows[0][0]} now")
    assert "Properties" in pages.shown()
    pages.press("Count history too")
    pages.take_picture("ontology")
    pages.field("Name contains").send_keys("xloc")
    eventually(lambda: "Action" not in pages.shown() and "name=xloc" in pages.browser.current_url)
    pages.browser.refresh()
    # The name of the address is looked for, and a property leads to its uses.
    eventually(lambda: "hasXLocation" in pages.shown() and "hasName" not in pages.shown())
    pages.follow("hasXLocation")
    eventually(lambda: "Jobs" in pages.shown() and "/ask?" in pages.browser.current_url)
    pages.press("Ask")
    # One of those that have it: other tests of pages share the window, and a table has pages.
    pages.see("human-")
