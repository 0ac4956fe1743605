"""What holds now, with the graph of each statement and since when, for a query over history too."""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.engine.engine import Engine
from sensorstream.history.asking.relations import FOREVER, LiveStay, Present, Standing
from sensorstream.journal.records import number_of_message
from sensorstream.kb.graph import Origin


def present(engine: Engine) -> Present:
    """The statements of the knowledge base; the engine must not change meanwhile.

    A statement that is in several graphs comes once for each. O(knowledge base).
    """
    stays = [
        LiveStay(each.stay, each.name, each.entered, each.time, _number(each.message))
        for each in engine.window
    ]
    return Present(list(_standing(engine)), stays)


def _standing(engine: Engine) -> Iterator[Standing]:
    for one in engine.window:
        for triple, said in one.statements.items():
            yield Standing(triple, int(Origin.WINDOW), said.time, one.stay, _number(said.message))
    for triple, begun in engine.inferences.begun().items():
        cause = begun.provenance
        yield Standing(triple, int(Origin.INFERRED), cause.time, begun.stay, _number(cause.message))
    for origin in (Origin.STATIC, Origin.STATIC_INFERRED):
        for triple in engine.kb.triples(origin):
            yield Standing(triple, int(origin), FOREVER)


def _number(message: str) -> int:
    return number_of_message(message) if message else 0
