from __future__ import annotations

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from tests.console.browsing import Pages


def test_an_operator_sees_to_an_alert(pages: Pages) -> None:
    pages.open("/alerts", "Silences")
    pages.send_face(501, certainty=30)
    pages.see("face 501 was seen with a certainty of 30 only")
    pages.take_picture("alerts")
    # The person's name is in the text of one row only.
    pages.follow("uncertain-face")
    pages.see("What became of it")
    pages.field("Text").send_keys("on my way")
    pages.press("Acknowledge")
    pages.see("Acknowledged by\nkey ann")
    pages.see("on my way")
    pages.field("Text").send_keys("bob")
    pages.press("Assign to (text)")
    pages.see("Assigned to\nbob")
    pages.take_picture("alert")
    pages.press("Clear")
    pages.see("State\ncleared")
    still = [each["text"] for each in pages.client.alerts_in("open")]
    assert "face 501 was seen with a certainty of 30 only" not in still


def test_an_alert_that_no_rule_raised_is_opened_by_its_kind(pages: Pages) -> None:
    message = str(pages.client.send("<parcel/>")["message_id"])
    pages.open("/alerts", "parcel")
    pages.follow("unmatched-message")
    pages.see("Messages behind it", message)
    pages.press("Clear")
    pages.see("State\ncleared")
    assert f"{message}-1" not in [each["id"] for each in pages.client.alerts_in("open")]


def test_a_list_that_is_cut_says_so(pages: Pages) -> None:
    def crowd(certainty: int) -> str:
        people = "".join(
            f"<person id='c{number}' certainty='{certainty}'><location2d x='1' y='2'/></person>"
            for number in range(201)
        )
        begin = "<Message><Event id='1'><Tracker type='FaceTracker'><TimeStamp value='502'/>"
        return f"{begin}{people}</Tracker></Event></Message>"

    pages.client.send(crowd(10))
    pages.open("/alerts", "The first 200 are shown; there may be more.")
    # All are sure again.
    pages.client.send(crowd(100))
    pages.miss("there may be more")
    assert not any("face c" in each["text"] for each in pages.client.alerts_in("open"))


def test_an_operator_makes_a_silence_and_ends_it(pages: Pages) -> None:
    pages.open("/alerts", "Silences")
    pages.press("Silence")
    pages.see("expected a rule, a key or a severity")
    pages.field("Rule (* for any signs)").send_keys("uncertain-*")
    pages.field("Comment").send_keys("maintenance")
    # Pressed twice in a row, it makes one.
    silence = pages.browser.find_element(By.XPATH, "//main//button[normalize-space()='Silence']")
    ActionChains(pages.browser).double_click(silence).perform()
    pages.see("maintenance")
    assert [each["rule"] for each in pages.client.silences()] == ["uncertain-*"]
    pages.press("End this silence")
    pages.miss("maintenance")
    assert pages.client.silences() == []


def test_an_operator_tries_a_receiver_that_does_not_answer(pages: Pages) -> None:
    # Nobody listens there (RFC 863: discard).
    webhook = pages.client.add_webhook("http://127.0.0.1:9/hook")
    try:
        pages.open("/receivers", "http://127.0.0.1:9/hook")
        pages.press("Send a test event")
        pages.see("http://127.0.0.1:9/hook: not delivered")
        pages.follow("http://127.0.0.1:9/hook")
        pages.see("Send again all that were given up")
        pages.take_picture("receivers")
    finally:
        pages.client.delete_webhook(webhook["id"])
    assert pages.has("[aria-current=page]")
