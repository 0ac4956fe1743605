from __future__ import annotations

from collections.abc import Callable

from selenium import webdriver
from selenium.webdriver.common.by import By

from sensorstream import Client
from tests.console.browsing import (
    faults,
    follow,
    marked,
    open_page,
    press,
    send_face,
    shown,
    take_picture,
    write,
)
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]
RULE = "prefix : <http://sensorstream.example/tracking#>\n"
NEW = "page.rules"


def test_an_engineer_tries_a_rule_puts_it_and_goes_back(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    open_page(browser, keyed, "/rules")
    eventually(lambda: "uncertain-face" in shown(browser))
    take_picture(browser, "rules")
    with Client(keyed.url, key=keyed.key) as client:
        send_face(client, 601)
        open_page(browser, keyed, f"/rules/{NEW}")
        eventually(lambda: "this file is not in force" in shown(browser))
        first = RULE + 'rule seen on change if exists :Human then alert info "somebody"'
        write(browser, first.replace("then", "than"))
        press(browser, "Try it on recent messages")
        eventually(lambda: "line 2, column" in shown(browser))
        eventually(lambda: marked(browser) == ["than"])
        write(browser, first)
        press(browser, "Try it on recent messages")
        eventually(lambda: "+ alert: info seen: somebody" in shown(browser))
        eventually(lambda: marked(browser) == [])
        take_picture(browser, "rule")
        press(browser, "Put it in force")
        eventually(lambda: "rule language: in force" in shown(browser))
        write(browser, first.replace("somebody", "a person"))
        press(browser, "Put it in force")
        eventually(lambda: "a person" in client.rule_file(NEW))
        assert client.rule_file(NEW) == first.replace("somebody", "a person")
        eventually(lambda: shown(browser).count("Put it in force again") == 2)
        browser.find_elements(By.XPATH, "//button[.='Put it in force again']")[-1].click()
        eventually(lambda: shown(browser).count("Put it in force again") == 3)
        assert client.rule_file(NEW) == first
        press(browser, "Take it out of force")
        eventually(lambda: "this file is not in force" in shown(browser))
        assert NEW not in [each["name"] for each in client.rule_files()["files"]]
    assert faults(browser) == []


def test_somebody_who_changed_a_file_meanwhile_loses_nothing(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    with Client(keyed.url, key=keyed.key) as client:
        client.put_rule_file(NEW, RULE)
        try:
            open_page(browser, keyed, f"/rules/{NEW}")
            eventually(lambda: "rule language: in force" in shown(browser))
            client.put_rule_file(NEW, RULE + "# of somebody else\n")
            press(browser, "Put it in force")
            eventually(lambda: "it was changed meanwhile" in shown(browser))
            assert "somebody else" in client.rule_file(NEW)
        finally:
            client.delete_rule_file(NEW)
    assert faults(browser) == []


def test_what_somebody_writes_outlives_a_page_that_is_loaded_anew(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    """As a page is, when the server was started anew."""
    with Client(keyed.url, key=keyed.key) as client:
        client.put_rule_file(NEW, RULE)
        try:
            open_page(browser, keyed, f"/rules/{NEW}")
            eventually(lambda: "rule language: in force" in shown(browser))
            eventually(lambda: "prefix :" in shown(browser))
            write(browser, RULE + "# half a rule")
            eventually(lambda: "half a rule" in shown(browser))
            browser.refresh()
            eventually(lambda: "rule language: in force" in shown(browser))
            eventually(lambda: "half a rule" in shown(browser))
            client.put_rule_file(NEW, RULE + "# of somebody else\n")
            browser.refresh()
            eventually(lambda: "half a rule" in shown(browser))
            # It was written over a text that is not in force any more.
            press(browser, "Put it in force")
            eventually(lambda: "it was changed meanwhile" in shown(browser))
            open_page(browser, keyed, f"/rules/{NEW}")
            eventually(lambda: "# of somebody else" in shown(browser))
        finally:
            client.delete_rule_file(NEW)
    assert faults(browser) == []


def test_a_file_is_opened_from_the_list(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    open_page(browser, keyed, "/rules")
    eventually(lambda: "tracking.rules" in shown(browser))
    follow(browser, "tracking.rules")
    eventually(lambda: "mapping face-tracker" in shown(browser))
    assert faults(browser) == []
