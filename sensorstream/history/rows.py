"""The journal's messages, departed individuals and ended statements as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from sensorstream.history.copying import Row
from sensorstream.history.terms import number_of, rounded
from sensorstream.journal.records import Record, number_of_message
from sensorstream.model.events import Departure, Ended
from sensorstream.model.terms import Term

MESSAGE_COLUMNS: Final = (
    "seq",
    "kind",
    "id",
    "source",
    "received_at",
    "received",
    "content",
    "origin",
)
STAY_COLUMNS: Final = ("stay", "name", "entered", "time", "expired_at", "message", "class_set")
STATEMENT_COLUMNS: Final = (
    "subject",
    "predicate",
    "object",
    "valid_from",
    "valid_to",
    "stay",
    "message",
    "number",
    "inferred",
)


def message_rows(records: Iterable[Record]) -> Iterator[Row]:
    """Rows of ``store.messages``, still without status."""
    for record in records:
        message = record.message
        yield (
            record.seq,
            record.kind,
            message.id,
            message.source,
            record.received_at,
            message.received,
            message.content,
            record.origin or None,
        )


def stay_rows(
    departures: Iterable[Departure],
    numbers: Mapping[Term, int],
    class_sets: Mapping[int, int],
    message: int | None = None,
) -> Iterator[Row]:
    """Rows of ``store.stays``.

    Args:
        departures: the stays that ended.
        numbers: of terms.
        class_sets: those of the stays.
        message: its number, if it is not an entry of the journal.
    """
    for departure in departures:
        one = departure.individual
        yield (
            one.stay,
            numbers[one.name],
            one.entered,
            one.time,
            departure.expired_at,
            number_of_message(one.message) if message is None else message,
            class_sets[one.stay],
        )


def statement_rows(ended: Iterable[Ended], numbers: Mapping[Term, int]) -> Iterator[Row]:
    """Rows of ``store.statements``."""
    for each in ended:
        subject, predicate, value = each.triple
        yield (
            numbers[subject],
            numbers[predicate],
            numbers[value],
            each.valid_from,
            each.valid_to,
            each.stay,
            number_of_message(each.provenance.message),
            rounded(number_of(value)),
            each.inferred,
        )
