"""No page keeps somebody out: axe-core finds no serious fault, and a phone shows all of it.

The colours within editors, and the arrows of trees, are those of the libraries: left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from urllib.parse import quote

import pytest
from selenium import webdriver

from sensorstream import Client
from tests.console.browsing import Keyed, Pages
from tests.waiting import eventually

AXE = (files("axe_core_python") / "axe.min.js").read_text("utf-8")
RUN = """
const [rules, done] = arguments;
const part = {exclude: [['.cm-content'], ['.q-tree__arrow']]};
axe.run(part, {resultTypes: ['violations'], ...rules}).then(found => done(JSON.stringify(
  found.violations.filter(each => ['serious', 'critical'].includes(each.impact)).map(each => [
    each.id, each.nodes.map(node => node.html.slice(0, 200)).slice(0, 3)]))));
"""
# Another shade changes the colours alone.
COLOURS: dict[str, object] = {
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
}
SHADES: dict[str, dict[str, object]] = {"light": {}, "dark": COLOURS}
SETTLED = "return document.getAnimations().every(each => each.playState !== 'running')"
IRI = "http://sensorstream.example/tracking#human-990"
QUERY = """PREFIX : <http://sensorstream.example/tracking#>
REGISTER QUERY <urn:x:seen> AS SELECT RSTREAM (COUNT(?p) AS ?n) { ?p a :Human }"""
# Tables have no headings on a phone, where a page is opened first.
PAGES = {
    "/": "Messages",
    "/messages": "Older",
    "/messages/{message}": "Content",
    "/individuals": "Members",
    "/individuals?view=map": "Where they are",
    f"/individual?iri={quote(IRI, safe='')}": "hasCertainty",
    "/queries": "A new query",
    "/query?name=urn%3Ax%3Aseen": "Results",
    "/query?name=urn%3Ax%3Aseen&tab=Operators": "COUNT(?p)",
    "/query?name=urn%3Ax%3Aseen&tab=Steps": "Read the last instants",
    "/ask": "Jobs",
    "/bench": "What the rules make of it",
    "/alerts": "Silences",
    "/alerts/{alert}": "What became of it",
    "/receivers": "No webhook is registered",
    "/rules": "uncertain-face",
    "/rules/tracking.rules": "Versions",
    "/ontology": "hasCertainty",
    "/shapes": "too uncertain",
    "/quarantine": "as JSON",
    "/settings": "http.keys",
    "/settings?all=yes": "archive.",
}


@pytest.fixture(scope="module")
def known(keyed: Keyed, browser: webdriver.Chrome) -> Iterator[dict[str, str]]:
    """A message with an alert, and a query."""
    with Client(keyed.url, key=keyed.key) as client:
        message = Pages(browser, keyed, client).send_face(990, certainty=10)
        client.register(QUERY)
        yield {"message": message, "alert": f"{message}-1"}
        client.unregister("urn:x:seen")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_can_be_used_by_everybody(path: str, pages: Pages, known: dict[str, str]) -> None:
    try:
        pages.browser.set_window_size(375, 800)
        pages.open(path.format(**known), PAGES[path])
        width = "return [document.documentElement.scrollWidth, window.innerWidth]"
        wide, there = pages.browser.execute_script(width)
        assert wide <= there
        pages.browser.set_window_size(1300, 850)
        pages.browser.execute_script(AXE)
        for shade, rules in SHADES.items():
            found = json.loads(pages.browser.execute_async_script(RUN, rules))
            assert found == [], shade
            pages.turn_shade()
            # Turned light again, it is so on the next page: the browser remembers it.
            dark = shade == "light"
            eventually(lambda dark=dark: pages.is_dark() is dark)  # type: ignore[misc]
            # The colours of buttons change slowly.
            eventually(lambda: pages.browser.execute_script(SETTLED))
    finally:
        pages.browser.set_window_size(1300, 850)
