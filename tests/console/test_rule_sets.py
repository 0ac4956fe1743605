from __future__ import annotations

from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By

from sensorstream import Client
from sensorstream.console.rules_page import rows_of
from tests.console.browsing import Keyed, Pages
from tests.integration.serving import init, serving
from tests.waiting import eventually


def test_a_set_is_on_if_its_file_is_in_force() -> None:
    rows = {row["name"]: row["state"] for row in rows_of(["rdfs.ru", "city.rules", "mine.ru"])}
    assert rows["rdfs"] == "on"
    assert rows["owl2rl"] == ""
    assert "mine" not in rows
    assert rows_of(["city.rules"]) == []


def test_without_rule_sets_the_page_says_what_names_them(pages: Pages) -> None:
    pages.open("/rules", "The profile of the reasoner has no rule sets")
    assert "owl2rl.ru" not in pages.client.rule_files()


def test_a_researcher_turns_rule_sets_on_and_off(tmp_path: Path, browser: webdriver.Chrome) -> None:
    folder = tmp_path / "tracking"
    init(folder)
    config = folder / "sensorstream.toml"
    text = config.read_text()
    assert 'profile = "hermit"' in text
    config.write_text(text.replace('profile = "hermit"', 'profile = "rdfs"'))
    with serving(folder) as (_, server):
        url = str(server.base_url).rstrip("/")
        with Client(url) as client:
            pages = Pages(browser, Keyed(url, ""), client)

            def on() -> list[str]:
                names = [each["name"] for each in pages.client.rule_files()["files"]]
                return [name for name in names if name.endswith(".ru")]

            def turn(name: str, what: str) -> bool:
                row = f"//tr[td[normalize-space()='{name}']]//button[normalize-space()='{what}']"
                try:
                    pages.browser.find_element(By.XPATH, row).click()
                except WebDriverException:
                    return False
                return True

            pages.open("/rules")
            eventually(lambda: turn("rdf-values", "Turn on"))
            eventually(lambda: on() == ["rdfs.ru", "rdf-values.ru"])
            eventually(lambda: turn("rdfs", "Turn off"))
            eventually(lambda: on() == ["rdf-values.ru"])
            # One must be left.
            eventually(lambda: turn("rdf-values", "Turn off"))
            pages.see("no rule set would be left")
            assert on() == ["rdf-values.ru"]
        assert pages.faults() == []
        # No page is left that says that its server has gone.
        pages.browser.get("about:blank")
