from __future__ import annotations

from collections.abc import Callable

from selenium import webdriver
from selenium.webdriver.common.by import By

from sensorstream import Client
from sensorstream.console.figures import read
from tests.console.browsing import faults, open_page, send_face, shown, take_picture
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]


def taken_in(client: Client) -> float:
    return read(client.metrics(), 0.0).value("messages_total", status="accepted") or 0.0


def test_an_operator_signs_in_and_sees_messages_come(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    open_page(browser, keyed, "/")
    with Client(keyed.url, key=keyed.key) as client:
        before = taken_in(client)
        eventually(lambda: f"taken in\n{before:.0f}\n" in shown(browser))
        for number in range(1, 4):
            send_face(client, number)
        held = client.window()["total"]
        client.send("<neither-person-nor-place/>")
    assert held
    lost = browser.find_element(By.XPATH, "//main//a[starts-with(., 'no rule matched')]")
    eventually(lambda: int(lost.text.rpartition("\n")[2]) > 0)
    assert str(lost.get_attribute("href")).endswith("/quarantine?status=unmatched")
    eventually(lambda: f"taken in\n{before + 3:.0f}\n" in shown(browser))
    eventually(lambda: f"individuals\n{held}\n" in shown(browser))
    alerts = "//dt[normalize-space()='Open alerts']/following-sibling::dd[1]//a"
    eventually(lambda: browser.find_elements(By.XPATH, alerts))
    there = browser.find_element(By.XPATH, alerts).get_attribute("href")
    assert str(there).endswith("/alerts")
    assert browser.title == "Overview · SensorStream"
    take_picture(browser, "overview")
    shade = browser.find_element(By.CSS_SELECTOR, "header [aria-label='Light or dark']")
    shade.click()
    eventually(lambda: browser.find_elements(By.CSS_SELECTOR, "body.body--dark"))
    take_picture(browser, "overview-dark")
    shade.click()
    eventually(lambda: not browser.find_elements(By.CSS_SELECTOR, "body.body--dark"))
    assert faults(browser) == []
