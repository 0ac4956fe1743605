from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from sqlalchemy.engine import make_url

from sensorstream.alerts.alert_records import Webhook
from sensorstream.errors import Contradiction, HistoryError
from sensorstream.history.asked_records import QuarantineChoice, Quarantined
from sensorstream.history.database import engine
from sensorstream.history.outbox import PostgresOutbox
from sensorstream.history.postgres_reader import PostgresReader
from sensorstream.history.store import PostgresStore
from sensorstream.history.webhook_store import PostgresWebhooks
from sensorstream.journal.records import Effects, MessageStatus, OntologyVersion, Record, Settled
from sensorstream.model import rdf, xsd
from sensorstream.model.events import (
    Alert,
    Departure,
    Ended,
    Individual,
    Message,
    Provenance,
    Status,
)
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.model.timeline import Timeline
from tests.databases import execute

NOW = datetime(2014, 8, 1, 8, 5, tzinfo=UTC)
EX = "http://example.org/"


def entry(seq: int, content: bytes = b"<a/>") -> Record:
    return Record(seq, Message(f"m{seq}", content, seq * 10, "rest"), NOW)


def departure(stay: int, *triples: Triple) -> Departure:
    name = IRI(f"{EX}human-{stay}")
    individual = Individual(name, stay, 10, 20, stay, "m1")
    individual.statements.update({each: Provenance("m1", 10) for each in triples})
    return Departure(individual, 30)


def effects(
    first: int,
    last: int,
    *,
    departures: Sequence[Departure] = (),
    ended: Sequence[Ended] = (),
    alerts: Sequence[Alert] = (),
) -> Effects:
    return Effects(
        last,
        tuple(departures),
        (*ended, *(each for gone in departures for each in gone.ended())),
        tuple(alerts),
        tuple(MessageStatus(seq, Status.ACCEPTED) for seq in range(first, last + 1)),
        NOW,
    )


def alert(name: str, text: str = "too many") -> Alert:
    return Alert(name, "crowded-room", "rule", "warning", text, "room-1", 20, name.split("-")[0])


@pytest.mark.parametrize("text", ["a\\u0000", "a\x00b", "\ud800", '"\'\\"', "{,}", "ä\U0001f600"])
def test_facts_are_kept_whatever_their_texts(store: PostgresStore, text: str) -> None:
    store.append([entry(1), entry(2)])
    kept = {"status": "held", "alerts": [], "warnings": [text], text: 1.5}
    first = MessageStatus(1, Status.HELD, text, Contradiction((text,), (text,), text), facts=kept)
    store.commit(Effects(1, (), (), (), (first,), NOW))
    settled = Settled("m1", Status.ACCEPTED, text, facts={"warnings": [text]})
    second = MessageStatus(2, Status.ACCEPTED)
    store.commit(Effects(2, (), (), (), (second,), NOW, (settled,)))
    plain = text.replace("\x00", "\ufffd").replace("\ud800", "?")
    ((facts,),) = execute(store.url, "select facts from store.messages where seq = 1")
    assert facts["settled"] == {"warnings": [plain]}
    assert (facts["status"], facts["warnings"], facts[plain]) == ("held", [plain], 1.5)


def test_a_new_store_is_empty(store: PostgresStore) -> None:
    assert (store.last_seq(), store.watermark(), store.checkpoints()) == (0, 0, [])


def test_the_journal_gives_back_what_it_was_given(store: PostgresStore) -> None:
    content = bytes(range(256)) + b'<a x="\\n">\xc3\xa9</a>'
    given = [entry(1, content), entry(2), entry(3)]
    store.append(given)
    assert store.last_seq() == 3
    assert list(store.replay(0)) == given
    assert list(store.replay(2)) == given[2:]


def test_a_message_is_journalled_once_and_its_group_with_it(store: PostgresStore) -> None:
    store.append([entry(1)])
    with pytest.raises(HistoryError, match=r"cannot write the journal: .*duplicate key"):
        store.append([entry(2), entry(1)])
    assert store.last_seq() == 1


def test_the_journal_waits_for_the_disk_whatever_the_servers_default(url: str) -> None:
    execute(url, f"alter database {make_url(url).database} set synchronous_commit = off")
    with PostgresStore.open(url, Timeline.INTEGER) as store, store._transaction("asking") as cursor:
        cursor.execute("select current_setting('synchronous_commit')")
        assert cursor.fetchone() == ("on",)


def test_a_departed_individual_is_stored_whole(store: PostgresStore, url: str) -> None:
    human = IRI(f"{EX}human-7")
    triples: list[Triple] = [
        (human, rdf.TYPE, IRI(f"{EX}Human")),
        (human, IRI(f"{EX}x"), Literal("072", xsd.INTEGER)),
        (human, IRI(f"{EX}name"), Literal('tab\t"quote"\\n\n', language="en")),
        (human, IRI(f"{EX}seen"), Literal("2014-08-01T10:05:00+02:00", xsd.DATE_TIME)),
        (human, IRI(f"{EX}place"), BlankNode("_:b1")),
        (BlankNode("_:b1"), IRI(f"{EX}level"), Literal("-INF", xsd.DOUBLE)),
    ]
    thing: Triple = (human, rdf.TYPE, IRI(f"{EX}Actor"))
    store.append([entry(1)])
    derived = Ended(7, human, thing, Provenance("m1", 20), 30, inferred=True)
    store.commit(effects(1, 1, departures=[departure(7, *triples)], ended=[derived]))
    assert execute(
        url,
        "select stay, text, entered, time, expired_at, message "
        "from store.stays join store.terms on id = name",
    ) == [(7, str(human), 10, 20, 30, 1)]
    name = 'tab\t"quote"\\n\n'
    lang_string = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
    seen = datetime(2014, 8, 1, 8, 5, tzinfo=UTC)
    infinite = (Decimal("-Infinity"), None, float("-inf"))
    assert execute(
        url,
        "select text, kind, datatype, language, t.number, moment, s.number, valid_from, inferred "
        "from store.statements s join store.terms t on t.id = s.object order by inferred, s.ctid",
    ) == [
        (f"{EX}Human", 0, None, None, None, None, None, 10, False),
        ("072", 2, xsd.INTEGER, None, Decimal(72), None, 72.0, 10, False),
        (name, 2, lang_string, "en", None, None, None, 10, False),
        ("2014-08-01T10:05:00+02:00", 2, xsd.DATE_TIME, None, None, seen, None, 10, False),
        ("b1", 1, None, None, None, None, None, 10, False),
        ("-INF", 2, xsd.DOUBLE, None, *infinite, 10, False),
        (f"{EX}Actor", 0, None, None, None, None, None, 20, True),
    ]
    assert execute(url, "select distinct stay, valid_to, message from store.statements") == [
        (7, 30, 1)
    ]


def test_a_superseded_statement_ends_when_it_was_replaced(store: PostgresStore, url: str) -> None:
    room = IRI(f"{EX}room-1")
    old = Ended(3, room, (room, IRI(f"{EX}lamp"), Literal("off")), Provenance("m1", 10), 15)
    store.append([entry(1)])
    store.commit(effects(1, 1, ended=[old]))
    assert execute(
        url,
        "select stay, text, valid_from, valid_to from store.statements "
        "join store.terms on id = object",
    ) == [(3, "off", 10, 15)]


def test_what_a_late_update_proves_wrong_is_revoked(store: PostgresStore, url: str) -> None:
    room = IRI(f"{EX}room-1")
    lamp = (room, IRI(f"{EX}lamp"), Literal("off"))
    wrong = Ended(3, room, lamp, Provenance("m1", 10), 15)
    other = Ended(3, room, lamp, Provenance("m1", 10), 15, inferred=True)
    right = Ended(3, room, lamp, Provenance("m1", 10), 12)
    store.append([entry(1), entry(2)])
    store.commit(effects(1, 1, ended=[wrong, other]))
    store.commit(replace(effects(2, 2, ended=[right]), revoked=(wrong,)))
    assert execute(
        url, "select valid_from, valid_to, inferred from store.statements order by valid_to"
    ) == [(10, 12, False), (10, 15, True)]


def test_the_versions_of_the_ontology_are_recorded(store: PostgresStore, url: str) -> None:
    store.append([entry(1), entry(2)])
    versions = (
        OntologyVersion(1, None, b"<urn:a> a <urn:b> .", "text/turtle"),
        OntologyVersion(2, 20, b"", "application/n-triples"),
    )
    store.commit(replace(effects(1, 2), ontologies=versions))
    assert execute(
        url,
        "select seq, valid_from, digest = encode(sha256(content), 'hex'), media_type "
        "from store.ontologies order by seq",
    ) == [(1, None, True, "text/turtle"), (2, 20, True, "application/n-triples")]


def test_messages_carry_what_became_of_them(store: PostgresStore, url: str) -> None:
    store.append([entry(1), entry(2), entry(3)])
    statuses = (
        MessageStatus(1, Status.ACCEPTED),
        MessageStatus(2, Status.UNMATCHED, "no rule: namespace?"),
        MessageStatus(3, Status.REJECTED, "certainty is 'high'"),
    )
    store.commit(Effects(3, (), (), (), statuses, NOW))
    assert execute(url, "select status, reason from store.messages order by seq") == [
        ("accepted", None),
        ("unmatched", "no rule: namespace?"),
        ("rejected", "certainty is 'high'"),
    ]
    assert store.watermark() == 3
    assert [each.status for each in store.replay(0)] == [each.status for each in statuses]
    database = engine(url)
    assert PostgresReader(database).quarantined(10) == [
        Quarantined(3, "m3", "rest", NOW, "rejected", "certainty is 'high'", b"<a/>"),
        Quarantined(2, "m2", "rest", NOW, "unmatched", "no rule: namespace?", b"<a/>"),
    ]
    assert [
        each.seq for each in PostgresReader(database).quarantined(1, QuarantineChoice(before=3))
    ] == [2]
    database.dispose()


def test_effects_that_are_stored_already_are_not_stored_again(
    store: PostgresStore, url: str
) -> None:
    store.append([entry(1), entry(2)])
    group = effects(1, 2, departures=[departure(7)], alerts=[alert("m2-1")])
    store.commit(group)
    store.commit(group)
    store.commit(effects(1, 1, departures=[departure(8)]))
    assert execute(url, "select stay from store.stays") == [(7,)]
    assert execute(url, "select id from store.alerts") == [("m2-1",)]
    assert store.watermark() == 2


def test_a_group_across_the_watermark_is_refused(store: PostgresStore, url: str) -> None:
    store.append([entry(1), entry(2), entry(3)])
    store.commit(effects(1, 2))
    with pytest.raises(HistoryError, match="begin at or below the watermark 2"):
        store.commit(effects(2, 3, departures=[departure(7)]))
    assert execute(url, "select count(*) from store.stays") == [(0,)]
    assert store.watermark() == 2


def test_effects_of_a_message_that_is_not_journalled_are_refused(
    store: PostgresStore, url: str
) -> None:
    with pytest.raises(HistoryError, match=r"not in the journal: \[1\]"):
        store.commit(effects(1, 1, departures=[departure(7)]))
    assert execute(url, "select count(*) from store.stays") == [(0,)]


def test_the_watermark_never_passes_a_message_without_effects(store: PostgresStore) -> None:
    store.append([entry(1), entry(2), entry(3)])
    with pytest.raises(HistoryError, match="would pass message 1"):
        store.commit(effects(2, 3))
    assert store.watermark() == 0


def test_an_alert_and_its_deliveries_are_stored_together(store: PostgresStore, url: str) -> None:
    database = engine(url)
    outbox = PostgresOutbox(database)
    PostgresWebhooks(database).put(Webhook("w1", "http://localhost/a", "secret", NOW), 1)
    store.append([entry(1), entry(2)])
    with pytest.raises(HistoryError):
        store.commit(effects(2, 2, alerts=[alert("m2-1")]))
    assert outbox.due(NOW, 10) == []
    store.commit(effects(1, 2, alerts=[alert("m1-1"), alert("m2-1", "nul \x00")]))
    assert [each.event.id for each in outbox.due(NOW, 10)] == ["m1-1", "m2-1"]
    database.dispose()


def test_checkpoints_keep_the_newest_states(store: PostgresStore, url: str) -> None:
    store.append([entry(seq) for seq in range(1, 6)])
    store.commit(effects(1, 5))
    for seq in (1, 3, 5):
        store.save_checkpoint(seq, b"\x00state %d" % seq)
    assert store.checkpoints()[0] == (5, b"\x00state 5")
    assert execute(url, "select seq from store.checkpoints order by seq") == [(3,), (5,)]


def test_a_checkpoint_ahead_of_the_watermark_is_refused(store: PostgresStore) -> None:
    store.append([entry(1)])
    with pytest.raises(HistoryError, match="ahead of the watermark 0"):
        store.save_checkpoint(1, b"state")


def test_a_store_has_one_writer(
    store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensorstream.history.effects_writer._PATIENCE", 0.2)
    with pytest.raises(HistoryError, match="another process writes to"):
        PostgresStore.open(url, Timeline.INTEGER)
    store.close()
    PostgresStore.open(url, Timeline.INTEGER).close()


def test_a_store_keeps_its_time_line(store: PostgresStore, url: str) -> None:
    store.close()
    with pytest.raises(HistoryError, match="holds times of the line 'integer'"):
        PostgresStore.open(url, Timeline.DATETIME)


def test_a_lost_connection_is_an_error_and_leaves_nothing_half_written(
    store: PostgresStore, url: str
) -> None:
    store.append([entry(1)])
    execute(
        url,
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and application_name = 'sensorstream writer'",
    )
    with pytest.raises(HistoryError, match="cannot store effects"):
        store.commit(effects(1, 1, departures=[departure(7)]))
    with pytest.raises(HistoryError, match="cannot write the journal"):
        store.append([entry(2)])
    with PostgresStore.open(url, Timeline.INTEGER) as again:
        assert (again.last_seq(), again.watermark()) == (1, 0)
        again.commit(effects(1, 1, departures=[departure(7)]))


def test_what_was_appended_survives_the_writers_death(url: str) -> None:
    program = (
        "import os, signal, sys; from datetime import UTC, datetime\n"
        "from sensorstream.journal.records import Record\n"
        "from sensorstream.history.store import PostgresStore\n"
        "from sensorstream.model.events import Message\n"
        "from sensorstream.model.timeline import Timeline\n"
        "store = PostgresStore.open(sys.argv[1], Timeline.INTEGER)\n"
        "store.append([Record(1, Message('m1', b'<a/>', 1), datetime.now(UTC))])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, url], check=False).returncode == -9
    with PostgresStore.open(url, Timeline.INTEGER) as store:
        assert [each.message.id for each in store.replay(0)] == ["m1"]
