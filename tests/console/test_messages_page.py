from __future__ import annotations

from tests.console.browsing import Pages


def test_an_operator_follows_a_message_to_its_alert(pages: Pages) -> None:
    pages.open("/messages", "Received")
    sent = pages.send_face(801, certainty=20)
    pages.see(sent)
    pages.take_picture("messages")
    pages.follow(sent)
    pages.see("face 801 was seen with a certainty of 20 only")
    pages.see("Mapping rules\nface-tracker")
    pages.see("<person id='801' certainty='20'>")
    pages.take_picture("message")
    pages.follow("uncertain-face")
    # The tree leads down to the place in the message.
    pages.see("found '20' at /Message/Event/Tracker/person/@certainty")


def test_messages_are_chosen_by_their_status(pages: Pages) -> None:
    taken = pages.send_face(802)
    lost = str(pages.client.send("<Unknown/>")["message_id"])
    pages.open("/messages?status=unmatched", lost)
    assert f"\n{taken} " not in pages.shown()


def test_a_very_long_name_with_markup_breaks_no_page(pages: Pages) -> None:
    name = "&lt;img src=x onerror=document.title='broken'&gt;" + "x" * 300
    sent = str(
        pages.client.send(
            "<Message><Event id='1'><Tracker type='FaceTracker'><TimeStamp value='803'/>"
            f'<person id="{name}" certainty="10"><location2d x="7" y="8"/></person>'
            "</Tracker></Event></Message>"
        )["message_id"]
    )
    for path in (f"/messages/{sent}", f"/alerts/{sent}-1"):
        pages.open(path, "<img src=x", "as JSON")
        wide = "return [document.body.scrollWidth, ...[...document.querySelectorAll('.table')]"
        wide += ".map(each => each.scrollWidth - each.clientWidth), window.innerWidth]"
        page, *tables, there = pages.browser.execute_script(wide)
        assert page <= there
        assert tables == [0] * len(tables)
        assert "broken" not in pages.browser.title
