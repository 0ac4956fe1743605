from __future__ import annotations

from collections.abc import Callable

from selenium import webdriver
from selenium.webdriver.common.by import By

from tests.console.browsing import open_page, shown
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]


def emulate(browser: webdriver.Chrome, milliseconds: int) -> None:
    """Let each request of a browser take so much longer."""
    condition = {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd(
        "Network.emulateNetworkConditions", {**condition, "latency": milliseconds}
    )


def test_a_slow_browser_leaves_no_fault_in_the_log(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    open_page(browser, keyed, "/")
    eventually(lambda: "taken in" in shown(browser))
    before = keyed.log.stat().st_size
    emulate(browser, 1500)
    try:
        open_page(browser, keyed, "/messages")
        eventually(lambda: "Goes on" in shown(browser))
        shade = browser.find_element(By.CSS_SELECTOR, "header [aria-label='Light or dark']")
        shade.click()
        eventually(lambda: browser.find_elements(By.CSS_SELECTOR, "body.body--dark"))
        shade.click()
        eventually(lambda: browser.find_elements(By.CSS_SELECTOR, "body.body--light"))
    finally:
        emulate(browser, 0)
    assert "Traceback" not in keyed.log.read_text()[before:]


def test_the_list_of_pages_opens_and_closes(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    open_page(browser, keyed, "/messages")
    eventually(lambda: "Goes on" in shown(browser))
    pages = browser.find_element(By.CSS_SELECTOR, "nav.places")
    eventually(pages.is_displayed)
    button = browser.find_element(By.CSS_SELECTOR, "header [aria-label='Pages']")
    button.click()
    eventually(lambda: not pages.is_displayed() or pages.rect["x"] < 0)
    button.click()
    eventually(lambda: pages.is_displayed() and pages.rect["x"] >= 0)
    assert pages.is_displayed()
