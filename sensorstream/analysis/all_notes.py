"""The notes of all kinds on a query or an update; each kind has its module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final

from sensorstream.analysis import filter_notes, name_notes, pattern_notes
from sensorstream.analysis.note import AnyParsed, Note, QueryContext

_KINDS: Final[tuple[Callable[[AnyParsed, QueryContext], Iterator[Note]], ...]] = (
    name_notes.undeclared_notes,
    filter_notes.notes,
    name_notes.stream_notes,
    name_notes.graph_notes,
    pattern_notes.notes,
    pattern_notes.feeding_notes,
)
_place = attrgetter("position.line", "position.column")


def query_notes(parsed: AnyParsed, known: QueryContext) -> tuple[Note, ...]:
    """The notes on a query or an update, in the order of its text."""
    found = {note: None for kind in _KINDS for note in kind(parsed, known)}
    return tuple(sorted(found, key=_place))
