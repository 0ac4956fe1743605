from __future__ import annotations

from typing import cast

from selenium.webdriver.common.by import By

from sensorstream import Client
from sensorstream.console.messages_page import STATES
from sensorstream.console.overview_page import STAGES
from sensorstream.console.page_visits import Upstream, Watch, read
from sensorstream.model.events import Status
from tests.console.browsing import Pages
from tests.waiting import eventually


def watch_of(*texts: str) -> Watch:
    """A watch that has read these answers of ``GET /metrics``, one a second."""
    watch = Watch(cast(Upstream, None), "")
    watch.readings.extend(read(text, float(at)) for at, text in enumerate(texts))
    return watch


def figures(*texts: str) -> dict[str, dict[str, float | None]]:
    """The figures of each stage by their names, from what ``GET /metrics`` says."""
    watch = watch_of(*texts)
    return {
        stage.name: {each.name: each.value(watch) for each in stage.figures} for stage in STAGES
    }


def levels(*texts: str) -> dict[str, str]:
    """The figures that need attention, from what ``GET /metrics`` says."""
    watch = watch_of(*texts)
    found = ((each, each.value(watch)) for stage in STAGES for each in stage.figures)
    return {each.name: each.level(value) for each, value in found if value and each.level(value)}


def test_whatever_became_of_a_message_it_counts_somewhere() -> None:
    # Only where another process takes messages in, they are no more than kept.
    states = [each.value for each in Status if each is not Status.JOURNALLED]
    text = "".join(
        f'sensorstream_messages_total{{status="{state}"}} {2**number}\n'
        for number, state in enumerate(states)
    )
    found = figures(text)
    shown = {name: found[stage].get(name) for stage in found for name in STATES.values()
             if found[stage].get(name) is not None}  # fmt: skip
    assert sum(value for value in shown.values() if value) == 2 ** len(states) - 1
    assert shown["taken in partly"] == 2 ** states.index("partial")


def test_statements_that_were_said_or_inferred_are_told_from_those_of_the_ontology() -> None:
    sizes = {"asserted": 1849, "inferred": 777, "static": 100, "static_inferred": 19}
    text = "".join(
        f'sensorstream_statements{{kind="{kind}"}} {size}\n' for kind, size in sizes.items()
    )
    shown = figures(text)
    assert shown["Window"]["statements said"] == 1849
    assert shown["Reasoning"]["statements inferred"] == 777
    assert shown["Window"]["of the ontology"] == 119
    assert figures("")["Window"]["of the ontology"] is None


LOST = 'sensorstream_messages_total{status="unmatched"}'
FINE = f"""{LOST} 7
sensorstream_reasoner_degraded 0
sensorstream_journal_entry 2000
sensorstream_stored_entry 1990
sensorstream_receiver_failing_seconds{{receiver="a"}} 0
sensorstream_input_connected{{input="b"}} 1
"""


def test_only_what_is_wrong_now_needs_attention() -> None:
    # What was lost before somebody looked is no news.
    assert levels(FINE, FINE) == {}
    wrong = FINE.replace("degraded 0", "degraded 1").replace("entry 1990", "entry 900")
    wrong = wrong.replace('"a"} 0', '"a"} 5').replace('"b"} 1', '"b"} 0').replace("} 7", "} 9")
    assert levels(FINE, wrong) == {
        "lost lately": "warned",
        "not stored yet": "warned",
        "inputs not connected": "bad",
        "replaced by plain": "bad",
        "fail": "bad",
    }


def test_the_last_batch_of_spark_and_a_pipeline_that_is_missing_are_shown() -> None:
    text = """sensorstream_pipeline_waiting_entries 40
sensorstream_pipeline_running 1
sensorstream_pipeline_batch_entries 20000
sensorstream_pipeline_batch_seconds{phase="engines"} 7.5
sensorstream_pipeline_batch_seconds{phase="triggerExecution"} 9
sensorstream_pipeline_state_bytes 8192
sensorstream_pipeline_keys 12
sensorstream_pipeline_key_skew 1.2
"""
    shown = figures(text)["Spark"]
    assert shown == {
        "entries wait": 40, "pipelines missing": 0, "last batch": 20000, "its time": 9,
        "for the engines": 7.5, "for the history": None, "keys": 12, "state": 8192,
        "busiest key by a fair one": 1.2,
    }  # fmt: skip
    assert levels(text) == {}
    wrong = text.replace("running 1", "running 0").replace("skew 1.2", "skew 1.6")
    assert levels(wrong) == {"pipelines missing": "bad", "busiest key by a fair one": "warned"}
    assert set(figures("")["Spark"].values()) == {None}


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
    # An unmatched message is a warning: the stage, and the line above the way, say so.
    pages.see("Alerts: ", " warning")
    eventually(lambda: pages.has(".at-alerts.warned") and pages.has(".at-quarantine.warned"))
    assert pages.has(".at-window.good")
    assert not pages.find(".at-spark").is_displayed(), "the engine is here"
    warning = pages.find(".health a.warned")
    assert str(warning.get_attribute("href")).endswith("/alerts?severity=warning")
    assert pages.browser.title == "Overview · SensorStream"
    pages.take_picture("overview")
    pages.turn_shade()
    eventually(pages.is_dark)
    pages.take_picture("overview-dark")
    pages.turn_shade()
    eventually(lambda: not pages.is_dark())
