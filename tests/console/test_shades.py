from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from tests.console.browsing import faults, open_page, shown
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]
COLOUR = "return getComputedStyle(document.querySelector('.cm-editor')).backgroundColor"


@pytest.fixture
def dark_system(browser: webdriver.Chrome) -> Iterator[None]:
    """A system that is dark itself, and a browser that remembers nothing of it later."""
    prefers = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": prefers})
    browser.delete_cookie("sensorstream-shade")
    yield
    browser.delete_cookie("sensorstream-shade")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_page_is_as_the_system_until_it_is_turned_and_stays_so(
    keyed: Keyed, browser: webdriver.Chrome, dark_system: None, eventually: Eventually
) -> None:
    def is_dark() -> bool:
        return bool(browser.find_elements(By.CSS_SELECTOR, "body.body--dark"))

    def shade() -> int:
        """Of the background of the editor: from 0, which is black, to 255."""
        numbers = str(browser.execute_script(COLOUR)).partition("(")[2].rstrip(")").split(",")
        return int(numbers[0])

    open_page(browser, keyed, "/ask")
    eventually(lambda: "Jobs" in shown(browser) and is_dark())
    eventually(lambda: shade() < 60)
    browser.find_element(By.CSS_SELECTOR, "header [aria-label='Light or dark']").click()
    eventually(lambda: not is_dark())
    eventually(lambda: shade() > 200)
    eventually(lambda: browser.get_cookie("sensorstream-shade"))
    open_page(browser, keyed, "/queries")
    eventually(lambda: "A new query" in shown(browser))
    eventually(lambda: not is_dark() and shade() > 200)
    assert faults(browser) == []
