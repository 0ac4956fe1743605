"""All notes on a query or an update; each kind has its module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final

from sensorstream.analysis import filters, names, patterns_in_time
from sensorstream.analysis.note import AnyParsed, Note, QueryContext

_KINDS: Final[tuple[Callable[[AnyParsed, QueryContext], Iterator[Note]], ...]] = (
    names.undeclared_notes,
    filters.notes,
    names.stream_notes,
    names.graph_notes,
    patterns_in_time.notes,
    patterns_in_time.feeding_notes,
)
_place = attrgetter("position.line", "position.column")


def query_notes(parsed: AnyParsed, known: QueryContext) -> tuple[Note, ...]:
    """The notes on a query or an update, in the order of its text."""
    found = {note: None for kind in _KINDS for note in kind(parsed, known)}
    return tuple(sorted(found, key=_place))
