"""What an individual of six statements takes in the knowledge base's window, in bytes."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Iterator
from typing import Final

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Event
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.window.window import Window, make_window
from sensorstream.window.window_spec import WindowMove, WindowSpec, WindowUnitKind

COUNT: Final = 3000
_NAMESPACE: Final = "http://example.org/tracking#"
_HUMAN: Final = IRI(f"{_NAMESPACE}Human")
_PROPERTIES: Final = tuple(
    (IRI(f"{_NAMESPACE}{name}"), datatype)
    for name, datatype in (
        ("hasTime", xsd.INTEGER),
        ("hasXLocation", xsd.INTEGER),
        ("hasYLocation", xsd.INTEGER),
        ("hasCertainty", xsd.INTEGER),
        ("hasName", xsd.STRING),
    )
)


def events(count: int) -> Iterator[Event]:
    """A person each: class, time, place, certainty, name; terms are made anew, as by a mapping."""
    for number in range(1, count + 1):
        name = IRI(f"{_NAMESPACE}human-{number}")
        values = (number, number * 37 % 640, number * 53 % 480, 40 + number % 60, number)
        triples: list[Triple] = [(name, rdf.TYPE, _HUMAN)]
        for (property, datatype), value in zip(_PROPERTIES, values, strict=True):
            triples.append((name, property, Literal(str(value), datatype)))
        yield Event(tuple(triples), number, f"m{number}")


def bytes_each(count: int = COUNT) -> dict[str, float]:
    """Bytes an individual: with all it has, and without its terms and triples."""
    gc.collect()
    tracemalloc.start()
    made = list(events(count))
    gc.collect()
    terms = tracemalloc.get_traced_memory()[0]
    window, kb = _empty(count)
    for event in made:
        _take(event, window, kb)
    made.clear()
    gc.collect()
    whole = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    if len(window) != count or len(kb) != 6 * count:
        raise RuntimeError(f"{len(window)} individuals of {len(kb)} statements")
    return {"in all": whole / count, "of that, terms and triples": terms / count}


def rate(count: int = 4 * COUNT) -> float:
    """Individuals a second of CPU time through a full window: one comes, one leaves."""
    window, kb = _empty(COUNT)
    made = list(events(count + COUNT))
    for event in made[:COUNT]:
        _take(event, window, kb)
    begun = time.process_time()
    for event in made[COUNT:]:
        _take(event, window, kb)
    return count / (time.process_time() - begun)


def _empty(size: int) -> tuple[Window, KnowledgeBase]:
    return make_window(
        WindowSpec(WindowMove.SLIDING, WindowUnitKind.INDIVIDUALS, size)
    ), KnowledgeBase()


def _take(event: Event, window: Window, kb: KnowledgeBase) -> None:
    kb.apply(Origin.WINDOW, window.insert(event).delta)


if __name__ == "__main__":
    for what, size in bytes_each().items():
        print(f"{what}: {size:,.0f} bytes")
    print(f"{rate():,.0f} individuals/s")
