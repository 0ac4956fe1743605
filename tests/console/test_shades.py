from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.browsing import Pages
from tests.waiting import eventually

COLOUR = "return getComputedStyle(document.querySelector('.cm-editor')).backgroundColor"


@pytest.fixture
def dark_system(pages: Pages) -> Iterator[None]:
    """A system that is dark itself, and a browser that remembers nothing of it later."""
    browser = pages.browser
    # Where the browser is elsewhere, it does not delete what it remembers of these pages.
    pages.open("/messages", "Received")
    prefers = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": prefers})
    browser.delete_cookie("sensorstream-shade")
    yield
    browser.delete_cookie("sensorstream-shade")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_page_is_as_the_system_until_it_is_turned_and_stays_so(
    pages: Pages, dark_system: None
) -> None:
    def shade() -> int:
        """Of the background of the editor: from 0, which is black, to 255."""
        numbers = str(pages.browser.execute_script(COLOUR)).partition("(")[2].rstrip(")").split(",")
        return int(numbers[0])

    pages.open("/ask")
    eventually(lambda: "Jobs" in pages.shown() and pages.is_dark())
    eventually(lambda: shade() < 60)
    pages.turn_shade()
    eventually(lambda: not pages.is_dark())
    eventually(lambda: shade() > 200)
    assert pages.remembered() == "light"
    pages.open("/queries", "A new query")
    eventually(lambda: not pages.is_dark() and shade() > 200)
