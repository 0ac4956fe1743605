"""The engine's results as rows of the store.

The evidence of an alert is JSON text. In it a term is its own text: that of an IRI begins with a
letter, of a blank node with ``_:``, of a literal with a quotation mark
(:mod:`sensorstream.model.terms`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from json.encoder import encode_basestring as _quoted
from typing import Any, Final

from sensorstream.errors import Contradiction
from sensorstream.history.copying import Row, RowShape
from sensorstream.history.term_dictionary import number_of, rounded
from sensorstream.journal.records import MessageStatus, Record, number_of_message
from sensorstream.model.events import Alert, Basis, Departure, Ended, Evidence, Matched, RuleWait
from sensorstream.model.terms import IRI, Term, term


def encoded(evidence: Evidence) -> str:
    """The text of an evidence."""
    # Without the library, which takes twice as long; each alert has one.
    values = ",".join([f'"{name}":{_quoted(value)}' for name, value in evidence.bindings])
    rows = ",".join(map(_row, evidence.statements))
    told = f'"d":"{evidence.digest}","b":{{{values}}},"s":[{rows}],"l":{evidence.left_out}'
    since = evidence.since
    if since is not None:
        told += f',"t":[{since.time},{_quoted(since.message)}]'
    return f"{{{told}}}"


def decoded(text: str) -> Evidence:
    """The evidence of a text."""
    return _evidence(json.loads(text))


def _row(matched: Matched) -> str:
    s, p, o = matched.triple
    told = f'[{_quoted(s)},{_quoted(p)},{_quoted(o)},"{matched.basis.value}","{matched.message}"'
    if not matched.rule:
        return f"{told}]"
    because = "null" if matched.because is None else encoded(matched.because)
    return f"{told},{_quoted(matched.rule)},{because}]"


def _term(text: str) -> Term:
    return term(text) if text.startswith(('"', "_:")) else IRI(text)


def _evidence(told: Mapping[str, Any]) -> Evidence:
    bindings = tuple((name, _term(value)) for name, value in told["b"].items())
    statements = tuple(_matched(*each) for each in told["s"])
    since = RuleWait(*told["t"]) if "t" in told else None
    return Evidence(told["d"], bindings, statements, told["l"], since)


def _matched(
    subject: str,
    predicate: str,
    value: str,
    basis: str,
    message: str,
    rule: str = "",
    because: Mapping[str, Any] | None = None,
) -> Matched:
    triple: tuple[Any, Any, Term] = (_term(subject), IRI(predicate), _term(value))
    before = None if because is None else _evidence(because)
    return Matched(triple, Basis(basis), message, rule, before)


MESSAGES: Final = RowShape(
    "store.messages",
    ("seq", "kind", "id", "source", "received_at", "received", "content", "origin"),
)
STAYS: Final = RowShape("store.stays", ("stay", "name", "entered", "time", "expired_at", "message"))
STATEMENTS: Final = RowShape(
    "store.statements",
    (
        *("subject", "predicate", "object", "valid_from", "valid_to", "stay", "message"),
        *("number", "inferred"),
    ),
)

_json: Final = json.JSONEncoder(ensure_ascii=False).encode


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
    departures: Iterable[Departure], numbers: Mapping[Term, int], message: int | None = None
) -> Iterator[Row]:
    """Rows of ``store.stays``, without the columns that PostgreSQL adds.

    ``numbers`` are those of terms; ``message`` is a number if it is not an entry of the journal.
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
        )


def statement_rows(
    ended: Iterable[Ended], numbers: Mapping[Term, int], message: int | None = None
) -> Iterator[Row]:
    """Rows of ``store.statements``; ``message`` as in :func:`stay_rows`."""
    for each in ended:
        subject, predicate, value = each.triple
        yield (
            numbers[subject],
            numbers[predicate],
            numbers[value],
            each.valid_from,
            each.valid_to,
            each.stay,
            number_of_message(each.provenance.message) if message is None else message,
            rounded(number_of(value)),
            each.inferred,
        )


def repeated(rows: Sequence[Row]) -> list[bool]:
    """A flag for each row of ``store.statements``: whether an earlier one has its triple."""
    places = {row[:3]: place for place, row in reversed([*enumerate(rows)])}
    return [places[row[:3]] < place for place, row in enumerate(rows)]


def status_rows(statuses: Iterable[MessageStatus]) -> Iterator[Row]:
    """Number, status, reason, contradiction, degraded and facts of entries."""
    for each in statuses:
        yield (
            each.seq,
            each.status.value,
            each.reason,
            contradiction_of(each.contradiction),
            each.degraded,
            json_of(each.facts),
        )


def alert_rows(alerts: Iterable[Alert]) -> Iterator[Row]:
    """The columns of ``store.alerts`` up to ``time``, then the message, those behind, evidence."""
    for each in alerts:
        yield (
            each.id,
            each.rule,
            each.kind,
            each.severity,
            each.text,
            each.key,
            each.time,
            each.message,
            f"{{{','.join(str(number_of_message(id_)) for id_ in each.messages)}}}",
            None if each.evidence is None else text_of(encoded(each.evidence)),
        )


def contradiction_of(found: Contradiction | None) -> str | None:
    """A contradiction as JSON."""
    return None if found is None else json_of(asdict(found))


def json_of(data: Mapping[str, Any] | None) -> str | None:
    """JSON that PostgreSQL can keep: without NUL, and without halves of characters."""
    if data is None:
        return None
    told = _json(data)
    # The form of NUL in JSON; a text with these signs is rare, too.
    if "\\u0000" in told:
        told = _json(_plain(data))
    return told if told.isascii() else text_of(told)


def text_of(text: str) -> str:
    """A text that PostgreSQL can keep: without NUL, and without halves of characters."""
    return text.replace("\x00", "\ufffd").encode(errors="replace").decode()


def _plain(value: object) -> object:
    """A value whose texts PostgreSQL can keep in JSON."""
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, Mapping):
        return {_plain(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    return value
