"""Every kind of entry: what stands in the journal of it, and what happens to those refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sensorstream.errors import HistoryError
from sensorstream.journal.entry import Entry
from sensorstream.journal.kinds import KINDS, entry_of, new_record
from sensorstream.journal.message import (
    AnswerRule,
    AskEngines,
    PassTime,
    TakeEvent,
    TakeMessage,
    TakeTopic,
    Tick,
)
from sensorstream.journal.notice import (
    ReadFunctions,
    ReportDamage,
    ReportDifferences,
    ReportDisabled,
    ReportRefused,
    ReportSkip,
)
from sensorstream.journal.records import Record, TopicSlice
from sensorstream.journal.registration import (
    PutWebhook,
    QueryStopped,
    RegisterQuery,
    RemoveQuery,
    RemoveWebhook,
)
from sensorstream.journal.takeover import PutOntology, PutRules, ReadmitReasoner
from sensorstream.model import xsd
from sensorstream.model.events import Message
from sensorstream.model.terms import Literal
from sensorstream.model.timeline import Timeline
from sensorstream.model.webhook_definition import Grouping, WebhookDefinition
from sensorstream.rules.rule_memory import Answer

NOW = datetime(2014, 8, 1, 8, 5, tzinfo=UTC)
MOMENT = (("last", Literal("a\n")), ("now", Literal("2", xsd.INTEGER)))
TOLD = r'{"last": "\"a\\n\"", "now": "\"2\"^^<http://www.w3.org/2001/XMLSchema#integer>"}'
ANSWERED = f'{{"digest": "d1", "moment": {TOLD}, "solutions": [{TOLD}, {{}}]}}'.encode()
FAILED = f'{{"digest": "d1", "moment": {TOLD}, "failure": "é"}}'.encode()
RULES = (
    '{"files": {"ü.rules": "b", "a.rules": ""}, "tables": {"t.csv": "a"}, "found": false}'.encode()
)
TOPIC = rb'[["\u00fc", 2, 3, 5]]'
FUNCTIONS = '{"f.py": "12ü"}'
REGISTERED = """{"query": "ASK {'ü'}", "by": "me", "replaces": true}""".encode()
ASKED = '{"question": "results", "arguments": {"name": "ü"}}'.encode()
RECEIVER = b'{"url": "http://x/", "queries": ["q"], "format": "cloudevents", "by": "me"}'
ENTRIES: list[tuple[Entry, str, bytes, str]] = [
    (TakeMessage(b"<a/>", "hall"), "message", b"<a/>", "hall"),
    (TakeEvent(b"{}", "b=1"), "event", b"{}", "b=1"),
    (TakeTopic("k", (TopicSlice("ü", 2, 3, 5),)), "topic", TOPIC, "k"),
    (Tick(b"17"), "tick", b"17", ""),
    (PassTime(17, 23), "time", b"17 23", ""),
    (PassTime(17, 23, "b"), "time", b"17 23 b", ""),
    (AskEngines("results", {"name": "ü"}, "=a"), "ask", ASKED, "=a"),
    (AnswerRule(Answer("ü", "d1", MOMENT, (MOMENT, ()))), "answer", ANSWERED, "ü"),
    (AnswerRule(Answer("r", "d1", MOMENT, failure="é")), "answer", FAILED, "r"),
    (PutOntology(b":A a :B .", "text/turtle"), "ontology", b":A a :B .", "text/turtle"),
    (PutOntology(b"", "text/turtle", "key:a b"), "ontology", b"", "text/turtle key:a b"),
    (PutRules({"ü.rules": "b", "a.rules": ""}, "key:me", {"t.csv": "a"}), "rules", RULES, "key:me"),
    (ReadmitReasoner(), "reasoner", b"", ""),
    (ReportDifferences("1 difference: ü"), "audit", "1 difference: ü".encode(), ""),
    (ReadFunctions({"f.py": "12ü"}, "f.py edited"), "functions", b"f.py edited", FUNCTIONS),
    (ReportDamage("one at 7"), "damage", b"one at 7", ""),
    (ReportSkip("entry 7"), "skip", b"entry 7", ""),
    (ReportRefused("one of 7 bytes"), "refused", b"one of 7 bytes", ""),
    (ReportDisabled("wh_1", "since 2014"), "webhook", b"since 2014", "wh_1"),
    (RegisterQuery("all", "ASK {'ü'}", "me", True), "query", REGISTERED, "all"),
    (RemoveQuery("all"), "query-end", b"", "all"),
    (PutWebhook("w", WebhookDefinition("http://x/", ("q",)), "me"), "webhook-put", RECEIVER, "w"),
    (
        PutWebhook("w", WebhookDefinition("http://x/", group=Grouping(("rule",), 1.0, 60.0)), "me"),
        "webhook-put",
        b'{"url": "http://x/", "queries": [], "format": "cloudevents", "by": "me", '
        b'"group": {"by": ["rule"], "wait": 1.0, "interval": 60.0}}',
        "w",
    ),
    (RemoveWebhook("w", "me"), "webhook-end", b"me", "w"),
    (QueryStopped("all", "m3", 8, "2 rows"), "query-stopped", b"m3 8 2 rows", "all"),
]


@pytest.mark.parametrize(("entry", "kind", "content", "source"), ENTRIES)
def test_an_entry_comes_back_from_its_columns(
    entry: Entry, kind: str, content: bytes, source: str
) -> None:
    record = new_record(entry, 9, NOW, Timeline.INTEGER.of(NOW))
    assert (record.kind, record.message.content, record.message.source) == (kind, content, source)
    assert (record.seq, record.message.id, record.received_at) == (9, "m9", NOW)
    assert entry_of(record) == entry


def test_these_are_all_kinds() -> None:
    assert {type(entry) for entry, *_ in ENTRIES} == set(KINDS)
    assert len({each.kind for each in KINDS}) == len(KINDS)


def test_a_kind_of_a_newer_version_is_refused() -> None:
    with pytest.raises(HistoryError, match=r"entry 3 .* kind 'timer', expected one of message, "):
        entry_of(Record(3, Message("m3", b"", 1), NOW, kind="timer"))
