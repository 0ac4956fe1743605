"""The ``[window]`` settings: what they define, what they refuse, and how it is shown."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from sensorstream.app.control.engine_settings import window_partition, window_spec
from sensorstream.app.control.wiring import read_deployment
from sensorstream.app.questions.individuals import view_window
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.engine.engine import Engine
from sensorstream.errors import SettingsError
from sensorstream.installation import bundled
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WindowSettings,
)
from sensorstream.window.window_spec import (
    Elements,
    WindowMove,
    WindowPartitioning,
    WindowSpec,
    WindowUnitKind,
)
from tests.engine import feeding

NAME = "http://sensorstream.example/tracking#hasName"
COMBINATIONS = [
    (kind.value, unit, elements)
    for kind in WindowMove
    for unit, elements in [
        ("individuals", ""),
        ("triples", ""),
        ("time", "individuals"),
        ("time", "triples"),
    ]
]


def engine_of(settings: Settings) -> Engine:
    ticks = itertools.count()
    return feeding.machine_of(read_deployment(settings), lambda: float(next(ticks))).engine


def deployment(window: WindowSettings) -> Settings:
    return Settings(
        path=Path("sensorstream.toml").absolute(),
        ontology=OntologySettings(files=(bundled("ontologies") / "tracking.ttl",)),
        rules=RuleSettings(files=(bundled("mapping_rules") / "tracking.rules",)),
        window=window,
        reasoning=ReasoningSettings(profile="plain"),
    )


def test_the_defaults_are_a_thousand_individuals_one_by_one() -> None:
    spec = window_spec(WindowSettings(), Timeline.INTEGER)
    assert spec == WindowSpec(WindowMove.SLIDING, WindowUnitKind.INDIVIDUALS, 1000, 1)


def test_lengths_and_start_of_a_window_by_time_are_on_the_time_line() -> None:
    settings = WindowSettings(
        unit="time", elements="triples", size="PT1H", step="PT2H", start="2014-08-01T00:00:00Z"
    )
    hour = Timeline.DATETIME.duration("PT1H")
    start = Timeline.DATETIME.instant("2014-08-01T00:00:00Z")
    assert window_spec(settings, Timeline.DATETIME) == WindowSpec(
        WindowMove.SLIDING, WindowUnitKind.TIME, hour, 2 * hour, start, Elements.TRIPLES
    )


def test_a_landmark_window_needs_no_size() -> None:
    spec = window_spec(WindowSettings(kind="landmark", unit="triples", start="3"), Timeline.INTEGER)
    assert spec == WindowSpec(WindowMove.LANDMARK, WindowUnitKind.TRIPLES, start=3)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (WindowSettings(size="0"), "window.size: '0' is not a length"),
        (WindowSettings(unit="time", size="PT1H"), "window.size: 'PT1H' is not a length"),
        (WindowSettings(step="x"), "window.step: 'x' is not a length"),
        (WindowSettings(kind="tumbling", step="5"), "window.step: a tumbling window has no step"),
        (WindowSettings(kind="landmark", step="5"), "window.step: a landmark window has no step"),
        (WindowSettings(start="5"), "window.start: a sliding window by count begins with"),
        (WindowSettings(unit="time", start="noon"), "window.start: 'noon'"),
        (WindowSettings(elements="nodes"), "window.elements: expected one of individuals, triples"),
        (
            WindowSettings(elements="triples"),
            "window.elements: the elements of a window that counts individuals",
        ),
    ],
)
def test_what_makes_no_window_is_refused(settings: WindowSettings, expected: str) -> None:
    with pytest.raises(SettingsError) as caught:
        window_spec(settings, Timeline.INTEGER)
    assert expected in str(caught.value)


def test_a_window_is_split_by_source_or_by_a_property_of_the_ontology() -> None:
    schema = Schema(object_properties=frozenset({IRI("http://e/room")}))
    assert window_partition(WindowSettings(), schema) is None
    assert window_partition(WindowSettings(partition="source"), schema) == WindowPartitioning()
    by_room = WindowSettings(partition="http://e/room")
    assert window_partition(by_room, schema) == WindowPartitioning(IRI("http://e/room"))
    with pytest.raises(SettingsError, match="expected source, or the IRI of a property"):
        window_partition(WindowSettings(partition="http://e/rooom"), schema)


@pytest.mark.parametrize("partition", ["", "source", NAME])
@pytest.mark.parametrize(("kind", "unit", "elements"), COMBINATIONS)
def test_the_engine_runs_with_every_window_and_the_view_agrees_with_its_graph(
    kind: str, unit: str, elements: str, partition: str
) -> None:
    window = WindowSettings(kind=kind, unit=unit, elements=elements, size="12", partition=partition)
    engine = engine_of(deployment(window))
    try:
        for number, content in enumerate(tracker_messages(40, people=5), 1):
            message = Message(f"m{number}", content, number, f"camera {number % 2}")
            feeding.process(engine, message)
            view = view_window(engine, window, 100)
            assert view.statements == sum(each.statements for each in view.individuals)
            assert view.total == len(view.individuals)
    finally:
        engine.close()
    assert (view.kind, view.unit, view.partition) == (kind, unit, partition)
    assert view.elements == (elements or unit)
    assert view.size == ("" if kind == "landmark" else "12")
    assert view.total or view.pending, "one of them, where a tumbling window is never full"
