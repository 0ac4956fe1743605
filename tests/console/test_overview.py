from __future__ import annotations

from collections.abc import Callable

from selenium import webdriver

from sensorstream import Client
from tests.console.browsing import MESSAGE, faults, open_page, shown, take_picture
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]


def test_an_operator_signs_in_and_sees_messages_come(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    open_page(browser, keyed, "/")
    eventually(lambda: "individuals\n0" in shown(browser))
    with Client(keyed.url, key=keyed.key) as client:
        for number in range(1, 4):
            client.send(MESSAGE.format(number))
        held = client.window()["total"]
    assert held
    eventually(lambda: "taken in\n3" in shown(browser))
    eventually(lambda: f"individuals\n{held}\n" in shown(browser))
    assert browser.title == "Overview · SensorStream"
    take_picture(browser, "overview")
    assert faults(browser) == []
