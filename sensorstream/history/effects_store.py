"""Stores the effects of messages together with the watermark.

Rare parts of groups are written by statements of their own, the rest by one call
(:mod:`sensorstream.history.routines`).

A value that PostgreSQL can never store must not stop the writer: the effects without that value are
stored, and an alert names the rest. The choice depends on the effects and the database alone, so a
replay of the journal makes the same one.

The classes and values that individuals had when they left stand beside each stay. A stay had a
statement at its end if ``store.statements`` has one of its individual and this stay that ends with
it. Views that looked there for each stay would be slow, and PostgreSQL takes a maximum from an
index only where a question reads one table. So a trigger, ``store.tell_end``, puts them beside each
stay that is stored, after its statements.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import chain
from typing import Any, Final, NoReturn, TypeAlias

from psycopg2 import extensions
from psycopg2.extras import execute_values

from sensorstream.alerts.alert_formats import report_json
from sensorstream.errors import HistoryError, Unstorable
from sensorstream.history.database import PipelinedCursor, one_value, transaction
from sensorstream.history.effects_writer import (
    Standings,
    pass_on,
    store_answers,
    store_followed,
    store_standings,
)
from sensorstream.history.partitions import Partitions, analyze
from sensorstream.history.routines import WrittenEffects, write_effects
from sensorstream.history.store_rows import (
    MESSAGES,
    STATEMENTS,
    contradiction_of,
    json_of,
    message_rows,
    statement_rows,
    text_of,
)
from sensorstream.history.term_dictionary import Dictionary, term_key
from sensorstream.journal.records import Effects, MessageStatus, OntologyVersion, Settled
from sensorstream.model.events import Alert, Cleared, Departure, Ended
from sensorstream.model.terms import Term
from sensorstream.model.timeline import Timeline


def tell_ends(cursor: extensions.cursor, stays: Collection[int]) -> None:
    """Recompute the values beside stays whose statements have changed.

    ``cursor`` is of a transaction that has locked the row of ``store.progress``; ``stays`` are
    numbers of stays, and may include unchanged ones.
    """
    cursor.execute("update store.stays set class_set = null where stay = any(%s)", (list(stays),))


def watermark(cursor: extensions.cursor) -> int:
    """The last message whose effects are stored; 0 before the first.

    Raises HistoryError if its row was deleted.
    """
    found: int | None = one_value(cursor, "select watermark from store.progress")
    if found is None:
        raise _row_missing()
    return found


def _row_missing() -> HistoryError:
    return HistoryError("store.progress is empty: the store was tampered with")


def explain(cursor: extensions.cursor, effects: Effects) -> NoReturn:
    """Raise the HistoryError that says why effects cannot be stored.

    Either a group does not begin after the watermark, or entries up to its own are missing.
    """
    cursor.execute(
        "select watermark, array(select seq from store.messages where seq = any(%s)), "
        "(select min(seq) from store.messages where seq > watermark and seq <= %s "
        "and status is null and seq <> all(%s)) from store.progress",
        (named := [each.seq for each in effects.statuses], effects.watermark, named),
    )
    row = cursor.fetchone()
    assert row is not None
    watermark, there, left = row
    if any(each <= watermark for each in named):
        raise HistoryError(
            f"effects up to message {effects.watermark} begin at or below the watermark "
            f"{watermark}: part of them is stored already"
        )
    if missing := set(named) - set(there):
        raise HistoryError(f"effects of messages that are not in the journal: {sorted(missing)}")
    raise HistoryError(f"the watermark would pass message {left}, which has no effects")


def revoke(
    cursor: extensions.cursor, revoked: Sequence[Ended], numbers: Mapping[Term, int]
) -> None:
    """Delete intervals that a late update has proved wrong."""
    execute_values(
        cursor,
        "delete from store.statements s using (values %s) as v "
        "(subject, predicate, object, valid_from, valid_to, stay, inferred) "
        "where s.subject = v.subject and s.predicate = v.predicate and s.object = v.object "
        "and s.valid_from = v.valid_from and s.valid_to = v.valid_to and s.stay = v.stay "
        "and s.inferred = v.inferred",
        [
            (
                *(numbers[term] for term in each.triple),
                each.valid_from,
                each.valid_to,
                each.stay,
                each.inferred,
            )
            for each in revoked
        ],
        template="(%s::bigint, %s::bigint, %s::bigint, %s::bigint, %s::bigint, %s::bigint, %s)",
    )


def record_ontologies(cursor: extensions.cursor, versions: Sequence[OntologyVersion]) -> None:
    """Store the versions of ontologies that were put in force."""
    if versions:
        execute_values(
            cursor,
            "insert into store.ontologies (seq, valid_from, digest, content, media_type) values %s",
            [
                (each.seq, each.valid_from, each.digest, each.content, each.media_type)
                for each in versions
            ],
        )


def queue_reports(cursor: extensions.cursor, effects: Effects, timeline: Timeline) -> bool:
    """Queue each report whose query an enabled webhook names now, once for all of them.

    Returns whether there are any.
    """
    # Locked: else a webhook might name a query meanwhile and start after these reports.
    cursor.execute("select last from store.event_head for update")
    cursor.execute(
        "select distinct q from store.webhooks, unnest(queries) as q "
        "where disabled_at is null and q = any(%s)",
        (list({each.report.query for each in effects.reports}),),
    )
    asked = {row[0] for row in cursor.fetchall()}
    told = [each for each in effects.reports if each.report.query in asked]
    if not told:
        return False
    before = one_value(
        cursor,
        "update store.event_head set last = last + %s returning last - %s",
        (len(told), len(told)),
    )
    at = effects.raised_at
    execute_values(
        cursor,
        "insert into store.events "
        "(seq, report_id, report_query, report_data, raised_at, due_at) values %s",
        [
            (seq, each.id, each.report.query, report_json(each, timeline), at, at)
            for seq, each in enumerate(told, before + 1)
        ],
    )
    return True


def settle_held(cursor: extensions.cursor, effects: Effects) -> None:
    """Store the fate of held messages; those whose entry was deleted by retention are skipped."""
    if effects.settled:
        execute_values(
            cursor,
            "update store.messages m set status = v.status, reason = coalesce(v.reason, m.reason), "
            "contradiction = v.contradiction, "
            "facts = m.facts || jsonb_build_object('settled', v.facts) "
            "from (values %s) as v (id, status, reason, contradiction, facts) where m.id = v.id",
            [
                (
                    each.message,
                    each.status.value,
                    None if each.reason is None else text_of(each.reason),
                    contradiction_of(each.contradiction),
                    json_of(each.facts),
                )
                for each in effects.settled
            ],
            template="(%s::text, %s::text, %s::text, %s::jsonb, %s::jsonb)",
        )


_LOG: Final = logging.getLogger(__name__)


class EffectsStore:
    """A writer of effects that remembers the existing terms and partitions. Not thread-safe."""

    def __init__(
        self, connection: extensions.connection, timeline: Timeline, *, durable: bool
    ) -> None:
        """``durable``: written data must be on disk when :meth:`commit` returns."""
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
            # An alert is raised, so there is something to announce in any case.
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
            STATEMENTS.copy(cursor, statement_rows(added, numbers))
            tell_ends(cursor, {each.stay for each in chain(added, revoked)})
        self._dictionary.settle()

    def _commit(
        self, effects: Effects, standings: Standings | None = None, *, trial: bool = False
    ) -> bool:
        """Store effects. A ``trial`` is undone at the end."""
        while True:
            alone = standings is None and not trial and _is_plain(effects)
            alone = alone and not self._partitions.lack(each.valid_to for each in effects.ended)
            with self._transaction("cannot store effects", alone=alone) as cursor:
                if not alone and not self._prepare(cursor, effects):
                    return False
                written = self._write(cursor, effects)
                if written.result == "stored":
                    return False
                if written.result == "forget":
                    self._keep_up(written.removals)
                    continue
                queued = written.queued
                if effects.reports:
                    queued = queue_reports(cursor, effects, self._timeline) or queued
                record_ontologies(cursor, effects.ontologies)
                settle_held(cursor, effects)
                if standings is not None:
                    store_standings(cursor, standings, new=True)
                    pass_on(cursor, standings)
                    if effects.reports:
                        store_followed(cursor, effects.reports)
                if effects.answers:
                    store_answers(cursor, effects.answers)
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

    def _prepare(self, cursor: PipelinedCursor, effects: Effects) -> bool:
        """Do the work before the main write; False: the effects are stored already."""
        cursor.execute("select watermark, removals from store.progress for update")
        row = cursor.fetchone()
        if row is None:
            raise _row_missing()
        if effects.watermark <= row[0]:
            return False
        self._keep_up(row[1])
        if effects.entries:
            MESSAGES.copy(cursor, message_rows(effects.entries))
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
            # All is stored. Somebody has moved it to the archive, or the next commit fails, too.
            _LOG.warning("%s", error)

    def _keep_up(self, removals: int) -> None:
        if removals != self._removals:
            self._forget()
            self._removals = removals

    def _revoke(self, cursor: PipelinedCursor, revoked: Sequence[Ended]) -> None:
        if revoked:
            terms = (term for each in revoked for term in each.triple)
            revoke(cursor, revoked, self._dictionary.numbers(cursor, terms))

    def _write(self, cursor: PipelinedCursor, effects: Effects) -> WrittenEffects:
        """Write the parts that most groups consist of.

        Raises HistoryError if the group leaves out an entry, or has one that is not in the journal.
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
    """Whether effects have no rare parts."""
    return not (effects.revoked or effects.reports or effects.ontologies or effects.settled)


def _terms(effects: Effects) -> Iterator[Term]:
    """The terms of everything that is stored."""
    for departure in effects.departures:
        yield departure.individual.name
    for each in effects.ended:
        yield from each.triple


_TRIALS: Final = 10_000
"""The most trials for a group: undecided parts are left out then."""
_NAMED: Final = 10
"""The most unstored parts that an alert names."""
_TEXTS: Final = "statuses"
_PARTS: Final = tuple(
    each.name
    for each in fields(Effects)
    if str(each.type).startswith("tuple[") and each.name != _TEXTS
)

_Part: TypeAlias = tuple[str, int]
"""A field of :class:`.Effects`, and a place in it."""
Refuses: TypeAlias = Callable[[Effects], Unstorable | None]


def spared(effects: Effects, refuses: Refuses) -> Effects:
    """The effects without the parts that are refused, with an alert about them.

    Every entry keeps its status; its texts are left out if they are the refused part. ``refuses``
    tries to store effects, undoes that, and gives the reason for a refusal; None: they are stored.
    Raises HistoryError if even effects without any of the parts are refused.
    """
    if error := refuses(_only(effects, [])):
        raise HistoryError(str(error)) from error
    lost: dict[_Part, Unstorable] = {}
    trials = 0

    def taken(parts: Sequence[_Part]) -> list[_Part]:
        nonlocal trials
        if not parts:
            return []
        trials += 1
        error = refuses(_only(effects, parts))
        if error is None:
            return list(parts)
        if len(parts) == 1 or trials >= _TRIALS:
            lost.update(dict.fromkeys(parts, error))
            return []
        middle = len(parts) // 2
        return taken(parts[:middle]) + taken(parts[middle:])

    kept = taken([(name, n) for name in (*_PARTS, _TEXTS) for n in range(len(_of(effects, name)))])
    chosen = _only(effects, kept)
    if kept and (error := refuses(chosen)):
        # Each of them is accepted, but not all together.
        lost |= dict.fromkeys(kept, error)
        chosen = _only(effects, [])
    if not lost:
        return effects
    _LOG.error("%s", _alert(effects, lost, quoted=True).text)
    # PostgreSQL's error may quote the value.
    for quoted in (True, False):
        alert = _alert(effects, lost, quoted=quoted)
        told = replace(chosen, alerts=(*chosen.alerts, alert))
        if refuses(told) is None:
            return told
    return chosen


def _of(effects: Effects, name: str) -> Sequence[object]:
    found: Sequence[object] = getattr(effects, name)
    return found


def _only(effects: Effects, parts: Sequence[_Part]) -> Effects:
    """The effects with some of their parts, in order; the status of each entry is kept."""
    chosen = set(parts)
    kept: dict[str, Any] = {
        name: tuple(each for n, each in enumerate(_of(effects, name)) if (name, n) in chosen)
        for name in _PARTS
    }
    kept |= {
        "settled": tuple(
            each if ("settled", n) in chosen else Settled(each.message, each.status)
            for n, each in enumerate(effects.settled)
        ),
        "statuses": tuple(
            each
            if (_TEXTS, n) in chosen
            else MessageStatus(each.seq, each.status, degraded=each.degraded)
            for n, each in enumerate(effects.statuses)
        ),
    }
    return replace(effects, **kept)


def _alert(effects: Effects, lost: dict[_Part, Unstorable], *, quoted: bool) -> Alert:
    first, last = effects.statuses[0].seq, effects.statuses[-1].seq
    entries = f"entry {first}" if first == last else f"entries {first} to {last}"
    named = [
        _name(effects, each) + (f" ({lost[each]!s:.200})" if quoted else "")
        for each in sorted(lost)[:_NAMED]
    ]
    more = f"; and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    times = chain((each.time for each in effects.alerts), (each.valid_to for each in effects.ended))
    return Alert(
        id=f"m{last}-unstorable",
        rule="",
        kind="unstorable-effects",
        severity="critical",
        text=f"PostgreSQL takes not all of what {entries} did; lost: {'; '.join(named)}{more}",
        key="history",
        time=max((each for each in times if abs(each) < 2**63), default=0),
        message=f"m{last}",
    )


def _name(effects: Effects, part: _Part) -> str:
    name, place = part
    match _of(effects, name)[place]:
        case Alert(id=id_, rule=rule):
            return f"the alert {id_}" + (f" of the rule {rule:.80}" if rule else "")
        case Departure(individual=one):
            return f"the stay {one.stay} of {one.name!s:.80}"
        case Ended(triple=(subject, predicate, _)):
            return f"a statement of <{predicate:.80}> about {subject!s:.80}"
        case Cleared(rule=rule, kind=kind):
            return f"the end of an alert of {rule or kind:.80}"
        case MessageStatus(seq=seq):
            return f"the report of entry {seq}"
        case Settled(message=message):
            return f"the report of the message {message}"
        case _:
            return f"one of the {name}"
