"""What a start puts in force, and what it does for engines here, and on Spark."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from sensorstream.app.control.exchange import Exchange, ServedOntology, ontology_text
from sensorstream.app.control.mapping_files import read_functions
from sensorstream.app.control.queries import ReportLog
from sensorstream.app.control.rule_files import with_rule_sets
from sensorstream.app.control.wiring import (
    Deployment,
    Substitutes,
    cross_check_period,
    read_deployment,
    version_of,
)
from sensorstream.app.life.in_work import InWork
from sensorstream.app.life.progress import Progress, rebuilding
from sensorstream.app.life.recovery import Start, find_start, recover, skip_deadly
from sensorstream.app.life.stream_time import StreamTime
from sensorstream.clock import Clock
from sensorstream.errors import LanguageError, OntologyError, RunsOnSpark, SettingsError
from sensorstream.history.journal_rows import journal_rows, record_of
from sensorstream.history.pipeline import Writes
from sensorstream.history.store import PostgresStore
from sensorstream.journal.entry import Entry
from sensorstream.journal.kinds import replay
from sensorstream.journal.records import Store
from sensorstream.journal.registration import RegisterQuery, RemoveQuery
from sensorstream.journal.takeover import PutOntology, PutRules
from sensorstream.model.timeline import Instant
from sensorstream.reasoning.ontology import deployed_ontology, parse_put
from sensorstream.reasoning.reasoner import NoReasoner
from sensorstream.settings.settings import Settings

_LOG = logging.getLogger(__name__)
_WAY_OUT: Final = (
    "or 'sensorstream journal list' has the number of {}, and 'sensorstream journal skip NUMBER' "
    "puts in force what was before it"
)


def read_files(settings: Settings) -> Deployment | str:
    """The deployment of the files that the settings name; or why there is none."""
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

    What was put stays in force until something else is put, whatever the files say by now: they
    may be broken, as far as nothing of them is in force.

    Args:
        settings: of the deployment.
        files: what :func:`read_files` has found.
        store: has the journal.
        seq: the number of the entry.
        again: entries after it are processed again: rules that a start has found in the files
            count as it has found them, not as they are now.

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
    if not isinstance(files, str):
        functions = files.reference.functions
        texts = files.texts if texts is None else texts
    elif rules is not None:
        # Those that can be read: the rules in force may need no others.
        functions, _ = read_functions(settings.functions.files)
    else:
        functions = None
    try:
        instead = Substitutes(texts, change, tables, functions)
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
    """Log which files say something else than what is in force."""
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


class EnginesHere:
    """One engine, in this process."""

    here: Final = True
    writes: Final = Writes.ALL

    def __init__(self, in_work: InWork, clock: Clock) -> None:
        self._in_work = in_work
        self._clock = clock

    def check(self, what: str, way_out: str) -> None:
        """All can be asked here."""

    def reasoner(self) -> None:
        """It has that of the profile."""

    def period(self, settings: Settings) -> float | None:
        """Seconds between two cross-checks; None: there are none."""
        return cross_check_period(settings)

    def begin(self, store: PostgresStore) -> Start:
        """Where its recovery begins; an entry that ends the process again and again is skipped."""
        start = find_start(store)
        death = self._in_work.open()
        if death is not None and skip_deadly(death, store, start, self._clock.now()):
            self._in_work.forget()
        return start

    def fill(
        self,
        target: Exchange,
        store: PostgresStore,
        start: Start,
        log: ReportLog,
        progress: Progress,
        own: Callable[[], Iterable[Entry]],
    ) -> None:
        """Bring it to the journal's end, see :func:`.recover`; and note of the ontology of the
        settings, if it is in force, since when it is.
        """
        if target.put is None:
            since = None if start.state is None else start.state.window.counters.now
            store.record_ontology(version_of(target.deployment, start.seq, since))
        now = self._clock.now()
        tell = rebuilding(store.last_seq() - start.seq, progress, self._clock.counter)
        recover(target, store, start, log.publish, now, tell, self._in_work, own)

    def time(self, url: str, since: Instant) -> None:
        """The pipeline tells it the time."""


class EnginesOnSpark:
    """Engines elsewhere, one for each key; the one of this process holds nothing.

    It knows the continuous queries, so that new ones can be checked.
    """

    here: Final = False
    writes: Final = Writes.JOURNAL

    def check(self, what: str, way_out: str) -> None:
        """Tell where to ask instead.

        Raises:
            RunsOnSpark: always.
        """
        raise RunsOnSpark(f"{what}: the engines run on Spark (pipeline.runner): {way_out}")

    def reasoner(self) -> NoReasoner:
        """The one here needs none."""
        return NoReasoner()

    def period(self, settings: Settings) -> None:
        """There is nothing to check here."""

    def begin(self, store: PostgresStore) -> Start:
        """The journal's end: others process it."""
        return Start(store.last_seq())

    def fill(self, target: Exchange, store: PostgresStore, *_: object) -> None:
        """Register the continuous queries of the journal."""
        for row in journal_rows(store.url, 0, None, (RegisterQuery.kind, RemoveQuery.kind)):
            replay(record_of(row), target, ())

    def time(self, url: str, since: Instant) -> StreamTime:
        """What finds out when they are to be told of it."""
        return StreamTime(url, since)
