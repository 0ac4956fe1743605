"""A window in a checkpoint: any kind comes back whole, and so does one of an older release."""

from __future__ import annotations

import json
import zlib

import pytest

from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import EngineState
from sensorstream.engine.notices import Notices
from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.rules.memory import RuleMemory
from sensorstream.window.spec import Elements, Kind, Partition, Unit, WindowSpec
from sensorstream.window.window import make_window

P = IRI("http://e/p")
A, B, NODE = IRI("http://e/a"), IRI("http://e/b"), BlankNode("_:n")


@pytest.mark.parametrize("partition", [None, Partition(), Partition(P)])
@pytest.mark.parametrize("unit", list(Unit))
def test_a_window_comes_back_as_it_was(unit: Unit, partition: Partition | None) -> None:
    spec = WindowSpec(Kind.SLIDING, unit, 10, 2, elements=Elements.TRIPLES)
    window = make_window(spec, partition)
    window.insert(Event(((A, P, NODE), (NODE, P, Literal("x")), (B, P, A)), 3, "m1", source="s"))
    window.insert(Event(((B, P, Literal("ü")),), 4, "m2", frozenset({(B, P)}), source="t"))
    window.insert(Event(((IRI("http://e/c"), P, A),), 5, "m3", source="s"))
    state = window.state()
    assert window.pending
    assert load(dump(EngineState(state, RuleMemory(), Notices()))).window == state


def test_a_checkpoint_of_the_first_version_still_loads() -> None:
    data = {
        "version": 1,
        "counters": {"now": 8, "boundary": 5, "entered": 2, "arrivals": 4, "stays": 2},
        "individuals": [
            [
                *("http://e/a", 1, 3, 4, 3, "m2"),
                [["http://e/a", P, "_:n", "m1", 3], ["_:n", P, '"x"', "m1", 3]],
            ],
        ],
        "pending": [[[["http://e/b", P, '"y"']], 8, "m3", [["http://e/b", P]]]],
        "memory": {"quiet": [], "ticks": {}},
        "notices": {},
    }
    data["individuals"] = json.loads(
        json.dumps(data["individuals"]).replace('"http://e/a"', '"<http://e/a>"')
    )
    data["pending"] = json.loads(
        json.dumps(data["pending"]).replace('"http://e/b"', '"<http://e/b>"')
    )
    state = load(zlib.compress(json.dumps(data).encode())).window
    window = make_window(WindowSpec(Kind.SLIDING, Unit.TIME, 5, 5))
    window.restore(state)
    assert (window.now, window.pending, window.owner(NODE)) == (8, 1, A)
    change = window.insert(Event(((B, P, Literal("z")),), 10, "m4"))
    assert [gone.name for gone in change.departures] == [A]
    assert set(change.delta.added) == {(B, P, Literal("y")), (B, P, Literal("z"))}
    assert change.departures[0].stay == 1
