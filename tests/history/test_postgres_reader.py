"""The latest values against their definition, on random histories, and the evidence of alerts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from sensorstream.history import postgres_reader
from sensorstream.history.asked_records import RECENT, ClassMember, Latest, QuarantineChoice
from sensorstream.history.postgres_reader import PostgresReader
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Ended, Evidence, Message, Provenance, RuleWait, Status
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from tests.databases import execute
from tests.history.test_store import alert, effects, entry
from tests.waiting import eventually

NOW = datetime(2014, 8, 1, tzinfo=UTC)
EX = "http://example.org/"
SUBJECTS: Sequence[Subject] = (IRI(f"{EX}a"), IRI(f"{EX}b"), BlankNode("_:c"))
CLASS = IRI(f"{EX}Human")
PROPERTIES = (rdf.TYPE, IRI(f"{EX}p"), IRI(f"{EX}q"))
VALUES: Sequence[Term] = (
    CLASS,
    Literal("1", xsd.INTEGER),
    Literal("1"),
    Literal("one", language="en"),
    IRI(f"{EX}a"),
    BlankNode("_:c"),
)
FIRST = (2**63 - 1, 2**63 - 1)

# Far apart, too: in several partitions.
ends = st.one_of(st.integers(1, 5), st.sampled_from([200_000, 10_000_000]))
statements = st.builds(
    lambda subject, predicate, value, end, inferred: Ended(
        1, subject, (subject, predicate, value), Provenance("m1", 0), end, inferred
    ),
    st.sampled_from(SUBJECTS),
    st.sampled_from(PROPERTIES),
    st.sampled_from(VALUES),
    ends,
    st.booleans(),
)


def fill(url: str, store: PostgresStore, ended: Sequence[Ended]) -> None:
    """A history of nothing but some statements."""
    execute(url, "delete from store.statements")
    seq = store.last_seq() + 1
    store.append([Record(seq, Message(f"m{seq}", b"", seq, "rest"), NOW)])
    statuses = (MessageStatus(seq, Status.ACCEPTED),)
    store.commit(Effects(seq, (), tuple(ended), (), statuses, NOW))


def by_definition(name: Subject, ended: Sequence[Ended]) -> set[tuple[Triple, int, bool]]:
    own = [each for each in ended if each.triple[0] == name]
    return {
        (each.triple, each.valid_to, each.inferred)
        for each in own
        if each.valid_to == max(e.valid_to for e in own if e.triple[1] == each.triple[1])
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(ended=st.lists(statements, max_size=30))
def test_the_latest_values_are_those_that_ended_last(
    url: str, store: PostgresStore, database: Engine, ended: list[Ended]
) -> None:
    fill(url, store, ended)
    found = PostgresReader(database).latest_values([*SUBJECTS, IRI(f"{EX}nobody")])
    for name in SUBJECTS:
        known = found.get(name, [])
        told = {(each.triple, each.valid_to, each.inferred) for each in known}
        assert told == by_definition(name, ended)
        assert all(each.provenance == Provenance("m1", 0) for each in known)
    assert IRI(f"{EX}nobody") not in found

    members = [
        (max(e.valid_to for e in own), name)
        for name in SUBJECTS
        if (own := [e for e in ended if e.triple == (name, rdf.TYPE, CLASS)])
    ]
    pages: list[ClassMember] = []
    before = FIRST
    while page := PostgresReader(database).last_members(CLASS, before, 2):
        pages += page
        before = (page[-1].valid_to, page[-1].number)
    assert sorted((each.valid_to, each.name) for each in pages) == sorted(members)
    assert [each.valid_to for each in pages] == sorted((e for e, _ in members), reverse=True)


def test_only_the_newest_statements_are_read(
    url: str, store: PostgresStore, database: Engine
) -> None:
    name, predicate = SUBJECTS[0], PROPERTIES[1]
    former = [
        Ended(1, name, (name, predicate, VALUES[n % 2 + 1]), Provenance("m1", n), n + 1)
        for n in range(20_000)
    ]
    other, forgotten = (
        Ended(1, name, (name, predicate, VALUES[0]), Provenance("m1", 5), end)
        for predicate, end in ((PROPERTIES[2], 20_000 - RECENT // 2), (PROPERTIES[0], 6))
    )
    fill(url, store, [*former, other, forgotten])
    connection = psycopg2.connect(url)
    connection.autocommit = True
    with connection.cursor() as cursor:

        def rows_read() -> int:
            cursor.execute("select pg_stat_clear_snapshot()")
            cursor.execute(READ)
            return int(cursor.fetchall()[0][0])

        cursor.execute("analyze store.statements")
        told = []
        for _ in range(3):
            before = rows_read()
            found = PostgresReader(database).latest_values([name])
            database.dispose()
            eventually(lambda: rows_read() > before)  # noqa: B023 - it is over then
            told.append(rows_read() - before)
    connection.close()
    assert found[name] == [
        Latest(former[-1].triple, Provenance("m1", 19_999), 20_000, inferred=False),
        Latest(other.triple, Provenance("m1", 5), other.valid_to, inferred=False),
    ]
    # Once it may be told late what others have read before.
    assert min(told) <= RECENT + 100


READ = """
select coalesce(sum(coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0)), 0)
from pg_stat_user_tables where relname like 'statements%'
"""


@pytest.mark.parametrize(("text", "kept"), [("{\"',}\\\n", "{\"',}\\\n"), ("a\0\ud800", "a\0?")])
def test_an_evidence_is_kept_with_its_alert(
    store: PostgresStore, database: Engine, text: str, kept: str
) -> None:
    store.append([entry(1)])
    evidence = Evidence("d", (("v", Literal(text)),), left_out=2, since=RuleWait(5, "m1"))
    raised = replace(alert("m1-1"), evidence=evidence)
    store.commit(effects(1, 1, alerts=[raised, alert("m1-2")]))
    alerts, found = PostgresReader(database).evidence_of_alert("m1-1")
    assert alerts.alert == raised
    assert found == replace(evidence, bindings=(("v", Literal(kept)),))
    assert PostgresReader(database).evidence_of_alert("m1-2")[1] is None


@pytest.fixture
def searched(url: str, store: PostgresStore) -> list[str]:
    """A journal of eight messages, one every 30 seconds; their contents."""
    execute(url, "delete from store.messages")
    contents = (
        *("<a>Frog</a>", "<a>fr\u00f6g &amp; co</a>", "<a>fro_g 100%</a>", "<A>\\ frog</A>"),
        *("<b x='big frog'/>", "<b/>", "<b>toad</b>", "<b>FROG pond</b>"),
    )
    first = store.last_seq() + 1
    for at, each in enumerate(contents):
        moment = NOW + timedelta(seconds=30 * at)
        message = Message(f"m{first + at}", each.encode(), first + at, "rest")
        store.append([Record(first + at, message, moment)])
    statuses = [
        MessageStatus(first + at, Status.REJECTED if at == 6 else Status.ACCEPTED)
        for at, _ in enumerate(contents)
    ]
    store.commit(Effects(first + 7, (), (), (), tuple(statuses), NOW))
    return list(contents)


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (("frog",), [7, 4, 3, 0]),
        (("frog", "big"), [4]),
        (("big frog",), [4]),
        (("fr\u00f6g",), [1]),
        (("g & c",), [1]),
        (("&amp;",), [1]),
        (("_g",), [2]),
        (("100%",), [2]),
        (("\\",), [3]),
        (("<b",), [7, 6, 5, 4]),
        (("o\0",), []),
    ],
)
def test_words_are_found_in_messages(
    searched: list[str], database: Engine, words: tuple[str, ...], numbers: list[int]
) -> None:
    reader = PostgresReader(database)
    found, rest = reader.kept_messages(QuarantineChoice(words=words), 20)
    contents = [reader.content_of_message(each.id).decode() for each in found]
    assert (contents, rest) == ([searched[at] for at in numbers], None)


def test_a_search_goes_on_where_it_has_stopped(
    searched: list[str], database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, chosen = PostgresReader(database), QuarantineChoice(words=("frog",))
    first = reader.kept_messages(QuarantineChoice(), 8)[0][-1].seq
    for name, most in (("SEARCHED", 3), ("SEARCHED_BYTES", 30)):
        monkeypatch.setattr(postgres_reader, name, most)
        counted = reader.count_messages(chosen, 4)
        assert counted.oldest is not None
        assert counted.oldest > NOW
        found: list[int] = []
        rest: int | None = None
        for _ in searched:
            page, rest = reader.kept_messages(replace(chosen, before=rest), 20)
            found += [each.seq - first for each in page]
            if rest is None:
                break
        assert found == [7, 4, 3, 0]
        monkeypatch.undo()


def test_messages_are_counted_by_time_and_status(searched: list[str], database: Engine) -> None:
    reader = PostgresReader(database)
    counted = reader.count_messages(QuarantineChoice(), 4)
    part = int(NOW.timestamp()) // 60
    accepted = Status.ACCEPTED
    assert (counted.seconds, counted.oldest) == (60, None)
    assert {each[:2]: each[2] for each in counted.counts} == {
        (part, accepted): 2,
        (part + 1, accepted): 2,
        (part + 2, accepted): 2,
        (part + 3, accepted): 1,
        (part + 3, Status.REJECTED): 1,
    }
    minute = timedelta(minutes=1)
    narrow = QuarantineChoice("accepted", since=NOW + minute, until=NOW + 2 * minute)
    counted = reader.count_messages(replace(narrow, words=("frog",)), 60)
    assert (counted.seconds, [each[2] for each in counted.counts]) == (1, [1])
    assert reader.count_messages(replace(narrow, source="none"), 60).counts == ()
