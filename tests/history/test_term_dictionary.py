"""The dictionary of terms: each term has one number, and the number that it says."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sensorstream.errors import HistoryError
from sensorstream.history.store import PostgresStore
from sensorstream.model import xsd
from sensorstream.model.events import Departure, Individual, Provenance
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.timeline import Timeline
from tests.databases import rows
from tests.history.test_store import EX, departure, effects, entry


@pytest.mark.parametrize(
    "value",
    [
        Literal("12 apples", xsd.INTEGER),
        Literal("9" * 5000, xsd.INTEGER),
        Literal("today", xsd.DATE_TIME),
        Literal("a\x00b"),
        Literal("lone \ud800 surrogate"),
    ],
)
def test_no_literal_stops_the_writer(store: PostgresStore, url: str, value: Literal) -> None:
    name = IRI(f"{EX}human-7")
    store.append([entry(1)])
    store.commit(effects(1, 1, departures=[departure(7, (name, IRI(f"{EX}p"), value))]))
    assert rows(
        url,
        "select t.number, moment, s.number from store.statements s "
        "join store.terms t on t.id = s.object",
    ) == [(None, None, None)]


@pytest.mark.parametrize(
    ("value", "exact", "near"),
    [
        (Literal("9" * 400, xsd.INTEGER), Decimal("9" * 400), float("inf")),
        (Literal("-" + "9" * 400, xsd.INTEGER), Decimal("-" + "9" * 400), float("-inf")),
        (Literal(" 9007199254740993 ", xsd.INTEGER), Decimal(2**53 + 1), float(2**53)),
        (Literal("0." + "0" * 40 + "1", xsd.DECIMAL), Decimal("1e-41"), 1e-41),
        (Literal("0.1e0", xsd.DOUBLE), Decimal("0.1"), 0.1),
        (Literal("INF", xsd.DOUBLE), Decimal("Infinity"), float("inf")),
    ],
)
def test_numbers_are_exact(
    store: PostgresStore, url: str, value: Literal, exact: Decimal, near: float
) -> None:
    name = IRI(f"{EX}human-7")
    store.append([entry(1)])
    store.commit(effects(1, 1, departures=[departure(7, (name, IRI(f"{EX}p"), value))]))
    assert rows(
        url,
        "select t.number, s.number from store.statements s join store.terms t on t.id = s.object",
    ) == [(exact, near)]


def test_not_a_number_is_a_number_in_no_order(store: PostgresStore, url: str) -> None:
    value = Literal("NaN", xsd.DOUBLE)
    store.append([entry(1)])
    gone = departure(7, (IRI(f"{EX}human-7"), IRI(f"{EX}p"), value))
    store.commit(effects(1, 1, departures=[gone]))
    assert rows(
        url,
        "select t.number::text, s.number::text from store.statements s "
        "join store.terms t on t.id = s.object",
    ) == [("NaN", "NaN")]


def test_terms_that_postgresql_cannot_distinguish_are_one(store: PostgresStore, url: str) -> None:
    name = IRI(f"{EX}human-7")
    texts = ("a\x00", "a\ud800", "a\ufffd")
    store.append([entry(1)])
    triples = [(name, IRI(f"{EX}p"), Literal(text)) for text in texts]
    store.commit(effects(1, 1, departures=[departure(7, *triples)]))
    assert rows(url, "select text from store.terms where kind = 2") == [("a\ufffd",)]
    assert rows(url, "select count(*), count(distinct object) from store.statements") == [(3, 1)]


def test_every_term_has_one_number(store: PostgresStore, url: str) -> None:
    name, predicate = IRI(f"{EX}human-7"), IRI(f"{EX}p")
    values: list[Term] = [
        IRI("urn:1"),
        Literal("urn:1"),
        Literal("urn:1", language="en"),
        Literal("urn:1", language="de"),
        Literal("urn:1", xsd.INTEGER),
        BlankNode("_:urn:1"),
    ]
    gone = departure(7, *((name, predicate, value) for value in values))
    store.append([entry(1), entry(2), entry(3)])
    store.commit(effects(1, 1, departures=[gone]))
    again = departure(8, *((name, predicate, value) for value in values))
    store.commit(effects(2, 2, departures=[again]))
    store.close()
    with PostgresStore.open(url, Timeline.INTEGER) as fresh:
        last = departure(9, *((name, predicate, value) for value in values))
        fresh.commit(effects(3, 3, departures=[last]))
    assert rows(
        url, "select stay, count(distinct object) from store.statements group by 1 order by 1"
    ) == [(7, 6), (8, 6), (9, 6)]
    # The names of three stays, the predicate, and the values.
    assert rows(url, "select count(*), count(distinct id) from store.terms") == [(10, 10)]


def test_a_failed_commit_leaves_no_term_behind(store: PostgresStore, url: str) -> None:
    name = IRI(f"{EX}human-7")
    gone = departure(7, (name, IRI(f"{EX}p"), Literal("x")))
    store.append([entry(1)])
    with pytest.raises(HistoryError, match="not in the journal"):
        store.commit(effects(1, 2, departures=[gone]))
    assert rows(url, "select count(*) from store.terms") == [(0,)]
    store.commit(effects(1, 1, departures=[gone]))
    assert rows(
        url,
        "select s.text, o.text from store.statements t "
        "join store.terms s on s.id = t.subject join store.terms o on o.id = t.object",
    ) == [(name, "x")]


def test_the_writer_forgets_what_others_removed(store: PostgresStore, url: str) -> None:
    gone = (IRI(f"{EX}human-7"), IRI(f"{EX}p"), Literal("x"))
    store.append([entry(1), entry(2)])
    store.commit(effects(1, 1, departures=[departure(7, gone)]))
    ((table,),) = rows(
        url,
        "select inhrelid::regclass::text from pg_inherits "
        "where inhparent = 'store.statements'::regclass",
    )
    rows(
        url,
        "update store.progress set removals = removals + 1; "
        f"delete from store.stays; drop table {table}; delete from store.terms",
    )
    store.commit(effects(2, 2, departures=[departure(8, gone)]))
    assert rows(
        url,
        "select t.stay, s.text, o.text from store.statements t "
        "join store.terms s on s.id = t.subject join store.terms o on o.id = t.object",
    ) == [(8, gone[0], "x")]


def test_no_length_of_a_name_stops_the_writer(store: PostgresStore, url: str) -> None:
    # Incompressible, so that no index can squeeze it below its limit.
    digits = "".join(f"{(n * 2654435761) % 2**32:08x}" for n in range(2500))
    long = IRI(EX + digits)
    individual = Individual(long, 1, 10, 20, 1, "m1")
    individual.statements[(long, IRI(EX + digits[::-1]), long)] = Provenance("m1", 10)
    store.append([entry(1)])
    store.commit(effects(1, 1, departures=[Departure(individual, 30)]))
    assert rows(url, "select length(text) from store.stays join store.terms on id = name") == [
        (len(long),)
    ]
