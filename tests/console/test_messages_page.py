from __future__ import annotations

from collections.abc import Callable

from selenium import webdriver

from sensorstream import Client
from tests.console.browsing import faults, follow, open_page, send_face, shown, take_picture
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]


def test_an_operator_follows_a_message_to_its_alert(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    open_page(browser, keyed, "/messages")
    eventually(lambda: "Received" in shown(browser))
    with Client(keyed.url, key=keyed.key) as client:
        sent = send_face(client, 801, certainty=20)
    eventually(lambda: sent in shown(browser))
    take_picture(browser, "messages")
    follow(browser, sent)
    eventually(lambda: "face 801 was seen with a certainty of 20 only" in shown(browser))
    assert "Mapping rules\nface-tracker" in shown(browser)
    eventually(lambda: "<person id='801' certainty='20'>" in shown(browser))
    take_picture(browser, "message")
    follow(browser, "uncertain-face")
    # The tree leads down to the place in the message.
    eventually(lambda: "found '20' at /Message/Event/Tracker/person/@certainty" in shown(browser))
    take_picture(browser, "alert-why")
    assert faults(browser) == []


def test_messages_are_chosen_by_their_status(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    with Client(keyed.url, key=keyed.key) as client:
        taken = send_face(client, 802)
        lost = str(client.send("<Unknown/>")["message_id"])
    open_page(browser, keyed, "/messages?status=unmatched")
    eventually(lambda: lost in shown(browser))
    assert f"\n{taken} " not in shown(browser)
    assert faults(browser) == []


def test_a_very_long_name_with_markup_breaks_no_page(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    name = "&lt;img src=x onerror=document.title='broken'&gt;" + "x" * 300
    with Client(keyed.url, key=keyed.key) as client:
        sent = str(
            client.send(
                "<Message><Event id='1'><Tracker type='FaceTracker'><TimeStamp value='803'/>"
                f'<person id="{name}" certainty="10"><location2d x="7" y="8"/></person>'
                "</Tracker></Event></Message>"
            )["message_id"]
        )
    for path in (f"/messages/{sent}", f"/alerts/{sent}-1"):
        open_page(browser, keyed, path)
        eventually(lambda: "<img src=x" in shown(browser) and "as JSON" in shown(browser))
        wide = "return [document.body.scrollWidth, ...[...document.querySelectorAll('.table')]"
        wide += ".map(each => each.scrollWidth - each.clientWidth), window.innerWidth]"
        page, *tables, there = browser.execute_script(wide)
        assert page <= there
        assert tables == [0] * len(tables)
        assert "broken" not in browser.title
    assert faults(browser) == []
