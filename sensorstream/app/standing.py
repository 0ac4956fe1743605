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
    for individual in engine.window:
        for triple, said in individual.statements.items():
            yield triple, int(Origin.WINDOW), said.time
    for triple, begun in engine.inferences.begun().items():
        yield triple, int(Origin.INFERRED), begun.provenance.time
    for origin in (Origin.STATIC, Origin.STATIC_INFERRED):
        for triple in engine.kb.triples(origin):
            yield triple, int(origin), FOREVER
