from __future__ import annotations

from selenium import webdriver

from tests.console.browsing import Pages
from tests.waiting import eventually


def emulate(browser: webdriver.Chrome, milliseconds: int) -> None:
    """Let each request of a browser take so much longer."""
    condition = {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd(
        "Network.emulateNetworkConditions", {**condition, "latency": milliseconds}
    )


def test_a_slow_browser_leaves_no_fault_in_the_log(pages: Pages) -> None:
    pages.open("/", "taken in")
    before = pages.keyed.log.stat().st_size
    emulate(pages.browser, 1100)
    try:
        pages.open("/messages", "Goes on")
        pages.turn_shade()
        eventually(pages.is_dark)
        pages.turn_shade()
        eventually(lambda: pages.has("body.body--light"))
    finally:
        emulate(pages.browser, 0)
    assert "Traceback" not in pages.keyed.log.read_text()[before:]


def test_the_list_of_pages_opens_and_closes(pages: Pages) -> None:
    pages.open("/messages", "Goes on")
    places = pages.find("nav.places")
    eventually(places.is_displayed)
    button = pages.find("header [aria-label='Pages']")
    button.click()
    eventually(lambda: not places.is_displayed() or places.rect["x"] < 0)
    button.click()
    eventually(lambda: places.is_displayed() and places.rect["x"] >= 0)
    assert places.is_displayed()
