"""``when`` in an engine whose rules are exchanged."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sensorstream.app.control.wiring import Deployment
from sensorstream.engine.engine import Engine
from sensorstream.model.events import Message
from sensorstream.settings.settings import WindowSettings
from tests.engine import feeding
from tests.engine.sensors import MAPPING, ONTOLOGY

HOT = """
rule hot
when select { SELECT ?s { ?s :value ?v FILTER(?v > 30) } } becomes true for "10"
then alert warning "{?s}" key "{?s}"
"""
RULES = MAPPING + HOT


@pytest.mark.parametrize(
    ("change", "due", "fires"),
    [
        (('warning "{?s}"', 'critical "hot: {?s}"'), 11, ["hot: http://example.org/a"]),
        (('for "10"', 'for "5"'), None, []),
        (("?v > 30", "?v > 29"), None, []),
        (("rule hot", "rule warm"), None, []),
    ],
)
def test_what_has_begun_goes_on_while_the_trigger_stays_the_same(
    deploy: Callable[..., Deployment],
    start: Callable[[Deployment], Engine],
    change: tuple[str, str],
    due: int | None,
    fires: list[str],
) -> None:
    engine = start(deploy(ONTOLOGY, RULES, window=WindowSettings(size="5")))
    assert send(engine, "a", 1, 31) == []
    assert engine.dues.waits.moved == 11
    engine.adopt_rules(deploy(ONTOLOGY, RULES.replace(*change)).rules)
    assert engine.dues.waits.moved == due
    # Else what holds already begins anew with this message.
    assert send(engine, "b", 12, 5) == fires
    assert send(engine, "b", 23, 6) == ([] if fires else ["http://example.org/a"])


def send(engine: Engine, name: str, time: int, value: int) -> list[str]:
    content = f"<m id='{name}' t='{time}' v='{value}'/>".encode()
    outcome = feeding.process(engine, Message(f"m{time}", content, time, "a"))
    return [alert.text for alert in outcome.alerts]
