from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException

from sensorstream import Client
from tests.console.browsing import faults, open_page, send_face, shown
from tests.console.conftest import Keyed
from tests.integration.serving import init, serving

Eventually = Callable[..., None]
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
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SENSORSTREAM_REASONING_PROFILE", "plain")
    folder = tmp_path / "tracking"
    init(folder)
    with serving(folder) as (process, server):
        url = str(server.base_url).rstrip("/")
        keyed = Keyed(url, "")
        with Client(url) as client:
            client.register(QUERY)
            for number in (1, 2):
                send_face(client, number)
            open_page(browser, keyed, "/")
            eventually(lambda: "taken in\n2\n" in shown(browser))
            overview = browser.current_window_handle
            browser.switch_to.new_window("tab")
            open_page(browser, keyed, f"/query?name={NAME}")
            eventually(lambda: "Last report at" in shown(browser))
        process.send_signal(ending)
        process.wait(60)
        eventually(lambda: LOST in whole(browser))
    with serving(folder, urlsplit(url).port or 0):
        eventually(lambda: LOST not in whole(browser) and "?people\n2\n" in shown(browser))
        with Client(url) as client:
            for number in range(3, 6):
                send_face(client, number)
            eventually(lambda: "Last report at 5: = 1 rows" in shown(browser))
        browser.close()
        browser.switch_to.window(overview)
        # Counters begin anew with the server.
        eventually(lambda: "taken in\n3\n" in shown(browser))
        browser.get("about:blank")
    # The browser has written down that there was no server: the next test is not about that.
    assert faults(browser)
