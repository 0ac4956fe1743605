from __future__ import annotations

from collections.abc import Callable

from selenium import webdriver

from tests.console.browsing import faults, field, open_page, shown, take_picture
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]


def test_somebody_sees_which_line_of_the_file_sets_something(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    open_page(browser, keyed, "/settings")
    eventually(lambda: "http.keys" in shown(browser))
    assert "window.kind" not in shown(browser)
    assert "sensorstream.toml:" in shown(browser)
    take_picture(browser, "settings")
    field(browser, "Name contains").send_keys("webhooks.allow")
    eventually(lambda: "http.keys" not in shown(browser))
    assert "webhooks.allow" in shown(browser)
    eventually(lambda: "name=webhooks.allow" in browser.current_url)
    open_page(browser, keyed, "/settings?all=yes&name=window")
    eventually(lambda: "window.kind" in shown(browser))
    assert "http.keys" not in shown(browser)
    assert faults(browser) == []
