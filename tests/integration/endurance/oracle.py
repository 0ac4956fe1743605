"""One undisturbed run over the same journal, without a server: what should be there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sensorstream.alerts.alert_formats import plain_alert, report_json
from sensorstream.app.control.rule_exchange import Exchange
from sensorstream.app.control.wiring import build_machine, read_deployment
from sensorstream.clock import SystemClock
from sensorstream.engine.engine import Engine
from sensorstream.history.term_dictionary import TermKey, term_key
from sensorstream.journal.entry_effects import effects_of, in_order
from sensorstream.journal.kinds import replay
from sensorstream.journal.records import Effects, Record, number_of_message
from sensorstream.model import rdf
from sensorstream.model.events import Cleared, Ended
from sensorstream.model.terms import BlankNode, Subject, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import Settings
from tests.integration.endurance.witness import plain_report

Statement: TypeAlias = tuple[object, ...]
"""Subject, predicate, columns of the object, from, to, stay, message, whether inferred."""
Fact: TypeAlias = tuple[str, str, TermKey]


@dataclass
class Expected:
    """What one run says of each output."""

    statuses: dict[str, str] = field(default_factory=dict)
    """Of each entry, by its id."""
    answers: dict[str, tuple[Sequence[str], Sequence[str]]] = field(default_factory=dict)
    """Individuals and alerts of each entry, by its id."""
    stays: Counter[Statement] = field(default_factory=Counter)
    """Name, number, entered, time, expired, message."""
    statements: Counter[Statement] = field(default_factory=Counter)
    alerts: dict[str, Mapping[str, object]] = field(default_factory=dict)
    reports: dict[str, Any] = field(default_factory=dict)
    window: list[tuple[str, Sequence[str]]] = field(default_factory=list)
    """Individuals and their classes, in order."""
    facts: set[Fact] = field(default_factory=set)
    """All that holds now, but for statements with blank nodes."""


def run_undisturbed(settings: Settings, journal: Iterable[Record]) -> Expected:
    """Apply the entries in a new engine, one after the other."""
    deployment = read_deployment(settings)
    machine = build_machine(deployment, SystemClock().counter)
    engine, expected = machine.engine, Expected()
    with closing(engine):
        target = Exchange(engine, machine.mapper, deployment)
        for record in journal:
            if record.degraded and not engine.degraded:
                engine.degrade("it had failed then")
            outcome = replay(record, target, ())
            expected.statuses[record.message.id] = outcome.status.value
            alerts = [each.id for each in outcome.alerts]
            expected.answers[record.message.id] = outcome.individuals, alerts
            for each in in_order(outcome):
                for report in each.reports:
                    said = json.loads(report_json(report, deployment.timeline))
                    del said["variables"]  # kept for formats that need them
                    expected.reports[report.id] = plain_report(said)
            _store(effects_of([record], [outcome]), expected, deployment.timeline)
        _note_present(engine, expected)
    return expected


def _store(effects: Effects, expected: Expected, timeline: Timeline) -> None:
    for departure in effects.departures:
        one = departure.individual
        number = number_of_message(one.message)
        times = one.entered, one.time, departure.expired_at
        expected.stays[(term_key(one.name).text, one.stay, *times, number)] += 1
    expected.statements.update(map(_statement, effects.ended))
    expected.statements.subtract(map(_statement, effects.revoked))
    for alert in effects.alerts:
        if isinstance(alert, Cleared):
            continue
        assert alert.id not in expected.alerts
        expected.alerts[alert.id] = plain_alert(alert, timeline)


def _statement(ended: Ended) -> Statement:
    subject, predicate, value = _fact(ended.triple)
    columns = value.kind, value.text, value.datatype, value.language
    number = number_of_message(ended.provenance.message)
    times = ended.valid_from, ended.valid_to
    return (subject, predicate, *columns, *times, ended.stay, number, ended.inferred)


def _fact(triple: Triple) -> Fact:
    subject, predicate, value = map(term_key, triple)
    return subject.text, predicate.text, value


def _note_present(engine: Engine, expected: Expected) -> None:
    ordered = sorted(engine.window, key=lambda each: (each.time, each.arrival))
    expected.window = [(str(each.name), _classes(engine, each.name)) for each in ordered]
    for triple in engine.kb.match(None, None, None):
        if not any(isinstance(term, BlankNode) for term in triple):
            expected.facts.add(_fact(triple))


def _classes(engine: Engine, name: Subject) -> Sequence[str]:
    return sorted(str(value) for _, _, value in engine.kb.match(name, rdf.TYPE, None))
