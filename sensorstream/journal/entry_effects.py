"""The effects of a group of entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from sensorstream.engine.engine_queries import EngineReport
from sensorstream.engine.outcome import Outcome, counts
from sensorstream.errors import Contradiction, Inconsistent, few, shortened
from sensorstream.journal.message import TakeMessage
from sensorstream.journal.records import Effects, MessageStatus, OntologyVersion, Record, Settled
from sensorstream.journal.takeover import PutOntology
from sensorstream.model.events import Alert, Cleared, Departure, Ended, Status


def facts_of(outcome: Outcome) -> dict[str, Any]:
    """The outcome of one message, ready for JSON. Alerts, which are kept themselves, are named by
    their ids; contradictions are left out. ``error`` has the code, the message and the position of
    the error that rejected it; None: it was not rejected.
    """
    error = outcome.rejection
    return {
        "status": outcome.status.value,
        "matched": list(outcome.matched),
        "individuals": list(outcome.individuals),
        "alerts": [each.id for each in outcome.alerts],
        "expired": len(outcome.departures),
        "filtered": [each.name for each in outcome.filtered],
        "shed": [each.name for each in outcome.shed],
        "timings": outcome.timings,
        "replies": list(outcome.replies),
        "warnings": list(few(outcome.warnings)),
        "time": outcome.time,
        "error": None if error is None else error.data(),
    }


def effects_of(
    records: Sequence[Record],
    outcomes: Sequence[Outcome],
    more: Mapping[int, Mapping[str, str]] = MappingProxyType({}),
) -> Effects:
    """The effects of a group of entries, for one transaction. The effects of a held message belong
    to the entry that released it: effects are stored once because their entry passes the watermark
    once. ``more`` are further facts of messages, by number.
    """
    every = [each for outcome in outcomes for each in in_order(outcome)]
    departures: list[Departure] = []
    said: list[Ended] = []
    for each in every:
        gone = (*each.departures, *each.archived)
        departures += gone
        said += each.ended
        said += (statement for departure in gone for statement in departure.ended())
    ended, revoked = _net(said, [s for each in every for s in each.revoked])
    return Effects(
        watermark=records[-1].seq,
        departures=tuple(departures),
        ended=tuple(ended),
        alerts=tuple(change for each in every for change in alerts_of(each)),
        statuses=tuple(
            MessageStatus(
                record.seq,
                *_told(outcome),
                outcome.degraded,
                {**facts_of(outcome), **more.get(record.seq, {})}
                if record.kind == TakeMessage.kind
                else None,
            )
            for record, outcome in zip(records, outcomes, strict=True)
        ),
        raised_at=records[-1].received_at,
        settled=tuple(
            Settled(each.message.id, *_told(each), facts_of(each))
            for outcome in outcomes
            for each in outcome.released
        ),
        revoked=tuple(revoked),
        ontologies=tuple(
            _ontology(record, outcome)
            for record, outcome in zip(records, outcomes, strict=True)
            if record.kind == PutOntology.kind and outcome.status is Status.ACCEPTED
        ),
        reports=tuple(r for each in every for r in each.reports),
    )


def _ontology(record: Record, outcome: Outcome) -> OntologyVersion:
    put = PutOntology.decode(record.message.content, record.message.source)
    return OntologyVersion(record.seq, outcome.time, put.content, put.media_type)


def _net(
    ended: Sequence[Ended], revoked: Sequence[Ended]
) -> tuple[Sequence[Ended], Sequence[Ended]]:
    """The intervals to store and those to delete; what is both ended and revoked is in neither."""
    if not revoked:
        return ended, revoked
    said, wrong = Counter(ended), Counter(revoked)
    return list((said - wrong).elements()), list((wrong - said).elements())


def merged(parts: Sequence[Effects]) -> Effects:
    """The effects of several groups of entries as those of one group. The groups may come from
    different engines; they are put in the order of their watermarks.

    Raises:
        ValueError: there is no group.
    """
    ordered = sorted(parts, key=lambda each: each.watermark)
    if not ordered:
        raise ValueError("expected the effects of at least one group")
    last = ordered[-1]
    values: dict[str, Any] = {}
    for field in fields(Effects):
        value = getattr(last, field.name)
        if isinstance(value, tuple):
            value = tuple(chain.from_iterable(getattr(part, field.name) for part in ordered))
        values[field.name] = value
    ended, revoked = _net(values["ended"], values["revoked"])
    values |= {"ended": tuple(ended), "revoked": tuple(revoked)}
    return Effects(**values | {"ontologies": tuple(_together(values["ontologies"]))})


def _together(versions: Sequence[OntologyVersion]) -> Iterator[OntologyVersion]:
    """One version for each entry: one engine tells its content, and each tells the time there."""
    for each in versions:
        if each.content:
            told = (v.valid_from for v in versions if v.seq == each.seq)
            yield replace(each, valid_from=max((t for t in told if t is not None), default=None))


def reports_of(outcomes: Sequence[Outcome]) -> list[EngineReport]:
    """The reports of continuous queries, in order."""
    return [r for outcome in outcomes for each in in_order(outcome) for r in each.reports]


def in_order(outcome: Outcome) -> Iterator[Outcome]:
    """An entry's outcomes in the order of application time."""
    yield from outcome.released
    yield outcome


def alerts_of(outcome: Outcome) -> Iterator[Alert | Cleared]:
    """The alerts that an outcome raised and those that it ended, in order."""
    ends = iter(outcome.cleared)
    end = next(ends, None)
    raised = 0
    for alert in outcome.alerts:
        is_counted = counts(alert)
        while end is not None and end.place <= raised and is_counted:
            yield end
            end = next(ends, None)
        yield alert
        raised += is_counted
    if end is not None:
        yield end
        yield from ends


def _told(outcome: Outcome) -> tuple[Status, str | None, Contradiction | None]:
    """The status of a message, its warnings, and its contradiction."""
    error = outcome.rejection
    found = error.contradiction if isinstance(error, Inconsistent) else None
    return outcome.status, shortened("; ".join(outcome.warnings)) or None, found
