from __future__ import annotations

from urllib.parse import quote

from sensorstream.console.drawings import PLANE, point
from sensorstream.console.individuals_page import (
    Spell,
    SpellRow,
    lanes_of,
    lines_of,
    now_rows,
    statements_of,
    timeline,
    way_of,
)
from tests.console.browsing import Pages
from tests.waiting import eventually

E = "http://example.org/"


def row(name: str, value: float, since: int) -> dict[str, object]:
    return {
        "predicate": f"{E}{name}",
        "object": str(value),
        "number": value,
        "valid_from": since,
        "valid_to": since + 1,
    }


def test_numbers_are_lines_over_time_the_oldest_first() -> None:
    rows = [row("t", 3.0, 9), row("t", 2.0, 5), row("once", 1.0, 1)]
    assert lines_of(rows) == {f"{E}t": [(5, 2.0), (9, 3.0)]}


def test_a_way_has_a_place_for_each_moment_at_which_both_coordinates_are_known() -> None:
    rows = [row("y", 7.0, 4), row("x", 5.0, 3), row("y", 2.0, 1), row("x", 1.0, 1)]
    assert way_of(rows) == [
        point(PLANE, 1.0, 2.0, name="1"),
        point(PLANE, 5.0, 2.0, name="3"),
        point(PLANE, 5.0, 7.0, name="4", kind="now"),
    ]


def test_what_holds_together_stands_in_lanes_below_each_other() -> None:
    first, second = Spell("a", "A", 1, 5, "", "m1"), Spell("a", "B", 5, None, "inferred", "m2")
    beside = Spell("a", "C", 2, None, "", "m1")
    assert 'width="100.000%"' in timeline([Spell("a", "old", 0, None, "", "m0"), first])
    name = Spell("n", "<b>", "2026-01-01T00:00:00Z", None, "", "m3")
    assert lanes_of([second, beside, first]) == [
        SpellRow("a", (first, second)),
        SpellRow("a", (beside,)),
    ]
    drawn = timeline([name])
    assert "<b>" not in drawn
    assert "n &lt;b&gt;, 2026-01-01 00:00:00 until now" in drawn
    assert 'href="/console/messages/m3"' in drawn


def test_what_holds_now_is_the_end_of_a_line() -> None:
    value = {"value": "4.5", "kind": "literal", "datatype": f"{E}decimal", "inferred": False}
    later = {**value, "valid_from": 7, "valid_to": None, "rule": None, "message_id": "m7"}
    over = {**later, "valid_to": 7}
    rows = [*now_rows({"properties": {f"{E}t": [later, over]}}), row("t", 2.0, 5)]
    assert lines_of(rows) == {f"{E}t": [(5, 2.0), (7, 4.5)]}


def test_a_statement_is_written_as_in_turtle() -> None:
    value = {
        "value": 'a "b"\\\n',
        "kind": "literal",
        "datatype": f"{E}t",
        "language": None,
        "valid_from": 1,
        "valid_to": None,
        "message_id": "m1",
        "inferred": False,
        "rule": None,
    }
    (found,) = statements_of({"iri": f"{E}s", "properties": {f"{E}p": [value]}})
    assert found["statement"] == f'<{E}s> <{E}p> "a \\"b\\"\\\\\\n"^^<{E}t>'


def test_the_newest_individuals_come_first_and_the_oldest_are_left_out_of_many(
    pages: Pages,
) -> None:
    people = "".join(
        f"<person id='w{number}' certainty='100'><location2d x='1' y='2'/></person>"
        for number in range(520)
    )
    begin = "<Message><Event id='1'><Tracker type='FaceTracker'><TimeStamp value='850'/>"
    pages.client.send(f"{begin}{people}</Tracker></Event></Message>")
    pages.open("/individuals", "the newest 500 are shown")
    pages.see("human-w519")
    pages.miss("human-w0 ")
    assert pages.client.window()["total"] > 500, "the window has more than the page"


def see_person(pages: Pages, time: int, certainty: int) -> None:
    pages.client.send(
        f"<Message><Event id='1'><Tracker type='FaceTracker'><TimeStamp value='{time}'/>"
        f"<person id='851' certainty='{certainty}'><location2d x='{time % 7}' y='{time % 4}'/>"
        "</person></Tracker></Event></Message>"
    )


def test_a_researcher_asks_why_something_is_a_member_of_a_class(pages: Pages) -> None:
    for time, certainty in enumerate((90, 84, 60, 72, 88, 95), 851):
        see_person(pages, time, certainty)
    iri = "http://sensorstream.example/tracking#human-851"
    pages.open("/individuals", "human-851")
    pages.take_picture("individuals")
    pages.follow("human-851")
    pages.see("hasCertainty 95")
    assert iri in pages.shown()
    # What has ended is in history a moment later.
    eventually(
        lambda: pages.client.sql(f"select 1 from history.statements where subject = '{iri}'").rows
    )
    pages.browser.refresh()
    pages.see("Its past")
    held = ".timeline [aria-label^='hasCertainty {}, '][aria-label$=' until now']"
    eventually(lambda: pages.has(held.format(95)))
    see_person(pages, 858, 97)
    # It goes on by itself.
    eventually(lambda: pages.has(held.format(97)))
    assert pages.has(".chart[aria-label='hasCertainty (%)']")
    # The last place of its way.
    eventually(lambda: pages.has(".map path.now"))
    pages.press("Why")
    pages.see("found '97' at /Message")
    pages.take_picture("individual")
    where = "document.querySelector('.filters').getBoundingClientRect().y + scrollY - 130"
    pages.browser.execute_script(f"scrollTo(0, {where})")
    pages.take_picture("past")
    early = f"/individual?iri={quote(iri, safe='')}&last=between&from=0&to=10"
    pages.open(early, "Nothing has ended then.")
    assert not pages.has(".timeline a")


def test_a_map_shows_where_the_individuals_of_the_window_are(pages: Pages) -> None:
    pages.send_face(852)
    pages.open("/individuals?view=map", "Where they are, on a plane", "Harbour yard")
    eventually(lambda: pages.has(".map path.place"))
    assert pages.has(".map path.fence")
    assert pages.has(".map .leaflet-control-zoom")
    # The internet is not asked for the ground.
    assert not pages.has(".map img")
