from __future__ import annotations

from typing import Any

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from sensorstream.console.bench_page import found_rows, said
from sensorstream.console.code_editor import offered
from tests.console.browsing import Pages
from tests.waiting import eventually

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


def test_an_engineer_tries_a_rule_on_a_message_and_puts_it(pages: Pages) -> None:
    name = "tracking.rules"
    before = pages.client.rule_file(name)
    message = pages.send_face(701)
    pages.open(f"/messages/{message}")
    pages.follow("Try rules on it")
    pages.see("face-tracker", "<Message>")
    pages.press("Try the rules on the message")
    pages.see("It would be accepted, matched by face-tracker.")
    assert "human-701 a Human" in pages.shown()
    assert "/Message/Event/@id" in pages.shown()
    pages.take_picture("bench")
    rules = pages.browser.find_elements(By.CSS_SELECTOR, ".cm-content")[1]
    rules.send_keys(Keys.CONTROL + Keys.END)
    rules.send_keys("\n:hasX")
    rules.send_keys(Keys.CONTROL + " ")
    eventually(lambda: pages.has(".offered button"))
    pages.press(":hasXLocation")
    eventually(lambda: ":hasXLocation" in rules.text.splitlines()[-1])
    pages.press("Try the rules on the message")
    pages.see("unexpected ':hasXLocation'")
    eventually(pages.marked)
    rules.send_keys(Keys.CONTROL + "a")
    changed = before.replace(":hasName {$person/@id}", ":hasName {TimeStamp/@value}")
    pages.browser.execute_cdp_cmd("Input.insertText", {"text": changed})
    pages.press("Compare on recent messages")
    pages.see("No fault was found.")
    pages.press("Put the rules in force")
    # A button that works shows no text: its absence alone does not say that the rules are in force.
    eventually(lambda: pages.client.rule_file(name) == changed)
    pages.miss("Put the rules in force")
    pages.client.put_rule_file(name, before)
