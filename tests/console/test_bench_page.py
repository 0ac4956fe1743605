from __future__ import annotations

from collections.abc import Callable
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from sensorstream import Client
from sensorstream.console.bench_page import found_rows, said
from sensorstream.console.code_editor import offered
from tests.console.browsing import (
    faults,
    follow,
    marked,
    open_page,
    press,
    send_face,
    shown,
    take_picture,
)
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]
TEXT = "prefix : <http://e.org/>\nprefix x: <urn:x:>\n"
TERMS = ("http://e.org/Human", "http://e.org/hasHuman", "urn:x:human", "http://other.org/Human")


def test_names_are_completed_by_the_prefixes_of_the_text() -> None:
    assert offered(TERMS, TEXT, ":hu") == [":Human", ":hasHuman"]
    assert offered(TERMS, TEXT, "human") == [":Human", "x:human", ":hasHuman"]
    assert offered(TERMS, TEXT, "x:") == ["x:human"]
    assert offered(TERMS, "", "human") == []


def test_a_rule_that_does_not_match_is_told_with_its_cause() -> None:
    rule: dict[str, Any] = {"rule": "r", "matched": False, "cause": "no /a", "expressions": []}
    tried = {
        "status": "unmatched",
        "reason": "",
        "matched": [],
        "preceding": 0,
        "explanations": [{"rules": [rule], "yields": [], "unmapped": []}],
    }
    assert found_rows(tried) == [{"rule": "r", "role": "not matched", "values": "no /a", "@row": 0}]
    assert said(tried) == "It would be unmatched."
    assert said({**tried, "preceding": 3}).endswith("unmatched (after 3 of the last messages).")


def test_an_engineer_tries_a_rule_on_a_message_and_puts_it(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    with Client(keyed.url, key=keyed.key) as client:
        name = "tracking.rules"
        before = client.rule_file(name)
        message = send_face(client, 701)
        open_page(browser, keyed, f"/messages/{message}")
        follow(browser, "Try rules on it")
        eventually(lambda: "face-tracker" in shown(browser) and "<Message>" in shown(browser))
        press(browser, "Try the rules on the message")
        eventually(lambda: "It would be accepted, matched by face-tracker." in shown(browser))
        assert "human-701 a Human" in shown(browser)
        assert "/Message/Event/@id" in shown(browser)
        take_picture(browser, "bench")
        rules = browser.find_elements(By.CSS_SELECTOR, ".cm-content")[1]
        rules.send_keys(Keys.CONTROL + Keys.END)
        rules.send_keys("\n:hasX")
        rules.send_keys(Keys.CONTROL + " ")
        eventually(lambda: browser.find_elements(By.CSS_SELECTOR, ".offered button"))
        press(browser, ":hasXLocation")
        eventually(lambda: ":hasXLocation" in rules.text.splitlines()[-1])
        press(browser, "Try the rules on the message")
        eventually(lambda: "unexpected ':hasXLocation'" in shown(browser))
        eventually(lambda: marked(browser))
        rules.send_keys(Keys.CONTROL + "a")
        changed = before.replace(":hasName {$person/@id}", ":hasName {TimeStamp/@value}")
        browser.execute_cdp_cmd("Input.insertText", {"text": changed})
        press(browser, "Compare on recent messages")
        eventually(lambda: "No fault was found." in shown(browser))
        press(browser, "Put the rules in force")
        eventually(lambda: "Put the rules in force" not in shown(browser))
        assert client.rule_file(name) == changed
        client.put_rule_file(name, before)
    assert faults(browser) == []
