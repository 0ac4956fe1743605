from __future__ import annotations

from tests.console.browsing import Pages
from tests.waiting import eventually


def test_violations_lead_to_their_individuals(pages: Pages) -> None:
    pages.open("/shapes", "One by one")
    pages.send_face(990, certainty=10)
    pages.press("Validate again")
    pages.see("too uncertain")
    assert "Certain" in pages.shown()
    pages.take_picture("shapes")
    pages.field("Text").send_keys("other")
    eventually(lambda: "too uncertain" not in pages.shown())
    pages.open("/shapes?severity=Warning&shape=Certain", "too uncertain")
    pages.follow("human-990")
    eventually(lambda: "/individual?iri=" in pages.browser.current_url)
