from __future__ import annotations

from collections.abc import Callable

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from sensorstream import Client
from tests.console.browsing import (
    faults,
    field,
    follow,
    open_page,
    press,
    send_face,
    shown,
    take_picture,
)
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]


def test_an_operator_sees_to_an_alert(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    open_page(browser, keyed, "/alerts")
    eventually(lambda: "Silences" in shown(browser))
    with Client(keyed.url, key=keyed.key) as client:
        send_face(client, 501, certainty=30)
        eventually(lambda: "face 501 was seen with a certainty of 30 only" in shown(browser))
        take_picture(browser, "alerts")
        # The person's name is in the text of one row only.
        follow(browser, "uncertain-face")
        eventually(lambda: "What became of it" in shown(browser))
        field(browser, "Text").send_keys("on my way")
        press(browser, "Acknowledge")
        eventually(lambda: "Acknowledged by\nkey ann" in shown(browser))
        eventually(lambda: "on my way" in shown(browser))
        field(browser, "Text").send_keys("bob")
        press(browser, "Assign to (text)")
        eventually(lambda: "Assigned to\nbob" in shown(browser))
        take_picture(browser, "alert")
        press(browser, "Clear")
        eventually(lambda: "State\ncleared" in shown(browser))
        still = [each["text"] for each in client.alerts_in("open")]
        assert "face 501 was seen with a certainty of 30 only" not in still
    assert faults(browser) == []


def test_an_alert_that_no_rule_raised_is_opened_by_its_kind(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    with Client(keyed.url, key=keyed.key) as client:
        message = str(client.send("<parcel/>")["message_id"])
        open_page(browser, keyed, "/alerts")
        eventually(lambda: "parcel" in shown(browser))
        follow(browser, "unmatched-message")
        eventually(lambda: "Messages behind it" in shown(browser) and message in shown(browser))
        press(browser, "Clear")
        eventually(lambda: "State\ncleared" in shown(browser))
    assert faults(browser) == []


def test_a_list_that_is_cut_says_so(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    def crowd(certainty: int) -> str:
        people = "".join(
            f"<person id='c{number}' certainty='{certainty}'><location2d x='1' y='2'/></person>"
            for number in range(201)
        )
        begin = "<Message><Event id='1'><Tracker type='FaceTracker'><TimeStamp value='502'/>"
        return f"{begin}{people}</Tracker></Event></Message>"

    with Client(keyed.url, key=keyed.key) as client:
        client.send(crowd(10))
        open_page(browser, keyed, "/alerts")
        eventually(lambda: "The first 200 are shown; there may be more." in shown(browser))
        # All are sure again.
        client.send(crowd(100))
        eventually(lambda: "there may be more" not in shown(browser))
    assert faults(browser) == []


def test_an_operator_makes_a_silence_and_ends_it(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    open_page(browser, keyed, "/alerts")
    eventually(lambda: "Silences" in shown(browser))
    press(browser, "Silence")
    eventually(lambda: "expected a rule, a key or a severity" in shown(browser))
    field(browser, "Rule (* for any signs)").send_keys("uncertain-*")
    field(browser, "Comment").send_keys("maintenance")
    # Pressed twice in a row, it makes one.
    silence = browser.find_element(By.XPATH, "//main//button[normalize-space()='Silence']")
    ActionChains(browser).double_click(silence).perform()
    eventually(lambda: "maintenance" in shown(browser))
    with Client(keyed.url, key=keyed.key) as client:
        assert [each["rule"] for each in client.silences()] == ["uncertain-*"]
        press(browser, "End this silence")
        eventually(lambda: "maintenance" not in shown(browser))
        assert client.silences() == []
    assert faults(browser) == []


def test_an_operator_tries_a_receiver_that_does_not_answer(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    with Client(keyed.url, key=keyed.key) as client:
        # Nobody listens there (RFC 863: discard).
        webhook = client.add_webhook("http://127.0.0.1:9/hook")
        try:
            open_page(browser, keyed, "/receivers")
            eventually(lambda: "http://127.0.0.1:9/hook" in shown(browser))
            press(browser, "Send a test event")
            eventually(lambda: "http://127.0.0.1:9/hook: not delivered" in shown(browser))
            follow(browser, "http://127.0.0.1:9/hook")
            eventually(lambda: "Send again all that were given up" in shown(browser))
            take_picture(browser, "receivers")
        finally:
            client.delete_webhook(webhook["id"])
    assert browser.find_elements(By.CSS_SELECTOR, "[aria-current=page]")
    assert faults(browser) == []
