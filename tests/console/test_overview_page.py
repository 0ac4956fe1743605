from __future__ import annotations

from typing import cast

from selenium.webdriver.common.by import By

from sensorstream import Client
from sensorstream.console.overview_page import STAGES
from sensorstream.console.page_visits import Upstream, Watch, read
from sensorstream.model.events import Status
from tests.console.browsing import Pages
from tests.waiting import eventually


def values(stage: str, text: str) -> dict[str, float | None]:
    """The figures of a stage by their names, from what ``GET /metrics`` says."""
    watch = Watch(cast(Upstream, None), "")
    watch.readings.append(read(text, 0.0))
    (found,) = (each for each in STAGES if each.name == stage)
    return {each.name: each.value(watch) for each in found.figures}


def test_whatever_became_of_a_message_it_counts_somewhere() -> None:
    # Only where another process takes messages in, they are no more than kept.
    states = [each.value for each in Status if each is not Status.JOURNALLED]
    text = "".join(
        f'sensorstream_messages_total{{status="{state}"}} {2**number}\n'
        for number, state in enumerate(states)
    )
    shown = values("Messages", text)
    assert sum(value for value in shown.values() if value is not None) == 2 ** len(states) - 1
    assert shown["taken in partly"] == 2 ** states.index("partial")


def test_statements_that_were_said_or_inferred_are_told_from_those_of_the_ontology() -> None:
    sizes = {"asserted": 1849, "inferred": 777, "static": 100, "static_inferred": 19}
    text = "".join(
        f'sensorstream_statements{{kind="{kind}"}} {size}\n' for kind, size in sizes.items()
    )
    shown = values("Window", text)
    assert shown["statements said"] == 1849
    assert shown["inferred"] == 777
    assert shown["of the ontology"] == 119
    assert values("Window", "")["of the ontology"] is None


def taken_in(client: Client) -> float:
    return read(client.metrics(), 0.0).value("messages_total", status="accepted") or 0.0


def test_an_operator_signs_in_and_sees_messages_come(pages: Pages) -> None:
    pages.open("/")
    before = taken_in(pages.client)
    pages.see(f"taken in\n{before:.0f}\n")
    for number in range(1, 4):
        pages.send_face(number)
    held = pages.client.window()["total"]
    pages.client.send("<neither-person-nor-place/>")
    assert held
    lost = pages.browser.find_element(By.XPATH, "//main//a[starts-with(., 'no rule matched')]")
    eventually(lambda: int(lost.text.rpartition("\n")[2]) > 0)
    assert str(lost.get_attribute("href")).endswith("/quarantine?status=unmatched")
    pages.see(f"taken in\n{before + 3:.0f}\n")
    pages.see(f"individuals\n{held}\n")
    alerts = "//dt[normalize-space()='Open alerts']/following-sibling::dd[1]//a"
    eventually(lambda: pages.browser.find_elements(By.XPATH, alerts))
    there = pages.browser.find_element(By.XPATH, alerts).get_attribute("href")
    assert str(there).endswith("/alerts")
    assert pages.browser.title == "Overview · SensorStream"
    pages.take_picture("overview")
    pages.turn_shade()
    eventually(pages.is_dark)
    pages.take_picture("overview-dark")
    pages.turn_shade()
    eventually(lambda: not pages.is_dark())
