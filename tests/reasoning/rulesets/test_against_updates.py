"""Rules specialised to random schemas, against their text as SPARQL Update, under expiry."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import Triple
from sensorstream.reasoning.rulesets.rule_set import combined
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules, text_of
from tests.reasoning.rulesets.oracle import as_stored, closed
from tests.reasoning.rulesets.strategies import schemas, windows
from tests.reasoning.rulesets.world import World

COMBINATIONS: tuple[tuple[str, ...], ...] = (
    ("rdfs",),
    ("rhodf",),
    ("pdstar", "swclos2", "swclos2-unsatisfiable"),
    ("owl2rl", "owl2rl-unsatisfiable"),
)
SETS = {names: combined(map(bundled_rules, names)) for names in COMBINATIONS}
TEXTS = {names: "\n".join(map(text_of, names)) for names in COMBINATIONS}


@pytest.mark.parametrize("names", COMBINATIONS)
@settings(max_examples=4)
@given(data=st.data())
def test_what_follows_is_what_the_updates_say(names: tuple[str, ...], data: st.DataObject) -> None:
    static, changes = data.draw(schemas), data.draw(windows)
    world = World(SETS[names], static)
    assert as_stored(world.graph) == closed(TEXTS[names], static)
    window: set[Triple] = set()
    for change in changes:
        added = [each for each in change if each not in window]
        removed = [each for each in change if each in window]
        window = window.symmetric_difference(change)
        world.change(added, removed)
        assert as_stored(world.graph) == closed(TEXTS[names], static | window)
