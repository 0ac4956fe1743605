"""What holds now, with the graph of each statement and since when, for a query over history too."""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.engine.engine import Engine
from sensorstream.history.asking.live import FOREVER, Standing
from sensorstream.kb.graph import Origin


def standing(engine: Engine) -> Iterator[Standing]:
    """The statements of the knowledge base; the engine must not change meanwhile.

    A statement that is in several graphs comes once for each. O(knowledge base).
    """
    kb, window = engine.kb, engine.window
    for individual in window:
        for triple, said in individual.statements.items():
            yield triple, int(Origin.WINDOW), said.time
    for triple in kb.triples(Origin.INFERRED):
        one = window.get(window.owner(triple[0]))
        yield triple, int(Origin.INFERRED), FOREVER if one is None else one.time
    for origin in (Origin.STATIC, Origin.STATIC_INFERRED):
        for triple in kb.triples(origin):
            yield triple, int(origin), FOREVER
