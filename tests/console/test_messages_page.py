from __future__ import annotations

from tests.console.browsing import Pages
from tests.waiting import eventually


def test_an_operator_follows_a_message_to_its_alert(pages: Pages) -> None:
    pages.open("/messages", "Received")
    sent = pages.send_face(801, certainty=20)
    pages.see(sent)
    pages.follow(sent)
    pages.see("face 801 was seen with a certainty of 20 only")
    pages.see("Mapping rules\nface-tracker")
    pages.see("<person id='801' certainty='20'>")
    pages.take_picture("message")
    pages.follow("uncertain-face")
    # The tree leads down to the place in the message.
    pages.see("found '20' at /Message/Event/Tracker/person/@certainty")
    assert f"/alerts/{sent}-1" in pages.browser.current_url


def test_messages_are_found_by_status_words_and_time(pages: Pages) -> None:
    taken = pages.send_face(802)
    lost = str(pages.client.send("<Unknown colour='deep green'/>")["message_id"])
    pages.open("/messages?status=unmatched", lost, "messages, a bar for")
    assert f"\n{taken}\n" not in pages.shown()
    pages.open("/messages", lost, taken)
    bar = "main .chart svg path[fill='#e07b39']"
    eventually(lambda: pages.has(bar))
    pages.take_picture("messages")
    pages.field("Search in messages").send_keys('unknown "deep Green"')
    pages.miss(taken)
    pages.see(lost)
    assert "text=unknown" in pages.browser.current_url
    # A bar narrows the time to itself.
    eventually(lambda: pages.has(bar))
    pages.browser.execute_script(
        "const { x, y, width, height } = arguments[0].getBoundingClientRect();"
        "for (const type of ['mousedown', 'mouseup', 'click']) document.elementFromPoint("
        "  x + width / 2, y + height / 2).dispatchEvent(new MouseEvent(type, { bubbles: true,"
        "  clientX: x + width / 2, clientY: y + height / 2 }));",
        pages.find(bar),
    )
    eventually(lambda: "last=between" in pages.browser.current_url)
    pages.see(lost)
    narrowed = pages.browser.current_url.partition("/console")[2]
    begin = pages.browser.execute_script("return new URL(location).searchParams.get('from')")
    assert begin <= pages.client.message(lost)["received_at"]
    pages.open(narrowed.replace("text=unknown", "text=nothing"), "There is no such message.")
    pages.open("/messages?text=" + "+".join("abcdefghi"), "expected 1 to 8 words")


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
