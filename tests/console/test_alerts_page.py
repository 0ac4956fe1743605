from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.console.browsing import Pages
from tests.waiting import eventually


def test_an_operator_sees_to_an_alert(pages: Pages) -> None:
    pages.open("/alerts", "Silences")
    pages.send_face(501, certainty=30)
    pages.see("face 501 was seen with a certainty of 30 only")
    pages.take_picture("alerts")
    assert pages.has(".severity-info")
    pages.follow("face 501 was seen with a certainty of 30 only")
    pages.see("What became of it")
    # The rule, who it is about, and the statements behind it lead to their pages.
    pages.see("human-501 hasCertainty 30 said by a message")
    human = "http://sensorstream.example/tracking#human-501"
    for selector in ("a[href$='/rules/tracking.rules']", f"a[title='{human}']"):
        assert pages.has(f".facts {selector}")
    assert pages.has(f".why details p a[title='{human}']")
    pages.field("Text").send_keys("on my way")
    pages.press("Acknowledge")
    pages.see("Acknowledged by\nkey ann")
    pages.see("on my way")
    pages.field("Text").send_keys("bob")
    pages.press("Assign to (text)")
    pages.see("Assigned to\nbob")
    pages.take_picture("alert")
    why = "document.querySelector('main .why').scrollIntoView({block: 'end'})"
    pages.browser.execute_script(why)
    pages.take_picture("alert-why")
    pages.browser.execute_script("scrollTo(0, 0)")
    pages.press("Clear")
    pages.see("State\ncleared")
    still = [each["text"] for each in pages.client.alerts_in("open")]
    assert "face 501 was seen with a certainty of 30 only" not in still


def test_an_alert_that_no_rule_raised_is_opened_by_its_kind(pages: Pages) -> None:
    message = str(pages.client.send("<parcel/>")["message_id"])
    pages.open("/alerts", "parcel")
    pages.follow("no mapping rule matched a message <parcel>")
    pages.see("Messages behind it", message)
    pages.press("Clear")
    pages.see("State\ncleared")
    assert f"{message}-1" not in [each["id"] for each in pages.client.alerts_in("open")]


def test_alerts_are_chosen_by_an_address_and_acknowledged_together(pages: Pages) -> None:
    for number in (511, 512, 521):
        pages.send_face(number, certainty=20)
    pages.client.send("<crate/>")
    pages.open("/alerts?severity=info&text=FACE+51&last=15m", "face 511", "face 512")
    assert "face 521" not in pages.shown()
    assert "crate" not in pages.shown()
    pages.find("main thead .q-checkbox").click()
    pages.see("2 chosen")
    pages.press("Acknowledge")
    pages.see("No alert fits.")
    pages.field("Text contains").send_keys(Keys.CONTROL + "a")
    pages.field("Text contains").send_keys("face 521")
    pages.see("face 521 was seen")
    eventually(lambda: "text=face+521" in pages.browser.current_url)
    assert "severity=info" in pages.browser.current_url
    done = {each["key"].rpartition("-")[2] for each in pages.client.alerts_in("acknowledged")}
    assert {"511", "512"} <= done
    assert "521" not in done
    pages.open("/alerts?rule=unmatched-message&state=raised", "crate")
    assert "face" not in pages.shown().partition("Silences")[0].partition("<crate>")[0]
    # Outside of the time, and an address that nobody can read.
    pages.open("/alerts?last=between&from=2020-01-01T00:00&to=2020-01-02", "No alert fits.")
    pages.open("/alerts?last=9x&severity=x&rule=%3Cb%3E&from=1e999&state=5", "No alert fits.")
    for each in pages.client.alerts_in("open"):
        pages.client.clear_alert(each["id"])


def test_times_are_those_of_the_viewers_clock(pages: Pages) -> None:
    pages.send_face(531, certainty=20)
    cdp = pages.browser.execute_cdp_cmd
    cdp("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kathmandu"})
    try:
        # The browser says its zone to each page that comes next.
        pages.open("/alerts?last=between&from=2026-01-02T03:04Z", "face 531")
        pages.open("/alerts?last=between&from=2026-01-02T03:04Z", "face 531")
        shown = pages.find(".table .moment")
        at = datetime.fromisoformat(str(shown.get_attribute("title")))
        here = at.astimezone(ZoneInfo("Asia/Kathmandu"))
        assert shown.text == f"{here:%Y-%m-%d %H:%M:%S}"
        assert pages.field("From").get_attribute("value") == "2026-01-02T08:49"
    finally:
        cdp("Emulation.setTimezoneOverride", {"timezoneId": ""})
        pages.open("/alerts")


def test_a_list_that_is_cut_says_so(pages: Pages) -> None:
    def crowd(certainty: int) -> str:
        people = "".join(
            f"<person id='c{number}' certainty='{certainty}'><location2d x='1' y='2'/></person>"
            for number in range(201)
        )
        begin = "<Message><Event id='1'><Tracker type='FaceTracker'><TimeStamp value='502'/>"
        return f"{begin}{people}</Tracker></Event></Message>"

    pages.client.send(crowd(10))
    pages.open("/alerts", "These are of the first 200; there may be more.")
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
