"""The latest values against their definition, on random histories, and the evidence of alerts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import psycopg2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from sensorstream.engine.outcome import Status
from sensorstream.history.postgres_reader import PostgresReader
from sensorstream.history.store import PostgresStore
from sensorstream.history.store_reader import RECENT, ClassMember, Latest
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Ended, Evidence, Message, Provenance, RuleWait
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from tests.databases import rows
from tests.history.test_store import alert, effects, entry

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
    rows(url, "delete from store.statements")
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
        cursor.execute("analyze store.statements")
        cursor.execute("select pg_stat_force_next_flush()")
        cursor.execute(READ)
        before = cursor.fetchone()
        found = PostgresReader(database).latest_values([name])
        database.dispose()
        rows_read = 0
        for _ in range(200):
            cursor.execute("select pg_stat_clear_snapshot()")
            cursor.execute("select pg_sleep(0.05)")
            cursor.execute(READ)
            after = cursor.fetchone()
            assert before is not None
            assert after is not None
            rows_read = after[0] - before[0]
            if rows_read:
                break
    connection.close()
    assert found[name] == [
        Latest(former[-1].triple, Provenance("m1", 19_999), 20_000, inferred=False),
        Latest(other.triple, Provenance("m1", 5), other.valid_to, inferred=False),
    ]
    assert 0 < rows_read <= RECENT + 100


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
