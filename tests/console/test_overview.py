from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By

from sensorstream import Client
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]
MESSAGE = (
    "<Message><Event id='9'><Tracker type='FaceTracker'><TimeStamp value='{0}'/>"
    "<person id='{0}' certainty='100'><location2d x='72' y='8'/></person>"
    "</Tracker></Event></Message>"
)


def shown(browser: webdriver.Chrome) -> str:
    """What stands on the page; nothing while another one comes."""
    with suppress(StaleElementReferenceException, NoSuchElementException):
        return browser.find_element(By.TAG_NAME, "main").text
    return ""


def faults(browser: webdriver.Chrome) -> list[str]:
    """What the browser's console says."""
    get_log: Callable[[str], list[dict[str, object]]] = browser.get_log
    return [str(each["message"]) for each in get_log("browser")]


def test_an_operator_signs_in_and_sees_messages_come(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    browser.get(keyed.url)
    browser.find_element(By.NAME, "key").send_keys(keyed.key)
    browser.find_element(By.TAG_NAME, "button").click()
    eventually(lambda: "individuals\n0" in shown(browser))
    with Client(keyed.url, key=keyed.key) as client:
        for number in range(1, 4):
            client.send(MESSAGE.format(number))
        held = client.window()["total"]
    assert held
    eventually(lambda: "taken in\n3" in shown(browser))
    eventually(lambda: f"individuals\n{held}\n" in shown(browser))
    assert browser.title == "Overview · SensorStream"
    assert faults(browser) == []
