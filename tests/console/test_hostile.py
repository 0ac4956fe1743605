"""What others may say is shown as it is, and never runs in the browser of who looks."""

from __future__ import annotations

from urllib.parse import urlencode
from xml.sax.saxutils import quoteattr

import httpx
import pytest
from selenium.webdriver.common.by import By

from sensorstream.console import page_addresses
from tests.console.browsing import Keyed, Pages
from tests.waiting import eventually

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


def ran(pages: Pages) -> bool:
    return pages.browser.execute_script("return window.ran") is not None


def question(columns: tuple[str, ...]) -> str:
    """A question in SQL whose answer has columns of these names."""
    named = [
        '{} as "{}"'.format(number, each.replace('"', '""')) for number, each in enumerate(columns)
    ]
    return f"select {', '.join(named)}"


def test_names_of_columns_are_no_code(pages: Pages) -> None:
    pages.open("/ask?language=sql&on=history", "Jobs")
    pages.write(question(HOSTILE * 2))
    pages.press("Ask")
    pages.see("1 rows")
    table = pages.find("main [role=status] .table")
    heads = [each.text for each in table.find_elements(By.TAG_NAME, "th")]
    assert heads == list(HOSTILE * 2)
    cells = [each.text for each in table.find_elements(By.CSS_SELECTOR, "tbody td")]
    assert cells == [str(number) for number in range(len(heads))]
    assert not ran(pages)


def test_names_of_individuals_and_texts_of_alerts_are_no_code(pages: Pages) -> None:
    select = (
        f"SELECT ?person ?name {{ ?person <{TRACKING}hasName> ?name FILTER(STRLEN(?name) > 50) }}"
    )
    # The numbers of two times: a chart has a name of the data, too.
    for at, certainty in ((700, 20), (701, 60), (702, 30)):
        sent = str(pages.client.send(FACE.format(at, quoteattr(ALL), certainty))["message_id"])
    ((person, name),) = pages.client.query(select).rows
    assert name == ALL
    alert = next(each["id"] for each in pages.client.alerts() if ALL in each["text"])
    pages.client.register(select, "hostile")
    addresses = {
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
    for address, expected in addresses.items():
        pages.open(address.removeprefix(page_addresses.BASE), expected)
        assert not ran(pages), address
    pages.open("/ask", "Jobs")
    pages.write(select)
    pages.press("Ask")
    pages.see(ALL)
    assert not ran(pages)
    pages.client.unregister("hostile")


def test_a_question_of_an_address_is_asked_only_when_somebody_presses_the_button(
    pages: Pages,
) -> None:
    asked = {"language": "sql", "on": "history", "text": "select 40+2 as answer"}
    pages.open(f"/ask?{urlencode(asked)}")
    # The last part of the page that is built.
    eventually(lambda: pages.has("main .q-slider"))
    eventually(lambda: "There are none." in pages.shown() or "Question" in pages.shown())
    assert asked["text"] in pages.find(".cm-content").text
    assert "1 rows" not in pages.shown()
    pages.press("Ask")
    pages.see("1 rows")


def test_a_script_that_came_into_a_page_does_not_run(pages: Pages) -> None:
    pages.open("/", "Window")
    assert pages.faults() == []
    image = "<img src='data:,' onerror='window.ran=1'>"
    pages.browser.execute_script(
        "document.body.insertAdjacentHTML('beforeend', arguments[0])", image
    )
    eventually(lambda: any("Content Security Policy" in each for each in pages.faults()))
    assert not ran(pages)
    pages.browser.get("about:blank")
    assert all("Content Security Policy" in each for each in pages.faults())


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
