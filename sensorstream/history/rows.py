"""The journal's messages, departed individuals and ended statements as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sensorstream.history.copying import Row
from sensorstream.history.terms import number_of, rounded
from sensorstream.journal.records import Record, number_of_message
from sensorstream.model.events import Departure, Superseded
from sensorstream.model.terms import Term, Triple
from sensorstream.model.timeline import Instant

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


@dataclass(frozen=True, slots=True)
class Ended:
    """A statement that held from ``valid_from`` to before ``valid_to``."""

    stay: int
    triple: Triple
    message: str
    valid_from: Instant
    valid_to: Instant
    inferred: bool = False


def ended(departures: Iterable[Departure], superseded: Iterable[Superseded]) -> Iterator[Ended]:
    """The statements that end with the stay of their individual, or were replaced before.

    An inferred statement is valid from the individual's last message, from which it was derived
    last.
    """
    for departure in departures:
        one, until = departure.individual, departure.expired_at
        for triple, said in one.statements.items():
            yield Ended(one.stay, triple, said.message, said.time, until)
        for triple in dict.fromkeys(departure.inferred):
            # Asserted and derived counts as asserted.
            if triple not in one.statements:
                yield Ended(one.stay, triple, one.message, one.time, until, inferred=True)
    for each in superseded:
        said = each.provenance
        yield Ended(each.stay, each.triple, said.message, said.time, each.until)


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
            number_of_message(each.message),
            rounded(number_of(value)),
            each.inferred,
        )
