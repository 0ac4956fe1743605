"""What others may say is shown as it is, and never runs in the browser of who looks."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode
from xml.sax.saxutils import quoteattr

import httpx
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from sensorstream import Client
from sensorstream.console import page_addresses
from tests.console.browsing import faults, open_page, press, shown, write
from tests.console.conftest import Keyed

Eventually = Callable[[Callable[[], object]], None]
IMAGE = "<img src=x onerror=window.ran=1>"
HOSTILE = (
    f'a\']||1"">{IMAGE}',
    f"</q-td>{IMAGE}",
    "{{constructor.constructor('window.ran=1')()}}",
    '" :x="window.ran=1" y="',
    "`${window.ran=1}`",
    "</script><script>window.ran=1</script>",
    "@row",
    "0@link",
    ":a",
)
ALL = " ".join(HOSTILE)
FACE = (
    "<Message><Event id='9'><Tracker type='FaceTracker'><TimeStamp value='{0}'/>"
    "<person id={1} certainty='{2}'><location2d x='72' y='8'/></person>"
    "</Tracker></Event></Message>"
)
TRACKING = "http://sensorstream.example/tracking#"


def ran(browser: webdriver.Chrome) -> bool:
    return browser.execute_script("return window.ran") is not None


def shows(browser: webdriver.Chrome, text: str) -> Callable[[], bool]:
    """What says whether a text stands on the page."""
    return lambda: text in shown(browser)


def question(columns: tuple[str, ...]) -> str:
    """A question in SQL whose answer has columns of these names."""
    named = [
        '{} as "{}"'.format(number, each.replace('"', '""')) for number, each in enumerate(columns)
    ]
    return f"select {', '.join(named)}"


def test_names_of_columns_are_no_code(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    open_page(browser, keyed, "/ask?language=sql&on=history")
    eventually(lambda: "Jobs" in shown(browser))
    write(browser, question(HOSTILE * 2))
    press(browser, "Ask")
    eventually(lambda: "1 rows" in shown(browser))
    table = browser.find_element(By.CSS_SELECTOR, "main [role=status] .table")
    heads = [each.text for each in table.find_elements(By.TAG_NAME, "th")]
    assert heads == list(HOSTILE * 2)
    cells = [each.text for each in table.find_elements(By.CSS_SELECTOR, "tbody td")]
    assert cells == [str(number) for number in range(len(heads))]
    assert not ran(browser)
    assert faults(browser) == []


def test_names_of_individuals_and_texts_of_alerts_are_no_code(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    select = (
        f"SELECT ?person ?name {{ ?person <{TRACKING}hasName> ?name FILTER(STRLEN(?name) > 50) }}"
    )
    with Client(keyed.url, key=keyed.key) as client:
        # The numbers of two times: a chart has a name of the data, too.
        for at, certainty in ((700, 20), (701, 60), (702, 30)):
            sent = str(client.send(FACE.format(at, quoteattr(ALL), certainty))["message_id"])
        ((person, name),) = client.query(select).rows
        assert name == ALL
        alert = next(each["id"] for each in client.alerts() if ALL in each["text"])
        client.register(select, "hostile")
    pages = {
        page_addresses.individual(str(person)): "Its past",
        page_addresses.message(sent): "Deliveries",
        page_addresses.alert(str(alert)): "What became of it",
        page_addresses.address(page_addresses.ALERTS.path): ALL,
        page_addresses.address(page_addresses.INDIVIDUALS.path): "human-",
        page_addresses.query("hostile"): ALL,
        page_addresses.query("hostile", "Operators"): "Match",
        page_addresses.query("hostile", "Steps"): "Animate",
        page_addresses.bench(sent): "constructor",
        page_addresses.address("/individual", iri=ALL): ALL,
        page_addresses.address(
            "/messages/" + "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"
        ): "<img src=x",
    }
    for address, expected in pages.items():
        open_page(browser, keyed, address.removeprefix(page_addresses.BASE))
        eventually(shows(browser, expected))
        assert not ran(browser), address
    open_page(browser, keyed, "/ask")
    eventually(lambda: "Jobs" in shown(browser))
    write(browser, select)
    press(browser, "Ask")
    eventually(lambda: ALL in shown(browser))
    assert not ran(browser)
    with Client(keyed.url, key=keyed.key) as client:
        client.unregister("hostile")


def test_a_question_of_an_address_is_asked_only_when_somebody_presses_the_button(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    asked = {"language": "sql", "on": "history", "text": "select 40+2 as answer"}
    open_page(browser, keyed, f"/ask?{urlencode(asked)}")
    # The last part of the page that is built.
    eventually(lambda: browser.find_elements(By.CSS_SELECTOR, "main .q-slider"))
    eventually(lambda: "There are none." in shown(browser) or "Question" in shown(browser))
    assert asked["text"] in browser.find_element(By.CSS_SELECTOR, ".cm-content").text
    assert "1 rows" not in shown(browser)
    press(browser, "Ask")
    eventually(lambda: "1 rows" in shown(browser))


def test_a_script_that_came_into_a_page_does_not_run(
    keyed: Keyed, browser: webdriver.Chrome, eventually: Eventually
) -> None:
    open_page(browser, keyed, "/")
    eventually(lambda: "Window" in shown(browser))
    assert faults(browser) == []
    image = "<img src='data:,' onerror='window.ran=1'>"
    browser.execute_script("document.body.insertAdjacentHTML('beforeend', arguments[0])", image)
    eventually(lambda: any("Content Security Policy" in each for each in faults(browser)))
    assert not ran(browser)
    browser.get("about:blank")
    assert all("Content Security Policy" in each for each in faults(browser))


@pytest.mark.parametrize(
    "path",
    [
        *(page_addresses.address(each.path) for each in page_addresses.PLACES),
        "/console/sign-in",
        "/console/no-such-page",
        "/console/_nicegui/3/no-such-file",
        "/console/api/window",
        "/docs",
        "/openapi.json",
        "/window",
        "/no-such-resource",
        "/metrics",
        "/healthz",
    ],
)
def test_no_answer_is_shown_in_a_frame_or_taken_for_something_else(keyed: Keyed, path: str) -> None:
    cookies = {"sensorstream-key": keyed.key}
    headers = {"Authorization": f"Bearer {keyed.key}"}
    answer = httpx.get(keyed.url + path, cookies=cookies, headers=headers)
    assert answer.headers.get_list("X-Content-Type-Options") == ["nosniff"]
    (policy,) = answer.headers.get_list("Content-Security-Policy")
    parts = {
        name: rest for name, _, rest in (each.strip().partition(" ") for each in policy.split(";"))
    }
    assert parts["default-src"] == "'none'"
    assert parts["frame-ancestors"] == "'none'"
    assert "'unsafe-inline'" not in parts.get("script-src", "")


def test_each_page_has_scripts_of_its_own_number(keyed: Keyed) -> None:
    cookies = {"sensorstream-key": keyed.key}
    policies = {
        httpx.get(f"{keyed.url}/console/", cookies=cookies).headers["Content-Security-Policy"]
        for _ in range(2)
    }
    assert len(policies) == 2
