"""The effects of a group of entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sensorstream.engine.live_queries import QueryReport
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Contradiction, Inconsistent
from sensorstream.journal.records import Effects, MessageStatus, Record, Settled
from sensorstream.model.events import Departure, Ended


def effects_of(records: Sequence[Record], outcomes: Sequence[Outcome]) -> Effects:
    """All effects of a group of entries, for one transaction.

    The effects of a held message belong to the entry that released it: effects are stored once
    because their entry passes the watermark once.
    """
    every = [each for outcome in outcomes for each in in_order(outcome)]
    departures: list[Departure] = []
    ended: list[Ended] = []
    for each in every:
        gone = (*each.departures, *each.archived)
        departures += gone
        ended += each.ended
        ended += (statement for departure in gone for statement in departure.ended())
    return Effects(
        watermark=records[-1].seq,
        departures=tuple(departures),
        ended=tuple(ended),
        alerts=tuple(a for each in every for a in each.alerts),
        statuses=tuple(
            MessageStatus(
                record.seq,
                outcome.status,
                _reason(outcome),
                _contradiction(outcome),
                outcome.degraded,
            )
            for record, outcome in zip(records, outcomes, strict=True)
        ),
        raised_at=records[-1].received_at,
        settled=tuple(
            Settled(each.message.id, each.status, _reason(each), _contradiction(each))
            for outcome in outcomes
            for each in outcome.released
        ),
        reports=tuple(r for each in every for r in each.reports),
    )


def reports_of(outcomes: Sequence[Outcome]) -> list[QueryReport]:
    """The reports of continuous queries, in order."""
    return [r for outcome in outcomes for each in in_order(outcome) for r in each.reports]


def in_order(outcome: Outcome) -> Iterator[Outcome]:
    """An entry's outcomes in the order of application time."""
    yield from outcome.released
    yield outcome


def _reason(outcome: Outcome) -> str | None:
    return "; ".join(outcome.warnings) or None


def _contradiction(outcome: Outcome) -> Contradiction | None:
    error = outcome.rejection
    return error.contradiction if isinstance(error, Inconsistent) else None
