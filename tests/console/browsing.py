"""What somebody does with a browser."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from sensorstream import Client
from tests.waiting import eventually


@dataclass(frozen=True)
class Keyed:
    """A server of the console, and the key of an administrator."""

    url: str
    key: str
    log: Path = Path()


_FACE: Final = (
    "<Message><Event id='9'><Tracker type='FaceTracker'><TimeStamp value='{0}'/>"
    "<person id='{0}' certainty='{1}'><location2d x='72' y='8'/></person>"
    "</Tracker></Event></Message>"
)
_PICTURES: Final = "PICTURES_OF_PAGES"
"""The variable that names the folder for pictures of the pages; without it, none are made."""


class Pages:
    """The pages of a console, as who is signed in sees them, and a client of the server."""

    def __init__(self, browser: webdriver.Chrome, keyed: Keyed, client: Client) -> None:
        self.browser = browser
        self.keyed = keyed
        self.client = client

    def open(self, path: str, *texts: str) -> None:
        """Go to a page of the console, and wait until these texts stand there."""
        self.browser.get(f"{self.keyed.url}/console{path}")
        if "/sign-in" in self.browser.current_url:
            self.browser.find_element(By.NAME, "key").send_keys(self.keyed.key)
            self.browser.find_element(By.TAG_NAME, "button").click()
        self.see(*texts)

    def see(self, *texts: str) -> None:
        """Wait until the page has all these texts at once."""
        eventually(lambda: all(each in self.shown() for each in texts))

    def miss(self, text: str) -> None:
        """Wait until the page does not have this text."""
        eventually(lambda: text not in self.shown())

    def send_face(self, number: int, certainty: int = 100) -> str:
        """Send a message of a face tracker; the id of the message."""
        return str(self.client.send(_FACE.format(number, certainty))["message_id"])

    def field(self, label: str) -> WebElement:
        """The field of a form with this label."""
        return self.find(f"main [aria-label={json.dumps(label)}]")

    def find(self, selector: str) -> WebElement:
        """The first element that a selector of CSS chooses."""
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def has(self, selector: str) -> bool:
        """Whether a selector of CSS chooses anything."""
        return bool(self.browser.find_elements(By.CSS_SELECTOR, selector))

    def press(self, name: str) -> None:
        """Press the button with this name, the first if there are more."""
        self._click(f"//main//button[normalize-space()={json.dumps(name)}]")

    def show(self, name: str) -> None:
        """Show another part of the page."""
        self._click(f"//*[@role='tab'][normalize-space()='{name}']")

    def follow(self, text: str) -> None:
        """Follow the link that has this text, the first if there are more."""
        self._click(f"//main//a[contains(normalize-space(), {json.dumps(text)})]")

    def _click(self, path: str) -> None:
        """Click what stands there, once it does: a live page may just draw it anew."""

        def is_clicked() -> bool:
            with suppress(WebDriverException):
                self.browser.find_element(By.XPATH, path).click()
                return True
            return False

        eventually(is_clicked)

    def write(self, text: str) -> None:
        """Replace the text of the page's editor, as if it were pasted, once it takes keys."""
        ready = ".cm-content[contenteditable=true]"
        eventually(lambda: self.has(ready))
        self.find(ready).send_keys(Keys.CONTROL + "a")
        self.browser.execute_cdp_cmd("Input.insertText", {"text": text})

    def turn_shade(self) -> None:
        """Turn the pages dark, or light again, and wait until the browser remembers it."""
        before = "dark" if self.is_dark() else "light"
        self.find("header [aria-label='Light or dark']").click()
        eventually(lambda: self.remembered() not in ("", before))

    def remembered(self) -> str:
        """The shade of the pages that the browser remembers; "": none."""
        return str((self.browser.get_cookie("sensorstream-shade") or {}).get("value", ""))

    def is_dark(self) -> bool:
        """Whether the page is dark."""
        return self.has("body.body--dark")

    def marked(self) -> list[str]:
        """The words of the editor that are marked as faults."""
        with suppress(WebDriverException):
            found = self.browser.find_elements(By.CSS_SELECTOR, ".editor .fault")
            return [each.text for each in found]
        return ["the page was just drawn anew"]

    def shown(self) -> str:
        """What stands on the page; nothing while another one comes."""
        with suppress(WebDriverException):
            return self.browser.find_element(By.TAG_NAME, "main").text
        return ""

    def faults(self) -> list[str]:
        """What the browser's console has said since it was asked last."""
        get_log: Callable[[str], list[dict[str, object]]] = self.browser.get_log
        return [str(each["message"]) for each in get_log("browser")]

    def take_picture(self, name: str) -> None:
        """Keep how the page looks, for the documentation, where a run asks for pictures."""
        folder = os.environ.get(_PICTURES)
        if folder is not None:
            self.browser.save_screenshot(str(Path(folder) / f"{name}.png"))
