"""The start of a deployment: its files and journal, for engines here and on Spark."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from psycopg2 import extensions

from sensorstream.app.control.file_texts import FileContents
from sensorstream.app.control.mapping_files import read_functions
from sensorstream.app.control.query_control import ReportLog
from sensorstream.app.control.rule_exchange import Exchange, ServedOntology, ontology_text
from sensorstream.app.control.rule_files import with_rule_sets
from sensorstream.app.control.wiring import Deployment, Substitutes, read_deployment, version_of
from sensorstream.app.life.in_work import InWork
from sensorstream.app.life.progress import TellProgress, rebuilding
from sensorstream.app.life.recovery import Start, find_start, recover, skip_deadly
from sensorstream.app.life.store_writes import MOST_AT_ONCE
from sensorstream.clock import Clock
from sensorstream.errors import HistoryError, LanguageError, OntologyError, SettingsError
from sensorstream.history.database import OwnConnection
from sensorstream.history.effects_writer import forget_events, waiting_events
from sensorstream.history.journal_rows import journal_rows, record_of
from sensorstream.history.store import PostgresStore
from sensorstream.journal.entry import Entry
from sensorstream.journal.kinds import replay
from sensorstream.journal.message import PassTime, TakeEvent, TakeTopic
from sensorstream.journal.records import Store
from sensorstream.journal.registration import RegisterQuery, RemoveQuery
from sensorstream.journal.takeover import PutOntology, PutRules
from sensorstream.model.timeline import Instant
from sensorstream.model.waits import Waits
from sensorstream.reasoning.ontology import deployed_ontology, parse_put
from sensorstream.settings.settings import Settings

_LOG = logging.getLogger(__name__)
_WAY_OUT: Final = (
    "or 'sensorstream journal list' has the number of {}, and 'sensorstream journal skip NUMBER' "
    "puts in force what was before it"
)


def read_files(settings: Settings) -> Deployment | str:
    """Read the deployment of the files that the settings name; or return why there is none."""
    try:
        found = read_deployment(settings)
    except (LanguageError, OntologyError, SettingsError) as error:
        return str(error)
    for remark in found.ontology.remarks:
        _LOG.warning("%s: %s", remark.file, remark.text)
    return found


def in_force(
    settings: Settings, files: Deployment | str, store: Store, seq: int, *, again: bool = False
) -> tuple[Deployment, ServedOntology | None]:
    """The deployment with ontology and rules in force after an entry; that ontology if it was put.
    What was put stays in force until something else is put, whatever the files say by now: they may
    be broken, as far as nothing of them is in force.

    ``files`` are the result of :func:`read_files`, ``seq`` is the number of the entry. ``again``:
    entries after it are processed again: rules of the files count as a start has found them then,
    not as they are now.

    Raises:
        SettingsError: a setting is not valid, or a file that is in force cannot be read.
        OntologyError: an ontology that is in force cannot be loaded.
        LanguageError: a rule that is in force cannot be read or compiled.
        HistoryError: the journal cannot be read.
    """
    message = store.last_accepted(PutOntology.kind, seq)
    rules = store.last_accepted(PutRules.kind, seq)
    entry = None if rules is None else PutRules.decode(rules.content, rules.source)
    if entry is not None and entry.found and not again:
        rules = entry = None
    if message is None and rules is None:
        # Once more, for its error.
        return (read_deployment(settings) if isinstance(files, str) else files), None
    put = None if message is None else ontology_text(message)
    if put is not None:
        _LOG.info("the ontology is the one put as %s, not the one of the files", put.origin)
        try:
            ontology = parse_put(settings.ontology, put.content, put.media_type)
        except OntologyError as error:
            told = f"{error.message} (in the ontology put as {put.origin}: read it with the version"
            raise OntologyError(
                f"{told} that took it, {_WAY_OUT.format(put.origin)})", position=error.position
            ) from None
    elif isinstance(files, str):
        ontology = deployed_ontology(settings.ontology)
    else:
        ontology = files.ontology
    texts: Mapping[str, str] | None = None
    tables, change = None, ""
    if rules is not None and entry is not None:
        texts = with_rule_sets(settings, entry.files)
        tables = entry.tables
        if not entry.found:
            change = rules.id
            _LOG.info("the rules are those put as %s, not those of the files", rules.id)
    contents = FileContents() if isinstance(files, str) else files.contents
    if not isinstance(files, str):
        functions = files.reference.functions
        texts = files.texts if texts is None else texts
    elif rules is not None:
        # Those that can be read: the rules in force may need no others.
        functions, _ = read_functions(settings.functions.files, contents)
    else:
        functions = None
    try:
        instead = Substitutes(texts, change, tables, functions, contents=contents)
        return read_deployment(settings, ontology, instead), put
    except LanguageError as error:
        if entry is not None and entry.found:
            _LOG.warning(
                "the rules of the start before do not fit any more, those of the files count for "
                "messages from before it, too: %s",
                error,
            )
            return in_force(settings, files, store, seq)
        if not change:
            raise
        told = f"{error.message} (in the rules put as {change}, not in the files: does the ontology"
        raise LanguageError(
            f"{told} still have what they name? If not, {_WAY_OUT.format(change)})",
            position=error.position,
        ) from None


def tell_edited(files: Deployment | str, now: Deployment) -> None:
    """Log which files differ from the texts in force."""
    if isinstance(files, str):
        _LOG.error("the files are broken, and what was put is in force instead: %s", files)
        return
    ours, theirs = {**files.texts, **files.tables}, {**now.texts, **now.tables}
    edited = [each for each in {**theirs, **ours} if theirs.get(each) != ours.get(each)]
    if set(files.ontology.triples) != set(now.ontology.triples):
        edited.append("the ontology")
    if edited:
        told = ", ".join(edited)
        _LOG.warning("%s: not as put; 'sensorstream apply' puts the files in force", told)


def begin(store: PostgresStore, in_work: InWork, now: datetime) -> Start:
    """Find the beginning of the recovery; skip an entry that ends the process again and again."""
    if store.last_accepted(TakeTopic.kind, store.last_seq()) is not None:
        raise SettingsError(
            "pipeline.runner: the journal has messages that stay in topics (copy = false), which "
            'only engines on Spark read: expected "spark", or an empty database'
        )
    start = find_start(store)
    death = in_work.open()
    if death is not None and skip_deadly(death, store, start, now):
        in_work.forget()
    return start


def fill(
    target: Exchange,
    store: PostgresStore,
    start: Start,
    log: ReportLog,
    progress: TellProgress,
    in_work: InWork,
    clock: Clock,
    own: Callable[[], Iterable[Entry]],
) -> None:
    """Bring an engine to the journal's end, see :func:`.recover`; record since when the ontology of
    the settings is in force, if it is.
    """
    if target.put is None:
        since = None if start.state is None else start.state.window.counters.now
        store.record_ontology(version_of(target.deployment, start.seq, since))
    tell = rebuilding(store.last_seq() - start.seq, progress, clock.counter)
    recover(target, store, start, log.publish, clock.now(), tell, in_work, own)


def fill_for_spark(target: Exchange, store: PostgresStore) -> None:
    """Register the continuous queries of the journal, so that new ones can be checked. The engines
    are elsewhere, one for each key; the one of this process holds nothing else.
    """
    for row in journal_rows(store.url, 0, None, (RegisterQuery.kind, RemoveQuery.kind)):
        replay(record_of(row), target, ())


_WAITING = """
    select p.moved, p.moved_at, g.watermark,
        (select coalesce(max(seq), 0) from store.messages),
        exists (
            select from store.messages where seq > g.watermark and kind <> 'message' and kind = %s
        ),
        (select min(received) from store.engines where "until" is null and received is not null),
        (select min(moved) from store.engines where "until" is null and moved is not null),
        (select min(present) from store.engines where "until" is null and present is not null)
    from store.pipeline p cross join store.progress g
"""


_STAGES = """
    select distinct split_part(key, '=', 1) from store.engines
    where "until" is null and (received <= %s or moved <= %s or present <= %s)
"""


class StreamTime(OwnConnection):
    """The time of the stream, the times that its engines wait for, and the events that go on to
    engines of later stages.

    Application time is what messages have brought to any engine. While all of them are silent and
    nothing waits to be processed, it goes on with the clock, for continuous queries alone (decision
    010). A later stage gets a time when those before have worked it off, after all events up to it,
    in their order: so it does not depend on batches what it gets. Owned by one thread.
    """

    def __init__(self, url: str, since: Instant, stages: Sequence[str] = ()) -> None:
        """``since``: the time of arrival before which silence says nothing."""
        super().__init__(lambda: url, "sensorstream time")
        self._since = since
        self._stages = ("", *stages)
        self._had: dict[str, PassTime] = {}
        """The last time of each stage."""
        self._after = 0
        """The last entry that was due; it is to be processed before there are more."""

    def due(self, now: Instant) -> list[Entry]:
        """The entries that the engines are to get at a time of arrival; they wait until the engines
        have had those before. While the history cannot be read, nothing is due.
        """
        try:
            with self.cursor("cannot read what the engines wait for") as cursor:
                return self._due(cursor, now)
        except HistoryError as error:
            _LOG.warning("the history is unavailable, time stands still: %s", error)
            return []

    def _due(self, cursor: extensions.cursor, now: Instant) -> list[Entry]:
        cursor.execute(_WAITING, (PassTime.kind,))
        row = cursor.fetchone()
        if row is None or row[0] is None:
            return []
        moved, moved_at, watermark, last, told, *waits = row
        if told or watermark < self._after:
            return []
        present = moved
        if watermark == last and moved_at is not None:
            present += max(0, now - max(moved_at, self._since))
        if len(self._stages) > 1:
            forget_events(cursor)
        time, found = PassTime(moved, present), list[Entry]()
        for stage in self._stages:
            before = len(found)
            if stage:
                events = waiting_events(cursor, stage, time.present, MOST_AT_ONCE)
                found += (TakeEvent.of(*each) for each in events)
            if len(found) == before + MOST_AT_ONCE:
                break
            own = replace(time, stage=stage)
            if self._waits(cursor, Waits(*waits), own, now):
                found.append(own)
            had, self._had[stage] = self._had.get(stage), own
            if len(found) > before:
                # Stages after this one get the time that it has worked off.
                if had is None:
                    break
                time = had
        if found:
            self._after = last + len(found)
        return found

    def _waits(self, cursor: extensions.cursor, first: Waits, time: PassTime, now: Instant) -> bool:
        """Whether an engine of the stage waits for a time; ``first`` are the waits of all."""
        told = now, time.moved, time.present
        some = first.over(*told)
        if not some or len(self._stages) == 1:
            return some
        cursor.execute(_STAGES, told)
        # Engines of a stage that is not in the settings any more go with the first ones.
        return time.stage in {name if name in self._stages else "" for (name,) in cursor}
