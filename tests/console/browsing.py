"""What somebody does with a browser."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from sensorstream import Client
from tests.console.conftest import Keyed

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
    path = f"//main//button[normalize-space()={json.dumps(name)}]"
    browser.find_element(By.XPATH, path).click()


def follow(browser: webdriver.Chrome, text: str) -> None:
    """Follow the link with this text, the first if there are more."""
    browser.find_element(By.XPATH, f"//main//a[normalize-space()={json.dumps(text)}]").click()


def shown(browser: webdriver.Chrome) -> str:
    """What stands on the page; nothing while another one comes."""
    with suppress(StaleElementReferenceException, NoSuchElementException):
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
