"""What somebody does with a browser."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from sensorstream import Client
from tests.console.conftest import Keyed
from tests.waiting import eventually

_FACE: Final = (
    "<Message><Event id='9'><Tracker type='FaceTracker'><TimeStamp value='{0}'/>"
    "<person id='{0}' certainty='{1}'><location2d x='72' y='8'/></person>"
    "</Tracker></Event></Message>"
)
_PICTURES: Final = "PICTURES_OF_PAGES"
"""The variable that names the folder for pictures of the pages; without it, none are made."""


def open_page(browser: webdriver.Chrome, keyed: Keyed, path: str) -> None:
    """Go to a page of the console, as somebody who is signed in."""
    browser.get(f"{keyed.url}/console{path}")
    if "/sign-in" in browser.current_url:
        browser.find_element(By.NAME, "key").send_keys(keyed.key)
        browser.find_element(By.TAG_NAME, "button").click()


def send_face(client: Client, number: int, certainty: int = 100) -> str:
    """Send a message of a face tracker; the id of the message."""
    return str(client.send(_FACE.format(number, certainty))["message_id"])


def field(browser: webdriver.Chrome, label: str) -> WebElement:
    """The field of a form with this label."""
    return browser.find_element(By.CSS_SELECTOR, f"main [aria-label={json.dumps(label)}]")


def press(browser: webdriver.Chrome, name: str) -> None:
    """Press the button with this name, the first if there are more."""
    _click(browser, f"//main//button[normalize-space()={json.dumps(name)}]")


def _click(browser: webdriver.Chrome, path: str) -> None:
    """Click what stands there, once it does: a live page may just draw it anew."""

    def is_clicked() -> bool:
        with suppress(WebDriverException):
            browser.find_element(By.XPATH, path).click()
            return True
        return False

    eventually(is_clicked)


def write(browser: webdriver.Chrome, text: str) -> None:
    """Replace the text of the page's editor, as if it were pasted, once it takes keys."""
    ready = ".cm-content[contenteditable=true]"
    eventually(lambda: browser.find_elements(By.CSS_SELECTOR, ready))
    editor = browser.find_element(By.CSS_SELECTOR, ready)
    editor.send_keys(Keys.CONTROL + "a")
    browser.execute_cdp_cmd("Input.insertText", {"text": text})


def marked(browser: webdriver.Chrome) -> list[str]:
    """The words of the editor that are marked as faults."""
    with suppress(WebDriverException):
        return [each.text for each in browser.find_elements(By.CSS_SELECTOR, ".editor .fault")]
    return ["the page was just drawn anew"]


def follow(browser: webdriver.Chrome, text: str) -> None:
    """Follow the link that has this text, the first if there are more."""
    _click(browser, f"//main//a[contains(normalize-space(), {json.dumps(text)})]")


def shown(browser: webdriver.Chrome) -> str:
    """What stands on the page; nothing while another one comes."""
    with suppress(WebDriverException):
        return browser.find_element(By.TAG_NAME, "main").text
    return ""


def faults(browser: webdriver.Chrome) -> list[str]:
    """What the browser's console says."""
    get_log: Callable[[str], list[dict[str, object]]] = browser.get_log
    return [str(each["message"]) for each in get_log("browser")]


def take_picture(browser: webdriver.Chrome, name: str) -> None:
    """Keep how the page looks, for the documentation, where a run asks for pictures."""
    folder = os.environ.get(_PICTURES)
    if folder is not None:
        browser.save_screenshot(str(Path(folder) / f"{name}.png"))
