"""docs/use/windows.md: its settings make windows, and its table is what they hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sensorstream.app.control.engine_settings import window_spec
from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import WindowSettings
from sensorstream.settings.settings_file import load_settings
from sensorstream.window.window import make_window

TEXT = (Path(__file__).parents[2] / "docs" / "use" / "windows.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (sliding|tumbling|filling|landmark) \| (.*?) \| (.*) \|$", TEXT, re.M)
TIMES = {"a": 1, "b": 2, "c": 4, "d": 5, "e": 9, "f": 10}


def held(settings: WindowSettings) -> list[str]:
    """What the window holds after each message; waiting ones in brackets."""
    window = make_window(window_spec(settings, Timeline.INTEGER))
    cells = []
    for name, time in TIMES.items():
        said = (IRI(f"http://e/{name}"), IRI("http://e/p"), Literal("x"))
        window.insert(Event((said,), time, name))
        inside = sorted(str(each.name)[-1] for each in window)
        waiting = [event.message for pane in window.state().panes for event in pane.pending]
        cells.append(" ".join([*inside, *(f"({each})" for each in waiting)]))
    return cells


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_the_table_shows_what_the_windows_hold(row: tuple[str, str, str]) -> None:
    kind, words, cells = row
    given = dict(word.split(" ") for word in words.split(", "))
    window = WindowSettings(
        kind=kind,
        unit=given["unit"],
        size=given.get("size", ""),
        step=given.get("step", ""),
        start=given.get("start", ""),
    )
    assert [cell.strip() for cell in cells.split("|")] == held(window)


def test_the_table_has_every_kind() -> None:
    assert {kind for kind, _, _ in ROWS} == {"sliding", "tumbling", "filling", "landmark"}


@pytest.mark.parametrize("example", re.findall(r"```toml\n(.*?)```", TEXT, re.S))
def test_the_examples_are_settings(example: str, tmp_path: Path) -> None:
    file = tmp_path / "sensorstream.toml"
    file.write_text(example, encoding="utf-8")
    settings = load_settings(file, {})
    assert window_spec(settings.window, settings.time.timeline)
