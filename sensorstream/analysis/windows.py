"""Windows on streams that nobody sends."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sensorstream.analysis.note import AnyParsed, Known, Note
from sensorstream.model.similar import shortened, similar
from sensorstream.sparql.algebra import Query


def notes(parsed: AnyParsed, known: Known) -> Iterator[Note]:
    """``silent-stream``: none of the known streams is the one that a window reads."""
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
            f"the window {written(window.name)} stays empty unless something comes on the stream "
            f"{written(stream)}, and no source that is known sends it{hint}",
            parsed.position(stream),
        )
