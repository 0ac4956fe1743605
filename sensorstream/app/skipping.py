"""An entry of the journal that is not applied again: one that brings the engine down."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Final

from sensorstream.app.arrival import arrival_of
from sensorstream.app.in_work import Death
from sensorstream.app.recovery import Start
from sensorstream.engine.outcome import Status
from sensorstream.errors import JournalError
from sensorstream.history.journal_rows import JournalEntry, entry_at, pass_over
from sensorstream.history.store import PostgresStore
from sensorstream.journal.kinds import new_record
from sensorstream.journal.message import TakeMessage
from sensorstream.journal.notice import ReportSkip
from sensorstream.journal.registration import RegisterQuery
from sensorstream.journal.takeover import PutOntology, PutRules

_LOG = logging.getLogger(__name__)
_TOO_OFTEN: Final = 2
"""Deaths in a row at one entry after which it is skipped. The first may be chance."""


def skip_deadly(death: Death, store: PostgresStore, start: Start, now: datetime) -> bool:
    """Skip what was in work when the last processes died, if it was the same twice in a row.

    Returns:
        Whether the death is to be counted no more: it is skipped, or the entry is another one's.

    Raises:
        HistoryError: the journal cannot be read or written.
    """
    entry = entry_at(store.url, death.entry)
    if entry is None or entry.received != death.received:
        _LOG.info("the mark of the entry in work is of another history, and is ignored")
        return True
    times = f"{death.times} times in a row" if death.times > 1 else "once"
    told = f"the server ended while entry {death.culprit} was in work, {times}"
    if death.times < _TOO_OFTEN:
        _LOG.warning("%s", told)
        return False
    try:
        skip_entry(death.culprit, f"skipped: {told}", store, start, now)
    except JournalError as error:
        _LOG.error("%s, but it cannot be skipped: %s", told, error)
        return False
    return True


def skip_entry(seq: int, why: str, store: PostgresStore, start: Start, now: datetime) -> None:
    """Pass over an entry from the next recovery on, and journal that this is so.

    Nothing of what has been stored in history is taken back.

    Args:
        seq: the number of the entry.
        why: the reason that is kept with it.
        store: the history, written by nobody else.
        start: where the next recovery begins.
        now: the present, for the entry that tells it.

    Raises:
        JournalError: there is no such entry, it is skipped already, or a checkpoint has what it
            did, so that skipping would change nothing; not so for an ontology or rules.
        HistoryError: the journal cannot be read or written.
    """
    entry = entry_at(store.url, seq)
    if entry is None:
        raise JournalError(f"the journal has no entry {seq}")
    if entry.status is Status.SKIPPED:
        raise JournalError(f"entry {seq} is skipped already: {entry.reason}")
    held = entry.status is Status.HELD
    # What is in force is read from the journal at each start, whatever checkpoints there are.
    in_force = entry.kind in (PutOntology.kind, PutRules.kind)
    if seq <= start.seq and not held and not in_force:
        raise JournalError(
            f"entry {seq} is not applied again: the checkpoint at entry {start.seq} has what it "
            "did. Expected one after it"
        )
    # One that was held came as any other did, and others waited for it: only its turn is refused.
    status = Status.REJECTED if held else Status.SKIPPED
    notice = ReportSkip(f"{why}; {_consequence(entry)}")
    record = new_record(notice, store.last_seq() + 1, now, arrival_of(store, now))
    pass_over(store.url, seq, status, why, record)
    _LOG.error("entry %d: %s", seq, notice.text)


def _consequence(entry: JournalEntry) -> str:
    if entry.kind == TakeMessage.kind:
        return f"the message {entry.id} from '{entry.source[:80]}' is in quarantine"
    if entry.kind == RegisterQuery.kind:
        return f"the query '{entry.source[:80]}' does not run"
    if entry.kind == PutOntology.kind:
        return f"the ontology that {entry.id} put is not in force"
    if entry.kind == PutRules.kind:
        return f"the rules that {entry.id} put are not in force"
    return f"an entry of kind '{entry.kind}' has no effect"
