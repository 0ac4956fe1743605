"""What a server has after all faults against one undisturbed run over the same journal.

What "nothing is lost, nothing is twice" means:

- **Messages.** What was acknowledged (200 or 202) is in the journal once. What was sent with an
  idempotency key until it was answered, too, however often it was sent. What got no answer is there
  once or not at all. Entries are numbered without gaps, and each has been processed.
- **Changes of rules.** Each that was acknowledged is in the journal, and counts from its place on.
- **Answers.** Individuals and alerts of an answer are those of the undisturbed run.
- **Window and history.** The individuals of the window, all that holds, each stay and each interval
  of a statement that ended: as in the undisturbed run, each as often as there.
- **Alerts.** Those of the undisturbed run under the same ids, each once.
- **Deliveries.** A webhook gets each alert and each report at least once, under the id of the alert
  or report and always with the same content. The outbox has each event once for a webhook;
  in the end nothing waits and nothing is dead.
- **What people do with alerts.** See :mod:`tests.integration.endurance.people`.
- **Reports.** Who follows a query gets no report that the undisturbed run has not made, none with
  another content, and on one way (with ``Last-Event-ID``) none twice; what is kept no more is
  told as missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

import httpx

from sensorstream.history.journal_rows import journal_rows, record_of
from sensorstream.history.open_history import open_kept
from sensorstream.history.term_dictionary import TermKey, TermKind
from sensorstream.journal.records import Record
from sensorstream.journal.takeover import PutRules
from sensorstream.model import xsd
from sensorstream.model.xsd import RDF_LANG_STRING
from sensorstream.settings.settings_file import load_settings
from tests.databases import execute
from tests.integration.endurance.clients import message
from tests.integration.endurance.oracle import Expected, Fact, run_undisturbed
from tests.integration.endurance.people import SILENCED, compare_people
from tests.integration.endurance.witness import Witness
from tests.integration.endurance.workspace import SETTINGS, Workspace

_STATEMENTS: Final = """
    select s.text, p.text, o.kind, o.text, o.datatype, o.language,
           valid_from, valid_to, stay, message, inferred
    from store.statements t join store.terms s on s.id = t.subject
    join store.terms p on p.id = t.predicate join store.terms o on o.id = t.object"""
_STAYS: Final = """
    select n.text, stay, entered, time, expired_at, message
    from store.stays s join store.terms n on n.id = s.name"""
_ALERTS: Final = "select id, rule, kind, severity, text, key, time, message_id from store.alerts"
_DELIVERIES: Final = """
    select coalesce(alert_id, report_id, c.incident || '.' || c.seq), webhook_id, status
    from store.outbox o left join store.alert_changes c on c.seq = o.change"""


class Present:
    """What the running server says that it holds."""

    def __init__(self, url: str) -> None:
        with httpx.Client(base_url=url, timeout=60) as client:
            window = client.get("/window", params={"limit": 1000}).raise_for_status().json()
            query = {"query": "SELECT ?s ?p ?o WHERE { ?s ?p ?o }"}
            asked = client.get("/sparql", params=query, headers={"accept": "application/json"})
            rows = asked.raise_for_status().json()["results"]["bindings"]
        self.window = [(each["iri"], sorted(each["types"])) for each in window["individuals"]]
        self.facts = {_fact(row) for row in rows if not _is_blank(row)}


def compare(workspace: Workspace, witness: Witness, present: Present) -> Mapping[str, int]:
    """Compare all outputs; the server has ended. What was counted.

    Raises:
        AssertionError: something is lost, twice, or another than it should be.
    """
    settings = load_settings(workspace.config, SETTINGS)
    with ExitStack() as stack:
        url = open_kept(settings.history, stack)
        journal = [record_of(row) for row in journal_rows(url, 0)]
        statements, stays = Counter(_rows(url, _STATEMENTS)), Counter(_rows(url, _STAYS))
        alerts, deliveries = _rows(url, _ALERTS), _rows(url, _DELIVERIES)
        changes = compare_people(url, witness)
    assert not witness.faults, f"{len(witness.faults)} faults: {witness.faults[:5]}"
    numbers = _compare_journal(journal, witness)
    expected = run_undisturbed(settings, journal)
    _same(
        "statuses", {r.message.id: r.status and r.status.value for r in journal}, expected.statuses
    )
    _compare_answers(numbers, witness, expected)
    _same("stays", stays, expected.stays)
    _same("statements", statements, +expected.statements)
    _same("the window", dict(present.window), dict(expected.window))
    assert present.window == expected.window, "the window is in another order"
    _same_members("what holds", present.facts, expected.facts)
    names = ("id", "rule", "kind", "severity", "text", "key", "time", "message_id")
    _same("alerts", {row[0]: dict(zip(names, row, strict=True)) for row in alerts}, expected.alerts)
    assert len(alerts) == len(expected.alerts), "alerts are twice"
    # A silence counts when an alert is stored, and that may be after a crash.
    told = {
        id_: each
        for id_, each in expected.alerts.items()
        if id_ in witness.events or not str(each["key"]).endswith(SILENCED)
    }
    events = {**told, **expected.reports, **changes}
    _compare_deliveries(deliveries, witness, events)
    known = {name: expected.reports.get(name) for name in witness.reports}
    _same("reports to the follower", witness.reports, known)
    return {
        "messages sent": len(witness.sent),
        "acknowledged": witness.acknowledged,
        "without an answer": witness.unanswered,
        "sent again, answered": witness.repeated,
        **{f"answered {code}": count for code, count in sorted(witness.refused.items())},
        "entries of the journal": len(journal),
        "individuals departed": stays.total(),
        "individuals in the window": len(present.window),
        "statements ended": statements.total(),
        "alerts": len(alerts),
        "changes of alerts": len(changes),
        "changes of alerts answered": len(witness.seen_to),
        "events for the webhook": len(events),
        "events received": len(witness.received),
        "events received again": witness.received.total() - len(witness.received),
        "reports": len(expected.reports),
        "reports followed": len(witness.reports),
        "reports told as missed": witness.missed,
        "changes of rules": len(set(witness.changes)),
        "questions answered": witness.asked,
    }


def _compare_journal(journal: Sequence[Record], witness: Witness) -> Mapping[int, str]:
    """The id in the journal of each message, by its number."""
    assert [each.seq for each in journal] == list(range(1, len(journal) + 1)), "there are gaps"
    sent = {message(number): number for number in witness.sent}
    messages = [each.message for each in journal if each.kind == "message"]
    found = Counter(sent[each.content] for each in messages)
    twice = [number for number, count in found.items() if count > 1]
    assert not twice, f"{len(twice)} messages are twice in the journal: {twice[:5]}"
    must = {*witness.answers, *witness.early, *witness.keyed}
    lost = sorted(must - found.keys())
    assert not lost, f"{len(lost)} acknowledged messages are lost: {lost[:5]}"
    put = [each.message.id for each in journal if each.kind == PutRules.kind]
    assert set(witness.changes) <= set(put), "acknowledged changes of rules are lost"
    return {sent[each.content]: each.id for each in messages}


def _compare_answers(numbers: Mapping[int, str], witness: Witness, expected: Expected) -> None:
    told, due = {}, {}
    for number, body in witness.answers.items():
        alerts = [each["id"] for each in body["alerts"]]
        told[number] = body["message_id"], list(body["individuals"]), alerts
        individuals, raised = expected.answers[numbers[number]]
        due[number] = numbers[number], [str(each) for each in individuals], list(raised)
    _same("answers", told, due)
    early = {number: numbers[number] for number in witness.early}
    _same("early answers", witness.early, early)


def _compare_deliveries(
    deliveries: Sequence[tuple[Any, ...]], witness: Witness, events: Mapping[str, Any]
) -> None:
    twice = [name for name, count in Counter(row[:2] for row in deliveries).items() if count > 1]
    assert not twice, f"{len(twice)} events are twice in the outbox: {twice[:5]}"
    states = Counter(row[2] for row in deliveries)
    assert set(states) <= {"delivered"}, f"deliveries are left: {states}"
    found = {
        name: {key: said[key] for key in events[name]} if "change" in said else said
        for name, said in witness.events.items()
        if name in events
    }
    marked = {row[0]: row[2] for row in deliveries}
    lost = {
        name: marked.get(name, "never in the outbox, or passed by")
        for name in events
        if name not in witness.events
    }
    assert not lost, f"{len(lost)} of {len(events)} events did not come: {[*lost.items()][:5]}"
    _same_members("events received", witness.events, events)
    _same("events received", found, events)


def _same(what: str, found: Mapping[Any, Any], due: Mapping[Any, Any]) -> None:
    _same_members(what, found.keys(), due.keys())
    other = [key for key in due if found[key] != due[key]]
    assert not other, (
        f"{what}: {len(other)} differ, such as {other[0]}: "
        f"found {found[other[0]]}, expected {due[other[0]]}"
    )


def _same_members(what: str, found: Collection[Any], due: Collection[Any]) -> None:
    lost = [each for each in due if each not in found]
    more = [each for each in found if each not in due]
    assert not lost, f"{what}: {len(lost)} of {len(due)} are lost, such as {lost[:3]}"
    assert not more, f"{what}: {len(more)} too many, such as {more[:3]}"


def _rows(url: str, query: str) -> list[tuple[Any, ...]]:
    return execute(url, query)


def _fact(row: Mapping[str, Mapping[str, str]]) -> Fact:
    value = row["o"]
    if value["type"] == "uri":
        term = TermKey(TermKind.IRI, value["value"])
    else:
        language = value.get("xml:lang")
        datatype = value.get("datatype", RDF_LANG_STRING if language else xsd.STRING)
        term = TermKey(TermKind.LITERAL, value["value"], datatype, language)
    return row["s"]["value"], row["p"]["value"], term


def _is_blank(row: Mapping[str, Mapping[str, str]]) -> bool:
    return any(term["type"] == "bnode" for term in row.values())
