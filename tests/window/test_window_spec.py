"""What a definition of a window may say, and what it means."""

from __future__ import annotations

import pytest

from sensorstream.errors import SettingsError
from sensorstream.window.window_spec import Elements, WindowMove, WindowSpec, WindowUnitKind

SLIDING, LANDMARK = WindowMove.SLIDING, WindowMove.LANDMARK
TIME, TRIPLES = WindowUnitKind.TIME, WindowUnitKind.TRIPLES
INDIVIDUALS = WindowUnitKind.INDIVIDUALS


def test_a_physical_window_is_made_of_what_it_counts() -> None:
    assert WindowSpec(SLIDING, TRIPLES, 5).elements is Elements.TRIPLES
    assert WindowSpec(SLIDING, INDIVIDUALS, 5).elements is Elements.INDIVIDUALS


def test_only_a_sliding_window_chooses_its_step() -> None:
    assert [WindowSpec(kind, WindowUnitKind.TIME, 5, 3).step for kind in WindowMove] == [3, 5, 1, 1]


@pytest.mark.parametrize(
    ("kind", "unit", "size", "step", "start", "expected"),
    [
        (SLIDING, TIME, 0, 1, None, "window.size: expected at least 1, not 0"),
        (SLIDING, TIME, 5, 0, None, "window.step: expected at least 1, not 0"),
        (SLIDING, TRIPLES, 5, 1, 7, "window.start: a sliding window by count"),
        (LANDMARK, TRIPLES, 0, 1, 0, "window.start: expected the number"),
    ],
)
def test_a_definition_without_sense_is_refused(
    kind: WindowMove, unit: WindowUnitKind, size: int, step: int, start: int | None, expected: str
) -> None:
    with pytest.raises(SettingsError, match=expected):
        WindowSpec(kind, unit, size, step, start)


@pytest.mark.parametrize(
    ("now", "kept"),
    # eq. (11): from t0 until it is full, then since the last multiple of w after t0, which
    # still belongs to the window that ends there.
    [(3, 3), (7, 3), (13, 3), (14, 13), (23, 13), (24, 23)],
)
def test_a_filling_window_keeps_what_equation_11_says(now: int, kept: int) -> None:
    spec = WindowSpec(WindowMove.FILLING, WindowUnitKind.TIME, 10, start=3)
    assert spec.lower_bound(spec.boundary(now)) == kept


@pytest.mark.parametrize(
    ("now", "computed", "kept"),
    # eq. (3): at t0, t0 + d …, from t0 at first and from now - w later.
    [(3, 3, 3), (7, 3, 3), (8, 8, 3), (13, 13, 3), (17, 13, 3), (18, 18, 8)],
)
def test_a_sliding_window_keeps_what_equation_3_says(now: int, computed: int, kept: int) -> None:
    spec = WindowSpec(WindowMove.SLIDING, WindowUnitKind.TIME, 10, 5, start=3)
    assert spec.boundary(now) == computed
    assert spec.lower_bound(computed) == kept
