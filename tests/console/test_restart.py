from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException

from sensorstream import Client
from tests.console.browsing import Keyed, Pages
from tests.integration.serving import init, serving
from tests.waiting import eventually

NAME: Final = "urn:x:people"
QUERY: Final = """PREFIX : <http://sensorstream.example/tracking#>
REGISTER QUERY <urn:x:people> AS
SELECT RSTREAM (COUNT(?p) AS ?people) { ?p :hasXLocation ?x }"""
LOST: Final = "Connection lost"


def whole(browser: webdriver.Chrome) -> str:
    """All that can be read in the window."""
    with suppress(WebDriverException):
        return str(browser.execute_script("return document.body.innerText"))
    return ""


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_pages_that_are_left_open_come_back_with_the_server(
    ending: signal.Signals,
    tmp_path: Path,
    browser: webdriver.Chrome,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SENSORSTREAM_REASONING_PROFILE", "plain")
    folder = tmp_path / "tracking"
    init(folder)
    with serving(folder) as (process, server):
        url = str(server.base_url).rstrip("/")
        with Client(url) as client:
            pages = Pages(browser, Keyed(url, ""), client)
            client.register(QUERY)
            for number in (1, 2):
                pages.send_face(number)
            pages.open("/", "taken in\n2\n")
            overview = browser.current_window_handle
            browser.switch_to.new_window("tab")
            pages.open(f"/query?name={NAME}", "Last report at")
        process.send_signal(ending)
        process.wait(60)
        eventually(lambda: LOST in whole(browser))
    with serving(folder, urlsplit(url).port or 0):
        eventually(lambda: LOST not in whole(browser) and "?people\n2\n" in pages.shown())
        with Client(url) as pages.client:
            for number in range(3, 6):
                pages.send_face(number)
            pages.see("Last report at 5: = 1 rows")
        browser.close()
        browser.switch_to.window(overview)
        # Counters begin anew with the server.
        pages.see("taken in\n3\n")
        browser.get("about:blank")
    # The browser has written down that there was no server: the next test is not about that.
    assert pages.faults()
