"""Windows on streams without a known source."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sensorstream.analysis.note import AnyParsed, Known, Note
from sensorstream.model.similar import shortened, similar
from sensorstream.sparql.algebra import Query


def notes(parsed: AnyParsed, known: Known) -> Iterator[Note]:
    """``silent-stream``: the stream that a window reads is not one of the known streams."""
    query = parsed.meaning
    if known.streams is None or not isinstance(query, Query):
        return
    written = partial(shortened, prefixes=parsed.prefixes)
    for window in query.dataset.windows:
        stream = window.stream
        if stream is None or stream in known.streams:
            continue
        guess = similar(stream, known.streams, written)
        hint = "" if guess is None else f": did you mean {guess}?"
        yield Note(
            "silent-stream",
            f"the window {written(window.name)} stays empty unless events arrive on the stream "
            f"{written(stream)}, which has no known source{hint}",
            parsed.position(stream),
        )
