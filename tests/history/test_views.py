from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Engine

from sensorstream.errors import HistoryError, OntologyConflict
from sensorstream.history.database import engine
from sensorstream.history.reader_role import reader_url
from sensorstream.history.store import PostgresStore
from sensorstream.history.views import check_views, install_views, rendered
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Departure, Ended, Individual, Message, Provenance, Status
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term
from sensorstream.model.timeline import Timeline
from sensorstream.model.xsd import XSD
from tests.databases import execute, make_views

EX = "http://example.org/100%25#"
NOW = datetime(2014, 8, 1, 8, 5, tzinfo=UTC)
SCHEMA = Schema(
    classes=frozenset({IRI(f"{EX}Human"), IRI(f"{EX}Actor"), IRI(f"{EX}Group")}),
    object_properties=frozenset({IRI(f"{EX}hasLocation")}),
    datatype_properties=frozenset(
        IRI(EX + name) for name in ("x", "speed", "awake", "seen", "name", "members")
    ),
    superclasses_of={IRI(f"{EX}Human"): frozenset({IRI(f"{EX}Actor")})},
    domains_of={
        IRI(f"{EX}members"): frozenset({IRI(f"{EX}Group")}),
        IRI(f"{EX}awake"): frozenset({IRI(f"{EX}Actor")}),
    },
    ranges_of={
        IRI(f"{EX}x"): frozenset({IRI(xsd.INTEGER)}),
        IRI(f"{EX}members"): frozenset({IRI(f"{XSD}nonNegativeInteger")}),
        IRI(f"{EX}speed"): frozenset({IRI(xsd.DOUBLE)}),
        IRI(f"{EX}awake"): frozenset({IRI(xsd.BOOLEAN)}),
        IRI(f"{EX}seen"): frozenset({IRI(xsd.DATE_TIME)}),
    },
)


def departure(
    stay: int,
    name: Subject,
    time: int,
    *said: tuple[str, Term],
    inferred: tuple[IRI, ...] = (),
    owned: tuple[tuple[Subject, IRI, Term], ...] = (),
) -> Departure:
    one = Individual(name, stay, time - 5, time, stay, "m1")
    for predicate, value in said:
        iri = rdf.TYPE if predicate == "a" else IRI(EX + predicate)
        one.statements[(name, iri, value)] = Provenance("m1", time)
    one.statements.update({triple: Provenance("m1", time) for triple in owned})
    return Departure(one, time + 100, tuple((name, rdf.TYPE, kind) for kind in inferred))


def ended(departures: Sequence[Departure]) -> tuple[Ended, ...]:
    """All that the departed had, asserted or inferred."""
    return tuple(
        each
        for gone in departures
        for each in (
            *gone.ended(),
            *(
                Ended(
                    gone.individual.stay,
                    gone.individual.name,
                    triple,
                    Provenance("m1", gone.individual.time),
                    gone.expired_at,
                    inferred=True,
                )
                for triple in gone.inferred
            ),
        )
    )


def human(number: int) -> IRI:
    return IRI(f"{EX}human-{number}")


def fill(store: PostgresStore) -> None:
    kind = IRI(f"{EX}Human")
    actor = IRI(f"{EX}Actor")
    store.append([Record(1, Message("m1", b"<a/>", 1, "rest"), NOW)])
    departures = (
        departure(
            1,
            human(1),
            1000,
            ("a", kind),
            ("x", Literal("72", xsd.INTEGER)),
            ("speed", Literal("1.5", xsd.DOUBLE)),
            ("awake", Literal("1", xsd.BOOLEAN)),
            ("seen", Literal("2014-08-01T10:05:00+02:00", xsd.DATE_TIME)),
            ("name", Literal("Ada", language="en")),
            ("hasLocation", IRI(f"{EX}room-1")),
            inferred=(actor, kind),
            owned=((BlankNode("_:b"), IRI(f"{EX}x"), Literal("5", xsd.INTEGER)),),
        ),
        # It came back, with two values of one property and some that do not fit.
        departure(
            2,
            human(1),
            2000,
            ("a", kind),
            ("x", Literal("8", xsd.INTEGER)),
            ("x", Literal("9", xsd.INTEGER)),
            ("speed", Literal("fast")),
            ("awake", Literal("maybe")),
        ),
        departure(3, human(3), 3000, ("x", Literal("9" * 30, xsd.INTEGER))),
    )
    old = Ended(
        2,
        human(1),
        (human(1), IRI(f"{EX}x"), Literal("7", xsd.INTEGER)),
        Provenance("m1", 1990),
        1995,
    )
    statuses = (MessageStatus(1, Status.ACCEPTED),)
    store.commit(Effects(1, departures, (old, *ended(departures)), (), statuses, NOW))


@pytest.fixture
def database(store: PostgresStore) -> Iterator[Engine]:
    fill(store)
    database = engine(store.url)
    install_views(database, SCHEMA, Timeline.INTEGER)
    yield database
    database.dispose()


def test_individuals_have_one_row_per_stay_and_class(database: Engine, url: str) -> None:
    assert execute(
        url,
        "select iri, class, time, expired_at, message_id from history.individuals order by 3, 2",
    ) == [
        (human(1), f"{EX}Actor", 1000, 1100, "m1"),
        (human(1), f"{EX}Human", 1000, 1100, "m1"),
        (human(1), f"{EX}Human", 2000, 2100, "m1"),
        (human(3), None, 3000, 3100, "m1"),
    ]


def test_a_class_has_one_row_per_stay_and_a_column_per_property(database: Engine, url: str) -> None:
    seen = datetime(2014, 8, 1, 8, 5, tzinfo=UTC)
    assert execute(
        url,
        "select iri, time, expired_at, x, speed, awake, seen, name, has_location "
        "from history.human order by time",
    ) == [
        (human(1), 1000, 1100, 72, 1.5, True, seen, "Ada", f"{EX}room-1"),
        (human(1), 2000, 2100, 9, None, None, None, None, None),
    ]
    assert execute(url, "select time from history.actor") == [(1000,)]
    assert execute(url, "select * from history.group") == []


def test_columns_have_the_types_of_the_ontology(database: Engine, url: str) -> None:
    assert execute(
        url,
        "select column_name, data_type from information_schema.columns "
        "where table_schema = 'history' and table_name = 'human' order by ordinal_position",
    ) == [
        ("iri", "text"),
        ("time", "bigint"),
        ("expired_at", "bigint"),
        ("message_id", "text"),
        ("awake", "boolean"),
        ("has_location", "text"),
        ("name", "text"),
        ("seen", "timestamp with time zone"),
        ("speed", "double precision"),
        ("x", "bigint"),
    ]


def test_a_property_has_its_values_of_all_times(database: Engine, url: str) -> None:
    assert execute(
        url,
        "select iri, value, valid_from, valid_to, message_id, inferred from history.x order by 3,2",
    ) == [
        ("b", 5, 1000, 1100, "m1", False),
        (human(1), 72, 1000, 1100, "m1", False),
        (human(1), 7, 1990, 1995, "m1", False),
        (human(1), 8, 2000, 2100, "m1", False),
        (human(1), 9, 2000, 2100, "m1", False),
        (human(3), None, 3000, 3100, "m1", False),
    ]


def test_statements_keep_what_does_not_fit_a_column(database: Engine, url: str) -> None:
    assert execute(
        url,
        "select object, inferred, superseded from history.statements "
        f"where predicate = '{EX}speed' or object = '{'9' * 30}' order by valid_from",
    ) == [("1.5", False, False), ("fast", False, False), ("9" * 30, False, False)]


def test_messages_and_alerts_can_be_asked_for(database: Engine, url: str) -> None:
    assert execute(url, "select id, source, status, received_at from history.messages") == [
        ("m1", "rest", "accepted", NOW)
    ]
    assert execute(url, "select id, key, time from history.alerts") == []


def test_times_of_the_date_time_line_are_timestamps(url: str) -> None:
    line = Timeline.DATETIME
    instant = line.instant("2014-08-01T08:05:00.123457Z")
    with PostgresStore.open(url, line) as store:
        store.append([Record(1, Message("m1", b"<a/>", instant), NOW)])
        gone = departure(1, human(1), instant, ("a", IRI(f"{EX}Human")))
        statuses = (MessageStatus(1, Status.ACCEPTED),)
        store.commit(Effects(1, (gone,), ended((gone,)), (), statuses, NOW))
    make_views(url, SCHEMA, line)
    time = datetime(2014, 8, 1, 8, 5, 0, 123457, tzinfo=UTC)
    assert execute(
        url, "select time from history.human where time > timestamptz '2014-08-01 08:05:00Z'"
    ) == [(time,)]
    assert execute(url, "select time from history.individuals") == [(time,)]


def test_views_follow_the_ontology_and_leave_other_peoples_alone(
    database: Engine, url: str
) -> None:
    execute(url, "create view history.mine as select 1 as one")
    smaller = Schema(classes=frozenset({IRI(f"{EX}Human")}))
    install_views(database, smaller, Timeline.INTEGER)
    names = "select viewname from pg_views where schemaname = 'history' order by 1"
    assert [name for (name,) in execute(url, names)] == [
        "alerts",
        "human",
        "individuals",
        "messages",
        "mine",
        "statements",
    ]


def test_views_that_did_not_change_are_not_made_again(database: Engine, url: str) -> None:
    query = "select oid from pg_class where relname = 'human'"
    before = execute(url, query)
    rendered.cache_clear()
    install_views(database, SCHEMA, Timeline.INTEGER)
    assert execute(url, query) == before
    assert rendered.cache_info().misses == 0
    execute(url, "drop view live.human")
    install_views(database, SCHEMA, Timeline.INTEGER)
    assert execute(url, query) != before


def test_a_view_somebody_builds_on_cannot_vanish(database: Engine, url: str) -> None:
    execute(url, "create view public.tall as select * from history.human")
    with pytest.raises(OntologyConflict, match=r"the view tall is built on history\.human"):
        check_views(database, Schema(), Timeline.INTEGER)
    with pytest.raises(HistoryError, match=r"other objects depend on it"):
        install_views(database, Schema(), Timeline.INTEGER)
    assert len(execute(url, "select * from history.human")) == 2


def test_a_view_that_stays_may_be_built_on(database: Engine, url: str) -> None:
    execute(url, "create view public.all_of_them as select * from history.individuals")
    check_views(database, Schema(), Timeline.INTEGER)
    install_views(database, Schema(), Timeline.INTEGER)
    assert len(execute(url, "select * from all_of_them")) == 4


def test_a_check_changes_nothing(database: Engine, url: str) -> None:
    count = "select count(*), max(id) from store.terms"
    before = execute(url, count)
    check_views(database, Schema(classes=frozenset({IRI("urn:new")})), Timeline.INTEGER)
    assert execute(url, count) == before


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999Z",
        "1970-01-01T00:00:00Z",
        "2014-08-01T08:05:00.123457Z",
        "2106-02-07T06:28:15.999999Z",
        "2106-02-07T06:28:16Z",
        "2255-06-05T23:47:34.740993Z",
        "9999-12-31T23:59:59.999999Z",
    ],
)
def test_moments_are_exact(database: Engine, url: str, text: str) -> None:
    instant = Timeline.DATETIME.instant(text)
    assert execute(url, f"select store.moment({instant}) = timestamptz '{text}'") == [(True,)]


def test_moments_are_exact_as_far_as_they_are_made_of_seconds(database: Engine, url: str) -> None:
    assert execute(
        url,
        "select count(*) from (select (random() * 2^32)::bigint * 1000000 "
        "- (random() * 999999)::bigint from generate_series(1, 20000) "
        "union all select 4294967296000000 - n from generate_series(1, 20000) n) g (instant) "
        "where store.moment(instant) <> timestamptz 'epoch' "
        "+ make_interval(hours => (instant / 3600000000)::int) "
        "+ (instant % 3600000000) * interval '1 microsecond'",
    ) == [(0,)]


def test_what_is_no_moment_stops_nobody(database: Engine, url: str) -> None:
    assert execute(url, f"select store.moment({2**63 - 1}), store.moment(-{2**63 - 1})") == [
        (None, None)
    ]


def test_conditions_on_views_reach_an_index(url: str) -> None:
    with PostgresStore.open(url, Timeline.DATETIME) as store:
        fill(store)
    make_views(url, SCHEMA, Timeline.DATETIME)
    number = "(select id from store.terms where text = '{}')"
    execute(
        url,
        "insert into store.terms (id, kind, text) "
        "select n, 0, 'urn:' || n from generate_series(1001, 21000) n; "
        "insert into store.stays "
        "(stay, name, entered, time, expired_at, message, iri, class_set) "
        "select n, n, n * second, n * second, n * second, 1, 'urn:' || n, "
        "(select min(class_set) from store.stays) "
        "from generate_series(1001, 21000) n, (values (1000000::bigint)) v (second); "
        "insert into store.statements "
        "select n, p, o, n * second - 1, n * second, n, 1, x, false "
        "from generate_series(1001, 21000) n, (values (1000000::bigint)) w (second), "
        "lateral (values "
        f"({number.format(rdf.TYPE)}, {number.format(EX + 'Human')}, null), "
        f"({number.format(EX + 'speed')}, 1, n), ({number.format(EX + 'x')}, 1, n)) v (p, o, x); "
        "analyze",
    )
    for query, index in (
        ("statements where subject = 'urn:2000'", "terms_text_idx"),
        ("human where iri = 'urn:2000'", "stays_iri_idx"),
        ("x where number > 20990", "predicate_number"),
        ("speed where value > 20990", "predicate_number"),
        ("statements where valid_from <= '1970-01-01T03:00:00Z' "
         "and valid_to > '1970-01-01T03:00:00Z'", "moment_moment"),
        ("human where time > '1970-01-01T05:49:00Z'", "stays_moment_idx"),
    ):  # fmt: skip
        plan = execute(url, f"set enable_seqscan = off; explain select * from history.{query}")
        assert index in "\n".join(line for (line,) in plan), (query, plan)


@pytest.mark.parametrize("timeline", [Timeline.INTEGER, Timeline.DATETIME])
def test_the_latest_and_an_hour_read_no_more_of_a_long_history(
    url: str, timeline: Timeline
) -> None:
    with PostgresStore.open(url, timeline) as store:
        fill(store)
    make_views(url, SCHEMA, timeline)
    second = 1 if timeline is Timeline.INTEGER else 1_000_000
    first, last = (_literal(timeline, each) for each in (90_000, 93_600))
    asked = (
        "select iri, time, x from history.human order by time desc limit 10",
        f"select iri, x from history.human where time >= {first} and time < {last}",
        "select h.iri, other.x from history.human h join history.human other using (iri) "
        f"where h.time >= {first} and h.time < {last}",
        "select max(time), min(time) from history.human",
        "select max(time) from history.group",
    )
    read = []
    for start, end in ((1_000, 2_000), (2_000, 20_000)):
        # One a minute, so that an hour has as many whatever the length.
        execute(url, _MANY.format(start=start, end=end - 1, step=60 * second))
        execute(url, "analyze")
        read.append([pages(url, each) for each in asked])
    few, many = read
    assert all(long <= 1.5 * short + 20 for short, long in zip(few, many, strict=True)), read


def test_a_join_of_two_views_of_classes_looks_up_no_text_for_each_row(url: str) -> None:
    with PostgresStore.open(url, Timeline.INTEGER) as store:
        fill(store)
    make_views(url, SCHEMA)
    execute(url, _MANY.format(start=1_000, end=5_999, step=60))
    execute(url, "analyze")
    joined = (
        "from history.human a join history.human b on a.iri = b.iri "
        "where a.time >= 90000 and a.time < 180000 and b.time >= 90000 and b.time < 180000"
    )
    assert execute(reader_url(url), f"select count(*) {joined}") == [(1500,)]
    # A hundred pages hold them all; to look up each text took ten pages more a row.
    assert pages(url, f"select count(*) {joined}") < 200


def test_a_column_of_texts_looks_up_one_text_for_each_row(url: str) -> None:
    with PostgresStore.open(url, Timeline.INTEGER) as store:
        fill(store)
    make_views(url, SCHEMA)
    # As the planner does it where there are many.
    query = (
        "set enable_hashjoin = off; set enable_mergejoin = off; set enable_seqscan = off; "
        "explain (analyze, format json) select name from history.human"
    )
    [([plan],)] = execute(reader_url(url), query)
    looked_up = [each for each in _nodes(plan["Plan"]) if each.get("Relation Name") == "terms"]
    stays = plan["Plan"]["Actual Rows"]
    assert 0 < sum(each["Actual Loops"] for each in looked_up) <= stays, looked_up


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for each in plan.get("Plans", ()):
        yield from _nodes(each)


def _literal(timeline: Timeline, seconds: int) -> str:
    return str(seconds) if timeline is Timeline.INTEGER else f"to_timestamp({seconds})"


_MANY = """
    insert into store.terms (id, kind, text) select n, 0, 'urn:' || n
        from generate_series({start}, {end}) n;
    insert into store.stays (stay, name, entered, time, expired_at, message, iri, class_set)
        select n, n, t, t, t, 1, 'urn:' || n, i.class_set from store.stays i,
        generate_series({start}, {end}) n, lateral (values (n::bigint * {step})) v (t)
        where i.stay = 1
"""


def pages(url: str, query: str) -> int:
    """How many pages PostgreSQL looks into for a question, however long that takes."""
    explain = f"explain (analyze, buffers, timing off, format json) {query}"
    [([plan],)] = execute(reader_url(url), explain)
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])
