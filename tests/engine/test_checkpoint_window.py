"""A window in a checkpoint: any kind comes back whole."""

from __future__ import annotations

import pytest

from sensorstream.engine import checkpoint
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import EngineState
from sensorstream.engine.notices import Notices
from sensorstream.errors import DamagedCheckpoint
from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.rules.rule_memory import RuleMemory
from sensorstream.window.window import make_window
from sensorstream.window.window_spec import (
    Elements,
    WindowMove,
    WindowPartitioning,
    WindowSpec,
    WindowUnitKind,
)

P = IRI("http://e/p")
A, B, NODE = IRI("http://e/a"), IRI("http://e/b"), BlankNode("_:n")


@pytest.mark.parametrize("partition", [None, WindowPartitioning(), WindowPartitioning(P)])
@pytest.mark.parametrize("unit", list(WindowUnitKind))
def test_a_window_comes_back_as_it_was(
    unit: WindowUnitKind, partition: WindowPartitioning | None
) -> None:
    spec = WindowSpec(WindowMove.SLIDING, unit, 10, 2, elements=Elements.TRIPLES)
    window = make_window(spec, partition)
    window.insert(Event(((A, P, NODE), (NODE, P, Literal("x")), (B, P, A)), 3, "m1", source="s"))
    window.insert(Event(((B, P, Literal("ü")),), 4, "m2", frozenset({(B, P)}), source="t"))
    window.insert(Event(((IRI("http://e/c"), P, A),), 5, "m3", source="s"))
    state = window.state()
    assert window.pending
    assert load(dump(EngineState(state, RuleMemory(), Notices()))).window == state


def test_a_checkpoint_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    window = make_window(WindowSpec(WindowMove.SLIDING, WindowUnitKind.TIME, 5, 5)).state()
    there = dump(EngineState(window, RuleMemory(), Notices()))
    monkeypatch.setattr(checkpoint, "_VERSION", 2)
    with pytest.raises(DamagedCheckpoint, match="has version 1, expected 2"):
        load(there)
