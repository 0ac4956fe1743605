"""Each stay has beside it what statements say of its end, whoever wrote them and when."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from sensorstream.history.asking.checked_question import read_question
from sensorstream.history.asking.query_answer import Solutions
from sensorstream.history.asking.query_run import AskingLimits, answered
from sensorstream.history.store import PostgresStore
from sensorstream.history.view_definitions import numbered, view_definitions
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Departure, Ended, Individual, Message, Provenance, Status
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.timeline import Timeline
from sensorstream.sql.sparql import solution_modifiers
from tests.databases import execute, make_views
from tests.history.ends import stays_told_wrong

NOW = datetime(2014, 8, 1, tzinfo=UTC)
EX = "http://example.org/"
CLASSES: list[Term] = [IRI(EX + name) for name in ("Human", "Actor", "Guide")]
SAID: list[tuple[IRI, Term]] = [
    *((rdf.TYPE, each) for each in CLASSES),
    *((IRI(f"{EX}x"), Literal(text, xsd.INTEGER)) for text in ("7", "12", "9" * 20, "many")),
    (IRI(f"{EX}x"), Literal("7.5", xsd.DOUBLE)),
    *((IRI(f"{EX}room"), Literal(text)) for text in ("a", "B", "10")),
    (IRI(f"{EX}awake"), Literal("1", xsd.BOOLEAN)),
    (IRI(f"{EX}awake"), Literal("false", xsd.BOOLEAN)),
]
SCHEMA = Schema(
    classes=frozenset({IRI(f"{EX}Human"), IRI(f"{EX}Actor"), IRI(f"{EX}Guide")}),
    datatype_properties=frozenset({IRI(f"{EX}x"), IRI(f"{EX}room"), IRI(f"{EX}awake")}),
    ranges_of={
        IRI(f"{EX}x"): frozenset({IRI(xsd.INTEGER)}),
        IRI(f"{EX}awake"): frozenset({IRI(xsd.BOOLEAN)}),
    },
)


def commit(
    store: PostgresStore,
    seq: int,
    departures: list[Departure],
    ended: list[Ended],
    revoked: list[Ended],
) -> None:
    store.append([Record(seq, Message(f"m{seq}", b"<a/>", seq), NOW)])
    statuses = (MessageStatus(seq, Status.ACCEPTED),)
    store.commit(
        Effects(seq, tuple(departures), tuple(ended), (), statuses, NOW, revoked=tuple(revoked))
    )


def told(
    stay: int, said: tuple[IRI, Term], start: int, end: int, *, inferred: bool = False
) -> Ended:
    name = IRI(f"{EX}{stay % 3}")
    return Ended(stay, name, (name, *said), Provenance("m1", start), end, inferred=inferred)


def left(stay: int, time: int, kinds: list[Term]) -> Departure:
    """A stay that ends, with the classes said of it, and one said of a blank node that it owns."""
    one = Individual(IRI(f"{EX}{stay % 3}"), stay, 1, 1, stay, "m1")
    for kind in kinds:
        one.statements[(one.name, rdf.TYPE, kind)] = Provenance("m1", 1)
    one.statements[(BlankNode("_:b"), rdf.TYPE, CLASSES[0])] = Provenance("m1", 1)
    return Departure(one, time)


@pytest.mark.parametrize("seed", range(2))
def test_ends_follow_statements_that_come_before_with_and_after_a_stay(
    store: PostgresStore, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    staying: list[int] = []
    gone: dict[int, int] = {}
    stored: list[Ended] = []
    for seq in range(1, 100):
        time = 10 + seq // 4
        staying.append(seq)
        departures, ended, revoked = [], [], []
        for _ in range(chance.randint(0, 3)):
            stay, said = chance.choice([*staying, *gone, 0]), chance.choice(SAID)
            # What ended in the instant in which its stay ends is what it had at its end.
            end = chance.choice((time, gone.get(stay, time)))
            ended.append(told(stay, said, seq % 9, end, inferred=chance.random() < 0.5))
        if stored and chance.random() < 0.5:
            revoked.append(stored.pop(chance.randrange(len(stored))))
        if len(staying) > 4 or chance.random() < 0.3:
            stay = staying.pop(chance.randrange(len(staying)))
            gone[stay] = time
            departures.append(left(stay, time, chance.sample(CLASSES, chance.randint(0, 2))))
            ended += departures[0].ended()
            if chance.random() < 0.5:
                ended.append(told(stay, chance.choice(SAID), 2, time, inferred=True))
        commit(store, seq, departures, ended, revoked)
        stored += ended
        having, wrong = stays_told_wrong(store.url)
        assert wrong == [], seq
    assert having > 20
    make_views(store.url, SCHEMA)
    assert_counted(store.url)
    # As where many rows may repeat a triple.
    monkeypatch.setattr(solution_modifiers, "_FEW", 1)
    assert_counted(store.url)
    plain, beside = (
        in_the_plainest_way(store.url),
        execute(store.url, "select * from history.human"),
    )
    assert len(beside) > 10
    assert Counter(beside) == Counter(plain)


def assert_counted(url: str) -> None:
    """As many triples are counted as differ: some are marked as first, not all."""
    marks = execute(url, "select count(*) filter (where again), count(*) from store.statements")
    ((again, every),) = marks
    assert 0 < again < every
    for pattern, test in (
        ("?s ?p ?o", "true"),
        (f"?s <{EX}x> ?o", "p.text like '%/x'"),
        ("?s ?p ?s", "subject = object"),
        (f"<{EX}1> ?p ?o", "n.text like '%/1'"),
    ):
        for time, held in ((None, "true"), ("20", "valid_from <= 20 and valid_to > 20")):
            text = f"SELECT (COUNT(*) AS ?n) {{ {pattern} }}"
            question = read_question(text, Timeline.INTEGER, at=time)
            with answered(url, question, AskingLimits(timeout=60.0, rows=1)) as answer:
                assert isinstance(answer, Solutions)
                ((found,),) = answer.rows
            plain = execute(
                url,
                "select count(*) from (select distinct subject, predicate, object "
                "from store.statements join store.terms n on n.id = subject "
                f"join store.terms p on p.id = predicate where {test} and {held}) s",
            )
            assert isinstance(found, Literal)
            assert [(int(found.lexical),)] == plain, (pattern, time)


def in_the_plainest_way(url: str) -> list[tuple[Any, ...]]:
    """The view of humans over the statements of each stay, as other engines have it."""
    terms = execute(url, "select text, id from store.terms where kind = 0")
    numbers: dict[Term, int] = {IRI(name): number for name, number in terms}
    views = view_definitions(SCHEMA, Timeline.INTEGER)
    (found,) = (each for each in views if each.name == "human")
    return execute(url, numbered(found, numbers).query.sql("postgres"))
