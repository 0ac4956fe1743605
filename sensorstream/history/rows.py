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
STAY_COLUMNS: Final = ("stay", "name", "entered", "time", "expired_at", "message")
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


def stay_rows(departures: Iterable[Departure], numbers: Mapping[Term, int]) -> Iterator[Row]:
    """Rows of ``store.stays``."""
    for departure in departures:
        one = departure.individual
        message = number_of_message(one.message)
        yield one.stay, numbers[one.name], one.entered, one.time, departure.expired_at, message


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
