"""Departed individuals and ended statements as rows, and rows as COPY text."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, TypeAlias

from sensorstream.errors import TermError
from sensorstream.journal.records import Record
from sensorstream.model.datatypes import (
    NUMERIC_TYPES,
    XSD_DATE_TIME,
    XSD_DATE_TIME_STAMP,
)
from sensorstream.model.events import Departure, Ended
from sensorstream.model.terms import BlankNode, Literal, Term

Cell: TypeAlias = str | int | float | bool | bytes | datetime | None
Row: TypeAlias = tuple[Cell, ...]

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
INDIVIDUAL_COLUMNS: Final = ("stay", "name", "entered", "time", "expired_at", "message_id")
STATEMENT_COLUMNS: Final = (
    "stay",
    "subject",
    "predicate",
    "object",
    "kind",
    "datatype",
    "language",
    "number",
    "moment",
    "valid_from",
    "valid_to",
    "message_id",
    "inferred",
    "superseded",
)

_TIMES: Final = frozenset({XSD_DATE_TIME, XSD_DATE_TIME_STAMP})
# PostgreSQL has no NUL in text. COPY's special signs are escaped (manual, COPY, "Text Format").
_COPY_SIGNS: Final = str.maketrans(
    {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\x00": "\ufffd"}
)
# Very few texts contain one, and a search is much faster than translation.
_find_sign: Final = re.compile(r"[\\\n\r\t\x00]").search


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


def individual_rows(departures: Iterable[Departure]) -> Iterator[Row]:
    """Rows of ``store.individuals``: one per stay."""
    for departure in departures:
        one = departure.individual
        yield one.stay, one.name, one.entered, one.time, departure.expired_at, one.message


def statement_rows(departures: Iterable[Departure], ended: Iterable[Ended]) -> Iterator[Row]:
    """Rows of ``store.statements``.

    A statement is superseded if its individual stayed on when it ended.
    """
    stays = {each.individual.stay: each.expired_at for each in departures}
    for each in ended:
        subject, predicate, value = each.triple
        yield (
            each.stay,
            subject,
            predicate,
            *_object(value),
            each.valid_from,
            each.valid_to,
            each.provenance.message,
            each.inferred,
            stays.get(each.stay) != each.valid_to,
        )


def _object(term: Term) -> Row:
    """object, kind, datatype, language, number, moment."""
    if not isinstance(term, Literal):
        kind = "blank" if isinstance(term, BlankNode) else "iri"
        return str(term), kind, None, None, None, None
    number, moment = None, None
    if term.datatype in NUMERIC_TYPES:
        number = _number(term)
    elif term.datatype in _TIMES:
        moment = _moment(term)
    return term.lexical, "literal", term.datatype, term.language, number, moment


# A rule may store a literal that is not valid for its datatype: history keeps its text.
def _number(literal: Literal) -> float | None:
    try:
        return float(literal.value)  # type: ignore[arg-type]
    except (TermError, OverflowError):
        return None


def _moment(literal: Literal) -> datetime | None:
    try:
        value = literal.value
    except TermError:
        return None
    return value if isinstance(value, datetime) else None


def copy_text(rows: Iterable[Row]) -> io.BytesIO:
    """The rows in COPY's text format."""
    text = "".join("\t".join(map(_cell, row)) + "\n" for row in rows)
    # XML has no lone surrogates, but a SPARQL escape can make one; UTF-8 cannot hold it.
    return io.BytesIO(text.encode("utf-8", "replace"))


def copy_command(table: str, columns: Sequence[str]) -> str:
    """The COPY statement for the text of :func:`copy_text`."""
    return f"copy {table} ({', '.join(columns)}) from stdin"


def _cell(value: Cell) -> str:
    if isinstance(value, str):
        return value if _find_sign(value) is None else value.translate(_COPY_SIGNS)
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, bytes):
        return f"\\\\x{value.hex()}"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(value)
