"""A replay of the journal through an engine with other semantic rules; nothing is written.

The window and the memory of the rules at an instant depend on all messages before it, so the
journal is processed from the first entry that is kept. If that is the first there was, the same
rules raise the same alerts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

from sensorstream.app.control.mapping_files import is_rule_file
from sensorstream.app.control.rule_exchange import Exchange
from sensorstream.app.control.wiring import (
    NOTHING,
    Deployment,
    Substitutes,
    build_machine,
    read_deployment,
    read_rules,
    with_state_rules,
)
from sensorstream.errors import SettingsError
from sensorstream.history.database import connect, translating
from sensorstream.history.database import engine as database_engine
from sensorstream.history.journal_rows import journal_rows, record_of
from sensorstream.history.postgres_reader import PostgresReader
from sensorstream.journal.entry_effects import in_order
from sensorstream.journal.kinds import replay
from sensorstream.language.syntax import RuleFile
from sensorstream.model.events import Alert
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.timeline import Instant
from sensorstream.reasoning.ontology import Ontology
from sensorstream.rules.rule_compiler import compile_rules
from sensorstream.rules.rule_notes import check_classes_named
from sensorstream.settings.settings import Settings


@frozen
class AlertComparison:
    """An alert: ``did`` it fire, and ``would`` it with the rules that were tried."""

    alert: Alert
    did: bool
    would: bool


@frozen
class WhatIf:
    """The results of replaying the journal; alerts are in the order of their times.

    ``since`` is the arrival of the first entry; ``whole``: the journal has all its entries.
    ``reports`` are the numbers of reports of each continuous query. ``unanswered`` counts the
    questions to the history, by rule, whose answers the journal does not have: they are not asked
    now.
    """

    entries: int
    since: datetime | None
    whole: bool
    alerts: tuple[AlertComparison, ...]
    reports: Counter[str]
    unanswered: Counter[str]


def what_if(
    settings: Settings,
    url: str,
    rules: Sequence[Path],
    start: Instant | None,
    end: Instant | None,
    said: Callable[[int, int], None],
) -> WhatIf:
    """Compare the alerts that rules raised with those that they, or others, raise now, from
    ``start`` on and before ``end``. Changes of the ontology and queries that the journal has take
    place as they did. It ends when application time has come to ``end``. The history is only read.
    ``rules`` are files of semantic rules instead of the deployment's own; ``said`` gets the numbers
    of processed and of all entries, now and then.

    Raises:
        SettingsError: the engines run on Spark, a file is not one of semantic rules, or a setting
            is not valid.
        OntologyError, LanguageError: ontology or rules cannot be read or compiled.
        HistoryError: the journal cannot be read.
        ReasonerError: the reasoner does not start.
    """
    if settings.pipeline.runner == "spark":
        raise SettingsError(
            "pipeline.runner is 'spark': there is an engine for each key, and a replay has one: "
            "expected a deployment whose engine is the server's"
        )
    files = _semantic(rules)

    def read(
        settings: Settings, ontology: Ontology | None = None, put: Substitutes = NOTHING
    ) -> Deployment:
        deployment = read_deployment(settings, ontology, put)
        if not files:
            return deployment
        together = with_state_rules(files, deployment.rule_set)
        compiled = compile_rules(together, deployment.ontology.schema, deployment.timeline)
        if deployment.names_only:
            check_classes_named(files)
        return replace(deployment, rules=compiled)

    deployment = read(settings)
    upto, count = _extent(url)
    machine = build_machine(deployment, lambda: 0.0, spent=lambda: 0.0)
    engine = machine.engine
    target = Exchange(engine, machine.mapper, deployment, read=read)
    would: Counter[Alert] = Counter()
    reports: Counter[str] = Counter()
    since: datetime | None = None
    done = 0
    with closing(engine):
        for row in journal_rows(url, 0, upto):
            record = record_of(row)
            since = since or record.received_at
            if record.degraded and not engine.degraded:
                engine.degrade("it had failed then")
            for outcome in in_order(replay(record, target, ())):
                for alert in outcome.alerts:
                    if alert.kind == "rule" and _within(alert.time, start, end):
                        would[_comparable(alert)] += 1
                reports.update(each.report.query for each in outcome.reports)
            done += 1
            if done % 200 == 0:
                said(done, count)
            now = engine.window.now
            if end is not None and now is not None and now >= end:
                break
        unanswered = Counter(each.rule for each in engine.asked())
    alerts = _compared(would, url, start, end)
    return WhatIf(done, since, count == upto, alerts, reports, unanswered)


def _compared(
    would: Counter[Alert], url: str, start: Instant | None, end: Instant | None
) -> tuple[AlertComparison, ...]:
    """The alerts of now beside those that history has, in the order of their times."""
    database = database_engine(url, pool_size=1)
    try:
        raised = PostgresReader(database).alerts_of_rules(start, end)
    finally:
        database.dispose()
    did = Counter(_comparable(each.alert) for each in raised)
    alerts = [
        *(AlertComparison(each, True, True) for each in (did & would).elements()),
        *(AlertComparison(each, True, False) for each in (did - would).elements()),
        *(AlertComparison(each, False, True) for each in (would - did).elements()),
    ]
    alerts.sort(key=lambda each: (each.alert.time, len(each.alert.message), each.alert.message))
    return tuple(alerts)


def _semantic(paths: Sequence[Path]) -> list[RuleFile]:
    for path in paths:
        if not is_rule_file(path):
            raise SettingsError(f"{path}: expected a file of semantic rules, named *.rules")
    files = read_rules(paths)
    for file in files:
        if file.mapping_rules:
            raise SettingsError(
                f"{file.file}: it has mapping rules, but a replay tries semantic rules on what "
                "the deployment's mapping makes of its messages: expected semantic rules only"
            )
    return files


def _extent(url: str) -> tuple[int, int]:
    """The last entry whose effects are stored, and the number of entries kept up to it."""
    with (
        translating("cannot read the journal"),
        closing(connect(url)) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "select p.watermark, (select count(*) from store.messages where seq <= p.watermark) "
            "from store.progress p"
        )
        upto, count = cursor.fetchone() or (0, 0)
    return upto, count


def _within(time: Instant, start: Instant | None, end: Instant | None) -> bool:
    return (start is None or start <= time) and (end is None or time < end)


def _comparable(alert: Alert) -> Alert:
    """The alert without the parts that depend on the other rules: its count, and its messages."""
    return replace(alert, id="", messages=())
