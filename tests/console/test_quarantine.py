from __future__ import annotations

from collections.abc import Callable

from selenium import webdriver

from sensorstream import Client
from tests.console.browsing import faults, open_page, press, shown, take_picture, write
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]


def test_an_operator_mends_a_message_and_takes_it_in(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    with Client(keyed.url, key=keyed.key) as client:
        lost = client.send("<Unknown/>")["message_id"]
        open_page(browser, keyed, "/quarantine?status=unmatched")
        eventually(lambda: lost in shown(browser))
        take_picture(browser, "quarantine")
        press(browser, "Edit")
        eventually(lambda: "Edit and take in anew" in shown(browser))
        eventually(lambda: "<Unknown/>" in shown(browser))
        write(
            browser,
            "<Message><Event id='9'><Tracker type='FaceTracker'><TimeStamp value='901'/>"
            "<person id='901' certainty='90'><location2d x='7' y='8'/></person>"
            "</Tracker></Event></Message>",
        )
        press(browser, "Take this in instead")
        eventually(lambda: f"{lost} was taken in anew as" in shown(browser))
        assert "accepted" in shown(browser)
        assert lost not in [each["message_id"] for each in client.quarantine()]
    assert faults(browser) == []
