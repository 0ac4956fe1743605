"""The overview: the data's way through the server, with rates on it, and what needs attention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from nicegui import ui

from sensorstream.console import page_addresses
from sensorstream.console.alerts_page import alert_columns, rule_places
from sensorstream.console.drawings import Bars, LineChart
from sensorstream.console.elements import (
    ShownTable,
    heading,
    keep_fresh,
    link,
    show,
)
from sensorstream.console.messages_page import KEPT, STATES
from sensorstream.console.page_visits import Figures, Visit, Watch
from sensorstream.console.shown_values import UNKNOWN, Piece, number
from sensorstream.model.frozen import frozen

_Value: TypeAlias = Callable[[Watch], float | None]
_MESSAGES: Final = page_addresses.address(page_addresses.MESSAGES.path)
_INDIVIDUALS: Final = page_addresses.address(page_addresses.INDIVIDUALS.path)
_ONTOLOGY: Final = page_addresses.address(page_addresses.ONTOLOGY.path)
_RULES: Final = page_addresses.address(page_addresses.RULES.path)
_QUERIES: Final = page_addresses.address(page_addresses.QUERIES.path)
_ASK: Final = page_addresses.address(page_addresses.ASK.path)
_ALERTS: Final = page_addresses.address(page_addresses.ALERTS.path)
_RAISED: Final = page_addresses.address(page_addresses.ALERTS.path, state="raised")
_RECEIVERS: Final = page_addresses.address("/receivers")
_SETTINGS: Final = page_addresses.address(page_addresses.SETTINGS.path)
_METRICS: Final = page_addresses.twin("/metrics")
_PAUSE: Final = 5.0
_MOST_ALERTS: Final = 200
_SHOWN_ALERTS: Final = 5
_PHASES: Final = {
    "t_m": "mapping rules",
    "t_w": "window",
    "t_i": "reasoning",
    "t_s": "semantic rules",
}
_LEVELS: Final = ("", "good", "warned", "bad")
"""The states of a stage, from unknown to the worst, as classes of the style sheet."""


def _above(limit: float, level: str = "warned") -> Callable[[float], str]:
    """The level of values above a limit."""
    return lambda value: level if value > limit else ""


@frozen
class Figure:
    """A number of a stage: its name, unit, and how it is found."""

    name: str
    unit: str
    value: _Value
    leads: str
    """The address of the page that shows more."""
    level: Callable[[float], str] = lambda _: ""
    """``warned`` or ``bad`` for a value that needs somebody's attention."""
    is_rare: bool = False
    """Whether it is shown only if it is not zero."""


@frozen
class ShownStage:
    """A part of the way; the first figure is the large one."""

    name: str
    icon: str
    figures: tuple[Figure, ...]
    flow: _Value | None = None
    """What comes into it a second."""
    is_below: bool = False
    """Whether it stands below the way, and receives from the stage above it."""
    is_rare: bool = False
    """Whether it is shown only if the server knows its first figure."""


def _of_now(value: Callable[[Figures], float | None]) -> _Value:
    """A value of the latest reading; None while there is none."""
    return lambda watch: None if watch.now is None else value(watch.now)


def _gauge(name: str, **labels: str) -> _Value:
    return _of_now(lambda now: now.value(name, **labels))


def _asked(name: str) -> _Value:
    return lambda watch: watch.asked.get(name)


def _total(name: str) -> _Value:
    return _of_now(lambda now: now.total(name))


def _rate(name: str) -> _Value:
    return lambda watch: watch.rate(name)


def _lately(name: str, *of: Mapping[str, str]) -> _Value:
    """The growth of counters in the minutes for which readings are kept."""

    def value(watch: Watch) -> float | None:
        if watch.now is None:
            return None
        first = watch.readings[0]
        grown = (
            (watch.now.value(name, **labels) or 0) - (first.value(name, **labels) or 0)
            for labels in of
        )
        return max(sum(grown) if of else watch.now.total(name) - first.total(name), 0.0)

    return value


def _phase(phase: str) -> _Value:
    """The mean seconds that a phase takes for a message."""
    return lambda watch: watch.mean("phase_seconds", phase=phase)


def _status(status: str, *, is_rare: bool = True) -> Figure:
    page = page_addresses.QUARANTINE if status in KEPT else page_addresses.MESSAGES
    value = _gauge("messages_total", status=status)
    leads = page_addresses.address(page.path, status=status)
    return Figure(STATES[status], "", value, leads, is_rare=is_rare)


def _count(name: str, label: str, counts: Callable[[float], bool]) -> _Value:
    """The number of samples of a metric that count."""
    return _of_now(lambda now: sum(map(counts, now.by(name, label).values())))


def _oldest(now: Figures) -> float:
    return max(now.by("outbox_oldest_seconds", "receiver").values(), default=0.0)


def _of_ontology(now: Figures) -> float | None:
    sizes = now.by("statements", "kind")
    return sizes["static"] + sizes["static_inferred"] if sizes else None


def _lag(now: Figures) -> float | None:
    last, stored = now.value("journal_entry"), now.value("stored_entry")
    return None if last is None or stored is None else last - stored


def _away(now: Watch) -> float | None:
    """1 while entries wait for a pipeline that does not run."""
    runs, waiting = (_gauge(f"pipeline_{name}")(now) for name in ("running", "waiting_entries"))
    return None if runs is None else float(not runs and bool(waiting))


def _batch(phase: str) -> _Value:
    """The seconds of the last batch on Spark in a phase."""
    return _gauge("pipeline_batch_seconds", phase=phase)


_failing: Final = _count("receiver_failing_seconds", "receiver", lambda seconds: seconds > 0)
_apart: Final = _count("input_connected", "input", lambda connected: not connected)
_SOME: Final = _above(0)
_BAD: Final = _above(0, "bad")
_HOT: Final = _above(1.49)
_LOST: Final = ({"status": "unmatched"}, {"status": "rejected"}, {"status": "skipped"})
_QUARANTINE: Final = page_addresses.address(page_addresses.QUARANTINE.path)
STAGES: Final = (
    ShownStage(
        "Sources",
        "input",
        (
            Figure("messages", "/s", _rate("messages_total"), _MESSAGES),
            _status("accepted", is_rare=False),
            Figure("wait", "", _gauge("waiting_messages"), _MESSAGES, _above(1000)),
            Figure("inputs not connected", "", _apart, _SETTINGS, _BAD, True),
        ),
    ),
    ShownStage(
        "Mapping",
        "transform",
        (
            Figure("per message", "s", _phase("t_m"), _RULES),
            _status("partial"),
            _status("held"),
            _status("late"),
        ),
        _rate("messages_total"),
    ),
    ShownStage(
        "Window",
        "select_all",
        (
            Figure("individuals", "", _gauge("individuals"), _INDIVIDUALS),
            Figure("statements said", "", _gauge("statements", kind="asserted"), _INDIVIDUALS),
            Figure("of the ontology", "", _of_now(_of_ontology), _ONTOLOGY),
        ),
    ),
    ShownStage(
        "Reasoning",
        "psychology",
        (
            Figure("statements inferred", "", _gauge("statements", kind="inferred"), _INDIVIDUALS),
            Figure("per message", "s", _phase("t_i"), _RULES),
            Figure("largest island", "", _gauge("reasoner_largest_island"), _ONTOLOGY),
            Figure("asked", "", _gauge("reasoner_memo_total", result="miss"), _RULES),
            Figure("remembered", "", _gauge("reasoner_memo_total", result="hit"), _RULES),
            Figure("replaced by plain", "", _gauge("reasoner_degraded"), _SETTINGS, _BAD, True),
        ),
    ),
    ShownStage(
        "Rules",
        "rule",
        (
            Figure("per message", "s", _phase("t_s"), _RULES),
            Figure("over their limits", "", _lately("overruns_total"), _QUERIES, _SOME, True),
        ),
    ),
    ShownStage(
        "Alerts",
        "notifications",
        (
            Figure("open", "", _asked("open"), _ALERTS),
            Figure("raised", "", _gauge("alerts_total"), _RAISED),
        ),
        _rate("alerts_total"),
    ),
    ShownStage(
        "Server",
        "dns",
        (
            Figure("memory", "B", _gauge("process_resident_memory_bytes"), _METRICS),
            Figure("connections", "", _gauge("http_connections"), _METRICS),
            Figure("questions run", "", _total("questions"), _ASK),
            Figure("jobs", "", _total("jobs"), _ASK),
        ),
        is_below=True,
    ),
    ShownStage(
        "Quarantine",
        "report",
        (
            Figure("lost lately", "", _lately("messages_total", *_LOST), _QUARANTINE, _SOME),
            *(_status(each, is_rare=False) for each in ("unmatched", "rejected")),
            _status("skipped"),
        ),
        is_below=True,
    ),
    ShownStage(
        "History",
        "history",
        (
            Figure("entries", "", _gauge("stored_entry"), _ASK),
            Figure("not stored yet", "", _of_now(_lag), _MESSAGES, _above(1000)),
        ),
        _rate("departures_total"),
        is_below=True,
    ),
    ShownStage(
        "Queries",
        "polyline",
        (
            Figure("continuous queries", "", _asked("queries"), _QUERIES),
            Figure("stopped", "", _asked("stopped"), _QUERIES, _BAD, True),
        ),
        is_below=True,
    ),
    ShownStage(
        "Spark",
        "hub",
        (
            Figure("entries wait", "", _gauge("pipeline_waiting_entries"), _MESSAGES),
            Figure("pipelines missing", "", _away, _METRICS, _BAD, True),
            Figure("last batch", "", _gauge("pipeline_batch_entries"), _METRICS),
            Figure("its time", "s", _batch("triggerExecution"), _METRICS),
            Figure("for the engines", "s", _batch("engines"), _METRICS),
            Figure("for the history", "s", _batch("store"), _METRICS),
            Figure("keys", "", _gauge("pipeline_keys"), _METRICS),
            Figure("state", "B", _gauge("pipeline_state_bytes"), _METRICS),
            Figure("busiest key by a fair one", "", _gauge("pipeline_key_skew"), _METRICS, _HOT),
        ),
        is_below=True,
        is_rare=True,
    ),
    ShownStage(
        "Receivers",
        "send",
        (
            Figure("deliveries wait", "", _total("outbox_deliveries"), _RECEIVERS),
            Figure("oldest waits", "s", _of_now(_oldest), _RECEIVERS, _above(60)),
            Figure("fail", "", _failing, _RECEIVERS, _BAD, True),
        ),
        is_below=True,
    ),
)
_LEVEL_OF: Final = {"critical": "bad", "warning": "warned"}
"""The levels that open alerts of a severity mean."""
_WORST: Final = (*_LEVEL_OF, "info")


class _Card:
    """A stage as it is drawn."""

    def __init__(self, stage: ShownStage) -> None:
        self._stage = stage
        self.level = ""
        with ui.element("section").classes("stage") as self._card:
            self._card.classes(f"at-{stage.name.lower()}" + (" below" if stage.is_below else ""))
            if stage.name not in ("Sources", "Server", "Spark"):
                with ui.element("span").classes("arrow").props("aria-hidden=true"):
                    self._flow = ui.label("")
            with ui.element("header"):
                ui.icon(stage.icon).props("aria-hidden=true")
                heading(stage.name)
            self._rows = [self._row(each) for each in stage.figures]
            self.caption = ui.label().classes("hint")

    def _row(self, figure: Figure) -> tuple[ui.element, ui.label]:
        with link("", figure.leads).classes("figure") as row:
            ui.label(figure.name)
            return row, ui.label(UNKNOWN).classes("value")

    def tell(self, watch: Watch, worst: str) -> list[Piece]:
        """Show the figures of now and the worst level of them and ``worst``; the worries."""
        worries = []
        if self._stage.flow is not None:
            rate = self._stage.flow(watch)
            self._flow.set_text("" if rate is None else number(rate, "/s"))
        level = worst or ("" if watch.now is None else "good")
        for figure, (row, label) in zip(self._stage.figures, self._rows, strict=True):
            value = figure.value(watch)
            text = number(value, figure.unit)
            label.set_text(text)
            row.set_visibility(bool(value) or not figure.is_rare)
            if value is not None and (found := figure.level(value)):
                said = f"{self._stage.name}: {figure.name} {text}"
                worries.append(Piece(said, address=figure.leads, look=f"chip {found}"))
                level = max(level, found, key=_LEVELS.index)
        unknown = self._stage.figures[0].value(watch) is None
        self._card.set_visibility(not (self._stage.is_rare and unknown))
        self._card.classes(add=level, remove=" ".join(set(_LEVELS) - {level}))
        self.level = level
        return worries


async def build(visit: Visit) -> None:
    """Build the stages with their figures, the open alerts, and charts of the last minutes."""
    watch = visit.watch
    state = ui.element("div").classes("health").props("role=status")
    with ui.element("div").classes("way"):
        cards = {stage.name: _Card(stage) for stage in STAGES}
    heading("Open alerts")
    files: dict[str, str] = {}
    columns = alert_columns("open", files)
    table = ShownTable(columns, "/alerts?state=open", "No alert is open.", key="id")
    with ui.element("div").classes("charts"):
        axis = {"type": "value", "min": -300, "max": 0, "name": "seconds", "nameLocation": "middle"}
        messages = LineChart("Messages a second", {**axis, "nameGap": 22}, zero=True)
        phases = Bars("Time a message, ms", list(_PHASES.values()))
    alerts: list[Piece] = []
    told: list[list[Piece]] = [[]]

    async def tell() -> None:
        worst = alerts[0].look.removeprefix("chip ") if alerts else ""
        pieces = [*alerts]
        for name, card in cards.items():
            pieces += card.tell(watch, worst if name == "Alerts" else "")
        if watch.fault is not None:
            pieces.append(Piece("The server does not answer", look="chip bad"))
        if not pieces:
            known = watch.now is not None
            pieces = [Piece("All is well", look="chip good") if known else Piece("Loading …")]
        pieces.sort(key=lambda piece: "bad" not in piece.look)
        if told[0] != pieces:
            told[0] = pieces
            state.clear()
            with state:
                show(pieces)
        rates = watch.rates("messages_total")
        messages.draw({"": rates})
        phases.draw([round(1000 * (_phase(each)(watch) or 0.0), 3) for each in _PHASES])

    async def read() -> None:
        if not files:
            files.update(await rule_places(visit))
        held = await visit.client.window(1)
        opened = await visit.client.alerts_in("open", _MOST_ALERTS)
        queries = await visit.client.queries()
        watch.asked["open"] = len(opened)
        cards["Alerts"].caption.set_text("or more" if len(opened) == _MOST_ALERTS else "")
        watch.asked["queries"] = len(queries)
        watch.asked["stopped"] = sum(each["state"] != "running" for each in queries)
        table.show(sorted(opened, key=lambda row: _WORST.index(row["severity"]))[:_SHOWN_ALERTS])
        cards["Window"].caption.set_text(extent(held))
        if watch.now is not None:
            profiles = watch.now.by("reasoner_info", "profile")
            cards["Reasoning"].caption.set_text(", ".join(profiles))
        alerts[:] = chips(Counter(each["severity"] for each in opened), len(opened))

    keep_fresh(1.0, tell)
    keep_fresh(_PAUSE, read)


def extent(held: Mapping[str, Any]) -> str:
    """The kind and size of the window, and its time."""
    size = f"the last {held['size']} {held['unit']}" if held["size"] else held["kind"]
    return size if held["now"] is None else f"{size}; now is {held['now']}"


def chips(counts: Mapping[str, int], number_of_all: int) -> Sequence[Piece]:
    """The numbers of open alerts that are warnings or worse, each with a link to them."""
    more = "" if number_of_all < _MOST_ALERTS else " or more"
    return [
        Piece(
            f"Alerts: {counts[name]}{more} {name}",
            address=page_addresses.address(page_addresses.ALERTS.path, severity=name),
            look=f"chip {level}",
        )
        for name, level in _LEVEL_OF.items()
        if counts.get(name)
    ]
