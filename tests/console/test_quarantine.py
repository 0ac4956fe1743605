from __future__ import annotations

from tests.console.browsing import Pages


def test_an_operator_mends_a_message_and_takes_it_in(pages: Pages) -> None:
    lost = pages.client.send("<Unknown/>")["message_id"]
    pages.open("/quarantine?status=unmatched", lost)
    pages.take_picture("quarantine")
    pages.press("Edit")
    pages.see("Edit and take in anew")
    pages.see("<Unknown/>")
    pages.write(
        "<Message><Event id='9'><Tracker type='FaceTracker'><TimeStamp value='901'/>"
        "<person id='901' certainty='90'><location2d x='7' y='8'/></person>"
        "</Tracker></Event></Message>",
    )
    pages.press("Take this in instead")
    pages.see(f"{lost} was taken in anew as")
    assert "accepted" in pages.shown()
    assert lost not in [each["message_id"] for each in pages.client.quarantine()]
    # Others are chosen by their reason, and taken out together.
    stay, *go = (
        str(pages.client.send(f"<{each}/>")["message_id"]) for each in ("Box", "Jar", "Jar")
    )
    pages.open("/quarantine?text=found+jar", *go)
    assert stay not in pages.shown()
    pages.find("main thead .q-checkbox").click()
    pages.see("2 chosen")
    pages.press("Take chosen out")
    pages.see("No message is in quarantine here.")
    kept = {each["message_id"] for each in pages.client.quarantine()}
    assert stay in kept
    assert not kept & set(go)
    pages.client.dismiss(stay)
