from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sensorstream.history.effects_writer import PipelineRunner, Standings, claim
from sensorstream.history.store import PostgresStore
from sensorstream.installation import bundled
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model.events import Alert, Departure, Individual, Message, Provenance, Status
from sensorstream.model.terms import IRI, Literal
from tests.databases import execute

NOW = datetime(2014, 8, 1, 8, 5, tzinfo=UTC)


def departure(stay: int, expired_at: int) -> Departure:
    name = IRI(f"http://example.org/{stay}")
    one = Individual(name, stay, 0, 0, stay, "m1")
    one.statements[(name, IRI("http://example.org/p"), Literal("x"))] = Provenance("m1", 0)
    return Departure(one, expired_at)


def retain(url: str, ended: int, received: str) -> None:
    """Remove what ended before an instant, and what was received before a day."""
    execute(
        url,
        f"set sensorstream.ended_before = '{ended}'",
        f"set sensorstream.received_before = '{received}T00:00:00Z'",
        (bundled("persistent") / "retention.sql").read_text(),
    )


def test_what_ended_before_the_bound_goes_and_a_restart_still_works(store: PostgresStore) -> None:
    days = [NOW + timedelta(days=number) for number in range(4)]
    store.append([Record(n, Message(f"m{n}", b"<a/>", n), days[n - 1]) for n in range(1, 5)])
    for n in range(1, 5):
        alert = Alert(f"m{n}-1", "r", "rule", "info", "", "", n, f"m{n}")
        statuses = (MessageStatus(n, Status.ACCEPTED),)
        gone = (departure(n, n * 100),)
        store.commit(Effects(n, gone, tuple(gone[0].ended()), (alert,), statuses, days[n - 1]))
    store.save_checkpoint(3, b"state")
    retain(store.url, 300, "2014-08-03")
    queries = (
        "select stay from store.stays order by 1",
        "select stay from store.statements order by 1",
        "select text from store.terms where starts_with(text, 'http://example.org/') "
        "and kind = 0 order by 1",
        "select seq from store.messages order by 1",
        "select id from store.alerts order by 1",
    )
    left = [[value for (value,) in execute(store.url, each)] for each in queries]
    names = ["http://example.org/3", "http://example.org/4", "http://example.org/p"]
    assert left == [[3, 4], [3, 4], names, [3, 4], ["m3-1", "m4-1"]]
    ((checkpoint, _),) = store.checkpoints()
    assert [record.seq for record in store.replay(checkpoint)] == [4]
    assert not store.whole()
    assert store.last_seq() == 4


def test_the_writer_gives_terms_that_went_new_numbers(store: PostgresStore) -> None:
    store.append([Record(n, Message(f"m{n}", b"<a/>", n), NOW) for n in (1, 2)])

    def commit(n: int) -> None:
        gone = (departure(1 if n == 1 else 2, n * 100),)
        statuses = (MessageStatus(n, Status.ACCEPTED),)
        store.commit(Effects(n, gone, tuple(gone[0].ended()), (), statuses, NOW))

    commit(1)
    retain(store.url, 200, "2014-08-01")
    assert execute(store.url, "select count(*) from store.terms") == [(0,)]
    commit(2)
    assert execute(
        store.url,
        "select n.text, p.text, o.text from store.statements s "
        "join store.terms n on n.id = s.subject join store.terms p on p.id = s.predicate "
        "join store.terms o on o.id = s.object",
    ) == [("http://example.org/2", "http://example.org/p", "x")]


def test_where_the_engines_run_on_spark_the_last_batch_stays(store: PostgresStore) -> None:
    claim(store.url, PipelineRunner("spark", "source", by_count=True))
    kinds = ("rules", "query", "time", "message", "message", "message")
    store.append(
        [
            Record(n, Message(f"m{n}", b"1 1", n), NOW, kind=kind)
            for n, kind in enumerate(kinds, start=1)
        ]
    )
    for first, last in ((1, 3), (4, 5)):
        statuses = tuple(MessageStatus(n, Status.ACCEPTED) for n in range(first, last + 1))
        store.commit(Effects(last, (), (), (), statuses, NOW), Standings(last, []))
    retain(store.url, 0, "2015-01-01")
    # Spark may ask for 4 and 5 once more; rules and query are for engines of keys yet to come.
    left = execute(store.url, "select seq, kind from store.messages order by 1")
    assert left == [(1, "rules"), (2, "query"), (4, "message"), (5, "message"), (6, "message")]
