from __future__ import annotations

from tests.console.browsing import Pages
from tests.waiting import eventually


def test_somebody_sees_which_line_of_the_file_sets_something(pages: Pages) -> None:
    pages.open("/settings", "http.keys")
    assert "window.kind" not in pages.shown()
    assert "sensorstream.toml:" in pages.shown()
    pages.take_picture("settings")
    pages.field("Name contains").send_keys("webhooks.allow")
    pages.miss("http.keys")
    assert "webhooks.allow" in pages.shown()
    eventually(lambda: "name=webhooks.allow" in pages.browser.current_url)
    pages.open("/settings?all=yes&name=window", "window.kind")
    assert "http.keys" not in pages.shown()
