"""The overview: the data's way through the server, with figures and rates on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from nicegui import ui

from sensorstream.console import page_addresses
from sensorstream.console.drawings import Bars, LineChart
from sensorstream.console.elements import FactList, heading, keep_fresh, link
from sensorstream.console.messages_page import KEPT, STATES
from sensorstream.console.page_visits import Figures, Visit, Watch

_Value: TypeAlias = Callable[[Watch], float | None]
_UNKNOWN: Final = "-"
_MESSAGES: Final = page_addresses.address(page_addresses.MESSAGES.path)
_INDIVIDUALS: Final = page_addresses.address(page_addresses.INDIVIDUALS.path)
_ONTOLOGY: Final = page_addresses.address(page_addresses.ONTOLOGY.path)
_RULES: Final = page_addresses.address(page_addresses.RULES.path)
_ALERTS: Final = page_addresses.address(page_addresses.ALERTS.path)
_RECEIVERS: Final = page_addresses.address("/receivers")
_SETTINGS: Final = page_addresses.address(page_addresses.SETTINGS.path)
_PAUSE: Final = 5.0
_MOST_ALERTS: Final = 100
_BESIDE: Final = ("Spark", "Server")
"""Stages that stand beside the way."""
_NO_SPARK: Final = "The engine runs in this server, and not on Spark."
_LEADS: Final = {"Window": _INDIVIDUALS, "Open alerts": _ALERTS, "Reasoner": _SETTINGS}
"""The addresses that the facts below the way lead to."""
_PHASES: Final = {
    "t_m": "mapping rules",
    "t_w": "window",
    "t_i": "reasoning",
    "t_s": "semantic rules",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of a stage: its name, unit, and how it is found."""

    name: str
    unit: str
    value: _Value
    leads: str
    """The address of the page that shows more."""
    warns: Callable[[float], bool] = lambda value: False
    """Whether a value needs somebody's attention."""


@dataclass(frozen=True, slots=True)
class ShownStage:
    """A part of the way."""

    name: str
    figures: tuple[Figure, ...]


def _listed(status: str) -> str:
    page = page_addresses.QUARANTINE if status in KEPT else page_addresses.MESSAGES
    return page_addresses.address(page.path, status=status)


def _of_now(value: Callable[[Figures], float | None]) -> _Value:
    """A value of the latest reading; None while there is none."""
    return lambda watch: None if watch.now is None else value(watch.now)


def _gauge(name: str, **labels: str) -> _Value:
    return _of_now(lambda now: now.value(name, **labels))


def _rate(name: str) -> _Value:
    return lambda watch: watch.rate(name)


def _phase(watch: Watch, phase: str) -> float:
    """The milliseconds that a phase takes for a message."""
    return round(1000 * (watch.mean("phase_seconds", phase=phase) or 0.0), 3)


@_of_now
def _lag(now: Figures) -> float | None:
    last, stored = now.value("journal_entry"), now.value("stored_entry")
    return None if last is None or stored is None else last - stored


@_of_now
def _of_ontology(now: Figures) -> float | None:
    sizes = now.by("statements", "kind")
    return sizes["static"] + sizes["static_inferred"] if sizes else None


_outbox: Final = _of_now(lambda now: now.total("outbox_deliveries"))


def _some(value: float) -> bool:
    return value > 0


@_of_now
def _failing(now: Figures) -> float:
    return sum(each > 0 for each in now.by("receiver_failing_seconds", "receiver").values())


@_of_now
def _oldest(now: Figures) -> float:
    return round(max(now.by("outbox_oldest_seconds", "receiver").values(), default=0.0))


@_of_now
def _memory(now: Figures) -> float | None:
    used = now.value("process_resident_memory_bytes")
    return None if used is None else round(used / 2**20)


STAGES: Final = (
    ShownStage(
        "Messages",
        (
            Figure("come in", "/s", _rate("messages_total"), _MESSAGES),
            *(
                Figure(name, "", _gauge("messages_total", status=status), _listed(status))
                for status, name in STATES.items()
            ),
            Figure("wait", "", _gauge("waiting_messages"), _MESSAGES),
        ),
    ),
    ShownStage(
        "Journal",
        (
            Figure("entries", "", _gauge("journal_entry"), _MESSAGES),
            Figure("not stored yet", "", _lag, _MESSAGES),
        ),
    ),
    ShownStage(
        "Window",
        (
            Figure("individuals", "", _gauge("individuals"), _INDIVIDUALS),
            Figure("statements said", "", _gauge("statements", kind="asserted"), _INDIVIDUALS),
            Figure("inferred", "", _gauge("statements", kind="inferred"), _INDIVIDUALS),
            Figure("of the ontology", "", _of_ontology, _ONTOLOGY),
            Figure("have left", "/s", _rate("departures_total"), _INDIVIDUALS),
        ),
    ),
    ShownStage(
        "Reasoner",
        (
            Figure("largest island", "", _gauge("reasoner_largest_island"), _ONTOLOGY),
            Figure("answers remembered", "", _gauge("reasoner_memo_total", result="hit"), _RULES),
            Figure("asked", "", _gauge("reasoner_memo_total", result="miss"), _RULES),
            Figure("replaced by plain", "", _gauge("reasoner_degraded"), _SETTINGS, _some),
        ),
    ),
    ShownStage(
        "Alerts",
        (
            Figure("raised", "", _gauge("alerts_total"), _ALERTS),
            Figure("raised", "/s", _rate("alerts_total"), _ALERTS),
        ),
    ),
    ShownStage(
        "Receivers",
        (
            Figure("deliveries wait", "", _outbox, _RECEIVERS),
            Figure("the oldest waits", " s", _oldest, _RECEIVERS),
            Figure("fail", "", _failing, _RECEIVERS, _some),
        ),
    ),
    ShownStage(
        "Spark",
        (
            Figure("pipelines run", "", _gauge("pipeline_running"), _SETTINGS),
            Figure("entries wait", "", _gauge("pipeline_waiting_entries"), _SETTINGS),
            Figure("keys", "", _gauge("pipeline_keys"), _SETTINGS),
        ),
    ),
    ShownStage(
        "Server",
        (Figure("memory", " MiB", _memory, page_addresses.twin("/metrics")),),
    ),
)


def text(value: float | None, unit: str) -> str:
    """A value as a page shows it."""
    if value is None:
        return _UNKNOWN
    if value == int(value) and unit != "/s":
        return f"{int(value):,}{unit}"
    return f"{value:,.{1 if value >= 10 else 2}f}{unit}"


async def build(visit: Visit) -> None:
    """Build the stages with their figures, and the states beside them."""
    watch = visit.watch
    shown: list[tuple[ui.label, Figure, ui.element]] = []
    with ui.element("div").classes("way"):
        for at, stage in enumerate(STAGES):
            if at and stage.name not in _BESIDE:
                ui.label("→").classes("arrow").props("aria-hidden=true")
            with ui.element("section").classes("stage") as card:
                heading(stage.name)
                for figure in stage.figures:
                    with link("", figure.leads).classes("figure"):
                        ui.label(figure.name)
                        shown.append((ui.label(_UNKNOWN).classes("value"), figure, card))
    facts = FactList(_LEADS)
    with ui.element("div").classes("charts"):
        messages = LineChart("Messages a second", {"type": "value", "min": -300, "max": 0})
        phases = Bars("Time a message, ms", list(_PHASES.values()))
    spark = ui.label()

    async def tell() -> None:
        warned: dict[ui.element, bool] = {}
        for label, figure, card in shown:
            value = figure.value(watch)
            label.set_text(text(value, figure.unit))
            warns = value is not None and figure.warns(value)
            warned[card] = warned.get(card, False) or warns
        for card, is_warned in warned.items():
            card.classes(add="warned" if is_warned else "", remove="" if is_warned else "warned")
        rates = watch.rates("messages_total")
        messages.draw({"": rates})
        phases.draw([_phase(watch, phase) for phase in _PHASES])
        is_away = watch.now is not None and watch.now.value("pipeline_running") is None
        spark.set_text(_NO_SPARK if is_away else "")

    async def read() -> None:
        held = await visit.client.window(1)
        opened = await visit.client.alerts_in("open", _MOST_ALERTS)
        facts.show(states(held, len(opened), watch))

    keep_fresh(1.0, tell)
    keep_fresh(_PAUSE, read)


def states(held: Mapping[str, Any], opened: int, watch: Watch) -> dict[str, str]:
    """The states that are no number of a stage: window, alerts, reasoner."""
    profiles = {} if watch.now is None else watch.now.by("reasoner_info", "profile")
    size = f"the last {held['size']} {held['unit']}" if held["size"] else held["kind"]
    oldest = "".join(f", the oldest of {each['entered']}" for each in held["individuals"][:1])
    now = "" if held["now"] is None else f"; now is {held['now']}"
    more = " or more" if opened == _MOST_ALERTS else ""
    return {
        "Window": f"{held['kind']}, {size}: {held['total']} individuals{oldest}{now}",
        "Open alerts": f"{opened}{more}",
        "Reasoner": ", ".join(profiles),
    }
