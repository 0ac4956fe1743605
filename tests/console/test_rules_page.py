from __future__ import annotations

from selenium.webdriver.common.by import By

from tests.console.browsing import Pages
from tests.waiting import eventually

RULE = "prefix : <http://sensorstream.example/tracking#>\n"
NEW = "page.rules"


def test_an_engineer_tries_a_rule_puts_it_and_goes_back(pages: Pages) -> None:
    pages.open("/rules", "uncertain-face")
    pages.take_picture("rules")
    pages.send_face(601)
    pages.open(f"/rules/{NEW}", "this file is not in force")
    first = RULE + 'rule seen on change if exists :Human then alert info "somebody"'
    pages.write(first.replace("then", "than"))
    pages.press("Try it on recent messages")
    pages.see("line 2, column")
    eventually(lambda: pages.marked() == ["than"])
    pages.write(first)
    pages.press("Try it on recent messages")
    pages.see("+ alert: info seen: somebody")
    eventually(lambda: pages.marked() == [])
    pages.take_picture("rule")
    pages.press("Put it in force")
    pages.see("rule language: in force")
    pages.write(first.replace("somebody", "a person"))
    pages.press("Put it in force")
    eventually(lambda: "a person" in pages.client.rule_file(NEW))
    assert pages.client.rule_file(NEW) == first.replace("somebody", "a person")
    eventually(lambda: pages.shown().count("Put it in force again") == 2)
    pages.browser.find_elements(By.XPATH, "//button[.='Put it in force again']")[-1].click()
    eventually(lambda: pages.shown().count("Put it in force again") == 3)
    assert pages.client.rule_file(NEW) == first
    pages.press("Take it out of force")
    pages.see("this file is not in force")
    assert NEW not in [each["name"] for each in pages.client.rule_files()["files"]]


def test_somebody_who_changed_a_file_meanwhile_loses_nothing(pages: Pages) -> None:
    pages.client.put_rule_file(NEW, RULE)
    try:
        pages.open(f"/rules/{NEW}", "rule language: in force")
        pages.client.put_rule_file(NEW, RULE + "# of somebody else\n")
        pages.press("Put it in force")
        pages.see("it was changed meanwhile")
        assert "somebody else" in pages.client.rule_file(NEW)
    finally:
        pages.client.delete_rule_file(NEW)


def test_what_somebody_writes_outlives_a_page_that_is_loaded_anew(pages: Pages) -> None:
    """As a page is, when the server was started anew."""
    pages.client.put_rule_file(NEW, RULE)
    try:
        pages.open(f"/rules/{NEW}", "rule language: in force")
        pages.see("prefix :")
        pages.write(RULE + "# half a rule")
        pages.see("half a rule")
        pages.browser.refresh()
        pages.see("rule language: in force")
        pages.see("half a rule")
        pages.client.put_rule_file(NEW, RULE + "# of somebody else\n")
        pages.browser.refresh()
        pages.see("half a rule")
        # It was written over a text that is not in force any more.
        pages.press("Put it in force")
        pages.see("it was changed meanwhile")
        pages.open(f"/rules/{NEW}", "# of somebody else")
        assert "half a rule" not in pages.client.rule_file(NEW)
    finally:
        pages.client.delete_rule_file(NEW)


def test_a_file_is_opened_from_the_list(pages: Pages) -> None:
    pages.open("/rules", "tracking.rules")
    pages.follow("tracking.rules")
    pages.see("mapping face-tracker")
    assert pages.browser.current_url.endswith("/rules/tracking.rules")
