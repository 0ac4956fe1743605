"""Effects that PostgreSQL will never take: all else of their group is stored, and told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import HistoryError, Unstorable
from sensorstream.history.effects_store import spared
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Effects, MessageStatus, Record, Settled
from sensorstream.model import xsd
from sensorstream.model.events import (
    Alert,
    Cleared,
    Departure,
    Ended,
    Individual,
    Message,
    Provenance,
    Status,
)
from sensorstream.model.terms import IRI, Literal
from tests.databases import execute

NOW = datetime(2014, 8, 1, 8, 5, tzinfo=UTC)
EX = "http://example.org/"
BAD = "bad"
REFUSES = """
create function pg_temp_refuse() returns trigger language plpgsql as $body$
begin
  if to_jsonb(new)::text like '%%bad%%' then
    raise exception 'no such text' using errcode = '{code}';
  end if;
  return new;
end
$body$;
create trigger refuse before insert or update on store.{table}
  for each row execute function pg_temp_refuse();
"""


def raised(stored: Effects) -> list[Alert]:
    return [each for each in stored.alerts if isinstance(each, Alert)]


def alert(name: str, text: str) -> Alert:
    return Alert(name, "crowded", "rule", "warning", text, "room", 20, name.split("-")[0])


def statement(stay: int, text: str) -> Ended:
    name = IRI(f"{EX}human-{stay}")
    triple = (name, IRI(f"{EX}says"), Literal(text, xsd.STRING))
    return Ended(stay, name, triple, Provenance("m1", 10), 30)


def effects(*texts: str) -> Effects:
    """An alert, a statement and a stay for each text; its entry has it as its reason."""
    count = range(1, len(texts) + 1)
    return Effects(
        len(texts),
        tuple(Departure(Individual(IRI(f"{EX}human-{n}"), n, 10, 20, n, "m1"), 30) for n in count),
        tuple(map(statement, count, texts)),
        tuple(alert(f"m{n}-1", text) for n, text in zip(count, texts, strict=True)),
        tuple(
            MessageStatus(n, Status.ACCEPTED, text) for n, text in zip(count, texts, strict=True)
        ),
        NOW,
    )


def refuse(store: PostgresStore, table: str, code: str = "22P05") -> None:
    execute(store.url, REFUSES.format(table=table, code=code))


@pytest.mark.parametrize("code", ["22P05", "54000", "23514"])
def test_what_postgresql_never_takes_is_left_out_and_the_rest_is_stored(
    store: PostgresStore, code: str
) -> None:
    store.append([Record(n, Message(f"m{n}", b"<a/>", 10), NOW) for n in (1, 2, 3)])
    refuse(store, "alerts", code)
    store.commit(effects("one", BAD, "three"))
    told = execute(store.url, "select id, kind, text from store.alerts order by seq")
    assert [each[:2] for each in told] == [
        ("m1-1", "rule"),
        ("m3-1", "rule"),
        ("m3-unstorable", "unstorable-effects"),
    ]
    assert "entries 1 to 3" in told[2][2]
    assert "the alert m2-1 of the rule crowded (cannot store effects: no such text)" in told[2][2]
    assert execute(store.url, "select count(*) from store.stays") == [(3,)]
    assert execute(store.url, "select count(*) from store.statements") == [(3,)]
    assert execute(store.url, "select reason from store.messages order by seq")[1] == (BAD,)
    assert store.watermark() == 3
    store.commit(effects("one", BAD, "three"))
    assert execute(store.url, "select count(*) from store.alerts") == [(3,)], "told once"


def test_a_text_of_a_status_or_a_statement_that_is_refused_costs_nothing_else(
    store: PostgresStore,
) -> None:
    store.append([Record(n, Message(f"m{n}", b"<a/>", 10), NOW) for n in (1, 2)])
    refuse(store, "messages")
    execute(store.url, "alter table store.terms add constraint no check (text <> 'bad')")
    store.commit(effects(BAD, "two"))
    assert execute(store.url, "select status, reason from store.messages order by seq") == [
        ("accepted", None),
        ("accepted", "two"),
    ]
    assert execute(store.url, "select stay from store.statements") == [(2,)]
    assert execute(store.url, "select count(*) from store.stays") == [(2,)]
    ((text,),) = execute(store.url, "select text from store.alerts where kind like 'unst%'")
    assert "the report of entry 1" in text
    assert f"about {EX}human-1" in text


def test_where_nothing_at_all_can_be_stored_it_is_not_for_the_values(store: PostgresStore) -> None:
    store.append([Record(1, Message("m1", b"<a/>", 10), NOW)])
    execute(store.url, "alter table store.progress add constraint never check (watermark < 1)")
    with pytest.raises(HistoryError, match="cannot store effects") as raised:
        store.commit(effects("one"))
    assert not isinstance(raised.value, Unstorable)
    execute(store.url, "alter table store.progress drop constraint never")
    store.commit(effects("one"))
    assert store.watermark() == 1


def test_an_entry_that_the_journal_can_never_hold_is_told_from_a_journal_that_is_away(
    store: PostgresStore,
) -> None:
    refuse(store, "messages")
    with pytest.raises(Unstorable, match="cannot write the journal: no such text"):
        store.append([Record(1, Message("m1", b"<a/>", 10, BAD), NOW)])
    store.append([Record(1, Message("m1", b"<a/>", 10, "good"), NOW)])
    assert store.last_seq() == 1


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.booleans())
def test_exactly_what_is_refused_is_left_out(good: list[bool], within: bool) -> None:
    given = effects(*("good" if each else BAD for each in good))
    if within:
        given = replace(given, alerts=())
    kept = spared(given, refusing(lambda text: text == BAD))
    assert kept.departures == given.departures
    assert kept.ended == tuple(e for e in given.ended if e.triple[2] != Literal(BAD, xsd.STRING))
    assert [e.reason for e in kept.statuses] == ["good" if each else None for each in good]
    own = tuple(each for each in raised(given) if each.text != BAD)
    assert kept.alerts[: len(own)] == own
    assert len(kept.alerts) == len(own) + (not all(good))


_LISTS = [each.name for each in fields(Effects) if isinstance(getattr(effects(), each.name), tuple)]


@pytest.mark.parametrize("name", _LISTS)
def test_a_value_that_is_refused_is_left_out_of_any_list_of_effects(name: str) -> None:
    """Or the writer would stop at it for ever."""
    good = effects("good")
    wrong: dict[str, Any] = {
        "alerts": Cleared("crowded", "rule", BAD, 20, "m1"),
        "ended": statement(1, BAD),
        "statuses": replace(good.statuses[0], reason=BAD),
        "settled": Settled("m1", Status.ACCEPTED, BAD),
    }
    placed = (*getattr(good, name), wrong.get(name, BAD))
    values: dict[str, Any] = {name: placed}
    kept = spared(replace(good, **values), refusing_anywhere)
    assert raised(kept)[-1].kind == "unstorable-effects"
    assert len(getattr(kept, name)) == len(placed) - (name not in ("alerts", "settled", "statuses"))
    for each in {*_LISTS} - {name, "alerts"}:
        assert getattr(kept, each) == getattr(good, each)


def refusing_anywhere(tried: Effects) -> Unstorable | None:
    return Unstorable("no") if BAD in str(tried) else None


def refusing(is_bad: Callable[[str], bool]) -> Callable[[Effects], Unstorable | None]:
    """Refuses effects that hold a bad text."""

    def refuses(tried: Effects) -> Unstorable | None:
        texts = [each.text for each in raised(tried)]
        texts += [each.reason or "" for each in tried.statuses]
        texts += [str(each.triple[2]) for each in tried.ended]
        texts = [t.removeprefix('"').removesuffix('"') for t in texts]
        return Unstorable("no") if any(map(is_bad, texts)) else None

    return refuses
