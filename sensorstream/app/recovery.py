"""From the journal back to the state before the stop, clean or not."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from sensorstream.app.exchange import Exchange
from sensorstream.app.pipeline import effects_of, reports_of
from sensorstream.engine.arrival import Mapper
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import Engine
from sensorstream.engine.outcome import Outcome, Status
from sensorstream.engine.queries import QueryReport
from sensorstream.errors import SensorStreamError
from sensorstream.history.records import EntryKind, JournalEntry
from sensorstream.history.store import Store

_LOG = logging.getLogger(__name__)
_GROUP: Final = 500


def recover(
    engine: Engine,
    mapper: Mapper,
    store: Store,
    exchange: Exchange,
    publish: Callable[[Sequence[QueryReport]], None],
) -> int:
    """Bring a new engine to the journal's end.

    What a held message did belongs to the entry that released it, a message or a tick. So the
    rule holds for held messages too, even if they came long before the watermark.

    The last checkpoint gives the window and the rules' memory; the journal after it is
    processed again. Effects up to the watermark are stored already and are thrown away, those
    above it are stored now: whatever was acknowledged is in the window or in history, once.

    ``publish`` is given what continuous queries report, again or for the first time.

    Returns:
        The number of messages processed again.

    Raises:
        HistoryError: the journal cannot be read or the effects not stored.
        ReasonerError: the reasoner failed.
    """
    watermark = store.watermark()
    checkpoint = store.latest_checkpoint()
    after = 0
    refused: set[str] = set()
    if checkpoint is not None:
        after, content = checkpoint
        state = load(content)
        engine.restore(state)
        # They changed nothing then; that the reasoner might take them now must not matter.
        refused |= store.rejected({each.item.message.id for each in state.held.held})
    replayed = last = 0
    for group in _groups(store.replay(after)):
        fresh: list[tuple[JournalEntry, Outcome]] = []
        for entry in group:
            if entry.seq <= watermark and entry.status is Status.REJECTED:
                refused.add(entry.message.id)
            if entry.seq <= watermark and entry.degraded:
                # It was taken in without the reasoner, which might refuse it now.
                engine.degrade("it had failed before the restart")
            outcome = _process_again(engine, mapper, exchange, entry, refused)
            publish(reports_of([outcome]))
            replayed += 1
            last = entry.seq
            if entry.seq > watermark:
                fresh.append((entry, outcome))
        if fresh:
            store.commit(effects_of([e for e, _ in fresh], [o for _, o in fresh]))
    if replayed:
        # Or a server that keeps crashing would have more to do again each time.
        store.save_checkpoint(last, dump(engine.state()))
        _LOG.info("recovered from the journal: %d messages processed again", replayed)
    return replayed


def _process_again(
    engine: Engine,
    mapper: Mapper,
    exchange: Exchange,
    entry: JournalEntry,
    refused: Container[str],
) -> Outcome:
    message = entry.message
    match entry.kind:
        case EntryKind.TICK:
            return engine.tick(message, refused)
        case EntryKind.ONTOLOGY | EntryKind.REASONER:
            return exchange.replay(entry)
        case EntryKind.AUDIT:
            return engine.report(message)
        case EntryKind.QUERY | EntryKind.QUERY_END:
            return _change_queries(engine, entry)
        case EntryKind.MESSAGE:
            pass
    # One that is malformed now was well-formed enough when it came: the limits are narrower.
    return engine.take(mapper.map(message), refused)


def _change_queries(engine: Engine, entry: JournalEntry) -> Outcome:
    """Make a change of the queries again; what was refused then changes nothing."""
    message = entry.message
    if entry.status is Status.REJECTED:
        return Outcome(message, Status.REJECTED)
    change = engine.register_query if entry.kind is EntryKind.QUERY else engine.remove_query
    try:
        return change(message)
    except SensorStreamError as error:
        _LOG.error("the query '%s' cannot be run any more: %s", message.source, error)
        return engine.reject(message, error)


def _groups(entries: Iterable[JournalEntry]) -> Iterator[list[JournalEntry]]:
    iterator = iter(entries)
    while group := list(islice(iterator, _GROUP)):
        yield group
