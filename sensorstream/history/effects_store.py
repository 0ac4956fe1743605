"""Writes what messages did, and the watermark with it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Final

from psycopg2 import extensions

from sensorstream.errors import HistoryError, Unstorable
from sensorstream.history.copying import copy_command, copy_text
from sensorstream.history.ends import tell_ends
from sensorstream.history.engines import Standings, store_standings
from sensorstream.history.partitions import Partitions, analyze
from sensorstream.history.pipelining import PipelinedCursor, transaction
from sensorstream.history.progress import row_missing
from sensorstream.history.rare_effects import (
    explain,
    queue_reports,
    record_ontologies,
    revoke,
    settle_held,
)
from sensorstream.history.routines import Written, write_effects
from sensorstream.history.rows import STATEMENT_COLUMNS, statement_rows
from sensorstream.history.sparing import spared
from sensorstream.history.terms import Dictionary, term_key
from sensorstream.journal.records import Effects
from sensorstream.model.events import Ended
from sensorstream.model.terms import Term
from sensorstream.model.timeline import Timeline

_LOG: Final = logging.getLogger(__name__)
_COPY_STATEMENTS: Final = copy_command("store.statements", STATEMENT_COLUMNS)


class EffectsStore:
    """Remembers the terms and partitions that are there. Not thread-safe."""

    def __init__(
        self, connection: extensions.connection, timeline: Timeline, *, durable: bool
    ) -> None:
        """``durable``: what is written is to be on disk when :meth:`commit` returns."""
        self._connection = connection
        self._timeline = timeline
        self._durable = durable
        self._dictionary = Dictionary()
        self._partitions = Partitions(timeline)
        self._removals = 0

    def commit(self, effects: Effects, standings: Standings | None = None) -> bool:
        """See :meth:`.PostgresStore.commit`."""
        try:
            return self._commit(effects, standings)
        except Unstorable:
            # It raises an alert, so there is something to announce in any case.
            self._commit(spared(effects, self._refusal), standings)
            return True

    def replace_inferred(self, added: Sequence[Ended], revoked: Sequence[Ended]) -> None:
        """See :meth:`.PostgresStore.replace_inferred`."""
        with self._transaction("cannot store what is inferred") as cursor:
            cursor.execute("select from store.progress for update")
            self._revoke(cursor, revoked)
            terms = (term for each in added for term in each.triple)
            numbers = self._dictionary.numbers(cursor, terms)
            self._partitions.make(cursor, (each.valid_to for each in added))
            cursor.copy_expert(_COPY_STATEMENTS, copy_text(statement_rows(added, numbers)))
            tell_ends(cursor, {each.stay for each in chain(added, revoked)})
        self._dictionary.settle()

    def _commit(
        self, effects: Effects, standings: Standings | None = None, *, trial: bool = False
    ) -> bool:
        """Store effects. A ``trial`` is undone at the end."""
        while True:
            alone = standings is None and not trial
            alone = alone and _is_plain(effects) and not self._lacks(effects)
            with self._transaction("cannot store effects", alone=alone) as cursor:
                if not alone and not self._prepare(cursor, effects):
                    return False
                written = self._write(cursor, effects)
                if written.result == "stored":
                    return False
                if written.result == "forget":
                    self._forget()
                    self._removals = written.removals
                    continue
                queued = written.queued
                if effects.reports:
                    queued = queue_reports(cursor, effects, self._timeline) or queued
                record_ontologies(cursor, effects.ontologies)
                settle_held(cursor, effects)
                if standings is not None:
                    store_standings(cursor, standings, new=True)
                if trial:
                    cursor.execute("rollback; begin")
            if trial:
                # Terms and partitions that it made are not there.
                self._forget()
            self._dictionary.settle()
            self._analyze(effects.ended)
            return queued

    def _refusal(self, effects: Effects) -> Unstorable | None:
        try:
            self._commit(effects, trial=True)
        except Unstorable as error:
            return error
        return None

    def _lacks(self, effects: Effects) -> bool:
        """Whether a partition may have to be made."""
        return self._partitions.lack(each.valid_to for each in effects.ended)

    def _prepare(self, cursor: PipelinedCursor, effects: Effects) -> bool:
        """Do what must be done before the rest is written; False: the effects are stored."""
        cursor.execute("select watermark, removals from store.progress for update")
        row = cursor.fetchone()
        if row is None:
            raise row_missing()
        if effects.watermark <= row[0]:
            return False
        self._keep_up(row[1])
        self._partitions.make(cursor, (each.valid_to for each in effects.ended))
        self._revoke(cursor, effects.revoked)
        return True

    def _analyze(self, ended: Sequence[Ended]) -> None:
        grown = self._partitions.grown(each.valid_to for each in ended)
        if not grown:
            return
        try:
            with self._transaction("cannot analyse a new partition") as cursor:
                analyze(cursor, grown)
        except HistoryError as error:
            # All is stored; somebody has moved it to the archive, or the next commit fails, too.
            _LOG.warning("%s", error)

    def _keep_up(self, removals: int) -> None:
        if removals != self._removals:
            self._forget()
            self._removals = removals

    def _revoke(self, cursor: PipelinedCursor, revoked: Sequence[Ended]) -> None:
        if revoked:
            terms = (term for each in revoked for term in each.triple)
            revoke(cursor, revoked, self._dictionary.numbers(cursor, terms))

    def _write(self, cursor: PipelinedCursor, effects: Effects) -> Written:
        """Write all that most groups consist of.

        Raises:
            HistoryError: the group leaves out an entry, or has one that is not in the journal.
        """
        found, asked = self._dictionary.remembered(_terms(effects))
        keys = [term_key(each) for each in asked]
        new = dict(zip(keys, asked, strict=True))
        places = {key: -place for place, key in enumerate(new, 1)}
        written = write_effects(
            cursor,
            effects,
            new=new,
            numbers=found | {each: places[key] for each, key in zip(asked, keys, strict=True)},
            removals=self._removals,
            durable=self._durable,
        )
        if written.result == "refused":
            explain(cursor, effects)
        if written.result == "written":
            self._dictionary.learn(asked, (written.terms[-1 - places[key]] for key in keys))
        return written

    def _forget(self) -> None:
        self._dictionary.forget()
        self._partitions.forget()

    @contextmanager
    def _transaction(self, doing: str, *, alone: bool = False) -> Iterator[PipelinedCursor]:
        try:
            with transaction(self._connection, doing, alone=alone) as cursor:
                yield cursor
        except BaseException:
            # Terms and partitions that it made are not there.
            self._forget()
            raise


def _is_plain(effects: Effects) -> bool:
    """Whether they have nothing that few groups have."""
    return not (effects.revoked or effects.reports or effects.ontologies or effects.settled)


def _terms(effects: Effects) -> Iterator[Term]:
    """The terms of all that is stored."""
    for departure in effects.departures:
        yield departure.individual.name
    for each in effects.ended:
        yield from each.triple
